"""Gamma distributions over precisions and rates.

t ~ Gamma(shape, rate)          density t^(shape - 1) e^(-rate t)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from latens.array import Floats, Index
from latens.array.fields import positive, record
from latens.array.special import stretched, trigamma
from latens.families.known_gamma import KnownGamma

__all__ = ["Gamma"]

SMALLEST_DRAW = 1e-150
LEAST_COMPARED = 256  # shapes whose functions take longer than to see that they are the same


@record
class Gamma:
    shape: Floats = positive("...")
    rate: Floats = positive("...")

    @cached_property
    def mean(self) -> Floats:
        return self.shape / self.rate

    @cached_property
    def mean_log(self) -> Floats:
        return self._digamma - np.log(self.rate)

    @cached_property
    def _digamma(self) -> Floats:
        return np.asarray(digamma(self.shape))

    @cached_property
    def _gammaln(self) -> Floats:
        return np.asarray(gammaln(self.shape))

    @property
    def mean_inverse(self) -> Floats:
        """E[1/t]; infinite for shape <= 1."""
        return np.where(self.shape > 1, self.rate / np.where(self.shape > 1, self.shape - 1, 1.0), np.inf)

    def observe(self, count: Floats | float, squares: Floats, *, current: Any = None) -> Gamma:
        """Posterior of a precision after `count` zero-mean normal values with that sum of squares.

        Of as many values as `current` is of, functions of the shape are the same, and taken from there if known.
        """
        found = Gamma(self.shape + 0.5 * count, self.rate + 0.5 * squares)
        known = found.shape.size >= LEAST_COMPARED and current is not None and "_gammaln" in vars(current)
        if known and np.array_equal(current.shape, found.shape):
            vars(found).update(_digamma=current._digamma, _gammaln=current._gammaln)
        return found

    def beyond(self, old: Gamma, times: float) -> Gamma:
        """So many times as far from `old`, in the logarithm of the rate."""
        return Gamma(self.shape, stretched(old.rate, self.rate, times))

    @property
    def mean_chance(self) -> Floats:
        """E[1 - e^-t], the chance of at least one event at this rate."""
        return -np.expm1(self.shape * np.log(self.rate / (self.rate + 1)))

    def observe_events(self, events: Floats, exposure: Floats) -> Gamma:
        """Posterior of a rate after that many events in that much exposure; both may be fractional."""
        return Gamma(self.shape + events, self.rate + exposure)

    def log_counts(self, events: Floats, exposure: Floats) -> float:
        """sum E[events log t - exposure t], linear in its two arguments."""
        return float(np.sum(events * self.mean_log - exposure * self.mean))

    def log_density(self, at: Floats) -> Floats:
        """Of the numbers `at`, entry by entry."""
        return np.asarray(
            self.shape * np.log(self.rate) - self._gammaln + (self.shape - 1) * np.log(at) - self.rate * at
        )

    def log_integral(self, count: Floats | float, squares: Floats) -> Floats:
        """log E[t^(count / 2) e^(-t squares / 2)], entry by entry: normal values, their precision t integrated out."""
        after = self.observe(count, squares)
        return np.asarray(
            self.shape * np.log(self.rate) - self._gammaln + after._gammaln - after.shape * np.log(after.rate)
        )

    def kl(self, other: Any) -> float:
        """KL(self || other), summed."""
        return float(np.sum(self.each_kl(other)))

    def each_kl(self, other: Any) -> Floats:
        """KL(self || other), entry by entry."""
        return np.asarray(
            (self.shape - other.shape) * self._digamma
            - self._gammaln
            + other._gammaln
            + other.shape * np.log(self.rate / other.rate)
            + self.shape * (other.rate - self.rate) / self.rate
        )

    def slopes(self, prior: Any, count: Floats | float, squares: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrix times the way there."""
        return self.slopes_towards(prior.shape + 0.5 * count - self.shape, prior.rate + 0.5 * squares - self.rate)

    def slopes_towards(self, shape: Floats, rate: Floats) -> dict[str, Floats]:
        """Derivatives of shape E[log t] - rate E[t], by the parameters of this Gamma."""
        return {
            "shape": self._trigamma * shape - rate / self.rate,
            "rate": (self.shape * rate / self.rate - shape) / self.rate,
        }

    @cached_property
    def _trigamma(self) -> Floats:
        return np.asarray(trigamma(self.shape))

    def sample(self, rng: np.random.Generator) -> KnownGamma:
        """A draw; one that a vague Gamma puts below all numbers is the smallest whose inverse can be squared."""
        return KnownGamma(np.maximum(rng.gamma(self.shape, 1 / self.rate), SMALLEST_DRAW))

    def only(self, keep: Index) -> Gamma:
        return Gamma(self.shape[keep], self.rate[keep])
