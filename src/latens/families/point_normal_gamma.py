"""Regression by maximum likelihood: the interface of `Relevance` with all mass at one point.

x_nd ~ Normal(w_d'z_n, noise_d)          w, noise: points, so there is no divergence
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from latens.array import Array, Floats, Index
from latens.array.fields import positive, real, record, sized
from latens.array.linalg import symmetric_pinv, times_columns
from latens.array.transfer import like

__all__ = ["LEAST_POWER", "LOG_2PI", "PointNormalGamma", "column_sizes"]

LOG_2PI = math.log(2 * math.pi)
LEAST_POWER = 1e-100  # power of a density that says nothing


def column_sizes(weights: Floats, tau: Floats) -> Floats:
    """(D,), standard deviations of columns with weights (K, D) of codes of variance 1; 1 where there is none."""
    size = np.sqrt(np.sum(weights**2, axis=0) + 1 / tau)
    return np.asarray(np.where(np.isfinite(size) & (size > 0), size, 1.0))


@record
class PointNormalGamma:
    mean: Floats = real("k d")
    noise: Floats = positive("noises")  # one for all columns or one each
    floor: float | Floats = sized("d", default=0.0)  # smallest noise: below it the likelihood is unbounded

    @property
    def tau(self) -> Floats:
        return 1 / self.noise

    @property
    def log_tau(self) -> Floats:
        return -np.log(self.noise)

    @property
    def mean_noise(self) -> Floats:
        return self.noise

    @cached_property
    def scaled(self) -> Floats:
        """(K, D), tau_d w_d."""
        return np.asarray(self.tau * self.mean)

    def column_sizes(self, k: int | None = None) -> Floats:
        """(D,), standard deviations of columns whose first k codes, or all, have variance 1, the others none."""
        return column_sizes(self.mean[:k], self.tau)

    def coordinate_sizes(self, k: int | None = None) -> dict[str, Any]:
        """What free coordinates of weights are in (`core.coordinates.Sized`): the unit of their column."""
        return {"mean": self.column_sizes(k)}

    @property
    def grams(self) -> Floats:
        """(D, K, K), tau_d w_d w_d'."""
        return (self.mean * self.tau).T[:, :, None] * self.mean.T[:, None, :]

    @property
    def gram(self) -> Floats:
        """(K, K), the sum of `grams` without forming them."""
        return (self.mean * self.tau) @ self.mean.T

    @property
    def spread(self) -> Floats:
        """(1, K, K), covariance of w_d in units of the noise: a point has none."""
        return np.zeros((1, len(self.mean), len(self.mean)))

    def observe(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats, *, current: Any) -> PointNormalGamma:
        """Best fit to sums over observed entries: zz_d = sum E[zz'], zx = sum E[z]x', xx_d = sum x^2."""
        mean = times_columns(symmetric_pinv(zz), zx)
        left = _residual(mean, zz, zx, xx)
        # where codes are all but redundant the equations lose digits: then what is there may be the better solution
        left_now = _residual(current.mean, zz, zx, xx)
        mean, left = np.where(left < left_now, mean, current.mean), np.minimum(left, left_now)
        count = np.broadcast_to(seen, xx.shape)
        if len(self.noise) == 1:
            left, count = left.sum(keepdims=True), count.sum(keepdims=True)
        return PointNormalGamma(mean, np.maximum(left / np.maximum(count, 1e-300), self.floor), self.floor)

    def transformed(self, axes: Floats, prior: Any) -> PointNormalGamma:
        """`axes` (K, K) times the weights, as in `Relevance`; points have no relevances that would follow."""
        return replace(self, mean=axes @ self.mean)

    def with_relevances_at(self, axes: Floats, prior: Any) -> PointNormalGamma:
        return self.transformed(axes, prior)

    def log_likelihood(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> float:
        """sum log Normal(x_nd | w_d'z_n, noise) over observed entries, linear in its arguments."""
        quadratic = _residual(self.mean, zz, zx, xx)
        return float(-0.5 * np.sum(seen * (np.log(self.noise) + LOG_2PI) + quadratic / self.noise))

    def slopes(self, prior: Any, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of `log_likelihood`."""
        left = _residual(self.mean, zz, zx, xx) / self.noise
        noise = 0.5 * (left - np.broadcast_to(seen, left.shape)) / self.noise
        noise = noise if len(self.noise) == len(left) else noise.sum(keepdims=True)
        return {"mean": (zx - times_columns(zz, self.mean)) / self.noise, "noise": noise}

    def log_density(self, states: Floats, x: Array, seen: Array) -> Array:
        """(n, C), log density of each row's observed entries given each state (C, K); seen (1 or n, D) is 0 or 1."""
        centres = states @ self.mean  # (C, D)
        tau = np.broadcast_to(self.tau, centres.shape[1:])
        quadratic = seen @ like((tau * centres**2).T, x) - 2 * (x @ like((tau * centres).T, x))
        noise = seen @ like(np.log(tau) - LOG_2PI, x) - x**2 @ like(tau, x)
        return 0.5 * (noise[:, None] - quadratic)

    def to_power(self, t: float) -> PointNormalGamma:
        """So that its density of rows is, but for a factor, this one's to the power t."""
        return PointNormalGamma(self.mean, self.noise / max(t, LEAST_POWER))

    def kl(self, other: Any) -> float:
        return 0.0

    def sample(self, rng: np.random.Generator) -> PointNormalGamma:
        return self

    def only(self, keep: Index) -> PointNormalGamma:
        return PointNormalGamma(self.mean[keep], self.noise, self.floor)


def _residual(mean: Floats, zz: Floats, zx: Floats, xx: Floats) -> Floats:
    """(D,), sums of squared residuals; the whole quadratic, which is right for any mean."""
    squares: Floats = xx - 2 * np.sum(mean * zx, axis=0) + np.sum(mean * times_columns(zz, mean), axis=0)
    return squares
