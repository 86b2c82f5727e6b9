"""Noisy ICA with q(z, u) = prod_k q(z_k, u_k): each heavy source jointly with its scale, sources apart.

Given its scale a source is normal, and of the scale alone is left

    q(u_k) ~ Gamma(u_k | a/2, a/2) sqrt(u_k / (g + u_k)) exp(h^2 / (2 (g + u_k)))
    z_k | u_k ~ Normal(h / (g + u_k), 1 / (g + u_k))

with g = gram_kk and h = drive_k - sum_j gram_kj E[z_j]: expectations by the trapezoidal rule in log u, which for such
functions is exact to many digits. The bound lies below the evidence because sources are taken as independent of each
other; that of `NoisyIca`, because a source is taken as independent of its scale.

References: equation 12 of the source.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.fields import positive, real, record
from latens.array.row_matrices import with_ones
from latens.array.transfer import column_sums, host, like, total
from latens.core import Rows, transient
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.gaussian_rows import evidence, level, products, squares_before_rounding
from latens.models.noisy_ica.model import IcaPosterior, IcaStatistics, NoisyIca
from latens.models.noisy_ica.posteriors import Shapes
from latens.system.cached_value import cached_value

__all__ = ["JointNoisyIca", "ScaledSources"]

GRID = np.linspace(-16.0, 4.0, 64)  # log u: from sources of 3,000 standard deviations to scales beyond any row's


@record
class ScaledSources:
    """q(z_k, u_k) of a block of rows; what is kept restores the rest."""

    start: Array  # (n, K), E[z]
    pull: Array = real("n k", transient=True)  # h
    own: Array = positive("n k", transient=True)  # g
    tails: Array = transient()  # (K,)

    @cached_value
    def moments(self) -> tuple[Array, ...]:
        """(n, K) each: E[z], E[z^2], E[u], E[log u], E[u z^2] and the entropy of z and u."""
        xp = array_namespace(self.pull)
        if not self.pull.shape[1]:  # no source at all
            return (self.pull,) * 6
        each = [_moments(self.pull[:, k], self.own[:, k], self.tails[k]) for k in range(self.pull.shape[1])]
        return tuple(xp.stack([one[i] for one in each], axis=1) for i in range(6))

    @property
    def mean(self) -> Array:
        return self.moments[0]

    @property
    def variance(self) -> Array:
        return self.moments[1] - self.mean**2

    @property
    def entropy(self) -> Array:
        """(n,)."""
        return array_namespace(self.pull).sum(self.moments[5], axis=1)

    def covariance(self) -> Array:
        """(n, K, K) of z."""
        return self.variance[:, :, None] * like(np.eye(self.mean.shape[1]), self.mean)

    def second(self) -> Array:
        """(n, K, K), E[z z']."""
        return self.covariance() + self.mean[:, :, None] * self.mean[:, None, :]


@record(eq=False)
class JointNoisyIca(NoisyIca):
    """With `diagonal` and heavy sources only."""

    # Its local posteriors are ScaledSources throughout, which narrows what three methods take.

    def local_step(self, q: IcaPosterior, batch: Rows, warm: ScaledSources | None = None) -> ScaledSources:  # type: ignore[override]
        drive, gram = evidence(q.loadings, batch, q.n_components)
        return _inferred(q.shapes, drive, gram, warm, self.n_sweeps)

    def statistics(self, batch: Rows, local: ScaledSources) -> IcaStatistics:  # type: ignore[override]
        xp, mean = array_namespace(batch.x), local.mean
        n, k = mean.shape
        second = local.second()
        everything = column_sums(batch.weigh(xp.reshape(second, (n, k * k)))).reshape(k, k)
        _, _, u, log_u, scaled, _ = local.moments
        uzz, own = np.zeros((k, k, k)), np.arange(k)
        uzz[own, own, own] = column_sums(batch.weigh(scaled))  # a rescaling needs no more
        return IcaStatistics(
            n=batch.n,
            seen=batch.counts,
            zz=products(batch, mean, lambda: second, lambda: everything, self.intercept),
            zx=host(batch.weigh(with_ones(mean, self.intercept)).T @ batch.x),
            xx=squares_before_rounding(batch, self.rounding),
            second=everything,
            uzz=uzz,
            zs=np.zeros((k, k)),
            u=column_sums(batch.weigh(u)),
            log_u=column_sums(batch.weigh(log_u)),
            entropy=total(batch.weigh(local.entropy)),
        )

    def row_bounds(self, q: IcaPosterior, batch: Rows, local: ScaledSources) -> Array:  # type: ignore[override]
        xp, mean = array_namespace(batch.x), local.mean
        drive, gram = evidence(q.loadings, batch, q.n_components)
        second = local.second()
        _, _, u, log_u, scaled, _ = local.moments
        one, of_log, alone, square, _ = (like(price, batch.x) for price in q.shapes.prices())
        priced = one + of_log * log_u + alone * u + square * scaled
        flat = level(q.loadings, batch, q.n_components, self.rounding)
        each = xp.sum(mean * drive + priced, axis=1)
        return flat + each - 0.5 * xp.sum(gram * second, axis=(1, 2)) + local.entropy

    def floats_per_row(self, k: int) -> int:
        return super().floats_per_row(k) + 6 * len(GRID)

    def looseness(self, q: IcaPosterior, sample: Rows, n: float) -> float:
        return 0.0


def _inferred(shapes: Shapes, drive: Array, gram: Array, warm: ScaledSources | None, n_sweeps: int) -> ScaledSources:
    """Coordinate ascent over the sources, each with its scale."""
    xp = array_namespace(drive)
    own, tails = xp.linalg.diagonal(gram), like(shapes.tails, drive)
    start = warm.start if warm is not None else _at_unit_scale(drive, gram)
    means = [start[:, k] for k in range(drive.shape[1])]
    pulls = list(means)
    for _ in range(n_sweeps):
        for k in range(len(means)):
            others = xp.sum(gram[:, k, :] * xp.stack(means, axis=1), axis=1) - own[:, k] * means[k]
            pulls[k] = drive[:, k] - others
            means[k] = _moments(pulls[k], own[:, k], tails[k])[0]
    if not means:
        return ScaledSources(start, drive, own, tails)
    return ScaledSources(xp.stack(means, axis=1), xp.stack(pulls, axis=1), own, tails)


def _at_unit_scale(drive: Array, gram: Array) -> Array:
    xp = array_namespace(drive)
    return xp.linalg.solve(gram + like(np.eye(drive.shape[1]), drive), drive[:, :, None])[:, :, 0]


def _moments(h: Array, g: Array, tail: Array) -> tuple[Array, ...]:
    """What `ScaledSources.moments` holds, of one source, (n,) each."""
    xp = array_namespace(h)
    log_u, step = like(GRID, h), float(GRID[1] - GRID[0])
    u = xp.exp(log_u)
    precise = g[:, None] + u  # of z given u
    height = 0.5 * (tail * (log_u - u) + log_u - xp.log(precise) + h[:, None] ** 2 / precise)
    height = height - xp.max(height, axis=1, keepdims=True)
    share = xp.exp(height)
    norm = xp.sum(share, axis=1, keepdims=True)
    share = share / norm
    mean, square = h[:, None] / precise, (h[:, None] / precise) ** 2 + 1 / precise
    log_share = height - xp.log(norm)
    of_scale = xp.sum(share * (log_u - log_share), axis=1) + float(np.log(step))
    of_source = 0.5 * (1 + LOG_2PI - xp.sum(share * xp.log(precise), axis=1))
    return (
        xp.sum(share * mean, axis=1),
        xp.sum(share * square, axis=1),
        share @ u,
        share @ log_u,
        xp.sum(share * u * square, axis=1),
        of_scale + of_source,
    )
