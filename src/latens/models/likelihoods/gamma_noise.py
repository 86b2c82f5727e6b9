"""Counts with gamma noise whose log means are uncertain: how large the noise is, and how much the means are off.

    y | eta, r  ~ negative binomial of mean e^(eta + s) and size r,    eta ~ Normal(m, v),    r ~ Gamma(a, b)

Shift and size are where  sum_n E[log p(y_n | eta_n, r, s)] + a log r - b r  is highest: what the bound would say of
them with the likelihood itself. A fit goes by parabolas below the likelihood, and in common columns by log-normal noise
that is independent of eta in the posterior: both take some of the uncertainty of eta for noise, and log-normal noise
that stands for gamma noise has other means.

Averages over eta are those of two nodes of the same weight, with means u and v there. These come into all terms by
their sum and product alone, and the shift by q = r e^-s, so that an entry takes one logarithm and one division:

    log(1 + e^s u / r) + log(1 + e^s v / r) = log(d / q^2),    d = (q + u) (q + v) = q^2 + q (u + v) + u v
    u / (q + u) + v / (q + v) = (q (u + v) + 2 u v) / d,       1 / (q + u) + 1 / (q + v) = (2 q + u + v) / d
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from latens.array import Floats, Index
from latens.array.special import digamma, gammaln
from latens.array.transfer import column_sums, host
from latens.core import Rows

__all__ = ["NODES", "WEIGHTS", "GammaNoise"]

FACTOR = 4.0  # by which a size that is known about may be off
MOST_STEPS, LOG_SIZE_TOLERANCE = 8, 0.01  # steps of the search for a size, and how near its logarithm is found
SIZES = 0.02 * FACTOR ** np.arange(12)  # at which a size that is not known about is looked for
MOST_DISTINCT = 4  # counts from 0 to the largest, times the rows, up to which they are summed by value
SHIFT_STEPS, LONGEST_SHIFT = 3, 1.0  # of Newton's method
HALF_A_COUNT = 0.5  # as many as were expected
LARGEST_LOG_MEAN = 40.0
NODES, MASSES = np.polynomial.hermite_e.hermegauss(2)  # few: eta is known to a tenth or so
WEIGHTS = MASSES / MASSES.sum()


class GammaNoise:
    """Of the columns of `rows`, whose log means are Normal(mean, variance), (n, D) each, but for a shift."""

    def __init__(self, rows: Rows, mean: Floats, variance: Floats) -> None:
        sd = np.sqrt(variance)
        log_means = [np.clip(mean + node * sd, -LARGEST_LOG_MEAN, LARGEST_LOG_MEAN) for node in NODES]
        self.rows, self.y = rows, host(rows.x)
        self._known_by_value = int(self.y.max(initial=0.0)) < MOST_DISTINCT * len(self.y)
        low, high = (np.exp(each) for each in log_means)
        self._sums, self._products = low + high, low * high  # of the means of both nodes
        self._log_mean = sum(w * each for w, each in zip(WEIGHTS, log_means, strict=True))

    def shift(self, size: Floats) -> Floats:
        """(D,), given the size; first to where sums of means are those of counts.

        Half a count more says that there is none: columns that hold few, or only zeros, stay near their means.
        """
        counted, expected = self._counted, 0.5 * self._summed(self._sums)
        shift = np.log((counted + HALF_A_COUNT) / (expected + HALF_A_COUNT))
        trials = self.y + size
        for _ in range(SHIFT_STEPS):
            held, at = HALF_A_COUNT * np.exp(shift), size * np.exp(-shift)
            over = at * self._sums + self._products
            inverse = 1 / (at**2 + over)
            slope = counted + HALF_A_COUNT - held - 0.5 * self._summed(trials * (over + self._products) * inverse)
            bent = trials * (self._sums * (self._products + at**2) + 4 * at * self._products) * inverse**2
            bend = held + 0.5 * at * self._summed(bent)
            shift = shift + np.clip(slope / bend, -LONGEST_SHIFT, LONGEST_SHIFT)
        return np.asarray(shift)

    def size(self, shift: Floats, prior: tuple[float, float | Floats], about: Floats | None = None) -> Floats:
        """(D,), given the shift; `prior` has shape and rate, and `about` says where to look, if that is known.

        Rows and prior often have a top each, with a valley between them: in rare counts of large dispersion a slope in
        the valley leads to the prior's, many nats below. Hence heights are compared before slopes are followed, by
        secants, between ends that the signs of slopes tell.
        """
        where = self._highest(shift, prior) if about is None else np.log(about)
        low, high = where - np.log(FACTOR), where + np.log(FACTOR)
        last, before, left = where.copy(), np.zeros_like(where), np.arange(len(where))
        for _ in range(MOST_STEPS):
            part = slice(None) if len(left) == len(where) else left
            at = where[left]
            slope = self._slope(part, np.exp(at), shift[part], prior)
            low[left] = np.where(slope > 0, at, low[left])
            high[left] = np.where(slope > 0, high[left], at)
            stride, fall = at - last[left], before[left] - slope
            near = at + slope * stride / np.where(fall == 0, 1.0, fall)
            follows = (fall * stride > 0) & (near > low[left]) & (near < high[left])
            last[left], before[left] = at, slope
            where[left] = np.where(follows, near, 0.5 * (low[left] + high[left]))
            left = np.flatnonzero(np.abs(where - last) >= LOG_SIZE_TOLERANCE)
            if not len(left):
                break
        return np.asarray(np.exp(where))

    def _slope(self, part: slice | Index, size: Floats, shift: Floats, prior: tuple[float, float | Floats]) -> Floats:
        """Of some columns: of what is to be highest, by the logarithm of the size."""
        y, sums, products = (values[:, part] for values in (self.y, self._sums, self._products))
        rate, at = np.broadcast_to(prior[1], self.y.shape[1])[part], size * np.exp(-shift)
        over = at * sums + products
        slope = (over + products - y * (np.exp(-shift) * (2 * at + sums))) / (over + at**2)
        slope -= np.log1p(over / at**2)
        return np.asarray(size * (0.5 * self._summed(slope, part) + self._digammas(size, part) - rate) + prior[0])

    def _highest(self, shift: Floats, prior: tuple[float, float | Floats]) -> Floats:
        """(D,), the logarithm of the best of SIZES, or of the top of a parabola through its height and those beside."""
        none = np.zeros(self.y.shape[1])
        heights = np.stack(
            [self.height(shift, size + none) + prior[0] * np.log(size) - prior[1] * size for size in SIZES]
        )
        best, columns = np.argmax(heights, axis=0), np.arange(len(none))
        inner = np.clip(best, 1, len(SIZES) - 2)
        below, top, above = (heights[inner + side, columns] for side in (-1, 0, 1))
        bent = below - 2 * top + above
        moved = np.where(bent < 0, 0.5 * (below - above) / np.where(bent < 0, bent, 1.0), 0.0)
        return np.asarray(
            np.log(SIZES[best]) + np.where(best == inner, np.log(FACTOR) * np.clip(moved, -0.5, 0.5), 0.0)
        )

    def _digammas(self, size: Floats, part: slice | Index) -> Floats:
        """Of some columns: sums of digamma(y + size) - digamma(size)."""
        if not self._known_by_value:
            return self._summed(digamma(self.y[:, part] + size) - digamma(size), part)
        above = self.rows.counts_above[:, part]
        return np.asarray(np.sum(above / (size + np.arange(len(above))[:, None]), axis=0))

    def height(self, shift: Floats, size: Floats) -> Floats:
        """(D,), sums of E[log p], but for log y!."""
        times = np.exp(shift) / size
        lost = np.log1p(self._sums * times + self._products * times**2)
        lost *= self.y + size
        fixed = self._counted_logs + self._counted * (shift - np.log(size))
        return np.asarray(fixed - 0.5 * self._summed(lost) + self._log_gammas(size))

    @cached_property
    def _counted(self) -> Floats:
        """(D,), sums of counts."""
        return self._summed(self.y)

    @cached_property
    def _counted_logs(self) -> Floats:
        """(D,), sums of counts times E[log mean]."""
        return self._summed(self.y * self._log_mean)

    def _log_gammas(self, size: Floats) -> Floats:
        """(D,), sums of log Gamma(y + size) / Gamma(size)."""
        if not self._known_by_value:
            return self._summed(gammaln(self.y + size) - gammaln(size))
        above = self.rows.counts_above
        return np.asarray(np.sum(above * np.log(size + np.arange(len(above))[:, None]), axis=0))

    def _summed(self, values: Floats, part: slice | Index = slice(None)) -> Floats:
        """(D,), over entries that were seen; `values` may be those of some columns alone."""
        seen = self.rows.seen
        return column_sums(self.rows.weigh(values if seen is None else values * host(seen)[:, part]))
