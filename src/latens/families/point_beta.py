"""Estimated probabilities: Beta's interface with all mass at one value.

p = mean          observing counts gives their ratio, the maximum-likelihood estimate
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import record, unit

__all__ = ["PointBeta"]

SMALLEST_CHANCE = 1e-300  # log stays finite; its effect on a bound is far below rounding
LARGEST_CHANCE = (
    1 - 8 * np.finfo(float).epsneg
)  # a ratio of sums that is 1 but for rounding is this number in any order


@record
class PointBeta:
    mean: Floats = unit("...")

    @classmethod
    def of(cls, mean: Floats) -> PointBeta:
        """With 0 and 1 moved by a few rounding errors at most, so that logarithms stay finite."""
        return cls(np.clip(mean, SMALLEST_CHANCE, LARGEST_CHANCE))

    @property
    def mean_log(self) -> tuple[Floats, Floats]:
        return np.log(self.mean), np.log1p(-self.mean)

    def observe(self, on: Floats, off: Floats, *, current: Any = None) -> PointBeta:
        return PointBeta.of(on / np.maximum(on + off, SMALLEST_CHANCE))

    def log_likelihood(self, on: Floats, off: Floats) -> float:
        log_p, log_not_p = self.mean_log
        return float(np.sum(on * log_p + off * log_not_p))

    def slopes(self, prior: Any, on: Floats, off: Floats) -> dict[str, Floats]:
        """Derivatives of `log_likelihood(on, off)`."""
        return {"mean": on / self.mean - off / (1 - self.mean)}

    def kl(self, other: Any) -> float:
        """A point has no divergence: its bound is a likelihood at that point, not an evidence."""
        return 0.0

    def sample(self, rng: np.random.Generator) -> PointBeta:
        return self

    def only(self, keep: Index) -> PointBeta:
        return PointBeta(self.mean[keep])
