"""Normal-Gamma posterior of a linear regression with unknown noise.

    tau_d         ~ Gamma(shape_d, rate_d)                         one for all columns, or one each
    w_d | tau_d   ~ Normal(mean_d, (tau_d precision_d)^-1)         d = 1..D

Columns that were seen in the same rows share one precision: its leading axis is then 1
and broadcasts, here and in the statistics, which therefore still add.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import gammaln as host_gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import positive, positive_definite, real, record
from latens.array.linalg import cholesky, inverse, inverse_with_volume, log_determinant, solve_columns, times_columns
from latens.array.special import gammaln
from latens.array.transfer import like
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import LOG_2PI, PointNormalGamma

__all__ = ["NormalGamma"]


@record
class NormalGamma:
    mean: Floats = real("k d")
    precision: Floats = positive_definite("1|d k k")  # in units of the noise precision
    shape: Floats = positive("noises")
    rate: Floats = positive("noises")
    # columns of one noise beside these D, in which all rows are 0: weights there have mean 0, and the same precision
    n_empty: int = field(default=0, kw_only=True)

    @property
    def n_columns(self) -> int:
        return int(self.mean.shape[1]) + self.n_empty

    @cached_property
    def spread(self) -> Floats:
        """(1 or D, K, K), covariance of w_d in units of the noise variance."""
        return self._inner[0] if len(self.precision) > 1 else inverse(self.precision)

    @cached_property
    def _inner(self) -> tuple[Floats, Floats]:
        """Inverses and log determinants of the precisions of columns that holes have distinguished."""
        return inverse_with_volume(self.precision)

    @cached_property
    def noise(self) -> Gamma:
        return Gamma(self.shape, self.rate)

    @property
    def tau(self) -> Floats:
        return self.noise.mean

    @property
    def log_tau(self) -> Floats:
        """E[log tau]."""
        return self.noise.mean_log

    @property
    def mean_noise(self) -> Floats:
        """E[1/tau], or 1/E[tau] where that is infinite."""
        return np.where(self.shape > 1, self.noise.mean_inverse, 1 / self.tau)

    @property
    def grams(self) -> Floats:
        """(D, K, K), E[tau_d w_d w_d']: what switching codes on together costs in column d."""
        return (self.mean * self.tau).T[:, :, None] * self.mean.T[:, None, :] + self.spread

    @property
    def gram(self) -> Floats:
        """(K, K), the sum of `grams` without forming them."""
        certain: Floats = (self.mean * self.tau) @ self.mean.T
        uncertain: Floats = self._copies(self.spread) * self.spread.sum(axis=0)
        return certain + uncertain

    def observe(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats, *, current: Any = None) -> NormalGamma:
        """Posterior after sums over observed entries: zz_d = sum E[zz'], zx = sum E[z]x', xx_d = sum x^2."""
        precision = self.precision + zz
        weighted = times_columns(self.precision, self.mean) + zx
        mean = solve_columns(precision, weighted)
        before = np.sum(self.mean * times_columns(self.precision, self.mean), axis=0)
        left = np.maximum(xx + before - np.sum(mean * weighted, axis=0), 0.0)  # rounding may make it negative
        noise = self.noise.observe(self._per_noise(np.broadcast_to(seen, left.shape)), self._per_noise(left))
        return NormalGamma(mean, precision, noise.shape, noise.rate, n_empty=self.n_empty)

    def log_likelihood(self, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> float:
        """sum E[log Normal(x_nd | w_d'z_n, 1/tau_d)] over observed entries, linear in its arguments."""
        residual = xx - 2 * np.sum(self.mean * zx, axis=0) + np.sum(self.mean * times_columns(zz, self.mean), axis=0)
        uncertain = self.spread * zz
        level = seen * (self.log_tau - LOG_2PI)
        noisy = np.sum(np.broadcast_to(level, residual.shape) - self.tau * residual)
        return float(0.5 * (noisy - self._copies(uncertain) * np.sum(uncertain)))

    def log_density(self, states: Floats, x: Array, seen: Array) -> Array:
        """(n, C), log E_q[p(row | state)] over observed entries: Student t, jointly where columns share the noise."""
        centres = states @ self.mean  # (C, D)
        widths = 1 + np.einsum("ci,dij,cj->cd", states, self.spread, states)
        scale = np.broadcast_to(widths * self.rate / self.shape, centres.shape)  # (C, D)
        if len(self.shape) > 1:
            return self._column_by_column(centres, scale, x, seen)
        dof, columns = 2 * float(self.shape[0]), array_namespace(seen).sum(seen, axis=1)[:, None]
        gap = (
            seen @ like((centres**2 / scale).T, x)
            - 2 * (x @ like((centres / scale).T, x))
            + x**2 @ like(1 / scale.T, x)
        )
        gap = (gap + abs(gap)) / 2  # rounding may make it negative
        each = 0.5 * float(np.log(dof * np.pi))
        level = gammaln(0.5 * (columns + dof)) - float(host_gammaln(0.5 * dof)) - each * columns
        return level - 0.5 * (seen @ like(np.log(scale).T, x)) - 0.5 * (columns + dof) * _log1p(gap / dof)

    def _column_by_column(self, centres: Floats, scale: Floats, x: Array, seen: Array) -> Array:
        dof = 2 * self.shape
        level = host_gammaln(0.5 * (dof + 1)) - host_gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi * scale)  # (C, D)
        density = seen @ like(level.T, x)
        for d in range(centres.shape[1]):
            gap = (x[:, d][:, None] - like(centres[:, d], x)) ** 2 / like(dof[d] * scale[:, d], x)
            density = density - 0.5 * float(dof[d] + 1) * seen[:, d][:, None] * _log1p(gap)
        return density

    def kl(self, other: NormalGamma) -> float:
        """KL(self || other), summed over columns."""
        k, shift = self.mean.shape[0], self.mean - other.mean
        ratio = np.trace(self.spread @ other.precision, axis1=1, axis2=2)
        volume = self._inner[1] if len(self.precision) > 1 else log_determinant(self.precision)
        determinants = volume - log_determinant(other.precision)
        normal = self._copies(ratio) * np.sum(ratio - k + determinants)
        normal += np.sum(self.tau * np.sum(shift * times_columns(other.precision, shift), axis=0))
        return float(0.5 * normal) + self.noise.kl(other.noise)

    def slopes(self, prior: NormalGamma, seen: Floats, zz: Floats, zx: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrices times the way there."""
        m, own = self.mean, times_columns(self.precision, self.mean)
        before = times_columns(prior.precision, prior.mean)
        weighted, precision = before + zx - own, prior.precision + zz - self.precision
        turned = times_columns(precision, m)
        left = xx + np.sum(prior.mean * before, axis=0) - np.sum(m * own, axis=0)
        about = np.sum(m * (weighted - 0.5 * turned), axis=0) - 0.5 * left
        noise, count = self.noise, self._per_noise(np.broadcast_to(seen, left.shape))
        rate = prior.rate - self.rate - self._per_noise(about)
        towards = noise.slopes_towards(prior.shape + 0.5 * count - self.shape, rate)
        widths = 0.5 * self.spread @ precision @ self.spread
        if len(widths) > len(self.precision):
            widths = widths.sum(axis=0, keepdims=True)
        return {"mean": self.tau * (weighted - turned), "precision": self._copies(widths) * widths, **towards}

    def sample(self, rng: np.random.Generator) -> PointNormalGamma:
        noise = self.noise.sample(rng).mean_inverse
        roots = cholesky(self.spread)
        draw = times_columns(roots, rng.normal(size=self.mean.shape)) * np.sqrt(noise)
        return PointNormalGamma(self.mean + draw, noise)

    def only(self, keep: Index) -> NormalGamma:
        """The marginal of some of the weights."""
        precision = inverse(self.spread[:, keep][:, :, keep])
        return NormalGamma(self.mean[keep], precision, self.shape, self.rate, n_empty=self.n_empty)

    def _copies(self, per_column: Floats) -> int:
        """How many columns each entry of the leading axis stands for."""
        return self.n_columns // len(per_column)

    def _per_noise(self, per_column: Floats) -> Floats:
        return per_column if len(self.shape) > 1 else np.asarray(per_column.sum(keepdims=True))


def _log1p(x: Array) -> Array:
    return array_namespace(x).log1p(x)
