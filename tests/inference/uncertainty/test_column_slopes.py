"""Derivatives of numbers that are of one column each, all columns moved at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from latens.array.fields import positive, real
from latens.core.coordinates import Chart
from latens.inference.uncertainty.arrow import blocks_of
from latens.inference.uncertainty.column_slopes import column_slopes


@dataclass(frozen=True)
class Columns:
    """A number and a size of each column, and one size for all."""

    mean: np.ndarray = real("d")
    size: np.ndarray = positive("d")
    shared: np.ndarray = positive("k")


def some_columns(n: int) -> Columns:
    rng = np.random.default_rng(3)
    return Columns(rng.normal(size=n), rng.uniform(0.5, 2.0, n), np.array([0.7, 1.3]))


@pytest.mark.parametrize("n", [2, 3, 40, 41, 1700])
def test_each_number_is_found_to_be_of_its_column(n: int) -> None:
    chart, order = Chart(some_columns(n)), np.random.default_rng(4).permutation(n)

    def quantity(q: Any) -> np.ndarray:
        return np.append((q.mean / q.size)[order], q.shared[0])

    found = column_slopes(quantity, chart, blocks_of(chart)[0], 1e-4)
    assert found is not None
    rng = np.random.default_rng(5)
    way = rng.normal(size=chart.size)
    ends = [quantity(chart.at(side * way)) for side in (1e-5, -1e-5)]
    assert found.times(way) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7)
    assert found.block[:-1].tolist() == order.tolist()


def test_a_number_of_all_columns_is_of_none() -> None:
    chart = Chart(some_columns(50))
    assert column_slopes(lambda q: np.array([q.mean.sum()]), chart, blocks_of(chart)[0], 1e-4) is None
    both = column_slopes(lambda q: np.array([q.mean[3] * q.mean[7]]), chart, blocks_of(chart)[0], 1e-4)
    assert both is None


def test_what_is_next_to_nothing_does_not_hide_of_which_column_others_are() -> None:
    """The square of a product that is 0 but for rounding moves by its second order first: its slope is 1e-13."""
    n = 1500
    q = some_columns(n)
    mean = q.mean.copy()
    mean[600] = 1e-7
    chart, step = Chart(Columns(mean, 1e-4 * q.size, q.shared)), 1e-5
    found = column_slopes(lambda p: (p.mean * p.size) ** 2, chart, blocks_of(chart)[0], step)
    assert found is not None
    assert found.block.tolist() == list(range(n))
