"""Estimated weights of a mixture: Dirichlet's interface with all mass at one point.

pi = mean          observing counts gives their shares, the maximum-likelihood estimate
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import record, simplex

__all__ = ["PointDirichlet"]

SMALLEST_SHARE = 1e-300  # log stays finite; its effect on a bound is far below rounding


@record
class PointDirichlet:
    mean: Floats = simplex("k")

    @property
    def mean_log(self) -> Floats:
        return np.log(np.maximum(self.mean, SMALLEST_SHARE))

    def observe(self, counts: Floats, *, current: Any = None) -> PointDirichlet:
        return PointDirichlet(counts / max(counts.sum(), SMALLEST_SHARE) if counts.sum() > 0 else self.mean)

    def log_likelihood(self, counts: Floats) -> float:
        return float(counts @ self.mean_log)

    def slopes(self, prior: Any, counts: Floats) -> dict[str, Floats]:
        """Derivatives of `log_likelihood(counts)`."""
        return {"mean": counts / np.maximum(self.mean, SMALLEST_SHARE)}

    def kl(self, other: Any) -> float:
        """A point has no divergence: its bound is a likelihood at that point, not an evidence."""
        return 0.0

    def sample(self, rng: np.random.Generator) -> PointDirichlet:
        return self

    def only(self, keep: Index) -> PointDirichlet:
        return PointDirichlet(self.mean[keep] / max(self.mean[keep].sum(), SMALLEST_SHARE))
