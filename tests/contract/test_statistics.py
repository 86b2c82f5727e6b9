"""Sums over rows: a vector space in which splits, order, weights and schedules are nothing special."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows
from latens.inference.online import Accumulate, RobbinsMonro
from tests.contract.cases import CASES, Case, bound, posterior_midway, random_rows
from tests.contract.measurements.checks import mismatch_of_rows


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def rows(request: pytest.FixtureRequest) -> Rows:
    return random_rows(np.random.default_rng(11), 50, 4, holes=request.param, weighted=True)


@pytest.fixture
def model_and_q(case: Case, rows: Rows) -> tuple[Any, Any]:
    return posterior_midway(case, rows, 3, np.random.default_rng(12))


def summed(model: Any, q: Any, rows: Rows) -> Any:
    return model.statistics(rows, model.local_step(q, rows))


def assert_same(one: Any, two: Any) -> None:
    for f in fields(one):
        a, b = getattr(one, f.name), getattr(two, f.name)
        if isinstance(a, Mapping):
            assert list(a) == list(b)
            for key in a:
                assert_same(a[key], b[key])
            continue
        if a is None:  # a sum that this model does not take
            assert b is None
            continue
        assert b == pytest.approx(a, rel=1e-10, abs=1e-10 * (1 + np.max(np.abs(a), initial=0.0))), f.name


def test_data_terms_are_linear_in_statistics(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    one, two = summed(model, q, rows[:20]), summed(model, q, rows[20:])
    mixed = model.data_terms(q, 2.5 * one + 0.25 * two)
    single = model.data_terms(q, one), model.data_terms(q, two)
    assert mixed == pytest.approx({name: 2.5 * single[0][name] + 0.25 * single[1][name] for name in mixed}, rel=1e-12)


def test_global_terms_see_no_data_and_every_term_is_named(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    local, global_ = model.data_terms(q, summed(model, q, rows)), model.global_terms(q)
    assert not set(local) & set(global_)
    assert all(isinstance(value, float) for value in (*local.values(), *global_.values()))


def test_splits_change_nothing(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    parts = [rows[:1], rows[1:30], rows[30:]]
    first, second, third = (summed(model, q, part) for part in parts)
    assert_same(summed(model, q, rows), first + second + third)


def test_order_changes_nothing(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    assert_same(summed(model, q, rows), summed(model, q, rows[::-1]))


def test_weights_are_repetitions(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    times = rows.weight.astype(int)
    seen = None if rows.seen is None else np.repeat(rows.seen, times, axis=0)
    assert_same(summed(model, q, rows), summed(model, q, Rows(np.repeat(rows.x, times, axis=0), seen)))


def test_rows_of_weight_zero_are_absent(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    there = rows.weight > 0
    assert not there.all()
    seen = None if rows.seen is None else rows.seen[there]
    assert_same(summed(model, q, rows), summed(model, q, Rows(rows.x[there], seen, rows.weight[there])))


def test_missing_entries_may_hold_anything_by_zero_times_nothing(case: Case) -> None:
    """A row that misses a column says what a row without that column says."""
    rng = np.random.default_rng(13)
    rows = random_rows(rng, 20, 3, holes=False, weighted=True)
    seen = np.ones((20, 3), bool)
    seen[:, 2] = False
    gappy = Rows(np.where(seen, rows.x, 0.0), seen, rows.weight)
    model, q = posterior_midway(case, rows, 2, rng)
    stats = summed(model, q, gappy)
    assert np.sum(stats.entries) == pytest.approx(2 * rows.n)
    if hasattr(stats, "zx"):  # others fill a missing entry in, or keep their sums by component
        assert stats.seen == pytest.approx([rows.n, rows.n, 0.0])
        assert np.all(stats.zx[:, 2] == 0)
        assert np.all(stats.zz[2] == 0)


def test_complete_and_gappy_blocks_add(case: Case) -> None:
    rng = np.random.default_rng(14)
    plain = random_rows(rng, 20, 4, holes=False, weighted=True)
    gappy = random_rows(rng, 20, 4, holes=True, weighted=True)
    model, q = posterior_midway(case, gappy, 3, rng)
    masked = replace(plain, seen=np.ones(plain.x.shape, bool))
    other = summed(model, q, gappy)
    one, two = summed(model, q, plain) + other, other + summed(model, q, masked)
    assert_same(one, two)
    after, again = model.global_step(q, one), model.global_step(q, two)
    assert bound(model, after, one) == pytest.approx(bound(model, again, two), rel=1e-11)


def test_row_bounds_add_up_to_the_data_terms(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    local = model.local_step(q, rows)
    terms = sum(model.data_terms(q, model.statistics(rows, local)).values())
    assert model.row_bounds(q, rows, local) @ rows.weight == pytest.approx(terms, rel=1e-11)


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_row_bounds_add_up_under_a_posterior_of_rows_with_other_holes(case: Case, holes: bool) -> None:
    """Complete rows leave one precision for all columns, gappy rows one each; each must serve the other's rows."""
    assert mismatch_of_rows(case, case.build, holes) < 1e-11


def test_accumulating_batches_is_adding_them(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    one, two = summed(model, q, rows[:20]), summed(model, q, rows[20:])
    combine = Accumulate()
    assert_same(combine(combine(None, one, 0), two, 1), one + two)
    assert_same(Accumulate(forget=0.5)(one, two, 7), 0.5 * one + two)


def test_stochastic_steps_are_averages_scaled_to_all_rows(rows: Rows, model_and_q: tuple[Any, Any]) -> None:
    model, q = model_and_q
    one, two = summed(model, q, rows[:20]), summed(model, q, rows[20:])
    combine = RobbinsMonro(n_rows=1000, delay=2.0, decay=0.6)
    first = combine(None, one, 0)
    assert_same(first, (1000 / one.n) * one)
    rate = (2.0 + 5) ** -0.6
    second = combine(first, two, 5)
    assert_same(second, (1 - rate) * first + (rate * 1000 / two.n) * two)
    assert second.n == pytest.approx(1000)
    assert np.isfinite(bound(model, model.global_step(q, second), second))
