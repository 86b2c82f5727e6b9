"""What the values of columns tell of their kind, from one pass over blocks in any order.

Central moments are merged as by Pébay (2008): differences of means, never differences of large sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows
from latens.intake.kind_guess import MOST_LEVELS

__all__ = ["ColumnValues", "TableValues", "table_values", "values_step"]

MOST_WHOLE = 2.0**53
LEAST_STEP = 0.25  # smallest gap of values, in the middle one, that shows that values are rounded
SMALLEST_GAP = 1e-9  # of the span of values, below which two are one


@dataclass(frozen=True)
class ColumnValues:
    """Observed values of a column in rows that count. Two add to those of the rows of both.

    Moments are asked for of counts alone, and are 0 where values are no whole numbers: cubes of others may overflow.
    """

    n: int
    mean: float
    square: float  # sum of squared deviations from the mean
    cube: float  # sum of their cubes
    whole: bool  # only whole numbers, of a size at which they differ from their neighbours
    levels: Floats  # the smallest distinct values in their order, up to one more than MOST_LEVELS

    @classmethod
    def of(cls, values: Floats) -> ColumnValues:
        levels = np.unique(values)
        whole = bool(np.array_equal(levels, np.floor(levels)) and np.abs(levels).max(initial=0.0) < MOST_WHOLE)
        mean = float(values.mean()) if whole and len(values) else 0.0
        deviations = values - mean if whole else np.zeros(0)
        return cls(
            n=len(values),
            mean=mean,
            square=float(np.sum(deviations**2)),
            cube=float(np.sum(deviations**3)),
            whole=whole,
            levels=levels[: MOST_LEVELS + 1],
        )

    def __add__(self, other: ColumnValues) -> ColumnValues:
        a, b, n = self.n, other.n, max(self.n + other.n, 1)
        gap = other.mean - self.mean
        return ColumnValues(
            n=a + b,
            mean=self.mean + gap * (b / n),
            square=self.square + other.square + gap**2 * (a * (b / n)),
            cube=self.cube
            + other.cube
            + gap**3 * (a / n * b * ((a - b) / n))
            + 3 * gap * (a / n * other.square - b / n * self.square),
            whole=self.whole and other.whole,
            levels=np.union1d(self.levels, other.levels)[: MOST_LEVELS + 1],
        )

    @property
    def step(self) -> float:
        """The width to which values are rounded, the smallest gap between two; 0 where gaps do not show one.

        Gaps of measurements that are not rounded are of all sizes. It depends on which values there are alone, and not
        on how often.
        """
        if not 1 < len(self.levels) <= MOST_LEVELS:
            return 0.0
        gaps = np.diff(self.levels)
        gaps = gaps[gaps > SMALLEST_GAP * (self.levels[-1] - self.levels[0])]
        smallest = float(gaps.min())
        return smallest if smallest >= LEAST_STEP * float(np.median(gaps)) else 0.0

    @property
    def variance(self) -> float:
        return self.square / max(self.n, 1)

    @property
    def skew(self) -> float:
        """0 where values do not vary."""
        return self.cube / self.n / self.variance**1.5 if self.square > 0 else 0.0


@dataclass(frozen=True)
class TableValues:
    columns: tuple[ColumnValues, ...]

    def __add__(self, other: TableValues) -> TableValues:
        return TableValues(tuple(own + more for own, more in zip(self.columns, other.columns, strict=True)))


def table_values(rows: Rows) -> TableValues:
    """Values of each column that were seen in rows that count."""
    counted = np.ones(len(rows), dtype=bool) if rows.weight is None else host(rows.weight) > 0
    found = []
    for d in range(rows.x.shape[1]):
        there = counted if rows.seen is None else counted & (host(rows.seen[:, d]) > 0)
        found.append(ColumnValues.of(host(rows.x[:, d])[there]))
    return TableValues(tuple(found))


def values_step(rows: Rows, _: Any) -> tuple[None, TableValues]:
    """The same as a step over the blocks of a source."""
    return None, table_values(rows)
