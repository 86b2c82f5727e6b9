"""Sums of rows that have the same holes, kept apart: where patterns are few, they say all that the rows say.

Under a pattern that shows the columns o, a row's factors are Normal(P_o'(x_o - c_o), V_o) with V_o = (I + G_o)^-1 and
P_o = (tau w)_o V_o: one map for all its rows, so that the pattern's first two moments are as good as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.array.fields import record, sized
from latens.array.transfer import column_sums, host, take
from latens.core import Rows, Statistics

__all__ = ["MOST_NUMBERS", "HolePatterns", "by_pattern", "has_few_patterns"]

MOST_PATTERNS = 64
MOST_NUMBERS = 2**24  # of all D x D sums together: 128 megabytes
BLOCK = 1024  # rows whose patterns are counted at once


@record(eq=False)
class HolePatterns(Statistics):
    """One entry for each pattern."""

    n: float
    shown: NDArray[np.bool_] = sized("patterns d")
    rows: Floats = sized("patterns")  # sums of weights
    x: Floats = sized("patterns d")
    xx: Floats = sized("patterns d d")

    @property
    def entries(self) -> float:
        return float(self.rows @ self.shown.sum(axis=1))

    def __add__(self, other: HolePatterns) -> HolePatterns:
        """Patterns of both, in an order of their own."""
        shown, which = np.unique(np.concatenate([self.shown, other.shown]), axis=0, return_inverse=True)
        sums = [np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("rows", "x", "xx")]
        merged = [np.zeros((len(shown), *part.shape[1:])) for part in sums]
        for total, part in zip(merged, sums, strict=True):
            np.add.at(total, which.reshape(-1), part)
        return HolePatterns(self.n + other.n, shown, *merged)

    def __rmul__(self, weight: float) -> HolePatterns:
        return HolePatterns(weight * self.n, self.shown, weight * self.rows, weight * self.x, weight * self.xx)

    @property
    def few(self) -> bool:
        return len(self.rows) <= MOST_PATTERNS and self.xx.size <= MOST_NUMBERS


def has_few_patterns(rows: Rows) -> bool:
    """Whether sums for each pattern of holes can be kept."""
    if rows.seen is None:
        return True
    d, found = rows.x.shape[1], set[bytes]()
    most = min(MOST_PATTERNS, MOST_NUMBERS // (d * d))
    for at in range(0, len(rows), BLOCK):
        found |= {row.tobytes() for row in np.packbits(host(rows.seen[at : at + BLOCK, :]) > 0, axis=1)}
        if len(found) > most:
            return False
    return True


def by_pattern(rows: Rows) -> HolePatterns | None:
    """The sums of one block of rows; None where patterns are many."""
    groups, d = rows.patterns, rows.x.shape[1]
    if len(groups) > MOST_PATTERNS or len(groups) * d * d > MOST_NUMBERS:
        return None
    shown = np.zeros((len(groups), d), dtype=bool)
    counts, sums, products = np.zeros(len(groups)), np.zeros((len(groups), d)), np.zeros((len(groups), d, d))
    for i, (which, seen, _) in enumerate(groups):
        part = Rows(take(rows.x, which), None, None if rows.weight is None else take(rows.weight, which))
        shown[i, seen] = True
        counts[i] = part.n
        sums[i] = column_sums(part.weigh(part.x))
        x = host(part.x)
        products[i] = host(part.weigh(part.x)).T @ x
    return HolePatterns(float(counts.sum()), shown, counts, sums, products)
