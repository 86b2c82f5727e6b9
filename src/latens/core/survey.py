"""What is asked of the data before a fit, from one pass over blocks in any order.

Moments are merged as by Chan, Golub and LeVeque (1983): differences of means, never differences of large sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.array.transfer import host, is_sparse
from latens.core.rows import Rows

__all__ = ["Survey", "survey_rows"]

MOST_PATTERNS = 65  # sets of observed columns that are distinguished
PART_ENTRIES = 2**15  # of a block that are looked at together, while they are in cache
FEWEST_ROWS = 16  # of such a part


@dataclass(frozen=True)
class Survey:
    """Counts, moments and ranges of the columns. Two surveys add to that of the rows of both."""

    n_rows: int  # that show anything
    n_empty: int  # rows that show nothing
    n: float  # sum of the weights of the former
    count: Floats  # (D,), sum of weights over the rows that show the column
    mean: Floats  # (D,), 0 where nothing was observed
    deviation: Floats  # (D,), root of the weighted sum of squared deviations from that mean: squares may overflow
    low: Floats  # (D,), inf where nothing was observed
    high: Floats  # (D,)
    n_missing: int  # entries
    n_infinite: int  # entries
    n_odd: int  # entries that are neither 0 nor 1
    whole: NDArray[np.bool_]  # (D,), only whole numbers
    binary: NDArray[np.bool_]  # (D,), only 0 and 1
    patterns: frozenset[bytes]  # packed sets of observed columns, as many as MOST_PATTERNS

    def __add__(self, other: Survey) -> Survey:
        count = self.count + other.count
        share = other.count / np.maximum(count, np.finfo(float).tiny)
        gap = other.mean - self.mean
        patterns = self.patterns | other.patterns
        return Survey(
            n_rows=self.n_rows + other.n_rows,
            n_empty=self.n_empty + other.n_empty,
            n=self.n + other.n,
            count=count,
            mean=self.mean + gap * share,
            deviation=np.hypot(np.hypot(self.deviation, other.deviation), np.abs(gap) * np.sqrt(self.count * share)),
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            n_missing=self.n_missing + other.n_missing,
            n_infinite=self.n_infinite + other.n_infinite,
            n_odd=self.n_odd + other.n_odd,
            whole=self.whole & other.whole,
            binary=self.binary & other.binary,
            patterns=patterns if len(patterns) <= MOST_PATTERNS else frozenset(sorted(patterns)[:MOST_PATTERNS]),
        )

    def columns(self, which: slice) -> Survey:
        """Of these columns alone; counts of entries stay those of all."""
        return replace(
            self,
            count=self.count[which],
            mean=self.mean[which],
            deviation=self.deviation[which],
            low=self.low[which],
            high=self.high[which],
            whole=self.whole[which],
            binary=self.binary[which],
        )

    @property
    def has_few_patterns(self) -> bool:
        return len(self.patterns) < MOST_PATTERNS

    @property
    def sizes(self) -> Floats:
        """(D,), the largest observed entry of each column without its sign, 0 where there is none."""
        ends = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.where(self.count > 0, ends, 0.0)


def survey_rows(rows: Rows) -> Survey:
    """The survey of one block, whose missing entries are stored as 0 and marked as not seen."""
    size = max(FEWEST_ROWS, PART_ENTRIES // max(int(rows.x.shape[1]), 1))
    parts = (_survey_part(rows[slice(at, at + size)]) for at in range(0, max(len(rows), 1), size))
    return reduce(add, parts)


def _survey_part(rows: Rows) -> Survey:
    """Columns lie side by side here (D, n): sums along a column are then several times as quick."""
    x = np.ascontiguousarray((rows.x.toarray() if is_sparse(rows.x) else host(rows.x)).T)
    d, n = x.shape
    seen = np.ones((d, 1), dtype=bool) if rows.seen is None else np.ascontiguousarray(host(rows.seen).T) > 0
    shown = np.broadcast_to(seen.any(axis=0), (n,))
    weight = np.where(shown, 1.0 if rows.weight is None else host(rows.weight), 0.0)
    weighted = weight * seen
    infinite = np.isinf(x)
    finite = np.where(infinite, 0.0, x) if infinite.any() else x
    # in a unit of the block's own, so that squares neither overflow nor vanish
    largest = float(np.abs(finite).max(initial=0.0))
    unit = 2.0 ** math.floor(math.log2(largest)) if largest > 0 else 1.0
    count = weighted.sum(axis=1)
    mean = (weighted * (finite / unit)).sum(axis=1) / np.maximum(count, np.finfo(float).tiny)
    squares = (weighted * (finite / unit - mean[:, None]) ** 2).sum(axis=1)
    odd = seen & (finite != 0) & (finite != 1)
    low, high = (x, x) if rows.seen is None else (np.where(seen, x, np.inf), np.where(seen, x, -np.inf))
    return Survey(
        n_rows=int(shown.sum()),
        n_empty=int(n - shown.sum()),
        n=float(weight.sum()),
        count=count,
        mean=mean * unit,
        deviation=np.sqrt(squares) * unit,
        low=low.min(axis=1, initial=np.inf),
        high=high.max(axis=1, initial=-np.inf),
        n_missing=0 if rows.seen is None else int(np.count_nonzero(~seen)),
        n_infinite=int(np.count_nonzero(infinite)),
        n_odd=int(np.count_nonzero(odd)),
        whole=~(seen & (finite != np.floor(finite))).any(axis=1),
        binary=~odd.any(axis=1),
        patterns=_patterns(seen.T),
    )


def _patterns(seen: NDArray[np.bool_]) -> frozenset[bytes]:
    packed = np.unique(np.packbits(seen, axis=1), axis=0)
    return frozenset(row.tobytes() for row in packed[:MOST_PATTERNS])
