"""Counts with gamma noise whose log means are uncertain: how large the noise is, and how much the means are off.

    y | eta, r  ~ negative binomial of mean e^(eta + s) and size r,    eta ~ Normal(m, v),    r ~ Gamma(a, b)

Shift and size are where  sum_n E[log p(y_n | eta_n, r, s)] + a log r - b r  is highest: what the bound would say of
them with the likelihood itself. A fit goes by parabolas below the likelihood, and in common columns by log-normal noise
that is independent of eta in the posterior: both take some of the uncertainty of eta for noise, and log-normal noise
that stands for gamma noise has other means.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from latens.array import Floats
from latens.array.special import digamma, gammaln
from latens.array.transfer import column_sums, host
from latens.core import Rows

__all__ = ["NODES", "WEIGHTS", "GammaNoise"]

FACTOR, HALVINGS = 4.0, 8  # by which a size that is known about may be off, and what leaves .01 of its logarithm
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
        log_means = [mean + node * np.sqrt(variance) for node in NODES]
        self.rows, self.y = rows, host(rows.x)
        self._known_by_value = int(self.y.max(initial=0.0)) < MOST_DISTINCT * len(self.y)
        self.means = [np.exp(np.clip(each, -LARGEST_LOG_MEAN, LARGEST_LOG_MEAN)) for each in log_means]

    def shift(self, size: Floats) -> Floats:
        """(D,), given the size; first to where sums of means are those of counts.

        Half a count more says that there is none: columns that hold few, or only zeros, stay near their means.
        """
        expected = sum(w * self._summed(mu) for mu, w in zip(self.means, WEIGHTS, strict=True))
        shift = np.log((self._summed(self.y) + HALF_A_COUNT) / (expected + HALF_A_COUNT))
        for _ in range(SHIFT_STEPS):
            held = HALF_A_COUNT * np.exp(shift)
            slope, bend = self._summed(self.y) + HALF_A_COUNT - held, held
            for mu, w in zip(self.means, WEIGHTS, strict=True):
                chance = 1 / (1 + size / (mu * np.exp(shift)))
                pull = w * (self.y + size) * chance
                slope, bend = slope - self._summed(pull), bend + self._summed(pull * (1 - chance))
            shift = shift + np.clip(slope / bend, -LONGEST_SHIFT, LONGEST_SHIFT)
        return np.asarray(shift)

    def size(self, shift: Floats, prior: tuple[float, float | Floats], about: Floats | None = None) -> Floats:
        """(D,), given the shift; `prior` has shape and rate, and `about` says where to look, if that is known.

        Rows and prior often have a top each, with a valley between them: in rare counts of large dispersion a slope in
        the valley leads to the prior's, many nats below. Hence heights are compared before slopes are followed.
        """
        y, means = self.y, [mu * np.exp(shift) for mu in self.means]
        about = self._highest(shift, prior) if about is None else about
        low, high = np.log(about / FACTOR), np.log(about * FACTOR)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            size = np.exp(middle)
            slope = np.zeros_like(y)
            for mu, w in zip(means, WEIGHTS, strict=True):
                odds = mu / size
                slope += w * ((odds - y / size) / (1 + odds) - np.log1p(odds))
            rises = self._summed(slope) + self._digammas(size) + prior[0] / size - prior[1] > 0
            low, high = np.where(rises, middle, low), np.where(rises, high, middle)
        return np.asarray(np.exp(0.5 * (low + high)))

    def _highest(self, shift: Floats, prior: tuple[float, float | Floats]) -> Floats:
        """(D,), the best of SIZES."""
        none = np.zeros(self.y.shape[1])
        heights = [self.height(shift, size + none) + prior[0] * np.log(size) - prior[1] * size for size in SIZES]
        return np.asarray(SIZES[np.argmax(heights, axis=0)])

    def _digammas(self, size: Floats) -> Floats:
        """(D,), sums of digamma(y + size) - digamma(size)."""
        if not self._known_by_value:
            return self._summed(digamma(self.y + size) - digamma(size))
        above = self.rows.counts_above
        return np.asarray(np.sum(above / (size + np.arange(len(above))[:, None]), axis=0))

    def height(self, shift: Floats, size: Floats) -> Floats:
        """(D,), sums of E[log p], but for log y!."""
        lost = np.zeros_like(self.y)
        for mu, w in zip(self.means, WEIGHTS, strict=True):
            lost += w * np.log1p(mu * (np.exp(shift) / size))
        lost *= self.y + size
        fixed = self._products + self._summed(self.y) * (shift - np.log(size))
        return np.asarray(fixed - self._summed(lost) + self._log_gammas(size))

    @cached_property
    def _products(self) -> Floats:
        """(D,), sums of counts times E[log mean]."""
        return self._summed(self.y * sum(w * np.log(mu) for mu, w in zip(self.means, WEIGHTS, strict=True)))

    def _log_gammas(self, size: Floats) -> Floats:
        """(D,), sums of log Gamma(y + size) / Gamma(size)."""
        if not self._known_by_value:
            return self._summed(gammaln(self.y + size) - gammaln(size))
        above = self.rows.counts_above
        return np.asarray(np.sum(above * np.log(size + np.arange(len(above))[:, None]), axis=0))

    def _summed(self, values: Floats) -> Floats:
        """(D,), over entries that were seen."""
        return column_sums(self.rows.weigh(values if self.rows.seen is None else values * host(self.rows.seen)))
