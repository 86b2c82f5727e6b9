"""Normal-Gamma posteriors of Gaussian clusters whose columns are independent.

    tau_kd          ~ Gamma(shape_kd, rate_kd)                          d = 1..D, or one shared by all columns
    mu_kd | tau_kd  ~ Normal(mean_kd, 1 / (strength_kd tau_kd))

A last axis of length 1 stands for all columns.

Where values are rounded to steps of h, what is known of an entry is that it lies within h / 2 of its value. By Jensen's
inequality, with u uniform there,

    log P(x - h/2 < u < x + h/2) >= log h + E[log Normal(u)],     E[(u - mu)^2] = (x - mu)^2 + h^2 / 12

so that the variance of rounding, h^2 / 12, is added to every square. No cluster of one value is narrower than that, and
none gains more than the logarithm of how rare its value is, which its label costs.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import gammaln as host_gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import positive, real, record, sized
from latens.array.special import gammaln, trigamma
from latens.array.transfer import like
from latens.families.gamma import Gamma
from latens.families.normal_means import NormalMeans, summed_like
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["NormalColumns"]


@record
class NormalColumns:
    mean: Floats = real("k d")
    strength: Floats = positive("k columns")  # how many rows the mean is worth
    shape: Floats = positive("k columns")
    rate: Floats = positive("k 1|d")  # one for each cluster where shared
    shared: bool = False  # one variance for all columns of a cluster
    rounding: Floats | None = sized("d", default=None)  # h^2 / 12 of each column, 0 where it has no steps
    joint: ClassVar[bool] = False

    @property
    def noise(self) -> Gamma:
        return Gamma(self.shape, self.rate)

    @property
    def dof(self) -> Floats:
        """(K, 1 or D), the Wishart's counterpart of the shape."""
        return 2 * self.shape

    @property
    def scatter(self) -> Floats:
        """(K, D), or (K, 1) where shared: the Wishart's counterpart of the rate."""
        return 2 * self.rate

    @property
    def covariance(self) -> Floats:
        """(K, 1 or D), 1 / E[tau]."""
        return self.rate / self.shape

    @property
    def central_covariance(self) -> Floats:
        """(K, 1 or D), exp E[log 1 / tau]: between median and mean of the variance."""
        return np.asarray(np.exp(-self.noise.mean_log))

    @property
    def covariance_std(self) -> Floats:
        """(K, 1 or D), standard deviations of the logarithms of variances, times the variances.

        One shape may be that of all columns: their expected logarithms then move together, and response sees only that.
        """
        return np.asarray(np.sqrt(trigamma(self.shape)) * self.central_covariance)

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries, or with E[tau] where that is infinite."""
        inside = np.where(self.shape > 1, self.noise.mean_inverse, self.rate / self.shape)
        return np.asarray(np.broadcast_to(inside * (1 + 1 / self.strength), self.mean.shape))

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log Normal(x)] = theta'[x, x^2] + sum_d level, as (K, Q) and (K, D); squares are summed where shared."""
        tau = self.noise.mean
        square = self._with_rounding(np.ones(1), self.mean**2)
        level = 0.5 * (self.noise.mean_log - LOG_2PI - 1 / self.strength - tau * square)
        return np.concatenate([tau * self.mean, -0.5 * tau], axis=1), np.asarray(level)

    def tiled(self, k: int) -> NormalColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats, mass: Floats | None = None) -> NormalColumns:
        """Posterior after seen_kd entries with sums x and xx of squares, the latter over all columns where shared.

        `mass` (K, D) are sums of what multiplies the precision of each entry, where that is not 1.
        """
        strength = self.strength + (seen if mass is None else mass)
        mean = (self.strength * self.mean + x) / strength
        left = self._pooled(self.strength * self.mean**2 - strength * mean**2) + self._with_rounding(seen, xx)
        count = self._pooled(np.broadcast_to(seen, mean.shape)) if self.shared else seen
        noise = self.noise.observe(count, np.maximum(left, 0.0))  # rounding may make it negative
        return NormalColumns(mean, strength, noise.shape, noise.rate, self.shared, self.rounding)

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: Any = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`."""
        after, d = self.observe(seen, x, xx), self.mean.shape[1]
        means = 0.5 * (np.log(self.strength / after.strength) - seen * LOG_2PI)
        noise = _log_norm(after.noise) - _log_norm(self.noise)
        return _over_columns(means, d) + (noise[:, 0] if self.shared else _over_columns(noise, d))

    def column_evidence(self, seen: Floats, x: Floats, xx: Floats, mass: Floats | None = None) -> Floats:
        """(K, D), that of each column, where they do not share their variance; `mass` as in `observe`."""
        after = self.observe(seen, x, xx, mass)
        means = 0.5 * (np.log(self.strength / after.strength) - seen * LOG_2PI)
        return np.asarray(means + _log_norm(after.noise) - _log_norm(self.noise))

    def column_kl(self, other: NormalColumns) -> Floats:
        """(K, D), that of each column, where they do not share their variance."""
        return np.asarray(0.5 * self._gaps(other) + self.noise.each_kl(other.noise))

    def _gaps(self, other: NormalColumns) -> Floats:
        """(K, 1 or D), twice the divergence of the means."""
        ratio = other.strength / self.strength
        gap = other.strength * self.noise.mean * (self.mean - other.mean) ** 2
        return np.asarray(ratio - 1 - np.log(ratio) + gap)

    def kl(self, other: NormalColumns) -> float:
        means = self._gaps(other)
        noise = Gamma(np.broadcast_to(self.shape, self.rate.shape), self.rate)  # one for each rate, to be summed over
        return float(0.5 * np.sum(np.broadcast_to(means, self.mean.shape))) + noise.kl(other.noise)

    def slopes(self, prior: NormalColumns, seen: Floats, x: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrices times the way there."""
        full, noise = self.mean.shape, Gamma(np.broadcast_to(self.shape, self.rate.shape), self.rate)
        after = prior.strength + seen
        strength = np.broadcast_to(after - self.strength, full)
        weighted = prior.strength * prior.mean + x - self.strength * self.mean
        before = self._pooled(prior.strength * prior.mean**2 - self.strength * self.mean**2)
        rate = prior.rate + 0.5 * (before + self._with_rounding(seen, xx)) - self.rate
        count = self._pooled(np.broadcast_to(seen, full)) if self.shared else seen
        about = self._pooled(self.mean * weighted - 0.5 * strength * self.mean**2) - rate
        own = noise.slopes_towards(prior.shape + 0.5 * count - self.shape + 0 * self.rate, -about)
        width = 0.5 * strength / self.strength**2
        return {
            "mean": noise.mean * (weighted - strength * self.mean),
            "strength": summed_like(width, self.strength),
            "shape": summed_like(own["shape"], self.shape),
            "rate": own["rate"],
        }

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: Student t, one for all columns where shared."""
        scale = np.broadcast_to(self.covariance * (1 + 1 / self.strength), self.mean.shape)
        dof = np.broadcast_to(2 * self.shape, (len(self.mean), 1) if self.shared else self.mean.shape)
        return self._together(x, seen, scale, dof[:, 0]) if self.shared else self._by_column(x, seen, scale, dof)

    def variance_ratios(self, x: Array, seen: Array) -> Array:
        """(n, K), what the entries that a row shows multiply the variance of the others by; 1 where none is shared."""
        xp = array_namespace(x)
        if not self.shared:
            return xp.ones_like(x[:, :1])
        scale = np.broadcast_to(self.covariance * (1 + 1 / self.strength), self.mean.shape)
        dof = 2 * np.broadcast_to(self.shape, (len(self.mean), 1))[:, 0]
        before = np.where(dof > 2, dof / np.where(dof > 2, dof - 2, 1.0), 1.0)  # as in `row_variance`
        free = xp.sum(seen, axis=1)[:, None] + like(dof, x)
        after = (like(dof, x) + self._forms(x, seen, scale)) / xp.where(free > 2, free - 2, free)
        return after / like(before, x)

    def _forms(self, x: Array, seen: Array, scale: Floats) -> Array:
        """(n, K), squared distances from the means over observed entries, in units of the scale."""
        gaps = [((x - like(m, x)) ** 2 * seen) @ like(1 / s, x) for m, s in zip(self.mean, scale, strict=True)]
        return array_namespace(x).stack(gaps, axis=1)

    def _together(self, x: Array, seen: Array, scale: Floats, dof: Floats) -> Array:
        xp = array_namespace(x)
        columns = xp.sum(seen, axis=1)[:, None]
        half = 0.5 * (columns + like(dof, x))
        level = gammaln(half) - like(host_gammaln(0.5 * dof), x) - 0.5 * columns * like(np.log(dof * np.pi), x)
        form = self._forms(x, seen, scale)
        return level - 0.5 * (seen @ like(np.log(scale).T, x)) - half * xp.log1p(form / like(dof, x))

    def _by_column(self, x: Array, seen: Array, scale: Floats, dof: Floats) -> Array:
        xp = array_namespace(x)
        level = host_gammaln(0.5 * (dof + 1)) - host_gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi * scale)  # (K, D)
        density = xp.zeros_like(x[:, :1]) + seen @ like(level.T, x)
        if x.shape[0] < x.shape[1]:  # few rows: one cluster after another, and all columns at once
            gaps = [
                (seen * xp.log1p((x - like(m, x)) ** 2 * like(1 / (f * s), x))) @ like(0.5 * (f + 1), x)
                for m, s, f in zip(self.mean, scale, np.broadcast_to(dof, scale.shape), strict=True)
            ]
            return density - xp.stack(gaps, axis=1)
        for d in range(self.mean.shape[1]):
            gap = (x[:, d][:, None] - like(self.mean[:, d], x)) ** 2 * like(1 / (dof * scale)[:, d], x)
            density = density - like(0.5 * (dof[:, d] + 1), x) * seen[:, d][:, None] * xp.log1p(gap)
        return density

    def sample(self, rng: np.random.Generator) -> NormalMeans:
        shape = (len(self.mean), 1) if self.shared else self.mean.shape
        noise = 1 / rng.gamma(np.broadcast_to(self.shape, shape), 1 / np.broadcast_to(self.rate, shape))
        mean = self.mean + rng.normal(size=self.mean.shape) * np.sqrt(noise / self.strength)
        return NormalMeans(noise, mean, np.zeros((len(mean), 1)), self.rounding)

    def only(self, keep: Index) -> NormalColumns:
        at = (self.mean[keep], self.strength[keep], self.shape[keep], self.rate[keep])
        return NormalColumns(*at, self.shared, self.rounding)

    def _with_rounding(self, seen: Floats, squares: Floats) -> Floats:
        """Sums of squares of so many entries, with what rounding adds to each; shared variances know of none."""
        return squares if self.rounding is None else np.asarray(squares + seen * self.rounding)

    def _pooled(self, each: Floats) -> Floats:
        return np.asarray(each.sum(axis=1, keepdims=True) if self.shared else each)


def _over_columns(each: Floats, d: int) -> Floats:
    """(K,), sums over columns of (K, 1 or D)."""
    return np.asarray(np.broadcast_to(each, (len(each), d)).sum(axis=1))


def _log_norm(gamma: Gamma) -> Floats:
    return np.asarray(host_gammaln(gamma.shape) - gamma.shape * np.log(gamma.rate))
