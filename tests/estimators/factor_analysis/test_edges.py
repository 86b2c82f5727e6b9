"""FactorAnalysis where rows are few, batches tiny, columns empty or late, and streams begun again."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis as Peer
from sklearn.exceptions import ConvergenceWarning

import latens
from latens.errors import NeverSeen, NothingFound
from latens.metrics import covariance_distance
from latens.models.factor_analysis.sums_wide import FewRows


def rows(n: int, d: int, k: int, seed: int = 0, **options: Any) -> tuple[np.ndarray, Any]:
    return latens.datasets.make_factor_model(n, n_features=d, n_components=k, random_state=seed, **options)


def gap(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.max(np.abs(one - two)) / np.max(np.abs(two)))


def streamed(model: Any, X: np.ndarray, *sizes: int) -> Any:
    """The rows in batches of these sizes, the last size repeated."""
    at, left = 0, list(sizes)
    while at < len(X):
        size = left.pop(0) if len(left) > 1 else left[0]
        model.partial_fit(X[at : at + size])
        at += size
    return model


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_far_more_columns_than_rows_need_nothing_of_the_size_of_a_covariance(prior: str) -> None:
    X = np.random.default_rng(0).normal(size=(8, 3000))
    latens.FactorAnalysis(2, prior=prior).fit(X[:, :30])  # loads what there is to load
    tracemalloc.start()
    model = latens.FactorAnalysis(2, prior=prior, tol=1e-3).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * X.nbytes < 3000 * 3000 * 8 / 4
    assert isinstance(model._state.data, FewRows)
    assert np.isfinite(model.score_samples(X)).all()


def test_the_likelihood_of_few_rows_is_at_least_that_of_scikit_learn() -> None:
    X, _ = rows(40, 400, 3, spectrum=(1, 100))
    model, peer = latens.FactorAnalysis(3).fit(X), Peer(3, tol=1e-9, max_iter=10000, svd_method="lapack").fit(X)
    assert model.score(X) >= peer.score(X) - 1e-9
    assert model.elbo_ == pytest.approx(multivariate_normal(model.mean_, model.get_covariance()).logpdf(X).sum())


@pytest.mark.parametrize("prior", ["ml", "ard"])
@pytest.mark.parametrize("n", [60, 400])
def test_a_stream_that_begins_with_fewer_rows_than_columns_is_one_fit(n: int, prior: str) -> None:
    X, _ = rows(n, 320, 3, spectrum=(1, 100))
    whole = latens.FactorAnalysis(3, prior=prior).fit(X)
    for sizes in ((1, 39, 360), (57, 3, 340)):
        stream = streamed(latens.FactorAnalysis(3, prior=prior), X, *sizes)
        assert gap(stream.get_covariance(), whole.get_covariance()) < (1e-10 if prior == "ml" else 1e-9)
        assert stream.elbo_ / n == pytest.approx(whole.elbo_ / n, abs=1e-10)


def test_few_rows_with_any_holes_are_fitted_as_rows() -> None:
    X = rows(50, 60, 2)[0].copy()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    whole = latens.FactorAnalysis(2).fit(X)
    stream = streamed(latens.FactorAnalysis(2), X, 7, 20, 23)
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-10)
    cov, height = whole.get_covariance(), 0.0
    for row, there in zip(X, ~np.isnan(X), strict=True):
        height += multivariate_normal(whole.mean_[there], cov[np.ix_(there, there)]).logpdf(row[there])
    assert whole.elbo_ == pytest.approx(height)


@pytest.mark.parametrize("holes", ["one", "patterns"])
def test_rows_added_to_a_fit_with_holes_count_as_if_they_had_been_there(holes: str) -> None:
    X = rows(600, 10, 2, seed=3)[0].copy()
    if holes == "one":
        X[0, 3] = np.nan
    else:
        X[::3, 2], X[1::3, 5:7] = np.nan, np.nan
    more = latens.FactorAnalysis(2).fit(X[:100])
    for at in range(100, 600, 100):
        more.partial_fit(X[at : at + 100])
    whole, stream = latens.FactorAnalysis(2).fit(X), streamed(latens.FactorAnalysis(2), X, 100)
    assert gap(more.get_covariance(), whole.get_covariance()) < 1e-10
    assert gap(stream.get_covariance(), whole.get_covariance()) < 1e-10
    assert more.elbo_ == pytest.approx(whole.elbo_, rel=1e-12)


def test_many_patterns_of_holes_are_fitted_on_the_rows() -> None:
    X = rows(300, 12, 2)[0].copy()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    model = latens.FactorAnalysis(2).fit(X)
    assert model.elbo_ == pytest.approx(float(np.sum(model.score_samples(X))))
    stream = streamed(latens.FactorAnalysis(2), X, 100)
    assert float(np.sum(stream.score_samples(X))) <= model.elbo_ + 1e-2


@pytest.mark.parametrize("solver", ["online-em", "online-sga"])
def test_a_warm_start_of_an_online_solver_sees_the_rows_anew(solver: str) -> None:
    X, _ = rows(300, 12, 2)
    model = latens.FactorAnalysis(2, warm_start=True, solver=solver, random_state=0).fit(X)
    first = model.elbo_
    model.fit(X)
    assert model._state.q.count == 300
    assert model._state.stats.n == 300
    assert model.elbo_ > first


@pytest.mark.parametrize("solver", ["online-em", "online-sga", "transport"])
def test_a_pass_over_a_stream_does_not_claim_to_have_converged(solver: str) -> None:
    X, _ = rows(300, 12, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = latens.FactorAnalysis(2, solver=solver, random_state=0).fit(X)
    assert not model.converged_


def test_divergence_is_reported_once() -> None:
    X, _ = rows(400, 12, 3, spectrum=(1, 1e8))
    with pytest.warns(ConvergenceWarning) as caught:
        latens.FactorAnalysis(3, solver="online-sga", random_state=0).fit(X)
    assert ["diverged" in str(warning.message) for warning in caught] == [True]
    assert caught[0].filename == __file__


@pytest.mark.parametrize("first", [100, 300])
def test_transport_lets_a_noise_fall_to_zero(first: int) -> None:
    X = rows(3000, 10, 2, seed=1)[0].copy()
    X[:, 1] = X[:, 0]
    exact = latens.FactorAnalysis(2).fit(X)
    stream = streamed(latens.FactorAnalysis(2, solver="transport", random_state=0), X, first, 500)
    assert np.all(stream.noise_variance_[:2] < 1.1e-6 * X.var(axis=0)[:2])
    assert stream.score(X) > exact.score(X) - 0.1  # 3.5 with the noise of one part in a thousand


@pytest.mark.parametrize("first", [1, 2, 5])
def test_transport_recovers_from_a_tiny_first_batch(first: int) -> None:
    X, truth = rows(4000, 50, 3, seed=3)
    exact = covariance_distance(latens.FactorAnalysis(3).fit(X), truth)
    stream = latens.FactorAnalysis(3, solver="transport", random_state=0).partial_fit(X[:first])
    assert stream.solver_ == "transport"
    assert np.isfinite(stream.score_samples(X[:50])).all()
    for at in range(first, 4000, 400):
        stream.partial_fit(X[at : at + 400])
    assert stream._state.q.n_components == 9
    assert stream._state.stats.n == 4000
    assert covariance_distance(stream, truth) < 1.03 * exact


def test_transport_waits_for_rows_that_differ() -> None:
    X, truth = rows(4000, 50, 3, seed=4)
    again = np.tile(X[:2], (100, 1))
    exact = covariance_distance(latens.FactorAnalysis(3).fit(np.concatenate([again, X[2:]])), truth)
    stream = latens.FactorAnalysis(3, solver="transport", random_state=0).partial_fit(again)
    assert stream._state.stats.n == 200
    assert stream.mean_ == pytest.approx(X[:2].mean(axis=0))
    streamed(stream, X[2:], 9, 500)
    assert stream._state.stats.n == 200 + 3998
    assert covariance_distance(stream, truth) < 1.05 * exact


@pytest.mark.parametrize("solver", ["exact", "transport", "online-em", "online-sga"])
@pytest.mark.parametrize("scale", [1e-150, 1.0])
def test_a_first_batch_of_one_row_is_answered(solver: str, scale: float) -> None:
    X = scale * (rows(200, 6, 2)[0] + 1e3)
    if solver.startswith("online"):
        X = X / scale  # they know no other unit
    model = latens.FactorAnalysis(2, solver=solver, random_state=0).partial_fit(X[:1])
    assert model.mean_ == pytest.approx(X[0])
    assert np.isfinite(model.transform(X[:3])).all()
    assert np.all(model.noise_variance_ >= 0)
    assert np.isfinite(model.elbo_)
    streamed(model, X[1:], 1, 2, 96, 100)
    assert model.mean_ == pytest.approx(X.mean(axis=0))
    if solver == "exact":
        whole = latens.FactorAnalysis(2).fit(X)
        assert gap(model.get_covariance(), whole.get_covariance()) < 1e-8
        assert model.elbo_ == pytest.approx(whole.elbo_, rel=1e-10)


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_a_column_without_a_value_is_named_and_guessed(prior: str) -> None:
    X = rows(200, 8, 2)[0] * 3 + 50
    gappy = X.copy()
    gappy[:, 5] = np.nan
    with pytest.warns(NeverSeen, match="x5 of X hold nothing but NaN"):
        model = latens.FactorAnalysis(2, prior=prior).fit(gappy)
    filled, std = model.impute(gappy, return_std=True)
    others = np.delete(X, 5, axis=1)
    wanted = np.sqrt(others.var(axis=0).mean() + others.mean(axis=0).var())
    assert filled[:, 5] == pytest.approx(others.mean(axis=0).mean(), rel=0.01)
    assert std[:, 5] == pytest.approx(wanted, rel=0.15)
    assert np.abs(X[:, 5] - filled[:, 5]).mean() < 2 * std[0, 5]
    alone = latens.FactorAnalysis(2, prior=prior).fit(others)
    rest = np.delete(np.arange(8), 5)
    assert gap(model.get_covariance()[np.ix_(rest, rest)], alone.get_covariance()) < 2e-2
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("level", [1e6, 1e9])
def test_a_column_first_seen_in_a_later_batch_gets_an_origin_of_its_own(level: float) -> None:
    X = rows(600, 6, 2)[0].copy()
    X[:, 2] += level
    X[:300, 2] = np.nan
    whole = latens.FactorAnalysis(2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stream = latens.FactorAnalysis(2).partial_fit(X[:200]).partial_fit(X[200:400]).partial_fit(X[400:])
    assert stream._units.unseen == ()
    assert stream.elbo_ == pytest.approx(whole.elbo_, abs=1e-3)
    assert stream.mean_[2] == pytest.approx(whole.mean_[2], rel=1e-12)


def test_rows_that_cannot_be_squared_beside_the_first_are_refused() -> None:
    X = rows(100, 6, 2)[0] * 1e160
    X[:50] = 0
    model = latens.FactorAnalysis(2).partial_fit(X[:50])
    with pytest.raises(ValueError, match=r"divide all of them by \de\+16\d"):
        model.partial_fit(X[50:])
    assert model._state.stats.n == 50


def test_covariances_of_factors_have_a_shape_that_only_holes_decide() -> None:
    X = rows(50, 6, 2)[0]
    model = latens.FactorAnalysis(2).fit(X)
    gappy = X.copy()
    gappy[:, 2] = np.nan
    for n in (1, 3):
        assert model.transform(X[:n], return_cov=True)[1].shape == (2, 2)
        assert model.transform(gappy[:n], return_cov=True)[1].shape == (n, 2, 2)


def test_relevance_determination_finds_no_factor_in_two_rows() -> None:
    for seed in range(8):
        X = np.random.default_rng(seed).normal(size=(2, 12))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NothingFound)
            model = latens.FactorAnalysis(prior="ard").fit(X)
        assert model.n_components_ == 0
        assert model.n_iter_ < 10
        assert np.isfinite(model.score_samples(X)).all()


def test_relevance_determination_keeps_factors_of_few_rows_and_many_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 2500)) + rng.normal(size=(12, 2500))
    assert latens.FactorAnalysis(2, prior="ard", tol=1e-4).fit(X).n_components_ == 2


@pytest.mark.parametrize(("solver", "holes"), [("exact", False), ("exact", True), ("transport", False)])
def test_streams_that_still_keep_rows_go_on_after_saving(solver: str, holes: bool, tmp_path: Any) -> None:
    X = rows(60, 40, 2)[0].copy()
    if holes:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
        X[:, 7] = np.nan
    model = latens.FactorAnalysis(2, solver=solver, random_state=0)
    model.partial_fit(X[:4], sample_weight=np.array([1.0, 2.0, 0.0, 1.5])).partial_fit(X[4:8])
    latens.save(model, tmp_path / "few.latens")
    again = latens.load(tmp_path / "few.latens")
    assert isinstance(again._state.data, FewRows)
    assert again._units.unseen == model._units.unseen
    for one in (model, again):
        one.partial_fit(X[8:])
    assert np.array_equal(again.get_covariance(), model.get_covariance())
