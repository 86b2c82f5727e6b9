"""Estimated rates: Gamma's interface with all mass at one value.

t = mean          observing counts gives counts over exposures, the maximum-likelihood estimate
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import positive, record

__all__ = ["PointGamma"]

SMALLEST_RATE, LARGEST_RATE = 1e-300, 1e3  # logarithms stay finite, and e^-t is 0 to rounding long before the upper end


@record
class PointGamma:
    mean: Floats = positive("...")

    @property
    def mean_log(self) -> Floats:
        return np.log(self.mean)

    @property
    def mean_chance(self) -> Floats:
        """1 - e^-t, the chance of at least one event."""
        return -np.expm1(-self.mean)

    def observe_events(self, events: Floats, exposure: Floats) -> PointGamma:
        return PointGamma(np.clip(events / np.maximum(exposure, SMALLEST_RATE), SMALLEST_RATE, LARGEST_RATE))

    def log_counts(self, events: Floats, exposure: Floats) -> float:
        return float(np.sum(events * self.mean_log - exposure * self.mean))

    def kl(self, other: Any) -> float:
        """A point has no divergence: its bound is a likelihood at that point, not an evidence."""
        return 0.0

    def sample(self, rng: np.random.Generator) -> PointGamma:
        return self

    def only(self, keep: Index) -> PointGamma:
        return PointGamma(self.mean[keep])
