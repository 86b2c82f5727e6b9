"""Gaussian rows with missing entries: what is missing is latent, jointly with the cluster.

Under cluster k with mean m and precision E[Lam], missing entries have the conditional of a normal given the observed
ones (`array.missing_normals`). Cost O(N K (D^2 + h^3)) where h entries of a row are missing, the cube once for rows
that follow each other and miss the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latens.array import Array, Floats
from latens.array.missing_normals import Holes, completed_moments, completed_sums, conditioned
from latens.array.packed_symmetric import upper
from latens.array.transfer import cast, like, total
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["Filled", "fill"]


@dataclass(frozen=True)
class Filled:
    """Conditional distributions of the missing entries of a batch; tied clusters pool their squares."""

    x: Array  # (n, D), in the precision to compute in
    holes: Holes
    mean: Floats  # (K, D)
    precision: Floats  # (1 or K, D, D)
    volume: Array  # (n, K), log determinant of the precision of what is missing
    tied: bool

    def sums(self, batch: Rows, weighted: Array, counts: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Sums of E[x] and E[xx'], weighted by memberships (n, K); the filled rows themselves are not kept."""
        x, xx = completed_sums(self.x, self.holes, self.mean, self.precision, weighted)
        missing = cast(self.x.shape[1] - batch.observed, self.volume)[:, None]
        entropy = 0.5 * total(cast(weighted, self.volume) * (missing * (1 + LOG_2PI) - self.volume))
        products = upper(xx)
        return counts[:, None], x, products.sum(axis=0, keepdims=True) if self.tied else products, entropy

    def moments(self, share: Array, stretch: Array) -> tuple[Array, Array]:
        """(n, D) each: mean and variance of every entry given the seen ones, under memberships (n, K).

        `stretch` (n, K) is what multiplies the spread of what was filled in.
        """
        return completed_moments(self.x, self.holes, self.mean, self.precision, share, stretch)


def fill(clusters: Any, log_weights: Floats, batch: Rows, x: Array) -> tuple[Array, Filled]:
    """E[log pi_k + log p(x_n)] of the observed entries (n, K), the rest integrated out, and its conditionals.

    `x` are the rows of the batch, in the precision to compute in.
    """
    holes, d = batch.holes, x.shape[1]
    form, volume = conditioned(x, holes, clusters.mean, clusters.precision)
    level = log_weights + 0.5 * (clusters.log_det - d / clusters.strength)
    observed = cast(batch.observed, form)[:, None]
    density = like(level, form) - 0.5 * (form + volume + LOG_2PI * observed)
    return cast(density, batch.x), Filled(x, holes, clusters.mean, clusters.precision, volume, clusters.tied)
