"""Dirichlet process over the weights of a mixture, truncated at K components.

    alpha   ~ Gamma                                    few large components, or many
    v_k     ~ Beta(1, alpha)                           k = 1..K-1; v_K = 1
    pi_k    = v_k prod_{j<k} (1 - v_j)                 a piece of what the earlier ones left of the stick

Components are not exchangeable: large ones cost least in front.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betaln

from latens.array import Floats, Index
from latens.array.fields import part, record
from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_dirichlet import KnownDirichlet

__all__ = ["Sticks"]


@record
class Sticks:
    """q(v) q(alpha)."""

    breaks: Beta = part("k-1")  # on: the piece broken off, off: what is left
    alpha: Gamma = part("1")

    @classmethod
    def prior(cls, shape: float, rate: float) -> Sticks:
        """For one component, which takes the whole stick; `tiled` makes room for more."""
        return cls(Beta(np.ones(0), np.ones(0)), Gamma(np.array([shape]), np.array([rate])))

    @property
    def mean(self) -> Floats:
        """(K,), E[pi]."""
        broken = self.breaks.mean
        return np.append(broken, 1.0) * np.cumprod(np.append(1.0, 1 - broken))

    @property
    def concentration(self) -> tuple[Floats, Floats]:
        """(K,) each: one and what belongs to a component, and alpha and what belongs to later ones."""
        alpha = float(self.alpha.mean[0])
        last = self.breaks.off[-1:] - alpha if len(self.breaks.off) else np.zeros(1)
        return np.append(self.breaks.on, 1 + np.maximum(last, 0.0)), np.append(self.breaks.off, alpha)

    @property
    def mean_log(self) -> Floats:
        """(K,), E[log pi]."""
        log_on, log_off = self.breaks.mean_log
        return np.asarray(np.append(log_on, 0.0) + np.cumsum(np.append(0.0, log_off)))

    def tiled(self, k: int) -> Sticks:
        return Sticks(Beta(np.ones(k - 1), np.full(k - 1, self.alpha.mean[0])), self.alpha)

    def observe(self, counts: Floats, *, current: Any) -> Sticks:
        """One coordinate step from the prior `self`: breaks given E[alpha], then alpha."""
        breaks = _broken(counts, float(current.alpha.mean[0]))
        rate = self.alpha.rate - np.sum(breaks.mean_log[1])
        return Sticks(breaks, Gamma(self.alpha.shape + len(counts) - 1, rate))

    def log_likelihood(self, counts: Floats) -> float:
        return float(counts @ self.mean_log)

    def kl(self, other: Any) -> float:
        """KL from the prior `other`, whose breaks are given by alpha alone."""
        log_on, log_off = self.breaks.mean_log
        own = (self.breaks.on - 1) * log_on + (self.breaks.off - 1) * log_off - betaln(self.breaks.on, self.breaks.off)
        prior = self.alpha.mean_log + (self.alpha.mean - 1) * log_off
        return float(np.sum(own - prior)) + self.alpha.kl(other.alpha)

    def slopes(self, prior: Any, counts: Floats) -> dict[str, Any]:
        """Derivatives of `log_likelihood(counts) - kl(prior)`."""
        target = _broken(counts, float(self.alpha.mean[0]))
        rate = prior.alpha.rate - np.sum(self.breaks.mean_log[1]) - self.alpha.rate
        shape = prior.alpha.shape + len(counts) - 1 - self.alpha.shape
        return {"breaks": self.breaks.slopes(target, 0.0, 0.0), "alpha": self.alpha.slopes_towards(shape, rate)}

    def sample(self, rng: np.random.Generator) -> KnownDirichlet:
        broken = rng.beta(self.breaks.on, self.breaks.off)
        return KnownDirichlet(np.append(broken, 1.0) * np.cumprod(np.append(1.0, 1 - broken)))

    def redrawn(self, last: Floats, counts: Floats, rng: np.random.Generator) -> KnownDirichlet:
        """Weights given counts (K,), under the prior `self`: alpha is drawn first, given the weights before.

        `last` are their logarithms. Of these the last is the sum of all log (1 - v_k), which is what alpha sees.
        """
        shape, rate = self.alpha.shape[0] + len(counts) - 1, self.alpha.rate[0] - last[-1]
        return replace(self, breaks=_broken(counts, rng.gamma(shape) / rate)).sample(rng)

    def only(self, keep: Index) -> Sticks:
        """What the counts of these components, in this order, say at the same alpha."""
        alpha = float(self.alpha.mean[0])
        last = self.breaks.off[-1:] - alpha if len(self.breaks.off) else np.ones(1)
        counts = np.maximum(np.append(self.breaks.on - 1, last), 0.0)
        return Sticks(_broken(counts[keep], alpha), self.alpha)


def _broken(counts: Floats, alpha: float) -> Beta:
    later = np.cumsum(counts[::-1])[::-1]
    return Beta(1 + counts[:-1], alpha + np.append(later[1:], 0.0)[:-1])
