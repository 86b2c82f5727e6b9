"""Levels of columns by group, and then coefficients of covariates, each normal.

b_dg ~ Normal(mean, variance)
"""

from __future__ import annotations

import numpy as np

from latens.array import Floats
from latens.array.fields import positive, real, record

__all__ = ["Offsets"]


@record
class Offsets:
    mean: Floats = real("d n_groups+n_covariates")
    variance: Floats = positive("d n_groups+n_covariates")

    @property
    def square(self) -> Floats:
        """E[b^2]."""
        return self.mean**2 + self.variance

    def kl(self, other: Offsets) -> float:
        """KL(self || other), summed."""
        ratio = self.variance / other.variance
        return float(0.5 * np.sum(ratio - 1 - np.log(ratio) + (self.mean - other.mean) ** 2 / other.variance))

    def slopes(self, prior: Offsets, means: Floats, squares: Floats) -> dict[str, Floats]:
        """Derivatives of `-kl(prior)` and of what has these (D, G) by E[b] and E[b^2]."""
        mean = means + 2 * squares * self.mean - (self.mean - prior.mean) / prior.variance
        return {"mean": mean, "variance": squares + 0.5 * (1 / self.variance - 1 / prior.variance)}

    def at_mean(self) -> Offsets:
        return Offsets(self.mean, np.zeros_like(self.variance))

    def sample(self, rng: np.random.Generator) -> Offsets:
        return Offsets(self.mean + rng.normal(size=self.mean.shape) * np.sqrt(self.variance), np.zeros_like(self.mean))
