"""Strides: where they lead is higher, and from where nothing is higher they lead nowhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import latens
from latens.core import Rows, State
from latens.inference.ascent import ascend
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.strides import further, with_prior_ahead


def settled(kinds: tuple[str, ...]) -> tuple[MultiView, Rows, MultiViewPosterior]:
    views, truth = latens.datasets.make_multiview(60, (30, 20), kinds, n_factors=2, random_state=0)
    fit = latens.MultiViewFactorAnalysis(2, likelihoods=truth.likelihoods, random_state=0, prune=False).fit(views)
    rows = fit._units.enter(fit._rows_of_fit(views))
    q = ascend(fit._model, [rows], State(fit._state.q), max_iter=400, tol=1e-8).state.q
    return fit._model, rows, q


def off(p: ViewPosterior) -> ViewPosterior:
    """Loadings twice as wide and twice as many as they should be, as far as the prior goes."""
    assert p.theta is not None
    wide = replace(p.alpha, rate=4 * p.alpha.rate)
    return replace(p, alpha=wide, theta=replace(p.theta, on=2 * p.theta.on))


@pytest.mark.parametrize("kinds", [("gaussian", "gaussian"), ("bernoulli", "poisson")], ids="-".join)
def test_a_prior_of_loadings_that_is_off_comes_back_sooner_than_by_plain_steps(kinds: tuple[str, ...]) -> None:
    m, rows, q = settled(kinds)
    start = replace(q, views={name: off(p) for name, p in q.views.items()})
    top = ascend(m, [rows], State(q), max_iter=5, tol=0)
    for name, p in top.state.q.views.items():
        assert with_prior_ahead(p, m.prior(2).views[name], top.state.stats.views[name])[1] < 1e-3
    strides, plain = ascend(m, [rows], State(start), max_iter=8, tol=0), State(start)
    for _ in range(8):
        local = m.local_step(plain.q, rows, plain.locals[0] if plain.locals else None)
        stats = m.statistics(rows, local)
        plain = State(m.global_step(plain.q, stats), stats, (local,))
    height = sum(m.data_terms(plain.q, plain.stats).values()) + sum(m.global_terms(plain.q).values())
    assert strides.elbo > top.elbo - 0.5
    assert top.elbo - strides.elbo < top.elbo - height


@pytest.mark.parametrize("times", [0.2, 6.0])
def test_sizes_of_factors_in_groups_come_back_at_once(times: float) -> None:
    """Codes, loadings and the precisions of groups in another unit: only priors tell, and the best unit is known."""
    views, truth = latens.datasets.make_multiview(90, (12, 9), n_factors=2, groups=3, random_state=0)
    fit = latens.MultiViewFactorAnalysis(2, random_state=0, prune=False).fit(views, groups=truth.groups)
    rows, m = fit._units.enter(fit._rows_of_fit(views, groups=truth.groups)), fit._model
    q = ascend(m, [rows], State(fit._state.q), max_iter=300, tol=1e-9).state.q
    resized = {name: p.resized(np.full(2, times)) for name, p in q.views.items()}
    off = replace(q, views=resized, activity=replace(q.activity, rate=q.activity.rate / times**2))
    top, back = (ascend(m, [rows], State(start), max_iter=4, tol=0) for start in (q, off))
    assert back.trace[0].elbo < top.elbo - 5
    assert back.elbo > top.elbo - 0.5
    assert further(m, q, top.state.stats) is q  # nothing to be gained at the top


@pytest.mark.parametrize("n_groups", [1, 3])
def test_levels_of_codes_come_back_at_once(n_groups: int) -> None:
    """Codes that are about another value than 0, which levels make up for: rows do not tell, and the prior knows."""
    views, truth = latens.datasets.make_multiview(90, (40, 30), n_factors=2, groups=n_groups, random_state=0)
    given = {"groups": truth.groups} if n_groups > 1 else {}
    fit = latens.MultiViewFactorAnalysis(2, random_state=0, prune=False).fit(views, **given)
    rows, m = fit._units.enter(fit._rows_of_fit(views, **given)), fit._model
    q = ascend(m, [rows], State(fit._state.q), max_iter=300, tol=1e-9).state.q
    shift = np.linspace(-1.0, 1.0, 2 * n_groups).reshape(2, n_groups)
    moved = {
        name: replace(p, offsets=replace(p.offsets, mean=p.offsets.mean + p.weights.mean @ shift))
        for name, p in q.views.items()
    }
    top, back = (ascend(m, [rows], State(start), max_iter=4, tol=0) for start in (q, replace(q, views=moved)))
    assert back.trace[0].elbo < top.elbo - 5
    assert back.elbo > top.elbo - 0.1
    assert further(m, q, top.state.stats) is q


def test_relevance_and_what_is_out_are_best_together() -> None:
    """Whatever else the precision of a factor's loadings were, with what is out following it: the bound is lower."""
    m, rows, q = settled(("gaussian", "gaussian"))
    stats = m.statistics(rows, m.local_step(q, rows))
    found, prior = m.global_step(q, stats), m.prior(2)
    for name, p in found.views.items():
        assert p.weights.idle == pytest.approx(1 / p.alpha.mean)
        with_theta = replace(p, theta=q.views[name].theta)
        for times in (0.8, 0.98, 1.02, 1.25):
            other = replace(p.alpha, rate=times * p.alpha.rate)
            moved = replace(with_theta, weights=replace(p.weights, idle=1 / other.mean), alpha=other)
            assert -moved.kl(prior.views[name]) < -with_theta.kl(prior.views[name]), (name, times)


def test_nothing_is_proposed_where_all_loadings_are_in_or_none_is_there() -> None:
    views, _ = latens.datasets.make_multiview(40, (12,), ("gaussian",), n_factors=1, random_state=1)
    fit = latens.MultiViewFactorAnalysis(1, sparse_loadings=False, random_state=0, prune=False).fit(views)
    ((name, p),), stats = fit._state.q.views.items(), fit._state.stats
    prior = fit._model.prior(1).views[name]
    assert with_prior_ahead(p, prior, stats.views[name]) == (p, 0.0)
    none = fit._state.q.only(np.arange(0))
    assert with_prior_ahead(none.views[name], fit._model.prior(0).views[name], stats.views[name])[1] == 0.0
