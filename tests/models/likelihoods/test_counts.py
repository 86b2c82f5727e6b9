"""Counts: how much their bounds lose beside quadrature, and what they say of new entries."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logsumexp

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods import Columns, Predictor
from latens.models.likelihoods.counts import NegativeBinomial, PoissonCounts
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View
from tests.contract.view_cases import log_counts

D, K, N = 12, 2, 4


def lost_nats(mean: float, tau: float) -> float:
    """Evidence of rows by quadrature over two factors of known loadings, less their bounds, per entry."""
    rng = np.random.default_rng(round(10 * mean + 100 * tau))
    likelihood = NegativeBinomial.for_rows(Rows(np.full((2, D), mean)))
    rare = bool(likelihood.rare.any())
    model = MultiView((View("v", 0, D, likelihood, inclusion=None),))
    loadings, noise = 0.5 * rng.normal(size=(D, K)), KnownGamma(np.full(D, tau))
    level = likelihood.link(np.full(D, mean), Columns(noise))
    flat, ones = np.zeros((D, K)), np.ones(K)
    weights, offsets = SpikeSlab(np.ones((D, K)), loadings, flat, ones), Offsets(level[:, None], np.zeros((D, 1)))
    posterior = ViewPosterior(weights, offsets, Gamma(ones, ones), None, noise)
    q = MultiViewPosterior({"v": posterior}, KnownGamma(np.ones((1, K))))
    y = likelihood.draw(rng.normal(size=(N, K)) @ loadings.T + level, Columns(noise), rng)
    rows, local = Rows(y), model.local_step(q, Rows(y))
    for _ in range(200):
        local = model.local_step(q, rows, local)
    bounds, spread = model.row_bounds(q, rows, local), model.curved(q, rows, local).spread
    nodes, mass = hermegauss(20)
    grid = np.stack([part.ravel() for part in np.meshgrid(nodes, nodes)], axis=1)
    log_mass = np.log(np.outer(mass, mass).ravel() / mass.sum() ** 2) + 0.5 * np.sum(grid**2, axis=1)
    evidence = []
    for n in range(N):
        root = np.linalg.cholesky(1.3 * spread[n])
        z = local.mean[n] + grid @ root.T
        eta = z @ loadings.T + level
        entries = log_counts(
            "rare" if rare else "common", np.broadcast_to(y[n], eta.shape), eta, np.full(eta.shape, tau)
        )
        evidence.append(logsumexp(entries.sum(axis=1) - 0.5 * np.sum(z**2, axis=1) + log_mass))
        evidence[-1] += np.log(np.linalg.det(root))
    return float(np.mean(np.array(evidence) - bounds)) / D


@pytest.mark.parametrize("mean", [0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 100.0, 1000.0, 10_000.0])
def test_the_bound_loses_a_tenth_of_a_nat_an_entry_at_most(mean: float) -> None:
    lost = [lost_nats(mean, tau) for tau in (1.0, 3.0, 10.0)]
    assert min(lost) > -1e-6  # it is a bound
    assert max(lost) < 0.1


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_the_mean_and_variance_of_new_counts_are_those_of_draws(rare: float) -> None:
    rng, tau = np.random.default_rng(0), Columns(KnownGamma(np.array([4.0])))
    likelihood = NegativeBinomial(np.array([rare]))
    mean, variance = np.array([[0.4]]), np.array([[0.2]])
    eta = 0.4 + np.sqrt(0.2) * rng.normal(size=(400_000, 1))
    draws = likelihood.draw(eta, tau, rng)
    first, spread = likelihood.expect(mean, variance, tau)
    assert first[0, 0] == pytest.approx(draws.mean(), rel=0.01)
    assert spread[0, 0] == pytest.approx(draws.var(), rel=0.03)
    at_one = likelihood.draw(np.full((400_000, 1), 0.4), tau, rng)
    assert likelihood.middle(mean, tau)[0, 0] == pytest.approx(at_one.mean(), rel=0.01)


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_a_level_is_predicted_by_its_own_link_and_has_no_deviance(rare: float) -> None:
    likelihood, columns = PoissonCounts(np.array([rare])), Columns(KnownGamma(np.array([2.5])))
    level = np.array([[1.0], [7.0], [400.0]])
    eta = likelihood.link(level, columns)
    assert likelihood.middle(eta, columns) == pytest.approx(level)
    assert likelihood.deviance(level, eta, columns) == pytest.approx(np.zeros_like(level), abs=1e-9)
    assert (likelihood.deviance(level, eta + 0.3, columns) > 0).all()
    assert likelihood.deviance(np.zeros((1, 1)), eta[:1], columns)[0, 0] > 0


def test_columns_of_both_kinds_in_one_view_are_those_of_two_views() -> None:
    rng = np.random.default_rng(1)
    y, eta = rng.poisson(4.0, size=(6, 5)).astype(float), rng.normal(size=(6, 5))
    rare = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    noise = Gamma(rng.uniform(1, 3, 5), rng.uniform(1, 3, 5))
    together = NegativeBinomial(rare).tangent(Rows(y), Predictor(eta.copy, lambda: eta**2 + 0.3, Columns(noise)))
    for kind in (0.0, 1.0):
        at = rare == kind
        own = Columns(noise.only(np.flatnonzero(at)))
        place = Predictor(lambda at=at: eta[:, at], lambda at=at: eta[:, at] ** 2 + 0.3, own)  # type: ignore[misc]
        alone = NegativeBinomial(rare[at]).tangent(Rows(y[:, at]), place)
        assert together.response[:, at] == pytest.approx(alone.response)
        assert together.powers is not None
        assert alone.powers is not None
        assert together.powers()[:, at] == pytest.approx(alone.powers())
        assert together.free is not None
        assert alone.free is not None
        assert together.free.constant()[:, at] == pytest.approx(alone.free.constant())
