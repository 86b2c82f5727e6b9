"""Normal distributions with a covariance of low rank plus a diagonal, never formed in full unless asked.

x ~ Normal(mean, W'W + diag(noise_variance))          W: (K, D), K far below D
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from latens.array import Floats
from latens.array.fields import positive, real
from latens.array.linalg import log_determinant
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["LowRankNormal"]


@dataclass(frozen=True)
class LowRankNormal:
    """A Gaussian given by its mean, loadings and diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> q = LowRankNormal(np.zeros(3), np.array([[1.0, 1.0, 0.0]]), np.ones(3))
    >>> q.log_det_covariance
    1.0986
    >>> q.covariance()[0]
    array([2., 1., 0.])
    """

    mean: Floats = real("d")
    components: Floats = real("k d")
    noise_variance: Floats = positive("d")

    @property
    def variance(self) -> Floats:
        """(D,), the diagonal of the covariance."""
        return np.asarray(np.sum(self.components**2, axis=0) + self.noise_variance)

    @cached_property
    def inner(self) -> Floats:
        """(K, K), I + W diag(1 / noise) W'."""
        return np.eye(len(self.components)) + (self.components / self.noise_variance) @ self.components.T

    @cached_property
    def log_det_covariance(self) -> float:
        return float(log_determinant(self.inner) + np.sum(np.log(self.noise_variance)))

    def times(self, columns: Floats) -> Floats:
        """The covariance times (D, M)."""
        return np.asarray(self.components.T @ (self.components @ columns) + self.noise_variance[:, None] * columns)

    def solve(self, columns: Floats) -> Floats:
        """The inverse covariance times (D, M)."""
        light = columns / self.noise_variance[:, None]
        pulled = np.linalg.solve(self.inner, self.components @ light)
        return np.asarray(light - (self.components.T @ pulled) / self.noise_variance[:, None])

    def covariance(self) -> Floats:
        """(D, D)."""
        return self.components.T @ self.components + np.diag(self.noise_variance)

    def precision(self) -> Floats:
        """(D, D), by an inverse of K x K."""
        scaled = self.components / self.noise_variance
        return np.diag(1 / self.noise_variance) - scaled.T @ np.asarray(np.linalg.solve(self.inner, scaled))

    def log_density(self, x: Floats) -> Floats:
        """(n,), of rows x (n, D)."""
        gaps = x - self.mean
        quadratic = np.sum(gaps * self.solve(gaps.T).T, axis=1)
        return np.asarray(-0.5 * (quadratic + self.log_det_covariance + x.shape[1] * LOG_2PI))

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """(n, D)."""
        k, d = self.components.shape
        noise = rng.standard_normal((n, d)) * np.sqrt(self.noise_variance)
        return self.mean + rng.standard_normal((n, k)) @ self.components + noise
