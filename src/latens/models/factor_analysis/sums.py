"""Sums of rows and of their products: all that a Gaussian model of complete rows needs, whatever their number.

    covariance_ij = (sum o_i o_j x_i x_j - ...) / sum o_i o_j          o: 1 where an entry was seen

Rows with holes give pairwise sums, which add like the others. Their ratio need not be positive definite and is
consistent only where entries are missing completely at random; it is moved to the nearest matrix that is. As long as
the patterns of holes are few, sums are kept for each of them too, and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace

from latens.array import Floats
from latens.array.fields import record, sized
from latens.array.transfer import host
from latens.core import Rows, Statistics
from latens.models.factor_analysis.missing_patterns import HolePatterns, by_pattern

__all__ = ["Covariance", "LowRank", "Scatter", "smallest_noise", "summed"]


class Covariance(Protocol):
    """A batch given by its first two moments."""

    @property
    def n_rows(self) -> float: ...

    @property
    def mean(self) -> Floats: ...  # (D,)

    @property
    def variance(self) -> Floats: ...  # (D,)

    def times(self, columns: Floats) -> Floats: ...  # the covariance times (D, K)


@record(eq=False)
class Scatter(Statistics):
    """Sums about the shell's origin."""

    n: float
    counts: Floats = sized("1 1;d d")  # rows in which both columns were seen
    x: Floats = sized("d 1|d")  # sum of x_i over them
    xx: Floats = sized("d d")  # sum of x_i x_j
    patterns: HolePatterns | None = None  # None where all rows are complete, or patterns many

    def __add__(self, other: Scatter) -> Scatter:
        if not isinstance(other, Scatter):
            return other + self  # rows that are still kept as they are
        counts, x, xx = self.counts + other.counts, self.x + other.x, self.xx + other.xx
        total = Scatter(self.n + other.n, counts, x, xx)
        if total.complete:
            return total
        here, there = self._by_pattern, other._by_pattern
        both = None if here is None or there is None else here + there
        return replace(total, patterns=both if both is not None and both.few else None)

    def __rmul__(self, weight: float) -> Scatter:
        patterns = None if self.patterns is None else weight * self.patterns
        return Scatter(weight * self.n, weight * self.counts, weight * self.x, weight * self.xx, patterns)

    @property
    def complete(self) -> bool:
        """Whether no row has a hole."""
        return self.counts.size == 1

    @property
    def _by_pattern(self) -> HolePatterns | None:
        if not self.complete:
            return self.patterns
        shown = np.ones((1, len(self.xx)), dtype=bool)
        return HolePatterns(self.n, shown, np.array([self.n]), self.x.T, self.xx[None])

    @property
    def entries(self) -> float:
        return float(np.broadcast_to(self.counts, self.xx.shape).trace())

    @property
    def n_rows(self) -> float:
        """Complete rows that would hold as many entries."""
        return self.entries / len(self.xx)

    @cached_property
    def mean(self) -> Floats:
        own = np.broadcast_to(self.x, self.xx.shape).diagonal()
        return own / np.maximum(np.broadcast_to(self.counts, self.xx.shape).diagonal(), np.finfo(float).tiny)

    @cached_property
    def covariance(self) -> Floats:
        """(D, D), positive semi-definite up to rounding."""
        shift = self.x * self.mean  # (D, 1 or D): sum x_i times mean_j, for the transposed pair
        if self.x.shape[1] == 1:
            centred = self.xx - np.outer(self.x[:, 0], self.mean)
            both = centred + centred.T
            both *= 0.5
            both /= max(self.n, np.finfo(float).tiny)
            return both
        centred = self.xx - shift - shift.T + self.counts * np.outer(self.mean, self.mean)
        ratio = np.where(self.counts > 0, centred / np.maximum(self.counts, np.finfo(float).tiny), 0.0)
        return _nearest_semidefinite(0.5 * (ratio + ratio.T))

    @cached_property
    def variance(self) -> Floats:
        own, counts = (np.broadcast_to(part, self.xx.shape).diagonal() for part in (self.x, self.counts))
        centred = self.xx.diagonal() - own * self.mean
        return np.maximum(centred / np.maximum(counts, np.finfo(float).tiny), 0.0)

    def times(self, columns: Floats) -> Floats:
        return np.asarray(self.covariance @ columns)

    @cached_property
    def floor(self) -> Floats:
        """(D,), the smallest noise that these sums can tell from none."""
        counts, own = np.broadcast_to(self.counts, self.xx.shape).diagonal(), self.xx.diagonal()
        return smallest_noise(self.variance, own / np.maximum(counts, np.finfo(float).tiny))


@dataclass(frozen=True)
class LowRank:
    """What a model of more factors says about rows, as a batch for one with fewer: W'W + diag(noise)."""

    n_rows: float
    mean: Floats  # (D,)
    loadings: Floats  # (K', D)
    noise: Floats  # (D,)

    @property
    def variance(self) -> Floats:
        return np.asarray(np.sum(self.loadings**2, axis=0) + self.noise)

    def times(self, columns: Floats) -> Floats:
        shared: Floats = self.loadings.T @ (self.loadings @ columns)
        return shared + self.noise[:, None] * columns


def smallest_noise(variance: Floats, second: Floats) -> Floats:
    """(D,), a millionth of each variance, or what rounding leaves of it; `second` are moments about the origin."""
    whole = float(np.mean(second)) or 1.0
    return np.maximum(np.maximum(1e-6 * variance, 1e-13 * second), 1e-60 * whole)


def summed(rows: Rows, patterns_too: bool = False) -> Scatter:
    """The sums of one block of rows, in double precision whatever theirs; of each pattern of holes too if asked."""
    xp = array_namespace(rows.x)
    x = xp.astype(rows.x, xp.float64, copy=False)
    weighted = x if rows.weight is None else rows.weigh(x)
    products = host(weighted.T @ x)
    if rows.seen is None:
        sums = xp.ones_like(x[:, 0]) @ weighted
        return Scatter(rows.n, np.array([[rows.n]]), host(sums)[:, None], products)
    mask = xp.astype(rows.mask, xp.float64, copy=False)
    counts = host(rows.weigh(mask).T @ mask)
    patterns = by_pattern(replace(rows, x=x)) if patterns_too else None
    return Scatter(rows.n, counts, host(weighted.T @ mask), products, patterns)


def _nearest_semidefinite(matrix: Floats) -> Floats:
    """With negative eigenvalues set to 0 and the diagonal kept: standardised, so that units do not matter."""
    size = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(matrix / size / size[:, None])
    if values[0] >= 0:
        return matrix
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    size = size / np.sqrt(np.maximum(clipped.diagonal(), np.finfo(float).tiny))
    return np.asarray(clipped * size * size[:, None])
