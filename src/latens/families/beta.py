"""Beta distributions over probabilities.

p ~ Beta(on, off)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaln, digamma

from latens.array import Floats, Index
from latens.array.fields import positive, record
from latens.array.special import stretched, trigamma
from latens.families.point_beta import PointBeta

__all__ = ["Beta"]

FEWEST_TO_COMPILE = 2**13  # distributions from which on a compiled pass over them is worth its loading


@record
class Beta:
    """Independent Beta(on, off) distributions, given by pseudo-counts."""

    on: Floats = positive("...")
    off: Floats = positive("...")

    @classmethod
    def alike(cls, on: float, off: float, *shape: int) -> Beta:
        """The same Beta(on, off) in every place: what a divergence takes of it is found once, not once a place."""
        every = cls(np.full(shape, on), np.full(shape, off))
        vars(every)["_betaln"] = np.full(shape, betaln(on, off))  # as the property would cache it
        return every

    @property
    def mean(self) -> Floats:
        return self.on / (self.on + self.off)

    @cached_property
    def mean_log(self) -> tuple[Floats, Floats]:
        """E[log p] and E[log(1 - p)]."""
        if np.size(self.on) >= FEWEST_TO_COMPILE:
            log_on, log_off, vars(self)["_betaln"] = _compiled_logs(self.on, self.off)
            return log_on, log_off
        both = digamma(self.on + self.off)
        return digamma(self.on) - both, digamma(self.off) - both

    def observe(self, on: Floats, off: Floats, *, current: Any = None) -> Beta:
        """Posterior after `on` successes and `off` failures, which may be fractional."""
        return Beta(self.on + on, self.off + off)

    def beyond(self, old: Beta, times: float) -> Beta:
        """So many times as far from `old`, in the logarithms of pseudo-counts."""
        return Beta(stretched(old.on, self.on, times), stretched(old.off, self.off, times))

    def log_likelihood(self, on: Floats, off: Floats) -> float:
        """sum E[log Bernoulli], linear in its two arguments."""
        log_p, log_not_p = self.mean_log
        return float(np.sum(on * log_p + off * log_not_p))

    def kl(self, other: Any) -> float:
        """KL(self || other), summed."""
        log_p, log_not_p = self.mean_log
        gap = (self.on - other.on) * log_p + (self.off - other.off) * log_not_p
        return float(np.sum(gap + other._betaln - self._betaln))

    def slopes(self, prior: Any, on: Floats | float, off: Floats | float) -> dict[str, Floats]:
        """Derivatives of `log_likelihood(on, off) - kl(prior)`: the Fisher matrix times the way to the posterior."""
        gap_on, gap_off = prior.on + on - self.on, prior.off + off - self.off
        of_on, of_off, of_both = self._trigammas
        both = of_both * (gap_on + gap_off)
        return {"on": of_on * gap_on - both, "off": of_off * gap_off - both}

    @cached_property
    def _trigammas(self) -> tuple[Floats, Floats, Floats]:
        """Of both counts and of their sum."""
        return trigamma(self.on), trigamma(self.off), trigamma(self.on + self.off)

    @cached_property
    def _betaln(self) -> Floats:
        if np.size(self.on) >= FEWEST_TO_COMPILE:
            log_on, log_off, log_norm = _compiled_logs(self.on, self.off)
            vars(self)["mean_log"] = log_on, log_off  # as the property would cache it
            return log_norm
        return np.asarray(betaln(self.on, self.off))

    def sample(self, rng: np.random.Generator) -> PointBeta:
        return PointBeta.of(rng.beta(self.on, self.off))

    def only(self, keep: Index) -> Beta:
        return Beta(self.on[keep], self.off[keep])


def _compiled_logs(on: Floats, off: Floats) -> tuple[Floats, Floats, Floats]:
    """E[log p], E[log(1 - p)] and the logarithm of the Beta function."""
    from latens.array.kernels.beta_numba import beta_logs

    shape = np.shape(on)
    given = (np.ascontiguousarray(part, dtype=np.float64).ravel() for part in (on, off))
    log_on, log_off, log_norm = np.empty((3, int(np.prod(shape))))
    beta_logs(*given, log_on, log_off, log_norm)
    return log_on.reshape(shape), log_off.reshape(shape), log_norm.reshape(shape)
