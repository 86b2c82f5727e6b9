"""One batch of data, as models see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.transfer import column_sums, host

__all__ = ["Rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Values, which of them were seen, and how often each row counts.

    Sums that no posterior changes are taken once and cached here.
    """

    x: Array  # (n, D); a missing entry is stored as 0, so that products skip it by themselves
    seen: Array | None = None  # (n, D) boolean; None: everything was observed
    weight: Array | None = None  # (n,); a weight w is w copies of the row; None: every row counts once

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(
            self.x[rows, :],
            None if self.seen is None else self.seen[rows, :],
            None if self.weight is None else self.weight[rows],
        )

    def weigh(self, values: Array) -> Array:
        """Rows of `values` (n, ...) times their weights."""
        if self.weight is None:
            return values
        xp = array_namespace(values)
        return values * xp.reshape(self.weight, (-1, *(1,) * (values.ndim - 1)))

    @cached_property
    def mask(self) -> Array:
        """(1 or n, D), 1.0 where an entry was seen: one row of ones if all were."""
        xp = array_namespace(self.x)
        return xp.ones_like(self.x[:1, :]) if self.seen is None else xp.astype(self.seen, self.x.dtype)

    @cached_property
    def observed(self) -> Array:
        """(n,), how many entries of each row were seen."""
        xp = array_namespace(self.x)
        return xp.zeros_like(self.x[:, 0]) + xp.sum(self.mask, axis=1)

    @cached_property
    def n(self) -> float:
        """Sum of weights."""
        return float(len(self)) if self.weight is None else float(host(self.weight).sum())

    @cached_property
    def counts(self) -> Floats:
        """(D,), sum of weights over the rows in which each column was seen."""
        if self.seen is None:
            return np.full(self.x.shape[1], self.n)
        return column_sums(self.weigh(self.mask))

    @cached_property
    def squares(self) -> Floats:
        """(D,), weighted sum of x^2 in each column."""
        return column_sums(self.weigh(self.x**2))
