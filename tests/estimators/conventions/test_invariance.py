"""What must not matter to any estimator: the order, repetition and blocks of rows, units, threads, precision."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import latens
from tests.estimators.subjects import VARIANTS, Subject, shared_fit, table, targets

COMPLETE = [(name, False) for name in VARIANTS]
BOTH = [*COMPLETE, *((name, True) for name in VARIANTS if VARIANTS[name].missing)]


class Case:
    """A variant, its rows, and a fit to them that all tests share."""

    def __init__(self, name: str, holes: bool) -> None:
        self.subject: Subject = VARIANTS[name]
        self.X, self.y = table(self.subject, holes), targets(table(self.subject))
        self.plain = shared_fit(name, holes)

    def fit(self, X: np.ndarray, y: np.ndarray | None = None, sample_weight: Any = None) -> Any:
        model = self.subject.make()
        if self.subject.supervised:
            return model.fit(X, self.y if y is None else y, sample_weight=sample_weight)
        return self.subject.fit_to(model, X, sample_weight)

    def assert_same(self, model: Any, other: Any = None) -> None:
        """The fit is the shared one, or another, up to the tolerance of its iterations."""
        other = self.plain if other is None else other
        assert model.elbo_ == pytest.approx(other.elbo_, rel=1e-7)
        one, two = (self.subject.answer(m, self.X) for m in (model, other))
        assert one.shape == two.shape
        assert one == pytest.approx(two, rel=1e-6, abs=1e-6)
        if not self.subject.supervised:
            assert model.score_samples(self.X) == pytest.approx(other.score_samples(self.X), rel=1e-6, abs=1e-6)


@pytest.fixture(params=BOTH, ids=[f"{name}-{'holes' if holes else 'complete'}" for name, holes in BOTH])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


@pytest.fixture(params=COMPLETE, ids=[name for name, _ in COMPLETE])
def complete(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


def test_the_order_of_rows_changes_nothing(case: Case) -> None:
    turn = np.random.default_rng(1).permutation(len(case.X))
    case.assert_same(case.fit(case.X[turn], case.y[turn]))


def test_blocks_of_rows_change_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.core.rows.BLOCK_FLOATS", 1)  # 64 rows a block
    case.assert_same(case.fit(case.X))


def test_repeating_rows_is_weighting_them(case: Case) -> None:
    times = np.random.default_rng(2).integers(0, 4, len(case.X))
    weighted = case.fit(case.X, sample_weight=times)
    case.assert_same(weighted, case.fit(np.repeat(case.X, times, axis=0), np.repeat(case.y, times)))


def test_unit_weights_are_no_weights(complete: Case) -> None:
    complete.assert_same(complete.fit(complete.X, sample_weight=np.ones(len(complete.X))))


def test_rows_of_weight_zero_are_absent_whatever_they_hold(complete: Case) -> None:
    value = 1.0 if complete.subject.binary else 1e30
    strange = np.vstack([complete.X, np.full((3, complete.X.shape[1]), value)])
    weight = np.append(np.ones(len(complete.X)), np.zeros(3))
    complete.assert_same(complete.fit(strange, np.append(complete.y, [5.0, -5.0, 9.0]), sample_weight=weight))


def test_rows_with_nothing_observed_change_nothing(complete: Case) -> None:
    if complete.subject.missing:
        complete.assert_same(complete.fit(np.vstack([np.full((9, complete.X.shape[1]), np.nan), complete.X])))


@pytest.mark.parametrize("c", [2.0**-498, 1e-3, 1e150], ids=lambda c: f"{c:.0e}")
def test_the_unit_of_measurement_changes_nothing(case: Case, c: float) -> None:
    subject, X = case.subject, case.X
    if subject.binary:
        return  # zeros and ones have no unit
    other = case.fit(c * X)
    assert subject.answer(other, c * X) == pytest.approx(subject.answer(case.plain, X), rel=1e-3, abs=2e-3)
    if subject.supervised:  # the density of targets has their unit, which has not changed
        return
    seen = np.sum(~np.isnan(X), axis=1)
    assert other.elbo_ + seen.sum() * np.log(c) == pytest.approx(case.plain.elbo_, abs=1e-3 * len(X))
    scores = other.score_samples(c * X) + seen * np.log(c)
    assert scores == pytest.approx(case.plain.score_samples(X), abs=5e-3)
    assert other.impute(c * X) / c == pytest.approx(case.plain.impute(X), rel=2e-3, abs=2e-3)


def test_single_precision_finds_what_double_finds(case: Case) -> None:
    X = case.X.astype(np.float32)
    single = case.fit(X)
    assert single.elbo_ == pytest.approx(case.plain.elbo_, abs=0.02 * len(X))
    codes = case.subject.answer(single, X)
    assert codes == pytest.approx(case.subject.answer(case.plain, case.X), abs=0.03)
    if not case.subject.supervised:
        assert codes.dtype == np.float32


def test_neither_fitting_nor_asking_changes_the_rows(complete: Case) -> None:
    X, weight = complete.X.copy(), np.ones(len(complete.X))
    X.flags.writeable = weight.flags.writeable = False
    model = complete.fit(X, sample_weight=weight)
    complete.subject.answer(model, X)
    complete.subject.stream_to(model, X)
    assert np.array_equal(X, complete.X)


def test_a_stream_has_counted_every_row_and_entry_however_it_is_cut(case: Case) -> None:
    for cuts in ((60,), (60, 61, 90)):
        model = case.subject.make()
        for part, y in zip(np.split(case.X, cuts), np.split(case.y, cuts), strict=True):
            case.subject.learn(lambda X, *_, m=model, y=y, **__: m.partial_fit(X, y), part)
        stats = model._state.stats
        if stats is not None:  # a stream may wait until it has seen enough
            assert stats.n == pytest.approx(len(case.X))


def test_weights_of_a_stream_are_repetitions(complete: Case) -> None:
    times = 1 + np.random.default_rng(3).integers(0, 2, len(complete.X))
    one, two = complete.subject.make(), complete.subject.make()
    for rows in (slice(0, 70), slice(70, None)):
        X, y, w = complete.X[rows], complete.y[rows], times[rows]
        one.partial_fit(X, y, sample_weight=w)
        two.partial_fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    complete.assert_same(one, two)


def test_a_stream_may_begin_with_a_fit_and_refuses_other_columns(complete: Case) -> None:
    model = copy.deepcopy(complete.plain)
    complete.subject.stream_to(model, complete.X[:10])
    assert np.all(np.isfinite(complete.subject.answer(model, complete.X)))
    before = dict(vars(model))
    with pytest.raises(ValueError, match="features"):
        complete.subject.stream_to(model, complete.X[:, :3])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


OWN_UNITS: dict[str, Any] = {
    "full clusters": latens.GaussianMixture(4, random_state=0),
    "tied clusters": latens.GaussianMixture(4, covariance_type="tied", random_state=0),
    "diagonal clusters": latens.GaussianMixture(4, covariance_type="diag", random_state=0),
    "classes": latens.LatentClassAnalysis(3, random_state=0),
    "causes": latens.BinaryFactorAnalysis(3, noise="diagonal", random_state=0, max_iter=30),
}


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", OWN_UNITS)
def test_columns_in_units_of_powers_of_two_give_the_same_bits(name: str, holes: bool) -> None:
    """Of models whose columns have noise of their own, from a sample of the rows."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(90, 5)) @ rng.normal(size=(5, 5)) + 3 * rng.integers(0, 3, size=(90, 1))
    if holes:
        x[rng.random(x.shape) < 0.1] = np.nan
    exponents = np.array([0, 7, -3, 12, -20])
    models = []
    for unit in (np.ones(5), 2.0**exponents):
        model = clone(OWN_UNITS[name])
        model.sample_size = 30
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(model.fit(x * unit))
    one, other = models
    volume = math.log(2) * float(exponents @ np.sum(~np.isnan(x), axis=0))
    assert np.array_equal(one.transform(x), other.transform(x * 2.0**exponents))
    assert len(one.elbo_history_) == len(other.elbo_history_)
    assert other.elbo_ + volume == pytest.approx(one.elbo_, rel=1e-13)
