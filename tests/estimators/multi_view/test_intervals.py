"""How sure a multi-view model is of what it says from binary views and counts, and whether its rows have settled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import latens
from latens.core import Rows
from latens.errors import NotSettled
from latens.inference.local_fixed_point import local_fixed_point
from tests.contract.models.view_cases import log_counts

KINDS = {"b": "bernoulli", "p": "poisson", "g": "gaussian"}
NODES = np.linspace(-6, 6, 1201)


def fitted(kind: str, d: int, scale: float, level: float, seed: int, **options: Any) -> tuple[Any, np.ndarray, Any]:
    """A model of one factor behind measurements and another view; of new samples that view, measurements and truth."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(900, 1))
    eta = z @ rng.normal(size=(1, d)) * scale + level
    y = rng.poisson(np.logaddexp(0, eta)) if kind == "p" else rng.random(eta.shape) < expit(eta)
    views = {"g": z @ rng.normal(size=(1, 10)) + 0.3 * rng.normal(size=(900, 10)), kind: y.astype(float)}
    kinds = {name: KINDS[name] for name in views}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of large counts, and of fits stopped early
        model = latens.MultiViewFactorAnalysis(1, likelihoods=kinds, random_state=0, **options)
        model.fit({name: view[:600] for name, view in views.items()})
    sign = np.sign(model.scores_[:, 0] @ z[:600, 0])
    return model, views[kind][600:], (views["g"][600:], sign * z[600:, 0])


def by_quadrature(model: Any, y: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the only factor, given the expected loadings."""
    posterior = model.posterior_.views[kind]
    eta = NODES[:, None] * posterior.weights.mean[:, 0] + posterior.offsets.mean[:, 0]
    log_p = -0.5 * NODES**2 + np.zeros((len(y), 1))
    for d, column in enumerate(y.T):
        if kind == "b":
            log_p += column[:, None] * eta[:, d] - np.logaddexp(0, eta[:, d])
            continue
        rare = next(view.likelihood.rare for view in model._model.views if view.name == kind)[d]
        for count in np.unique(column):
            entries = [np.full(len(NODES), count), eta[:, d], np.full(len(NODES), posterior.noise.mean[d])]
            log_p[column == count] += log_counts("rare" if rare else "common", *entries)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = p @ NODES
    return mean, np.sqrt(p @ NODES**2 - mean**2)


class TestUncertainty:
    @pytest.mark.parametrize(("kind", "d", "scale", "level"), [("b", 20, 3, 0), ("p", 20, 1, 5), ("p", 50, 1, 10)])
    def test_codes_are_as_uncertain_as_by_quadrature(self, kind: str, d: int, scale: float, level: float) -> None:
        model, y, (measured, truth) = fitted(kind, d, scale, level, seed=70000)
        mean, std = (answer[:, 0] for answer in model.transform({kind: y}, return_std=True))
        exact = by_quadrature(model, y, kind)[1]
        assert std.mean() == pytest.approx(exact.mean(), rel=0.05)
        assert np.mean(np.abs(mean - truth) < 1.96 * std) > 0.9
        _, low, high = model.impute({kind: y}, coverage=0.95)
        assert np.mean((low["g"] <= measured) & (measured <= high["g"])) > 0.9

    def test_sparse_factors_are_no_surer_of_themselves(self) -> None:
        model, y, (_, truth) = fitted("p", 20, 1, 5, seed=70001, sparse_factors=True)
        mean, std = (answer[:, 0] for answer in model.transform({"p": y}, return_std=True))
        assert np.mean(np.abs(mean - truth) < 1.96 * std) > 0.85

    def test_measurements_alone_are_answered_from_the_posterior_itself(self) -> None:
        rng = np.random.default_rng(0)
        views = {"g": rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + rng.normal(size=(60, 8))}
        model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)
        rows = Rows(views["g"])
        local = local_fixed_point(model._model, model.posterior_, rows)
        assert model._model.curved(model.posterior_, rows, local) is local

    def test_samples_that_show_nothing_have_the_spread_of_the_prior(self) -> None:
        model, y, _ = fitted("p", 20, 1, 5, seed=70002)
        mean, std = model.transform({"p": np.full_like(y[:2], np.nan)}, return_std=True)
        assert mean == pytest.approx(0, abs=1e-12)
        assert std == pytest.approx(1, abs=1e-12)


class TestSettling:
    @pytest.mark.parametrize("level", [5, 10, 20])
    @pytest.mark.slow
    def test_counts_are_settled_however_large(self, level: float) -> None:
        """Parabolas far stiffer than the likelihood make local steps short."""
        model, y, _ = fitted("p", 50, max(1, level / 10), level, seed=70003)
        rows = model._units.enter(model._table({"p": y}, None).rows)
        local = model._model.local_step(model.posterior_, rows)
        for _ in range(5000):
            local = model._model.local_step(model.posterior_, rows, local)
        with warnings.catch_warnings():
            warnings.simplefilter("error", NotSettled)
            found = local_fixed_point(model._model, model.posterior_, rows)
        assert found.mean == pytest.approx(local.mean, abs=1e-6)

    def test_a_row_alone_is_what_it_is_among_others(self) -> None:
        model, y, _ = fitted("p", 50, 1, 5, seed=70004)
        whole = model.transform({"p": y})
        alone = np.concatenate([model.transform({"p": y[n : n + 1]}) for n in range(40)])
        assert alone == pytest.approx(whole[:40], abs=1e-6)

    def test_the_bound_of_a_settled_batch_is_the_highest(self) -> None:
        model, y, _ = fitted("p", 50, 1, 10, seed=70005)
        rows = model._units.enter(model._table({"p": y}, None).rows)
        inner, q = model._model, model.posterior_

        def bound(local: Any) -> np.ndarray:
            return np.asarray(inner.row_bounds(q, rows, inner.local_step(q, rows, local)))

        local = best = local_fixed_point(inner, q, rows)
        for _ in range(50):
            best = inner.local_step(q, rows, best)
        assert bound(local) == pytest.approx(bound(best), abs=1e-8)

    def test_rows_that_have_not_settled_are_said(self) -> None:
        model, y, _ = fitted("p", 50, 1, 10, seed=70006)
        rows = model._units.enter(model._table({"p": y}, None).rows)
        with pytest.warns(NotSettled, match=r"of 300 rows have not converged after 3 local steps"):
            local_fixed_point(model._model, model.posterior_, rows, max_iter=3)


@pytest.mark.filterwarnings("ignore::latens.errors.DoubtfulScale")
def test_factors_behind_counts_of_some_tens_are_found_by_the_guess() -> None:
    rng = np.random.default_rng(70007)
    codes = rng.normal(size=(300, 2))
    counts = rng.poisson(np.logaddexp(0, codes @ rng.normal(size=(2, 40)) * 2.5 + 15)).astype(float)
    hidden = rng.random(counts.shape) < 0.15
    views = {"p": np.where(hidden, np.nan, counts)}
    model = latens.MultiViewFactorAnalysis(4, random_state=0).fit(views)
    assert model.n_components_ == 2
    error = (counts - model.impute(views)["p"])[hidden]
    assert np.mean(error**2) < 0.7 * np.var(counts[hidden])
