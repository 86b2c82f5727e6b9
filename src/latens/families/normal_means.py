"""Normal posteriors of the means of Gaussian clusters whose variance is known.

mu_k          ~ Normal(mean_k, spread_k I)
x | k         ~ Normal(mu_k, noise_k I)               noise is known, so it has no divergence

A last axis of length 1 stands for all columns. With no spread, the clusters are points.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import positive, real, record, sized
from latens.array.transfer import like
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["NormalMeans", "summed_like"]


@record
class NormalMeans:
    noise: Floats = sized("k 1")  # known, so no domain in which it could be improved
    mean: Floats = real("k d")
    spread: Floats = positive("k columns")
    rounding: Floats | None = sized("d", default=None)  # of entries, as in `NormalColumns`, whose draws these may be
    joint: ClassVar[bool] = False

    @property
    def covariance(self) -> Floats:
        return self.noise

    @property
    def central_covariance(self) -> Floats:
        return self.noise

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries."""
        return np.asarray(np.broadcast_to(self.noise + self.spread, self.mean.shape))

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log Normal(x)] = theta'[x, x^2] + sum_d level, as (K, Q) and (K, D); squares as many as the noise."""
        level = -0.5 * (np.log(self.noise) + LOG_2PI + (self.mean**2 + self.spread) / self.noise)
        return np.concatenate([self.mean / self.noise, -0.5 / self.noise], axis=1), np.asarray(level)

    def tiled(self, k: int) -> NormalMeans:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> NormalMeans:
        """Posterior after seen_kd entries with sums x; their squares say nothing about the mean."""
        spread = 1 / (1 / self.spread + seen / self.noise)
        return NormalMeans(self.noise, spread * (self.mean / self.spread + x / self.noise), spread, self.rounding)

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: Any = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`."""
        after = self.observe(seen, x, xx)
        each = np.log(after.spread / self.spread) + after.mean**2 / after.spread - self.mean**2 / self.spread
        each = each - seen * (LOG_2PI + np.log(self.noise))
        return np.asarray(0.5 * (each.sum(axis=1) - np.sum(xx / self.noise, axis=1)))

    def kl(self, other: NormalMeans) -> float:
        ratio = self.spread / other.spread
        return float(0.5 * np.sum(ratio - 1 - np.log(ratio) + (self.mean - other.mean) ** 2 / other.spread))

    def slopes(self, prior: NormalMeans, seen: Floats, x: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises."""
        pull = x / self.noise + prior.mean / prior.spread - (seen / self.noise + 1 / prior.spread) * self.mean
        sharp = np.broadcast_to(seen / self.noise + 1 / prior.spread - 1 / self.spread, self.mean.shape)
        return {"mean": pull, "spread": -0.5 * summed_like(sharp, self.spread)}

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: Gaussian, wider by the means' uncertainty."""
        xp, width = array_namespace(x), self.row_variance
        gaps = [((x - like(m, x)) ** 2 * seen) @ like(1 / w, x) for m, w in zip(self.mean, width, strict=True)]
        rounded = 0.0 if self.rounding is None else self.rounding / width
        return -0.5 * (xp.stack(gaps, axis=1) + seen @ like((LOG_2PI + np.log(width) + rounded).T, x))

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`, at the means."""
        width = np.broadcast_to(np.sqrt(self.noise), self.mean.shape)
        return np.asarray(self.mean[label] + width[label] * rng.normal(size=(len(label), self.mean.shape[1])))

    def sample(self, rng: np.random.Generator) -> NormalMeans:
        mean = self.mean + rng.normal(size=self.mean.shape) * np.sqrt(self.spread)
        return NormalMeans(self.noise, mean, np.zeros_like(self.spread), self.rounding)

    def only(self, keep: Index) -> NormalMeans:
        return NormalMeans(self.noise[keep], self.mean[keep], self.spread[keep], self.rounding)


def summed_like(each: Floats, of: Floats) -> Floats:
    """Entries (K, D), summed over columns where one number stands for all of them."""
    return each if each.shape == of.shape else np.asarray(each.sum(axis=1, keepdims=True))
