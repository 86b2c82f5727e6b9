"""Dirichlet distribution over the weights of a mixture.

pi ~ Dirichlet(concentration)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from latens.array import Floats, Index
from latens.array.fields import positive, record
from latens.array.special import stretched, trigamma
from latens.families.known_dirichlet import KnownDirichlet
from latens.system.cached_value import cached_value

__all__ = ["Dirichlet"]


@record
class Dirichlet:
    concentration: Floats = positive("k")

    @property
    def mean(self) -> Floats:
        return np.asarray(self.concentration / self.concentration.sum())

    @cached_value
    def mean_log(self) -> Floats:
        """E[log pi]."""
        return np.asarray(digamma(self.concentration) - digamma(self.concentration.sum()))

    def tiled(self, k: int) -> Dirichlet:
        """The same for k components."""
        return Dirichlet(np.full(k, self.concentration[0]))

    def beyond(self, old: Dirichlet, times: float) -> Dirichlet:
        """So many times as far from `old`, in the logarithms of pseudo-counts."""
        return Dirichlet(stretched(old.concentration, self.concentration, times))

    def observe(self, counts: Floats, *, current: Any = None) -> Dirichlet:
        """Posterior after memberships with these counts, which may be fractional."""
        return Dirichlet(self.concentration + counts)

    def log_likelihood(self, counts: Floats) -> float:
        """sum E[log Categorical], linear in the counts."""
        return float(counts @ self.mean_log)

    def kl(self, other: Any) -> float:
        gap = (self.concentration - other.concentration) @ self.mean_log
        return float(gap + other._log_norm - self._log_norm)

    def slopes(self, prior: Any, counts: Floats) -> dict[str, Floats]:
        """Derivatives of `log_likelihood(counts) - kl(prior)`: the Fisher matrix times the way to the posterior."""
        gap = prior.concentration + counts - self.concentration
        both = trigamma(self.concentration.sum()) * gap.sum()
        return {"concentration": trigamma(self.concentration) * gap - both}

    def sample(self, rng: np.random.Generator) -> KnownDirichlet:
        return KnownDirichlet(rng.dirichlet(self.concentration))

    def only(self, keep: Index) -> Dirichlet:
        return Dirichlet(self.concentration[keep])

    @cached_value
    def _log_norm(self) -> float:
        """That of a prior is asked for in every step."""
        return float(np.sum(gammaln(self.concentration)) - gammaln(self.concentration.sum()))
