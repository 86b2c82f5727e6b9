"""Gaussian rows with missing entries: what is missing is latent, jointly with the cluster.

Under cluster k with mean m and precision E[Lam], missing entries have the conditional of a normal given the observed
ones (`array.missing_normals`). Cost O(N K (D^2 + h^3)) where h entries of a row are missing, the cube once for rows
that follow each other and miss the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import gammaln

from latens.array import Array, Floats
from latens.array.linalg import inverse, log_determinant
from latens.array.missing_normals import Holes, completed_moments, completed_sums, conditioned, holes_of
from latens.array.packed_symmetric import upper
from latens.array.transfer import cast, host, like, take, total
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["Filled", "fill", "student", "student_of"]


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
    holes, d = _holes(batch), x.shape[1]
    form, volume = conditioned(x, holes, clusters.mean, clusters.precision)
    level = log_weights + 0.5 * (clusters.log_det - d / clusters.strength)
    observed = cast(batch.observed, form)[:, None]
    density = like(level, form) - 0.5 * (form + volume + LOG_2PI * observed)
    return cast(density, batch.x), Filled(x, holes, clusters.mean, clusters.precision, volume, clusters.tied)


def student(clusters: Any, batch: Rows) -> tuple[Array, Filled, Array]:
    """Log density of the observed entries (n, K), the conditionals of the others, and what their spread is times.

    t distributions are closed under marginals and conditionals: given o columns, the others have dof + o degrees of
    freedom, and their scale grows with the quadratic form of what was seen.
    """
    dof, scale = clusters.student()
    precision, holes = inverse(scale), _holes(batch)
    form, volume = conditioned(batch.x, holes, clusters.mean, precision)
    xp, columns = array_namespace(form), np.arange(batch.x.shape[1] + 1)[:, None]
    norm = gammaln(0.5 * (dof + columns)) - gammaln(0.5 * dof)
    level = norm - 0.5 * (columns * np.log(np.pi * dof) + log_determinant(scale))  # by how many columns were seen
    free = like(dof, form) + cast(batch.observed, form)[:, None]
    density = take(like(level, form), host(batch.observed).astype(np.intp)) - 0.5 * volume
    density = density - 0.5 * free * xp.log1p(form / like(dof, form))
    spare = xp.where(free > 2, free - 2, free)  # where a variance is infinite, that of the scale is reported
    stretch = (like(dof, form) + form) / spare
    return cast(density, batch.x), Filled(batch.x, holes, clusters.mean, precision, volume, False), stretch


def student_of(clusters: Any, batch: Rows, expected: Array, volume: Array | None) -> Array:
    """The same density of the observed entries (n, K), made of the expected one of a local step.

    Both have the quadratic form of what was seen under the same precision, but for a factor. `volume` (n, K) is the log
    determinant of the precision of what is missing, in expectation; None where nothing is.
    """
    xp, d = array_namespace(expected), batch.x.shape[1]
    seen = cast(batch.observed, expected)[:, None] if volume is not None else float(d)
    missing = 0.0 if volume is None else volume
    level = like(clusters.log_det - d / clusters.strength, expected)
    form = xp.maximum(level - LOG_2PI * seen - missing - 2 * expected, xp.zeros_like(expected))
    dof, free = like(clusters.dof, expected), np.broadcast_to(clusters.dof + 1 - d, clusters.strength.shape)
    width = like(clusters.strength / (clusters.strength + 1), expected)
    columns = np.arange(d + 1)[:, None]
    norm = like(gammaln(0.5 * (free + columns)) - gammaln(0.5 * free), expected)
    norm = norm[d] if volume is None else take(norm, host(batch.observed).astype(np.intp))
    spread = like(clusters.log_volume, expected) + missing - (d - seen) * xp.log(dof)
    stretch = 0.5 * (seen * (xp.log(width) - math.log(math.pi)) - spread)
    return norm + stretch - 0.5 * (like(free, expected) + seen) * xp.log1p(form * width / dof)


def _holes(batch: Rows) -> Holes:
    holes: Holes = batch.cached("holes", lambda: holes_of(batch.mask > 0))
    return holes
