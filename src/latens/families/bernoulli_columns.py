"""Beta-Bernoulli posteriors of clusters of binary rows.

p_kd         ~ Beta(on_kd, off_kd)
x_d | k      ~ Bernoulli(p_kd)
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaln

from latens.array import Array, Floats, Index
from latens.array.fields import part, record
from latens.array.transfer import like
from latens.families.beta import Beta
from latens.families.point_beta import PointBeta

__all__ = ["BernoulliColumns"]


@record
class BernoulliColumns:
    chance: Beta | PointBeta = part("k d")  # a point after a draw
    joint: ClassVar[bool] = False

    @property
    def mean(self) -> Floats:
        """(K, D), E[p]."""
        return self.chance.mean

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries."""
        return self.mean * (1 - self.mean)

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """E[log Bernoulli(x)] = theta'x + sum_d level, (K, D) each."""
        log_on, log_off = self.chance.mean_log
        return log_on - log_off, log_off

    def tiled(self, k: int) -> BernoulliColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> BernoulliColumns:
        """Posterior after seen_kd entries of which x_kd were 1."""
        return BernoulliColumns(self.chance.observe(x, np.maximum(seen - x, 0.0)))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: Any = None) -> Floats:
        """(K,), log evidence of each cluster's entries under the prior `self`."""
        before, after = self.chance, self.observe(seen, x, xx).chance
        if isinstance(before, PointBeta) or isinstance(after, PointBeta):
            raise TypeError("evidence needs a Beta prior; points have none.")
        return np.asarray(np.sum(betaln(after.on, after.off) - betaln(before.on, before.off), axis=1))

    def kl(self, other: BernoulliColumns) -> float:
        return self.chance.kl(other.chance)

    def slopes(self, prior: BernoulliColumns, seen: Floats, x: Floats, xx: Floats) -> dict[str, Any]:
        """Derivatives of the objective that `observe` from the prior maximises."""
        return {"chance": self.chance.slopes(prior.chance, x, seen - x)}

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: each probability occurs once, so at its mean."""
        p = np.clip(self.mean, np.finfo(float).tiny, 1 - np.finfo(float).epsneg)
        return x @ like((np.log(p) - np.log1p(-p)).T, x) + seen @ like(np.log1p(-p).T, x)

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`."""
        return (rng.random((len(label), self.mean.shape[1])) < self.mean[label]).astype(float)

    def sample(self, rng: np.random.Generator) -> BernoulliColumns:
        return BernoulliColumns(self.chance.sample(rng))

    def only(self, keep: Index) -> BernoulliColumns:
        return BernoulliColumns(self.chance.only(keep))
