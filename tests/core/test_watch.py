"""What is expected of new rows, and when they fall short of it."""

from __future__ import annotations

import numpy as np
import pytest

from latens.core import Watch

SCORES = np.random.default_rng(0).normal(-3.0, 1.0, size=1000)
ONES = np.ones(1000)


def test_rows_like_those_of_the_fit_are_not_short() -> None:
    watch = Watch.of(SCORES, ONES, 10)
    assert watch.expected == pytest.approx(SCORES.mean() - 0.01)
    fresh = np.random.default_rng(1).normal(-3.0, 1.0, size=200)
    assert not watch.meet(fresh, np.ones(200)).is_short(1200)


def test_rows_that_score_worse_are_short_once_they_cost_more_than_chance_and_patience() -> None:
    watch = Watch.of(SCORES, ONES, 10)
    worse = watch.meet(SCORES[:200] - 1, np.ones(200))
    assert worse.shortfall == pytest.approx(1 - 0.01, abs=0.15)
    assert worse.is_short(1200)
    assert not worse.is_short(1e6)  # too few of so many
    assert not watch.meet(SCORES[:3] - 1, np.ones(3)).is_short(10)  # by chance


def test_what_came_in_several_batches_counts_together() -> None:
    watch = Watch.of(SCORES, ONES, 10)
    parts = watch.meet(SCORES[:100] - 2, np.ones(100)).meet(SCORES[100:200] - 2, np.ones(100))
    whole = watch.meet(SCORES[:200] - 2, np.ones(200))
    assert parts.shortfall == pytest.approx(whole.shortfall)
    assert parts.standard_errors == pytest.approx(whole.standard_errors)


def test_a_fit_of_few_rows_expects_less_of_others() -> None:
    assert Watch.of(SCORES[:50], np.ones(50), 100).expected < SCORES[:50].mean() - 1.9


def test_one_row_far_out_does_not_decide() -> None:
    watch = Watch.of(SCORES, ONES, 10)
    fresh = np.append(np.random.default_rng(2).normal(-3.0, 1.0, size=99), -1e9)
    assert not watch.meet(fresh, np.ones(100)).is_short(1100)


def test_a_weight_of_2_is_the_row_twice() -> None:
    twice = Watch.of(np.repeat(SCORES, 2), np.ones(2000), 10)
    assert Watch.of(SCORES, 2 * ONES, 10).expected == pytest.approx(twice.expected)
    assert Watch.of(SCORES, 2 * ONES, 10).n == twice.n
