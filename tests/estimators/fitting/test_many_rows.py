"""The number of components where rows are many: a search on a part of them must not decide it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import latens
from latens.errors import WeightsTooLarge, WeightsTooSmall

N = 9_000  # beyond twice the sample that a search begins on


def normal_clusters(n: int, k: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(k, d))
    return centres[rng.integers(0, k, n)] + rng.normal(size=(n, d))


def test_gaussian_clusters_are_as_many_as_there_are_and_reach_the_bound_of_a_fit_told_so() -> None:
    X = normal_clusters(N, 6, 5)
    found = latens.GaussianMixture(12, n_init=1, random_state=0).fit(X)
    reference = latens.GaussianMixture(6, random_state=0).fit(X)
    assert (found.n_components_, reference.n_components_) == (6, 6)
    assert found.elbo_ >= reference.elbo_ - 0.5


def test_binary_clusters_are_as_many_as_there_are() -> None:
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.05, 0.95, size=(5, 20))
    X = (rng.random((N, 20)) < chance[rng.integers(0, 5, N)]).astype(float)
    found = latens.BernoulliMixture(random_state=0).fit(X)
    reference = latens.BernoulliMixture(5, random_state=0).fit(X)
    assert found.n_components_ == 5
    assert found.elbo_ >= reference.elbo_ - 0.5


def test_dense_factors_are_as_many_as_there_are() -> None:
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(4000, 5)) @ rng.normal(size=(5, 20)) + 0.5 * rng.normal(size=(4000, 20))
    found = latens.MultiViewFactorAnalysis(random_state=0).fit(X)
    assert found.n_components_ == 5
    assert found.elbo_ >= latens.MultiViewFactorAnalysis(5, random_state=0).fit(X).elbo_ - 0.5


def test_a_factor_too_faint_for_the_sample_is_found_on_all_rows() -> None:
    rng = np.random.default_rng(1)
    X = rng.laplace(size=(20_000, 3)) @ rng.normal(size=(3, 20)) + 0.5 * rng.normal(size=(20_000, 20))
    X += np.outer(rng.normal(size=20_000), 0.07 * rng.normal(size=20))
    assert latens.MultiViewFactorAnalysis(random_state=0).fit(X[:2000]).n_components_ == 3
    assert latens.MultiViewFactorAnalysis(random_state=0).fit(X).n_components_ == 4


def test_clusters_too_rare_for_the_sample_are_found_on_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = normal_clusters(20_000, 3, 5)
    X = np.vstack([X, X[:1] + 15 + 0.5 * rng.normal(size=(20, 5))])
    found = latens.GaussianMixture(8, n_init=1, random_state=0).fit(X)
    assert found.n_components_ == 4
    assert found.share_[-1] * len(X) == pytest.approx(20, abs=0.5)


ESTIMATORS = [
    (latens.BinaryFactorAnalysis, {}),
    (latens.GaussianMixture, {}),
    (latens.BernoulliMixture, {"binarize": 0.5}),
    (latens.NoisyOr, {"binarize": 0.5}),
    (latens.FactorAnalysis, {}),
    (latens.NoisyICA, {}),
    (latens.MultiViewFactorAnalysis, {}),
]


@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS, ids=lambda value: getattr(value, "__name__", ""))
def test_weights_that_add_up_to_1_are_doubted_and_the_line_to_type_works(estimator: Any, options: Any) -> None:
    X, _ = latens.datasets.make_shapes(60, random_state=0)
    if "binarize" in options:
        X = (X > 0.5).astype(float)
    w = np.random.default_rng(0).uniform(0.5, 1.5, size=len(X))
    w /= w.sum()
    model = estimator(2, random_state=0, max_iter=30, moves=False)
    effective = 1 / np.sum(w**2)
    with pytest.warns(WeightsTooSmall, match=rf"adds up to 1 over 60 rows.* about {effective:.0f} rows"):
        model.fit(X, sample_weight=w)
    with warnings.catch_warnings(action="error", category=WeightsTooSmall):
        model.fit(X, sample_weight=w * (w.sum() / (w**2).sum()))
        model.fit(X, sample_weight=np.ones(len(X)))
        model.fit(X)


@pytest.mark.parametrize(
    "model",
    [latens.GaussianMixture(2), latens.FactorAnalysis(1), latens.LatentClassAnalysis(2), latens.NoisyICA(1)],
    ids=lambda model: type(model).__name__,
)
def test_weights_that_expand_a_survey_are_doubted(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    w = np.random.default_rng(1).integers(500, 3000, size=60).astype(float)
    model = clone(model).set_params(random_state=0, max_iter=5)
    with pytest.warns(WeightsTooLarge, match=r"times the 60 rows.* pass sample_weight=w / w.mean\(\)"):
        model.fit(X, sample_weight=w)
    with warnings.catch_warnings(action="error", category=WeightsTooLarge):
        model.fit(X, sample_weight=w / w.mean())
        model.fit(X, sample_weight=np.full(60, 4.0))


def test_a_table_of_patterns_and_their_numbers_is_not_doubted() -> None:
    patterns = np.array([[0.0, 0, 1], [1, 0, 0], [1, 1, 1], [0, 1, 0]])
    with warnings.catch_warnings(action="error", category=WeightsTooLarge):
        latens.BernoulliMixture(2, random_state=0).fit(patterns, sample_weight=[500, 700, 800, 900])


def test_rows_given_twice_with_half_the_weight_are_not_doubted() -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeightsTooSmall)
        latens.GaussianMixture(2, random_state=0).fit(np.repeat(X, 2, axis=0), sample_weight=np.full(120, 0.5))
    with pytest.warns(WeightsTooSmall):
        latens.GaussianMixture(2, random_state=0).fit(np.repeat(X, 2, axis=0), sample_weight=np.full(120, 0.4))


def test_a_stream_of_weights_that_count_little_is_doubted_too() -> None:
    X = normal_clusters(100, 2, 3)
    model = latens.GaussianMixture(2, random_state=0).partial_fit(X)
    with pytest.warns(WeightsTooSmall, match="adds up to 10 over 100 rows"):
        model.partial_fit(X, sample_weight=np.full(100, 0.1))


def test_hardly_any_weight_ends_as_soon_as_any_other() -> None:
    X, _ = latens.datasets.make_shapes(60, random_state=0)
    model = latens.BinaryFactorAnalysis(4, n_init=1, moves=False, random_state=0)
    with pytest.warns(WeightsTooSmall):
        model.fit(X, sample_weight=np.full(60, 1e-9))
    assert model.converged_


@pytest.mark.parametrize("estimator", [latens.BernoulliMixture, latens.GaussianMixture])
def test_rows_that_repeat_each_other_are_clusters(estimator: Any) -> None:
    X = np.repeat([[1.0, 1, 0, 0], [0, 0, 1, 1]], 250, axis=0)
    assert estimator(random_state=0).fit(X).n_components_ == 2


def test_rounded_measurements_are_more_than_one_cluster() -> None:
    rng = np.random.default_rng(0)
    A = np.concatenate([rng.normal(size=(250, 2)), 6 + rng.normal(size=(250, 2))])
    assert latens.GaussianMixture(random_state=0).fit(np.round(A / 3)).n_components_ > 1
