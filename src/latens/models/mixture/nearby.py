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

    def __init__(self, model: Mixture, q: MixturePosterior, stats: ClusterStatistics, sample: Rows) -> None:
        self.model, self.q, self.stats, self.sample = model, q, stats, sample
        self.concentration = float(cast("Dirichlet", model.weights).concentration[0])
        joint = np.array(model.scores(q, sample))
        self.mean = _softmax(joint)  # (n, K), memberships
        self.share = np.ascontiguousarray(np.transpose(sample.weigh(self.mean)))  # (K, n), times the weights of rows
        self.shared = self.share @ self.mean  # (K, K), how many rows two clusters share
        top = np.argmax(joint, axis=1)
        joint[np.arange(len(top)), top] = -np.inf
        # (K, K), how many rows of a cluster would go to each of the others if it were taken out
        self.next = np.eye(q.n_components)[top].T @ sample.weigh(_softmax(joint))
        evidence: Floats = cast("NormalWishart", model.clusters).evidence(*stats.moments, q.clusters)  # type: ignore[arg-type]
        # (K,), what each cluster adds to the bound: its evidence, its part of the Dirichlet's, the entropy of its rows.
        # Sums are of the last memberships and entropies of the next ones, which are the same once a fit has settled;
        # before, gains are told up to some nats too small.
        self.level = evidence + gammaln(self.concentration + stats.counts) - xlogx(self.share).sum(axis=1)

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
        return sorted((one for one in found if one.gain > least), key=lambda one: -one.gain)

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

    def _settled(self, move: Move, least: float) -> Settled:
        from latens.array.kernels.normal_clusters_numba import ascended_clusters

        clusters, prior = list(move.replaced), cast("NormalWishart", self.model.clusters)
        beside = self._neighbours(clusters, without=not len(move.groups))
        concerned = [*clusters, *beside]
        mass = self.share[concerned].sum(axis=0)
        rows = np.flatnonzero(mass > LEAST_MASS)
        new = _beside(self.stats, [move.new, _only(self.stats, np.array(beside, dtype=np.intp))])
        k = len(self.stats.counts)
        before = (
            float(self.level[concerned].sum())
            + self._labels(k)
            - self._labels(k - len(clusters) + len(move.new.counts))
        )
        columns: Floats = self.sample.cached("columns", lambda: np.ascontiguousarray(np.transpose(self.sample.x)))
        rounding = np.zeros(len(columns)) if self.model.rounding is None else self.model.rounding
        bound = ascended_clusters(
            np.ascontiguousarray(columns[:, rows]),
            mass[rows],
            self.concentration,
            (prior.mean[0], float(prior.strength[0]), float(prior.dof[0]), prior.scatter[0]),
            rounding,
            N_STEPS,
            before + least,
            (new.counts, new.x, new.xx),
        )
        return Settled(float(bound) - before, tuple(concerned), len(clusters), replace(new, seen=new.counts[:, None]))

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
