"""Posteriors of the factor values of each sample: jointly normal, or each switched on or off by itself.

Both give what a model needs of them: means, covariances, and the sums that their prior sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.fields import positive, positive_definite, real, record, unit
from latens.array.kernels.spike_slab import sweep_spikes
from latens.array.packed_symmetric import diagonal_places
from latens.array.row_matrices import log_determinants, normal_rows, times_kinds
from latens.array.special import xlogx
from latens.array.transfer import cross_sums, host, like, take, total
from latens.core import Rows, transient
from latens.models.likelihoods import Tangent
from latens.system.cached_value import cached_value

__all__ = ["JointCodes", "SparseCodes"]


@record
class JointCodes:
    """q(z_n) = Normal(mean, spread), exact where the views are Gaussian.

    Samples that show the same views share their spread: it is one for all, one for each kind of sample, or one each.
    """

    mean: Array = real("n k")
    spread: Array = positive_definite("kinds k k")
    tangents: Mapping[str, Tangent] = transient()
    kind: Array | None = None  # (n,), which spread is whose

    @classmethod
    def neutral(cls, n: int, precision: Array) -> JointCodes:
        """The prior of precision (1 or n, K); what many samples share is there once."""
        xp, k = array_namespace(precision), precision.shape[1]
        blank = xp.broadcast_to(xp.zeros_like(precision[:1, :]), (n, k))
        return cls(blank, (1 / precision)[:, :, None] * like(np.eye(k), precision))

    @classmethod
    def best(
        cls,
        drive: Array,
        gram: Array,
        precision: Array,
        tangents: Mapping[str, Tangent],
        kind: Array | None = None,
    ) -> JointCodes:
        """Of drive'z - z'(gram + diag(precision)) z / 2; gram (1, kinds or n, P) packed, precision (1, .. or n, K)."""
        if kind is None:
            mean, spread, volume = normal_rows(drive, gram, precision)
        else:
            blank = np.zeros((max(len(gram), len(precision)), drive.shape[1]), drive.dtype)
            _, spread, volume = normal_rows(blank, gram, precision)
            mean = times_kinds(spread, drive, kind)
        found = cls(mean, spread, tangents, kind)
        vars(found).update(volume=volume)  # a cached property: taken once
        return found

    def only(self, keep: Index) -> JointCodes:
        """The codes of these factors, as if they had been alone."""
        return JointCodes(self.mean[:, keep], self.spread[:, keep][:, :, keep], kind=self.kind)

    def moved_to(self, mean: Array) -> JointCodes:
        return replace(self, mean=mean)

    def mirrored(self, other: JointCodes) -> JointCodes:
        return replace(self, mean=2 * self.mean - other.mean, spread=2 * self.spread - other.spread)

    def spread_by(self, gram: Array, precision: Array) -> JointCodes:
        """The same means with the covariance of other products, gram and precision as above."""
        xp = array_namespace(self.mean)
        return JointCodes(self.mean, normal_rows(xp.zeros_like(self.mean), gram, precision)[1])

    def draw(self, rng: np.random.Generator) -> Floats:
        """(n, K), one draw for each sample."""
        root = np.linalg.cholesky(host(self.spread))
        noise = rng.normal(size=self.mean.shape)
        if self.kind is not None:
            root = take(root, self.kind)
        moved: Floats = noise @ root[0].T if len(root) == 1 else np.einsum("nkl,nl->nk", root, noise)
        return np.asarray(host(self.mean) + moved)

    @property
    def variance(self) -> Array:
        """(1 or n, K)."""
        return self._each(array_namespace(self.mean).linalg.diagonal(self.spread))

    @property
    def squares(self) -> Array:
        """(n, K), what their precision sees: E[z^2]."""
        return self.mean**2 + self.variance

    @property
    def used(self) -> Array:
        """(n, K), how far each is on."""
        return array_namespace(self.mean).ones_like(self.mean)

    @cached_value
    def volume(self) -> Array:
        """(1, kinds or n,), log determinants of the spread."""
        return log_determinants(self.spread)

    @property
    def entropy(self) -> Array:
        """(n,), without K/2 log 2 pi."""
        each = 0.5 * (self._each(self.volume) + self.mean.shape[1])
        return each + array_namespace(self.mean).sum(0 * self.mean, axis=1)  # there may be no first one

    def prior_sums(self, rows: Rows, members: Array, sizes: Floats) -> tuple[Floats | None, Floats, float]:
        """(G, K) each, over samples of each group, `members` (n, G): `squares` and `used`; and of all the entropy.

        None for the squares where all samples are of one group and share a spread: sums of products have them.
        """
        k, alike = self.mean.shape[1], self.kind is None and self.spread.shape[0] == 1
        volume = rows.n * float(self.volume[0]) if alike else total(rows.weigh(self._each(self.volume)))
        squares = None if alike and len(sizes) == 1 else cross_sums(rows.weigh(members), self.squares)
        return squares, np.repeat(sizes[:, None], k, axis=1), 0.5 * (volume + rows.n * k)

    def _each(self, values: Array) -> Array:
        return values if self.kind is None else take(values, self.kind)


@record
class SparseCodes:
    """z_nk = s_nk v_nk, one factor at a time: q(v | s = 1) = Normal(slab, width), q(v | s = 0) = Normal(0, idle)."""

    kind: ClassVar[None] = None  # every sample has a spread of its own

    on: Array = unit("n k")  # q(s = 1)
    slab: Array = real("n k")
    width: Array = positive("n k")
    idle: Array = positive("n k")
    tangents: Mapping[str, Tangent] = transient()

    @classmethod
    def neutral(cls, precision: Array) -> SparseCodes:
        xp = array_namespace(precision)
        half = 0.5 * xp.ones_like(precision)
        return cls(half, xp.zeros_like(precision), 1 / precision, 1 / precision)

    def improved(
        self, drive: Array, gram: Array, precision: Array, log_odds: Array, tangents: Mapping[str, Tangent]
    ) -> SparseCodes:
        """One sweep over the factors; precision and log_odds (1 or n, K)."""
        xp = array_namespace(drive)
        if not drive.shape[1]:
            return replace(self, tangents=tangents)
        scale = xp.ones_like(drive[:1, 0])
        found = sweep_spikes(drive, gram, scale, precision, log_odds, self.mean)
        return SparseCodes(found.on, found.slab, found.variance, 1 / precision + xp.zeros_like(drive), tangents)

    def spread_by(self, gram: Array, precision: Array) -> SparseCodes:
        """The same means with slabs as wide as other products, (1 or n, P) packed, leave them."""
        own = take(gram.T, diagonal_places(self.on.shape[1])).T
        return replace(self, width=1 / (own + precision) + array_namespace(own).zeros_like(self.width))

    def draw(self, rng: np.random.Generator) -> Floats:
        """(n, K), one draw for each sample."""
        on = rng.random(self.on.shape) < host(self.on)
        return np.where(on, host(self.slab) + rng.normal(size=on.shape) * np.sqrt(host(self.width)), 0.0)

    @property
    def mean(self) -> Array:
        return self.on * self.slab

    @property
    def variance(self) -> Array:
        """(n, K)."""
        return self.on * (self.slab**2 + self.width) - self.mean**2

    @property
    def spread(self) -> Array:
        """(n, K, K), diagonal."""
        return self.variance[:, :, None] * like(np.eye(self.on.shape[1]), self.on)

    @property
    def squares(self) -> Array:
        """(n, K), E[v^2]."""
        return self.on * (self.slab**2 + self.width) + (1 - self.on) * self.idle

    @property
    def used(self) -> Array:
        return self.on

    @property
    def entropy(self) -> Array:
        xp = array_namespace(self.on)
        spike = -xlogx(self.on) - xlogx(1 - self.on)
        slab = 0.5 * (self.on * xp.log(self.width) + (1 - self.on) * xp.log(self.idle) + 1)
        return xp.sum(spike + slab, axis=1)

    def prior_sums(self, rows: Rows, members: Array, sizes: Floats) -> tuple[Floats, Floats, float]:
        """As of joint codes."""
        weighted = rows.weigh(members)
        squares, used = (cross_sums(weighted, part) for part in (self.squares, self.used))
        return squares, used, total(rows.weigh(self.entropy))
