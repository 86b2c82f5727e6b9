"""Trials side by side answer like trials one after another."""

from __future__ import annotations

import math

import pytest

from latens.experiments.parallel import side_by_side


@pytest.mark.parametrize(("n_jobs", "gigabytes"), [(1, 0.1), (2, 0.1), (0, 1e9)])
def test_answers_keep_the_order_of_the_tasks(n_jobs: int, gigabytes: float) -> None:
    tasks = [(3.0, 4.0), (5.0, 12.0), (8.0, 15.0)]
    assert side_by_side(math.hypot, tasks, n_jobs, gigabytes) == [5.0, 13.0, 17.0]


def test_nothing_to_do_is_nothing_done() -> None:
    assert side_by_side(math.hypot, [], 0) == []
