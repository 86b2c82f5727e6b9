"""Known positive numbers: Gamma's interface with all mass at one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import positive, record

__all__ = ["KnownGamma"]


@record
class KnownGamma:
    mean: Floats = positive("...")

    @property
    def mean_log(self) -> Floats:
        return np.log(self.mean)

    @property
    def mean_inverse(self) -> Floats:
        return 1 / self.mean

    def observe(self, count: Floats | float, squares: Floats, *, current: Any = None) -> KnownGamma:
        return self

    def slopes(self, prior: Any, count: Floats | float, squares: Floats) -> dict[str, Floats]:
        """What is known does not move."""
        return {}

    def kl(self, other: Any) -> float:
        """What is known has no divergence."""
        return 0.0

    def sample(self, rng: np.random.Generator) -> KnownGamma:
        return self

    def only(self, keep: Index) -> KnownGamma:
        return KnownGamma(self.mean[keep])
