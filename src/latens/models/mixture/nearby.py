"""Moves of normal clusters, tried first in a small ascent of the clusters concerned.

A move (a split, a merge, ...) replaces a few clusters. These and their neighbours ascend by themselves for some
iterations, while the memberships of every row in all other clusters are held. What the bound gains by that, the bound
with all clusters free gains at least, and seldom much more: of 555 splits, swaps and transfers that lost half a nat
among the clusters concerned, none gained in the end. It takes about a tenth of the time of an iteration of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import gammaln

from latens.array import Array, Floats, Index
from latens.array.linalg import LARGEST_COMPILED
from latens.array.special import xlogx
from latens.core import Rows
from latens.families.dirichlet import Dirichlet
from latens.families.normal_wishart import NormalWishart
from latens.models.known_codes import KNOWN

if TYPE_CHECKING:
    from latens.models.mixture.model import ClusterStatistics, Mixture, MixturePosterior

__all__ = ["Move", "Nearby"]

LEAST_MASS = 1e-4  # membership of a row in the clusters concerned, below which the row is left out
LEAST_ROWS = 0.5  # that a neighbour shares with the clusters of a move, or would take over from them
MOST_NEIGHBOURS = 3  # clusters that ascend with those of a move
N_STEPS = 10  # iterations of the clusters concerned


@dataclass(frozen=True)
class Move:
    """Some clusters replaced by others."""

    replaced: tuple[int, ...]
    sums: ClusterStatistics
    groups: Floats  # (new, rows of `sums`), how the statistics of the new clusters are added up from `sums`

    @property
    def new(self) -> ClusterStatistics:
        """Statistics of the clusters that take their place."""
        return self.sums.regroup(self.groups)


@dataclass(frozen=True)
class Settled:
    """A move after the ascent of the clusters concerned."""

    gain: float  # nats
    concerned: tuple[int, ...]  # before the move: clusters replaced, then neighbours that ascended with them
    n_replaced: int  # how many of these were replaced
    new: ClusterStatistics  # of what stands for them: the new clusters, then the neighbours

    @property
    def more(self) -> int:
        """By how many the number of clusters grows; negative where it falls."""
        return len(self.new.counts) - len(self.concerned)


class Nearby:
    """What moves of a mixture gain among the clusters concerned."""

    def __init__(self, model: Mixture, q: MixturePosterior, sample: Rows) -> None:
        self.model, self.q, self.sample = model, q, sample
        self.concentration = float(cast("Dirichlet", model.weights).concentration[0])
        local, joint = model.scored_step(q, sample)
        self.mean = local.mean  # (n, K), memberships
        # of these memberships, as the entropies below are: those of the last ones, before a fit has settled, would tell
        # gains up to some nats too small
        self.stats = stats = model.statistics(sample, local)
        self.share = np.ascontiguousarray(np.transpose(sample.weigh(self.mean)))  # (K, n), times the weights of rows
        self.shared = self.share @ self.mean  # (K, K), how many rows two clusters share
        top = np.argmax(joint, axis=1)
        joint[np.arange(len(top)), top] = -np.inf
        # (K, K), how many rows of a cluster would go to each of the others if it were taken out
        self.next = np.eye(q.n_components)[top].T @ sample.weigh(_softmax(joint))
        prior = cast("NormalWishart", model.clusters)
        self.prior = prior.mean[0], float(prior.strength[0]), float(prior.dof[0]), prior.scatter[0]
        # (K,), what each cluster adds to the bound: its evidence, its part of the Dirichlet's, the entropy of its rows
        self.level = self._evidence(stats) + gammaln(self.concentration + stats.counts) - xlogx(self.share).sum(axis=1)

    @staticmethod
    def tells(model: Mixture, stats: ClusterStatistics, sample: Rows) -> bool:
        """Whether moves can be tried so: normal clusters, each with its own covariance, and all rows, without holes."""
        normal = isinstance(model.clusters, NormalWishart) and not model.tied and isinstance(model.weights, Dirichlet)
        whole = sample.seen is None and KNOWN not in sample.aux and abs(sample.n - stats.n) <= 1e-9 * stats.n
        x = sample.x
        small = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.shape[1] <= LARGEST_COMPILED
        return bool(normal and whole and small and len(stats.counts) > 1)

    def settled(self, moves: Iterable[Move], least: float) -> list[Settled]:
        """The moves that gain more than `least` nats, the best first."""
        found = (self._settled(move, least) for move in moves)
        return sorted((one for one in found if one is not None), key=lambda one: -one.gain)

    def halved(self, own: Index, rows: Rows, sides: Sequence[Floats], n_steps: int) -> tuple[float, ClusterStatistics]:
        """What a cluster of these rows, whose numbers are `own`, gains by being two, and their sums: the best of cuts.

        From each cut (n,), two clusters ascend by themselves for some iterations.
        """
        from latens.models.mixture.model import Memberships

        n = len(sides)
        cut = self.model.statistics(rows, Memberships(np.column_stack([*sides, *(1 - side for side in sides)])))
        whole = cut.pairs(np.zeros(1, dtype=np.intp), np.full(1, n))
        mass = np.ones(len(own)) if rows.weight is None else rows.weight
        bounds, halves = np.empty(n), [_only(cut, [side, n + side]) for side in range(n)]
        for side, half in enumerate(halves):
            bounds[side] = self._ascended(own, mass, n_steps, -np.inf, (half.counts, half.x, half.xx))
        best = int(np.argmax(bounds))
        alone = self._evidence(whole) + gammaln(self.concentration + whole.counts)
        found = halves[best]
        return float(bounds[best] - alone[0]), replace(found, seen=found.counts[:, None])

    def together(self, moves: Sequence[Settled], limit: int) -> list[Settled]:
        """Moves that can be made at once: in this order those that gain, with no cluster in common.

        There are at most `limit` clusters afterwards, or as many as now where these are more.
        """
        busy, chosen, k = set[int](), list[Settled](), len(self.stats.counts)
        for move in moves:
            if move.gain > 0 and busy.isdisjoint(move.concerned) and k + move.more <= max(limit, k):
                k += move.more
                busy.update(move.concerned)
                chosen.append(move)
        return chosen

    def present(self, moves: Sequence[Settled]) -> Index:
        """The present numbers of the clusters that such moves keep, in the order in which `after` has them."""
        unchanged = np.delete(np.arange(len(self.stats.counts)), [which for move in moves for which in move.concerned])
        return np.array(
            [*unchanged, *(which for move in moves for which in move.concerned[move.n_replaced :])], dtype=np.intp
        )

    def after(self, moves: Sequence[Settled]) -> MixturePosterior:
        """The posterior after moves that have no cluster in common."""
        unchanged = np.delete(np.arange(len(self.stats.counts)), [which for move in moves for which in move.concerned])
        parts = [_only(self.stats, unchanged), *(move.new for move in moves)]
        return self.model.global_step(self.q, _beside(self.stats, parts))

    def _settled(self, move: Move, least: float) -> Settled | None:
        clusters, new = list(move.replaced), move.new
        beside = self._neighbours(clusters, without=not len(move.groups))
        concerned = [*clusters, *beside]
        mass = self.share[concerned].sum(axis=0)
        rows = np.flatnonzero(mass > LEAST_MASS)
        stats, k = self.stats, len(self.stats.counts)
        before = (
            float(self.level[concerned].sum()) + self._labels(k) - self._labels(k - len(clusters) + len(new.counts))
        )
        sums = (
            np.concatenate([new.counts, stats.counts[beside]]),
            np.concatenate([new.x, stats.x[beside]]),
            np.concatenate([new.xx, stats.xx[beside]]),
        )
        gain = self._ascended(rows, mass[rows], N_STEPS, before + least, sums) - before
        if not gain > least:
            return None
        counts, x, xx = sums
        after = replace(stats, counts=counts, seen=counts[:, None], x=x, xx=xx)
        return Settled(gain, tuple(concerned), len(clusters), after)

    def _ascended(
        self, rows: Index, mass: Floats, n_steps: int, least: float, sums: tuple[Floats, Floats, Floats]
    ) -> float:
        """What clusters of these sums, which are changed in place, add to the bound after an ascent by themselves."""
        from latens.array.kernels.normal_clusters_numba import ascended_clusters

        columns: Floats = self.sample.cached("columns", lambda: np.ascontiguousarray(np.transpose(self.sample.x)))
        rounding = np.zeros(len(columns)) if self.model.rounding is None else self.model.rounding
        x = columns.take(rows, axis=1)
        return float(ascended_clusters(x, mass, self.concentration, self.prior, rounding, n_steps, least, sums))

    def _evidence(self, stats: ClusterStatistics) -> Floats:
        """(K,), of the rows of each cluster."""
        clusters = cast("NormalWishart", self.model.clusters)
        return clusters.evidence(*stats.moments, self.q.clusters)  # type: ignore[arg-type]

    def _neighbours(self, clusters: list[int], without: bool) -> list[int]:
        """The clusters that share most rows with these; `without` these, those that would take over most of them."""
        rows = (self.next if without else self.shared)[clusters].sum(axis=0)
        rows[clusters] = 0.0
        return [int(one) for one in np.argsort(-rows, kind="stable")[:MOST_NEIGHBOURS] if rows[one] > LEAST_ROWS]

    def _labels(self, k: int) -> float:
        """The part of the evidence of labels under a symmetric Dirichlet that the number of clusters alone decides."""
        each = self.concentration
        return float(gammaln(k * each) - gammaln(k * each + self.stats.n) - k * gammaln(each))


def _softmax(joint: Array) -> Floats:
    share = np.exp(joint - joint.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    return np.asarray(share)


def _only(stats: ClusterStatistics, which: Any) -> ClusterStatistics:
    return replace(stats, counts=stats.counts[which], seen=stats.seen[which], x=stats.x[which], xx=stats.xx[which])


def _beside(stats: ClusterStatistics, parts: Sequence[ClusterStatistics]) -> ClusterStatistics:
    """The clusters of all parts, one after the other, in arrays that may be written to."""
    return replace(
        stats,
        counts=np.concatenate([part.counts for part in parts]),
        seen=np.concatenate([part.counts[:, None] for part in parts]),
        x=np.concatenate([part.x for part in parts]),
        xx=np.concatenate([part.xx for part in parts]),
    )
