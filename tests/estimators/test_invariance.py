"""What must not matter: the order, repetition and blocks of rows, the unit, the origin, threads, precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from latens.estimators.binary_factors import BinaryFactorAnalysis
from latens.estimators.rows import sampling
from tests.estimators.settings import Make, switched_rows


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def table(request: pytest.FixtureRequest, X: np.ndarray) -> np.ndarray:
    if not request.param:
        return X
    return np.where(np.random.default_rng(7).random(X.shape) < 0.1, np.nan, X)


def assert_same_fit(one: BinaryFactorAnalysis, two: BinaryFactorAnalysis, X: np.ndarray) -> None:
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-7)
    assert two.n_components_ == one.n_components_
    assert two.components_ == pytest.approx(one.components_, rel=1e-6, abs=1e-7)
    assert two.usage_ == pytest.approx(one.usage_, abs=1e-7)
    assert two.transform(X) == pytest.approx(one.transform(X), abs=1e-6)
    assert two.score_samples(X) == pytest.approx(one.score_samples(X), rel=1e-6, abs=1e-6)


def test_order_of_rows_changes_nothing(make: Make, table: np.ndarray) -> None:
    shuffled = table[np.random.default_rng(1).permutation(len(table))]
    assert_same_fit(make(4).fit(table), make(4).fit(shuffled), table)


def test_blocks_of_rows_change_nothing(make: Make, table: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    one = make(4).fit(table)
    monkeypatch.setattr(sampling, "BLOCK_FLOATS", 1)  # 64 rows a block
    assert_same_fit(one, make(4).fit(table), table)


def test_repeating_rows_is_weighting_them(make: Make, table: np.ndarray) -> None:
    times = np.random.default_rng(2).integers(0, 4, len(table))
    weighted = make(4).fit(table, sample_weight=times)
    assert_same_fit(weighted, make(4).fit(np.repeat(table, times, axis=0)), table)


def test_repeating_every_row_is_weighting_every_row(make: Make, table: np.ndarray) -> None:
    weighted = make(4).fit(table, sample_weight=np.full(len(table), 3))
    assert_same_fit(weighted, make(4).fit(np.repeat(table, 3, axis=0)), table)


def test_unit_weights_are_no_weights(make: Make, table: np.ndarray) -> None:
    assert_same_fit(make(4).fit(table), make(4).fit(table, sample_weight=np.ones(len(table))), table)


def test_rows_of_weight_zero_are_absent_whatever_they_hold(make: Make, table: np.ndarray) -> None:
    strange = np.vstack([table, 1e30 * np.ones((3, table.shape[1]))])
    weight = np.append(np.ones(len(table)), np.zeros(3))
    assert_same_fit(make(4).fit(table), make(4).fit(strange, sample_weight=weight), table)


def test_rows_with_nothing_observed_change_nothing(make: Make, table: np.ndarray) -> None:
    padded = np.vstack([np.full((9, table.shape[1]), np.nan), table])
    assert_same_fit(make(4).fit(table), make(4).fit(padded), table)


def test_masked_and_plain_rows_are_fitted_alike(make: Make, X: np.ndarray) -> None:
    """One hole takes all columns through the equations for missing entries."""
    holed = X.copy()
    holed[0, 0] = np.nan
    one, two = make().fit(holed), make().fit(X)
    assert one.elbo_ == pytest.approx(two.elbo_, abs=10)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_change_no_bit(n_jobs: int, X: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in (sampling.BLOCK_FLOATS, 1):  # restarts in threads, then blocks in threads
        monkeypatch.setattr(sampling, "BLOCK_FLOATS", block)
        alone, many = (BinaryFactorAnalysis(5, n_init=3, random_state=0, n_jobs=n).fit(X) for n in (1, n_jobs))
        assert np.array_equal(alone.elbo_history_, many.elbo_history_)
        assert np.array_equal(alone.components_, many.components_)


def test_watching_a_fit_changes_no_bit(X: np.ndarray) -> None:
    plain, watched = (BinaryFactorAnalysis(5, random_state=0, callbacks=c).fit(X) for c in (None, lambda event: None))
    assert np.array_equal(plain.elbo_history_, watched.elbo_history_)


SCALES = [2.0**-498, 1e-150, 1e-3, 7.0, 2.0**40, 1e150]


@pytest.mark.parametrize("c", SCALES)
def test_the_unit_of_measurement_changes_nothing(make: Make, table: np.ndarray, c: float) -> None:
    one, two = make().fit(table), make().fit(c * table)
    entries = np.sum(~np.isnan(table))
    # an origin is rounded to a grid of powers of two, about which the prior of an intercept is centred
    per_row = 1e-9 if np.log2(c).is_integer() else 1e-4 if one.fit_intercept else 1e-6
    assert two.elbo_ + entries * np.log(c) == pytest.approx(one.elbo_, abs=per_row * len(table))
    assert two.components_ / c == pytest.approx(one.components_, rel=1e-3, abs=1e-3)
    assert two.intercept_ / c == pytest.approx(one.intercept_, rel=1e-3, abs=1e-3)
    assert np.sqrt(two.noise_variance_) / c == pytest.approx(np.sqrt(one.noise_variance_), rel=1e-3)
    assert two.usage_ == pytest.approx(one.usage_, abs=1e-4)
    observed = np.sum(~np.isnan(table), axis=1)
    assert two.score_samples(c * table) + observed * np.log(c) == pytest.approx(one.score_samples(table), abs=1e-3)
    assert two.impute(c * table) / c == pytest.approx(one.impute(table), rel=1e-3, abs=1e-3)
    assert two.transform(c * table) == pytest.approx(one.transform(table), abs=1e-3)


@pytest.mark.parametrize("c", [1e-15, 1e-3, 1e15])
def test_the_unit_of_measurement_changes_nothing_in_single_precision(make: Make, X: np.ndarray, c: float) -> None:
    single = (c * X).astype(np.float32)
    one, two = make().fit(X), make().fit(single)
    assert two.elbo_ + X.size * np.log(c) == pytest.approx(one.elbo_, abs=0.01 * len(X))
    assert two.components_ / c == pytest.approx(one.components_, rel=0.02, abs=0.02)
    codes = two.transform(single)
    assert codes.dtype == np.float32
    assert codes == pytest.approx(one.transform(X), abs=0.02)
    assert two.score_samples(single) + X.shape[1] * np.log(c) == pytest.approx(one.score_samples(X), abs=0.02)


def test_columns_of_different_size_are_fitted_together(X: np.ndarray) -> None:
    sizes = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6, 1.0])
    model = BinaryFactorAnalysis(3, noise="diagonal", random_state=0).fit(X * sizes)
    assert np.all(np.isfinite(model.components_))
    assert model.score(X * sizes) > -np.inf


@pytest.mark.parametrize("shift", [10.0, 1e4, -1e6])
def test_an_intercept_absorbs_the_origin(X: np.ndarray, shift: float) -> None:
    one, two = (BinaryFactorAnalysis(3, fit_intercept=True, random_state=0).fit(x) for x in (X, X + shift))
    assert two.elbo_ == pytest.approx(one.elbo_, abs=0.01 * len(X))
    assert two.components_ == pytest.approx(one.components_, abs=0.01)
    assert two.intercept_ - shift == pytest.approx(one.intercept_, abs=0.01)
    assert two.transform(X + shift) == pytest.approx(one.transform(X), abs=0.01)


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_large_means_in_single_precision_are_absorbed_by_the_intercept(prior: str) -> None:
    X = switched_rows(400)
    double = BinaryFactorAnalysis(3, prior=prior, fit_intercept=True, random_state=0).fit(X)
    far = (X + 1e4).astype(np.float32)  # about three digits of the deviations are left
    single = BinaryFactorAnalysis(3, prior=prior, fit_intercept=True, random_state=0).fit(far)
    assert single.components_ == pytest.approx(double.components_, abs=0.05)
    assert single.intercept_ - 1e4 == pytest.approx(double.intercept_, abs=0.05)
    assert np.mean(np.abs(single.transform(far) - double.transform(X))) < 0.01
    assert np.all(np.isfinite(single.score_samples(far)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.int64, np.uint8, bool, object])
def test_every_kind_of_number_is_taken(dtype: Any) -> None:
    X = np.round(np.abs(switched_rows(80))).astype(dtype)
    model = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X)
    expected = np.float32 if dtype in (np.float16, np.float32) else np.float64
    assert model.transform(X).dtype == expected
    assert model.score_samples(X).dtype == expected
    assert model.impute(X).dtype == expected
    plain = BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(X.astype(float))
    assert model.elbo_ == pytest.approx(plain.elbo_, abs=0.01 * len(X))


def test_the_layout_of_memory_changes_nothing(X: np.ndarray) -> None:
    plain = BinaryFactorAnalysis(3, random_state=0).fit(X)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X.tolist()):
        assert BinaryFactorAnalysis(3, random_state=0).fit(other).elbo_ == pytest.approx(plain.elbo_, rel=1e-12)


def test_rows_given_to_fit_are_not_changed(make: Make, table: np.ndarray) -> None:
    before, weight = table.copy(), np.ones(len(table))
    table.flags.writeable = weight.flags.writeable = False
    model = make().fit(table, sample_weight=weight)
    model.transform(table)
    model.impute(table)
    model.partial_fit(table)
    assert np.array_equal(table, before, equal_nan=True)


def test_single_precision_finds_what_double_finds(make: Make, table: np.ndarray) -> None:
    single, double = (make().fit(table.astype(dtype)) for dtype in (np.float32, np.float64))
    assert single.elbo_ == pytest.approx(double.elbo_, abs=0.01 * len(table))
    assert single.components_ == pytest.approx(double.components_, abs=0.01)
    assert single.components_.dtype == np.float64


def test_counts_of_a_stream_do_not_depend_on_how_it_is_cut(make: Make, table: np.ndarray) -> None:
    def stream(*cuts: int) -> BinaryFactorAnalysis:
        model = make()
        for part in np.split(table, cuts):
            model.partial_fit(part)
        return model

    for cuts in ((60,), (60, 61, 100), (60, 90, 110)):
        stats = stream(*cuts).state_.stats
        assert stats.n == pytest.approx(len(table))
        assert stats.seen == pytest.approx(np.sum(~np.isnan(table), axis=0))
        assert stats.entries == pytest.approx(np.sum(~np.isnan(table)))


def test_a_stream_ends_near_the_batch_fit() -> None:
    X = switched_rows(1200)
    batch = BinaryFactorAnalysis(3, random_state=0).fit(X)
    stream = BinaryFactorAnalysis(3, random_state=0)
    for part in np.array_split(X, 12):
        assert stream.partial_fit(part) is stream
    start = BinaryFactorAnalysis(1, random_state=0).fit(X).score(X)
    assert stream.n_components_ == 3
    assert stream.score(X) > batch.score(X) - 0.01 * (batch.score(X) - start)
    assert len(stream.elbo_history_) == stream.n_iter_


def test_a_stream_may_begin_with_a_fit(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, random_state=0).fit(X[:100]).partial_fit(X[100:])
    assert model.state_.stats.n == len(X)
    assert np.all(np.isfinite(model.transform(X)))


def test_the_first_batch_of_a_stream_does_not_warn_about_iterations(X: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        BinaryFactorAnalysis(3, max_iter=2, random_state=0).partial_fit(X)


def test_weights_of_a_stream_are_repetitions(X: np.ndarray) -> None:
    times = np.random.default_rng(3).integers(0, 3, len(X))
    one, two = BinaryFactorAnalysis(3, random_state=0), BinaryFactorAnalysis(3, random_state=0)
    for rows in (slice(0, 80), slice(80, None)):
        one.partial_fit(X[rows], sample_weight=times[rows])
        two.partial_fit(np.repeat(X[rows], times[rows], axis=0))
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-9)


def test_a_batch_with_nothing_in_it_changes_nothing(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, random_state=0).fit(X)
    before = model.components_.copy(), model.state_.stats.n
    model.partial_fit(np.full((4, X.shape[1]), np.nan))
    assert model.components_ == pytest.approx(before[0], rel=1e-3, abs=1e-3)
    assert model.state_.stats.n == before[1]


def test_a_stream_refuses_other_columns_and_stays_as_it_was(X: np.ndarray) -> None:
    model = BinaryFactorAnalysis(3, random_state=0).partial_fit(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3])
    assert vars(model) == before
