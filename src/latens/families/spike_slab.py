"""Sparse coefficients: each is zero, or drawn from a normal of learnt precision.

w_dk = s_dk v_dk      s_dk ~ Bernoulli(theta_k)      v_dk ~ Normal(0, 1 / alpha_k)
q(v_dk | s_dk = 1) = Normal(slab, variance)          q(v_dk | s_dk = 0) = Normal(0, idle)
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import entr, logit

from latens.array import Floats, Index
from latens.array.fields import positive, real, record, unit
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma

__all__ = ["SpikeSlab"]


@record
class SpikeSlab:
    on: Floats = unit("d k")  # q(s = 1)
    slab: Floats = real("d k")
    variance: Floats = positive("d k")
    idle: Floats = positive("k")  # 1 / E[alpha] as it was when q was set: alpha has moved on since

    @cached_property
    def mean(self) -> Floats:
        return self.on * self.slab

    @cached_property
    def square(self) -> Floats:
        """E[w^2]."""
        return self.on * (self.slab**2 + self.variance)

    @cached_property
    def used(self) -> Floats:
        """(K,), sum over D of q(s = 1)."""
        return np.asarray(self.on.sum(axis=0))

    @cached_property
    def sizes(self) -> Floats:
        """(K,), sum over D of E[v^2], which is what alpha sees."""
        return np.asarray(self.square.sum(axis=0) + (len(self.on) - self.used) * self.idle)

    @cached_property
    def entropy(self) -> Floats:
        """(K,), sum over D of that of s and v, less log 2 pi / 2 each."""
        slab = np.sum(self.on * np.log(self.variance), axis=0) + (len(self.on) - self.used) * np.log(self.idle)
        return np.asarray(np.sum(entr(self.on) + entr(1 - self.on), axis=0) + 0.5 * (slab + len(self.on)))

    def kl(self, alpha: Gamma | KnownGamma, theta: Beta | None) -> Floats:
        """(K,), E over q(alpha, theta) of the divergence from the spike and slab they set; without theta all are on."""
        d, (log_on, log_off) = len(self.on), (0.0, 0.0) if theta is None else theta.mean_log
        slab = 0.5 * (d * alpha.mean_log - alpha.mean * self.sizes)
        return np.asarray(-slab - self.used * log_on - (d - self.used) * log_off - self.entropy)

    def slopes(
        self, alpha: Gamma | KnownGamma, theta: Beta | None, means: Floats, squares: Floats
    ) -> dict[str, Floats]:
        """Derivatives of `-kl` and of what has these (D, K) by E[w] and E[w^2]."""
        rest = len(self.on) - self.used
        squares = squares - 0.5 * alpha.mean  # with the prior of the slab
        log_on, log_off = (0.0, 0.0) if theta is None else theta.mean_log
        on = means * self.slab + squares * (self.slab**2 + self.variance) + 0.5 * alpha.mean * self.idle
        of_switches, of_variances = self._entropy_slopes
        return {
            "on": on + log_on - log_off + of_switches,
            "slab": self.on * (means + 2 * squares * self.slab),
            "variance": self.on * (squares + of_variances),
            "idle": 0.5 * rest * (1 / self.idle - alpha.mean),
        }

    @cached_property
    def _entropy_slopes(self) -> tuple[Floats, Floats]:
        """(D, K) each, derivatives of the entropy by q(s = 1), and by the variance where q(s = 1) = 1."""
        return 0.5 * np.log(self.variance / self.idle) - logit(self.on), 0.5 / self.variance

    def at_mean(self) -> SpikeSlab:
        """All mass at the expected coefficients."""
        return SpikeSlab(np.ones_like(self.on), self.mean, np.zeros_like(self.on), self.idle)

    def sample(self, rng: np.random.Generator) -> SpikeSlab:
        drawn = self.slab + rng.normal(size=self.slab.shape) * np.sqrt(self.variance)
        drawn = np.where(rng.random(self.on.shape) < self.on, drawn, 0.0)
        return SpikeSlab(np.ones_like(self.on), drawn, np.zeros_like(self.on), self.idle)

    def resized(self, times: Floats) -> SpikeSlab:
        """So many times (K,) as large."""
        return SpikeSlab(self.on, self.slab * times, self.variance * times**2, self.idle * times**2)

    def only(self, keep: Index) -> SpikeSlab:
        return SpikeSlab(self.on[:, keep], self.slab[:, keep], self.variance[:, keep], self.idle[keep])
