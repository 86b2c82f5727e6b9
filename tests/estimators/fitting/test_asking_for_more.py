"""Asking for more never ends lower, and what is asked for is kept to: iterations, time, the number of components."""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

import latens
from latens.inference.search.optimum import Search


def flipped_halves(seed: int, n: int = 500) -> np.ndarray:
    """Two kinds of binary rows, a tenth of their entries flipped."""
    rng = np.random.default_rng(seed)
    kinds = rng.random((2, 12)) < 0.5
    return (kinds[rng.integers(0, 2, n)] ^ (rng.random((n, 12)) < 0.1)).astype(float)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_more_clusters_allowed_end_no_lower(seed: int) -> None:
    X = flipped_halves(seed)
    two, eight, found = (latens.BernoulliMixture(k, random_state=0).fit(X) for k in (2, 8, None))
    assert (eight.n_components_, found.n_components_) == (2, 2)
    assert min(eight.elbo_, found.elbo_) >= two.elbo_ - 0.5


@pytest.mark.parametrize("seed", [0, 1])
def test_more_clusters_with_covariances_allowed_end_no_lower(seed: int) -> None:
    """Where eight are more than there are, a search with more is the same search."""
    few, more, found = (latens.GaussianMixture(k, random_state=seed).fit(load_diabetes().data) for k in (8, 16, None))
    assert few.n_components_ < 8
    assert few.elbo_ == more.elbo_ == found.elbo_


@pytest.mark.parametrize("seed", [0, 1])
def test_more_causes_allowed_end_no_lower(seed: int) -> None:
    x = load_breast_cancer().data[:, :10]
    X = np.where(x > np.median(x, axis=0), 1.0, 0.0)
    few, more = (latens.NoisyOr(k, random_state=seed).fit(X) for k in (8, 16))
    assert few.elbo_ == more.elbo_


def test_more_causes_than_are_likely_are_found_where_they_are_allowed() -> None:
    """Eight are likely in twenty columns; each of these ten shows in two columns of its own."""
    rng = np.random.default_rng(0)
    on = np.repeat(rng.random((300, 10)) < 0.2, 2, axis=1)
    X = (rng.random((300, 20)) < np.where(on, 0.9, 0.03)).astype(float)
    few, more = (latens.NoisyOr(k, n_init=1, random_state=0).fit(X) for k in (8, 16))
    assert (few.n_components_, more.n_components_) == (8, 10)
    assert more.elbo_ > few.elbo_ + 10


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("unit", ["as measured", "standardised"])
def test_more_binary_factors_allowed_end_no_lower(seed: int, unit: str) -> None:
    """A larger limit, and none, begin with the search that a smaller one makes."""
    X = load_iris().data
    X = X if unit == "as measured" else (X - X.mean(axis=0)) / X.std(axis=0)
    bounds = [latens.BinaryFactorAnalysis(k, random_state=seed).fit(X).elbo_ for k in (8, 12, 16, None)]
    assert all(np.diff(bounds) >= 0), bounds


def test_binary_factors_without_a_limit_are_more_than_twice_the_columns() -> None:
    """Two columns of eight values each, which take three causes each."""
    rng = np.random.default_rng(1)
    bits = rng.random((300, 6)) < 0.5
    X = bits @ np.kron(np.eye(2), [[4.0], [2.0], [1.0]]) + 0.05 * rng.normal(size=(300, 2))
    four, found = (latens.BinaryFactorAnalysis(k, random_state=0).fit(X) for k in (4, None))
    assert found.n_components_ > 4
    assert found.elbo_ > four.elbo_ + 5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_more_factors_allowed_end_no_lower(seed: int) -> None:
    """None allows 13, as many as wine has columns: half of which lead elsewhere than the half of 8."""
    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    few, more, found = (latens.MultiViewFactorAnalysis(k, random_state=seed).fit(X) for k in (8, 12, None))
    assert few.n_components_ == more.n_components_ == found.n_components_ == 4
    assert min(more.elbo_, found.elbo_) >= few.elbo_ - 0.5


FITS: dict[str, Any] = {
    "gaussian mixture": lambda n: latens.GaussianMixture(8, n_init=n, random_state=0),
    "without moves": lambda n: latens.GaussianMixture(8, n_init=n, moves=False, random_state=0),
    "binary factors": lambda n: latens.BinaryFactorAnalysis(6, n_init=n, random_state=0),
    "views": lambda n: latens.MultiViewFactorAnalysis(6, n_init=n, random_state=0),
}


@pytest.mark.parametrize("name", FITS)
def test_more_starts_end_no_lower(name: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.laplace(size=(120, 3)) @ rng.normal(size=(3, 6)) + 0.4 * rng.normal(size=(120, 6))
    bounds = [FITS[name](n).fit(X).elbo_ for n in (1, 2, 3)]
    assert all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])), bounds


TABLES: dict[str, tuple[Any, dict[str, Any]]] = {
    "BinaryFactorAnalysis": (latens.BinaryFactorAnalysis, {"n_components": 4, "n_init": 2}),
    "NoisyOr": (latens.NoisyOr, {"n_components": 4, "n_init": 2}),
    "GaussianMixture": (latens.GaussianMixture, {"n_components": 5, "n_init": 2}),
    "BernoulliMixture": (latens.BernoulliMixture, {"n_components": 5, "n_init": 2}),
    "LatentClassAnalysis": (latens.LatentClassAnalysis, {"n_components": 4, "n_init": 2}),
    "NoisyICA": (latens.NoisyICA, {"n_components": 3}),
    "FactorAnalysis": (latens.FactorAnalysis, {"n_components": 3, "prior": "ard"}),
    "MultiViewFactorAnalysis": (latens.MultiViewFactorAnalysis, {"n_components": 4, "n_init": 2}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_smaller_tolerance_goes_on_from_where_the_larger_stopped(name: str) -> None:
    estimator, options = TABLES[name]
    rng = np.random.default_rng(8)
    X = rng.laplace(size=(90, 2)) @ rng.normal(size=(2, 5)) + 0.4 * rng.normal(size=(90, 5))
    X = (X > 0.3).astype(float) if estimator in (latens.BernoulliMixture, latens.NoisyOr) else X
    usual = estimator().tol
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [
            estimator(**options, tol=tol, max_iter=3000, random_state=0).fit(X)
            for tol in (usual, usual / 5, usual / 100)
        ]
    for larger, smaller in itertools.pairwise(fits):
        assert smaller.elbo_ >= larger.elbo_ - 1e-9 * abs(larger.elbo_)
        assert np.array_equal(smaller.elbo_history_[: larger.n_iter_], larger.elbo_history_)


def test_more_starts_end_no_lower_where_a_part_of_the_rows_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latens.GaussianMixture, "sample_size", 120)
    rng = np.random.default_rng(3)
    X = 3 * rng.normal(size=(7, 2))[rng.integers(0, 7, 600)] + rng.normal(size=(600, 2))
    bounds = [latens.GaussianMixture(10, n_init=n, random_state=2).fit(X).elbo_ for n in (1, 2, 3)]
    assert all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])), bounds


def test_causes_that_die_out_slowly_are_taken_out_before_iterations_are_used_up() -> None:
    """Each of the 21 that are not needed would cost 12 nats; the ascent to their end takes more than 500 iterations."""
    rng = np.random.default_rng(3)
    X = (rng.random((1000, 3)) < 0.3) @ (1.5 * rng.normal(size=(3, 20))) + 0.5 * rng.normal(size=(1000, 20))
    few, any_number = (
        latens.BinaryFactorAnalysis(k, fit_intercept=False, n_init=1, random_state=0).fit(X) for k in (6, None)
    )
    assert few.n_components_ == any_number.n_components_ == 3
    assert any_number.converged_
    assert any_number.elbo_ >= few.elbo_ - 0.5


@pytest.mark.slow
def test_more_starts_of_causes_end_no_lower_where_a_part_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latens.BinaryFactorAnalysis, "sample_size", 120)
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 6)) + 0.4 * rng.normal(size=(400, 6))
    bounds = [latens.BinaryFactorAnalysis(8, n_init=n, random_state=2).fit(X).elbo_ for n in (1, 2, 3)]
    assert all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])), bounds


ESTIMATORS = [
    latens.BinaryFactorAnalysis,
    latens.GaussianMixture,
    latens.BernoulliMixture,
    latens.NoisyOr,
    latens.NoisyICA,
    latens.MultiViewFactorAnalysis,
    latens.FactorAnalysis,
]


def some_rows(estimator: Any) -> np.ndarray:
    X, _ = latens.datasets.make_shapes(80, random_state=0)
    return (X > 0.5).astype(float) if estimator in (latens.BernoulliMixture, latens.NoisyOr) else X


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_max_iter_bounds_the_whole_fit(estimator: Any) -> None:
    X, options = some_rows(estimator), {"prior": "ard"} if estimator is latens.FactorAnalysis else {}
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = estimator(5, max_iter=1, random_state=0, **options).fit(X)
    assert (model.n_iter_, model.converged_) == (1, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(5, max_iter=7, tol=1e-12, random_state=0, **options).fit(X)
    assert model.n_iter_ <= 7


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_time_that_is_over_leaves_a_fit_that_can_be_used(estimator: Any) -> None:
    X, options = some_rows(estimator), {"prior": "ard"} if estimator is latens.FactorAnalysis else {}
    model = estimator(5, max_time=1e-6, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match=r"max_time=1e-06 seconds and keeps the best state"):
        model.fit(X)
    assert model.n_iter_ == 1
    assert np.isfinite(model.transform(X)).all()
    with pytest.raises(ValueError, match="max_time"):
        estimator(5, max_time=0, **options).fit(X)


def test_time_that_is_over_ends_a_regression_that_iterates() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    model = latens.BayesianLinearRegression("gamma", "gamma", max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"max_time=1e-09 seconds and keeps the best state"):
        model.fit(X, X @ [1.0, 2.0, 3.0] + rng.normal(size=50))
    assert model.n_iter_ == 1
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="max_time"):
        latens.BayesianLinearRegression(max_time=-1).fit(X, X[:, 0])


def test_time_that_is_over_ends_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that jumps once moves begin: what was climbed to is kept, and no candidate is tried."""
    clock = iter([0.0] * 40 + [100.0] * 10_000)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    X, _ = latens.datasets.make_mixture(200, n_components=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = latens.GaussianMixture(12, n_init=1, max_time=50, random_state=0).fit(X)
    assert model.n_iter_ <= 41


def test_a_search_that_time_cut_has_not_converged_though_its_best_ascent_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    on = np.repeat(rng.random((150, 2)) < 0.4, 3, axis=1)
    X = (rng.random((150, 6)) < np.where(on, 0.9, 0.05)).astype(float)
    whole = latens.NoisyOr(n_init=2, random_state=0).fit(X)
    restarts: list[int] = []  # starts that iterations were of: time is over when the second begins
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 if any(restarts) else 0.0)
    with pytest.warns(ConvergenceWarning, match="used all max_time=50 seconds"):
        cut = latens.NoisyOr(
            n_init=2, max_time=50, random_state=0, callbacks=lambda event: restarts.append(event.restart)
        ).fit(X)
    assert np.diff(cut.elbo_history_)[-1] < cut.tol * len(X)  # the first ascent came to its end
    assert not cut.converged_
    rows = {row[0]: row for row in latens.compare({"whole": whole, "cut": cut}).table.rows}
    assert (rows["whole"][3], rows["cut"][3]) == ("yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_time_that_is_over_between_two_steps_leaves_a_fit_that_has_not_converged(
    estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ascent has settled, and no candidate was tried: the search was not done."""
    proposed, calls = Search._candidates, list[bool]()

    def candidates(self: Search, *arguments: Any) -> Any:
        calls.append(True)
        return proposed(self, *arguments)

    monkeypatch.setattr(Search, "_candidates", candidates)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 if calls else 0.0)
    X, options = some_rows(estimator), {"prior": "ard"} if estimator is latens.FactorAnalysis else {}
    model = estimator(5, n_init=1, moves=True, max_time=50, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match=r"used all max_time=50 seconds and keeps the best state"):
        model.fit(X)
    assert calls
    assert not model.converged_
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_pruning_exactly_as_many_components_as_asked_for_are_published(estimator: Any) -> None:
    X, options = some_rows(estimator), {"prior": "ard"} if estimator is latens.FactorAnalysis else {}
    model = estimator(7, prune=False, max_iter=30, tol=0, n_init=1, random_state=0, **options).fit(X)
    assert model.n_components_ == 7
    assert model.transform(X[:4]).shape == (4, 7)
    assert len(model.share_) == 7
    parts = model.components_
    assert (next(iter(parts.values())) if isinstance(parts, dict) else parts).shape == (7, 16)
    with pytest.raises(ValueError, match="n_components must say how many"):
        estimator(prune=False, **options).fit(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_pruning_noise_has_as_many_components_too(estimator: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((80, 6)) < 0.4 if estimator.binary else rng.normal(size=(80, 6))
    options = {"prior": "ard"} if estimator is latens.FactorAnalysis else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(3, prune=False, max_iter=30, n_init=1, random_state=0, **options).fit(X.astype(float))
    assert model.n_components_ == 3


def test_moves_without_pruning_exchange_clusters_and_keep_their_number() -> None:
    X, truth = latens.datasets.make_mixture(400, n_components=6, n_features=2, spread=10.0, random_state=1)
    bad = np.repeat(truth.means[:3], 2, axis=0) + np.tile([[0.1, 0], [-0.1, 0]], (3, 1))
    options = {"init": bad, "prune": False, "random_state": 0}
    stuck = latens.GaussianMixture(6, moves=False, **options).fit(X)
    moved = latens.GaussianMixture(6, moves=True, **options).fit(X)
    assert (stuck.n_components_, moved.n_components_) == (6, 6)
    assert moved.elbo_ > stuck.elbo_ + 10


def test_the_cap_on_clusters_grows_while_all_are_kept() -> None:
    centres = 20.0 * np.array([[i, j] for i in range(6) for j in range(5)])
    rng = np.random.default_rng(0)
    X = np.repeat(centres, 40, axis=0) + rng.normal(size=(1200, 2))
    model = latens.GaussianMixture(covariance_type="spherical", n_init=1, random_state=0).fit(X)
    assert model.n_components_ == 30  # the search began with 24


def test_other_starts_wait_until_clusters_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    starts: dict[int, set[int]] = {}
    search = latens.BernoulliMixture._search_from

    def watched(self: Any, model: Any, context: Any, *args: Any) -> Any:
        self.callbacks = lambda event: starts.setdefault(context.growth, set()).add(event.restart)
        return search(self, model, context, *args)

    monkeypatch.setattr(latens.BernoulliMixture, "_search_from", watched)
    monkeypatch.setattr(latens.BernoulliMixture, "_default_size", lambda self, context: 2 * context.growth)
    chance = np.repeat(np.eye(4), 5, axis=1)[np.repeat(np.arange(4), 60)] * 0.8 + 0.1
    X = (np.random.default_rng(0).random(chance.shape) < chance).astype(float)
    model = latens.BernoulliMixture(n_init=3, random_state=0).fit(X)
    assert model.n_components_ == 4
    assert starts[1] == {0}  # two were allowed, and then four
    assert starts[4] == {0}  # eight: what kept four needs no more, so that nothing else is searched for more
    assert starts[2] == {0, 1, 2}


@pytest.mark.parametrize("estimator", [latens.BinaryFactorAnalysis, latens.BernoulliMixture, latens.NoisyOr])
@pytest.mark.parametrize("seed", [22, 28, 37])  # of which causes ended up to 44 nats lower with more starts
def test_more_starts_end_no_lower_where_the_cap_grows(
    estimator: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimator, "_default_size", lambda self, context: min(2 * context.growth, 8))
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 7)), int(rng.integers(80, 160))
    X = rng.laplace(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.4 * rng.normal(size=(n, d))
    X = X if estimator is latens.BinaryFactorAnalysis else (X > 0.5).astype(float)
    options = {"fit_intercept": True} if estimator is latens.BinaryFactorAnalysis else {}
    bounds = [estimator(n_init=m, random_state=seed, **options).fit(X).elbo_ for m in (1, 2, 3)]
    assert all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:])), bounds


def test_a_fit_without_iterations_left_for_its_tolerance_has_not_converged_to_it() -> None:
    """The search ends at a larger tolerance; what it reached there says nothing about the one that was asked for."""
    rng = np.random.default_rng(8)
    X = rng.laplace(size=(90, 2)) @ rng.normal(size=(2, 5)) + 0.4 * rng.normal(size=(90, 5))
    for max_iter in range(4, 14):  # of which some end as a larger tolerance is reached; 14 are enough for the smaller
        fit = latens.MultiViewFactorAnalysis(3, random_state=0, tol=1e-6, max_iter=max_iter)
        with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
            fit.fit(X)
        assert not fit.converged_


def test_a_start_comes_to_the_same_end_however_many_there_are() -> None:
    rng = np.random.default_rng(5)
    on, strength = rng.random((400, 5)) < 0.25, 0.85 * (rng.random((5, 14)) < 0.35)
    chance = 1 - 0.97 * np.prod(1 - on[:, :, None] * strength, axis=1)
    X = (rng.random((400, 14)) < chance).astype(float)
    one, two = (latens.NoisyOr(n_init=m, random_state=0).fit(X).elbo_ for m in (1, 2))
    assert two >= one - 1e-9 * abs(one)
