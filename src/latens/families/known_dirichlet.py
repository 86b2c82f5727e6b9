"""Known weights of a mixture: Dirichlet's interface with all mass at one point.

pi = mean          observing counts changes nothing
"""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import record, sized

__all__ = ["KnownDirichlet"]

SMALLEST_SHARE = 1e-300  # log stays finite; its effect on a bound is far below rounding


@record
class KnownDirichlet:
    mean: Floats = sized("k")  # sums to 1; known, so no domain in which it could be improved

    @property
    def mean_log(self) -> Floats:
        return np.log(np.maximum(self.mean, SMALLEST_SHARE))

    def tiled(self, k: int) -> KnownDirichlet:
        """Equal shares of k components."""
        return KnownDirichlet(np.full(k, 1 / k))

    def observe(self, counts: Floats, *, current: Any = None) -> KnownDirichlet:
        return self

    def log_likelihood(self, counts: Floats) -> float:
        return float(counts @ self.mean_log)

    def slopes(self, prior: Any, counts: Floats) -> dict[str, Floats]:
        """What is known does not move."""
        return {}

    def kl(self, other: Any) -> float:
        """What is known has no divergence."""
        return 0.0

    def sample(self, rng: np.random.Generator) -> KnownDirichlet:
        return self

    def only(self, keep: Index) -> KnownDirichlet:
        return KnownDirichlet(self.mean[keep] / self.mean[keep].sum())
