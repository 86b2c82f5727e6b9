"""The simulated scheduler does what can be reckoned by hand."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scale.scheduler import Cluster, simulate

RNG = np.random.default_rng(0)


def test_one_core_does_all_chunks_and_sums_in_turn() -> None:
    alone = Cluster(1, per_task=0.01, add=0.5, spread=0.0)
    # 17 chunks, then 2 sums of 16 and 1, then their sum: 20 tasks
    assert simulate(alone, 17, 2.0, RNG) == pytest.approx(17 * 2.0 + 3 * 0.5 + 20 * 0.01)


def test_as_many_cores_as_chunks_wait_for_the_last_one() -> None:
    many = Cluster(16, per_task=0.0, add=0.25, spread=0.0)
    assert simulate(many, 16, 2.0, RNG) == pytest.approx(2.25)
    # a sum goes before chunks, so that one of the second sixteen waits for it
    assert simulate(many, 32, 2.0, RNG) == pytest.approx(2.0 + 0.25 + 2.0 + 0.25 + 0.25)


def test_a_slow_scheduler_decides_where_chunks_are_short() -> None:
    busy = Cluster(1000, per_task=1.0, add=0.0, spread=0.0)
    assert simulate(busy, 100, 0.5, RNG) == pytest.approx(108.5, abs=1.0)  # 100 chunks and 8 sums


def test_chunks_of_unequal_time_cost_as_much_on_average() -> None:
    spread = Cluster(1, per_task=0.0, add=0.0, spread=0.3)
    assert simulate(spread, 4000, 1.0, RNG) == pytest.approx(4000, rel=0.03)
