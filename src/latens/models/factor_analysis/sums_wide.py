"""Rows kept as they are, as long as they are fewer than their columns: D x D sums of them would be larger.

They add like sums, by standing one below the other, and turn into a `Scatter` when they are as many as the columns.
What is read from the total is then the same however the rows were split.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from latens.array import Floats
from latens.array.fields import record, sized
from latens.array.transfer import host
from latens.core import Rows
from latens.models.factor_analysis.newton_wide import Root
from latens.models.factor_analysis.sums import Scatter, smallest_noise, summed

__all__ = ["FewRows", "rows_or_sums"]


@record(eq=False)
class FewRows:
    n: float
    values: Floats = sized("rows d")
    seen: NDArray[np.bool_] | None = sized("rows d", default=None)  # None where all rows are complete
    weight: Floats | None = sized("rows", default=None)

    def __add__(self, other: FewRows | Scatter) -> FewRows | Scatter:
        if isinstance(other, Scatter):
            return self.scatter + other
        seen = weight = None
        if self.seen is not None or other.seen is not None:
            seen = np.concatenate([np.broadcast_to(part.rows.mask > 0, part.values.shape) for part in (self, other)])
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([np.broadcast_to(part._weights, len(part.values)) for part in (self, other)])
        values = np.concatenate([self.values, other.values])
        return _few_or_summed(FewRows(self.n + other.n, values, seen, weight))

    def __rmul__(self, weight: float) -> FewRows:
        return replace(self, n=weight * self.n, weight=weight * np.broadcast_to(self._weights, len(self.values)))

    @property
    def _weights(self) -> Floats:
        return np.ones(1) if self.weight is None else self.weight

    @cached_property
    def rows(self) -> Rows:
        return Rows(self.values, self.seen, self.weight)

    @cached_property
    def scatter(self) -> Scatter:
        return summed(self.rows, patterns_too=True)

    @property
    def complete(self) -> bool:
        return self.seen is None

    @property
    def entries(self) -> float:
        return float(self.rows.counts.sum())

    @property
    def n_rows(self) -> float:
        """Complete rows that would hold as many entries."""
        return self.entries / int(self.values.shape[1])

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(self.rows.weigh(self.values).sum(axis=0) / self._counts)

    @property
    def _counts(self) -> Floats:
        return np.where(self.rows.counts > 0, self.rows.counts, 1.0)

    @cached_property
    def root(self) -> Root:
        """The covariance of the rows, with column means in their holes."""
        gaps = (self.values - self.mean) * self.rows.mask
        share = self._weights / max(self.n, np.finfo(float).tiny)
        return Root(gaps * np.sqrt(share)[:, None])

    @cached_property
    def variance(self) -> Floats:
        return self.root.diagonal() * (self.n / self._counts)

    def times(self, columns: Floats) -> Floats:
        """The covariance of complete rows times (D, K)."""
        z = self.root.rows
        return np.asarray(z.T @ (z @ columns))

    @cached_property
    def floor(self) -> Floats:
        """(D,), the smallest noise that these rows can tell from none."""
        return smallest_noise(self.variance, self.rows.squares / self._counts)


def rows_or_sums(batch: Rows) -> FewRows | Scatter:
    """What stands for a batch: rows that are fewer than columns, in double precision on the host, else their sums."""
    if len(batch) >= batch.x.shape[1]:
        return summed(batch, patterns_too=True)
    xp = array_namespace(batch.x)
    values = host(xp.astype(batch.x, xp.float64))
    seen = None if batch.seen is None else host(batch.seen) > 0
    weight = None if batch.weight is None else np.asarray(host(batch.weight), dtype=float)
    return FewRows(batch.n, values, seen, weight)


def _few_or_summed(rows: FewRows) -> FewRows | Scatter:
    return rows if len(rows.values) < rows.values.shape[1] else rows.scatter
