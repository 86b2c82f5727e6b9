"""Other clusters a mixture might have: candidates for moves, ranked by what the statistics say, none judged here.

Merging clusters i and j changes the bound by about F(S_i + S_j) - F(S_i) - F(S_j) less the entropy of the pair, where
F(S) = log evidence of the sums S + n log n: that needs no rows at all, but for the entropy, which a sample tells.
Splitting one is tried on a sample of its rows. The best of both, and their combinations (swaps), are proposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from latens.array import Array, Floats
from latens.array.special import xlogx
from latens.array.transfer import host, is_sparse
from latens.core import Rows
from latens.families.sticks import Sticks
from latens.models.mixture.features import EXPOSURE, exposure_of

if TYPE_CHECKING:
    from latens.models.mixture.model import ClusterStatistics, Mixture, MixturePosterior

__all__ = ["propose"]

N_MERGES = 4  # merges tried
N_SPLITS = 4  # splits tried
N_SWAPS = 10  # pairs of a merge and a split tried
N_ROUNDS = 5  # steps of the two-cluster fit that a split is
N_POWERS = 12  # of the matrix of sparse rows, towards their widest direction
MOST_SCATTER = 0.8  # of the scatter that clusters share, which may lie between the halves of one
FEWEST = 4  # rows of the sample that can be split


def propose(
    model: Mixture,
    q: MixturePosterior,
    stats: ClusterStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[MixturePosterior]:
    """Sorted sticks; deletions and merges; splits up to `limit` clusters; merges with splits."""
    k, local = q.n_components, model.local_step(q, sample)
    share = host(sample.weigh(local.mean))
    order = np.argsort(-stats.counts, kind="stable")
    if isinstance(q.weights, Sticks) and np.any(np.diff(stats.counts[order]) != np.diff(stats.counts)):
        yield _regrouped(model, q.only(order), stats, np.eye(k)[order])
    merges: list[tuple[float, int, int]] = []
    if k > 1:
        empty = order[stats.counts[order] < 1.0][-(k - 1) :]
        if len(empty) > 1:
            yield _regrouped(model, q, stats, np.delete(np.eye(k), empty, axis=0))
        merges = _merges(model, q, stats, share * (stats.n / sample.n))
        for _, i, j in merges[:N_MERGES]:
            yield _regrouped(model, q, stats, _joining(k, i, j))
        yield _regrouped(model, q, stats, np.delete(np.eye(k), order[-1], axis=0))
    splits = _splits(model, q, stats, sample, local, rng)
    if k < limit:
        for _, which, halves in splits[:N_SPLITS]:
            yield _divided(model, q, stats, np.delete(np.eye(k), which, axis=0), halves)
    pairs = [
        (gain + more, _joining(k, i, j, without=which), halves)
        for gain, i, j in merges[: N_SWAPS // 2]
        for more, which, halves in splits[: N_SWAPS // 2]
        if which not in (i, j)
    ]
    for _, groups, halves in sorted(pairs, key=lambda pair: -pair[0])[:N_SWAPS]:
        yield _divided(model, q, stats, groups, halves)


def _merges(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, share: Floats
) -> list[tuple[float, int, int]]:
    """(gain, i, j), the best first, among the pairs whose centres are closest beside their widths.

    `share` (n, K) are memberships of a sample, weighted to count as all rows.
    """
    k = q.n_components
    width = np.maximum(np.asarray(q.clusters.row_variance).mean(axis=0), np.finfo(float).tiny)  # type: ignore[union-attr]
    place = q.clusters.mean / np.sqrt(width)
    first, second = np.triu_indices(k, 1)
    near = np.argsort(np.sum((place[first] - place[second]) ** 2, axis=1), kind="stable")[: 4 * k]
    first, second = first[near], second[near]
    alone = _free_energy(model, q, stats, np.eye(k))
    together = _free_energy(model, q, stats, np.eye(k)[first] + np.eye(k)[second])
    gain = together - alone[first] - alone[second] - _pair_entropy(share[:, first], share[:, second])
    best = np.argsort(-gain, kind="stable")
    return [(float(gain[p]), int(first[p]), int(second[p])) for p in best]


def _pair_entropy(a: Floats, b: Floats) -> Floats:
    """(P,), summed over rows: how much is left open between two clusters by memberships (n, P) in each."""
    both = a + b
    return np.asarray(np.sum(xlogx(both) - xlogx(a) - xlogx(b), axis=0))


def _splits(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, sample: Rows, local: Any, rng: np.random.Generator
) -> list[tuple[float, int, Any]]:
    """(gain, cluster, statistics of its halves), the best first."""
    x = sample.x if is_sparse(sample.x) else host(model.impute(q, sample, local)[0])
    label, found = np.argmax(host(local.mean), axis=1), []
    for which in range(q.n_components):
        own = np.flatnonzero(label == which)
        weight = None if sample.weight is None else sample.weight[own]
        rows = Rows(
            x[own], weight=weight, aux={name: sample.aux[name][own] for name in (EXPOSURE,) if name in sample.aux}
        )
        if len(rows) < FEWEST:
            continue
        # for as many rows as there are: scaled to those they stand for, needless halves would gain as often
        effective = len(rows) if rows.weight is None else rows.n**2 / float(np.sum(rows.weight**2))
        points = model.coordinates(rows.x, exposure_of(rows))
        halves = [(effective / rows.n) * _halved(model, rows, side) for side in _sides(points, rng)]
        gains = [
            _free_energy(model, q, two, np.eye(2)).sum() - _free_energy(model, q, two, np.ones((1, 2)))[0] + two.entropy
            for two in halves
        ]
        if gains:
            best = int(np.argmax(gains))
            found.append((float(gains[best]), which, (stats.counts[which] / effective) * halves[best]))
    return sorted(found, key=lambda split: -split[0])


def _sides(x: Array, rng: np.random.Generator) -> Iterator[Floats]:
    """Ways to cut rows in two (n,): at the mean of their widest direction, and nearer to one of two distant rows."""
    if is_sparse(x):
        yield from _sparse_sides(x, rng)
        return
    centred = x - x.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    z = centred / np.where(spread > 0, spread, 1.0)
    if not np.any(z):
        return
    direction = np.linalg.svd(z[: 4 * z.shape[1] + 200], full_matrices=False)[2][0]
    yield (z @ direction > 0).astype(float)
    away = np.sum((z - z[rng.integers(len(z))]) ** 2, axis=1)
    if away.sum() > 0:
        other = np.sum((z - z[rng.choice(len(z), p=away / away.sum())]) ** 2, axis=1)
        yield (other < away).astype(float)


def _sparse_sides(x: Array, rng: np.random.Generator) -> Iterator[Floats]:
    """The same of CSR rows, which are not centred but in thought; the direction by a few steps of the power method."""
    mean = np.asarray(x.mean(axis=0), dtype=np.float64)
    spread = np.sqrt(np.maximum(np.asarray(x.multiply(x).mean(axis=0), dtype=np.float64) - mean**2, 0.0))
    scale = np.where(spread > 0, 1 / np.where(spread > 0, spread, 1.0), 0.0)
    z, mean = csr_array(x.multiply(scale)), mean * scale
    if not scale.any():
        return
    direction = rng.normal(size=z.shape[1])
    for _ in range(N_POWERS):
        projection = z @ direction - mean @ direction
        direction = z.T @ projection - mean * projection.sum()
        direction /= max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
    yield (z @ direction > mean @ direction).astype(float)
    sizes = np.asarray(z.multiply(z).sum(axis=1), dtype=np.float64)
    away = _distances(z, sizes, int(rng.integers(z.shape[0])))
    if away.sum() > 0:
        yield (_distances(z, sizes, int(rng.choice(len(away), p=away / away.sum()))) < away).astype(float)


def _distances(z: Array, sizes: Floats, row: int) -> Floats:
    """(n,), squared, of CSR rows from one of them."""
    to = z[[row]].toarray()[0]
    return np.asarray(np.maximum(sizes - 2 * (z @ to) + sizes[row], 0.0))


def _halved(model: Mixture, rows: Rows, side: Floats) -> Any:
    """Statistics of two clusters fitted to the rows of one, from a cut."""
    from latens.models.mixture.model import Memberships

    local = Memberships(np.column_stack([side, 1 - side]))
    for _ in range(N_ROUNDS):
        two = model.global_step(model.prior(2), model.statistics(rows, local))
        local = model.local_step(two, rows)
    return model.statistics(rows, local)


def _free_energy(model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats) -> Floats:
    """Log evidence of each group of clusters as one, and n log n, its part in how rows fall into groups."""
    sums = stats.regroup(groups, model.tied)
    evidence: Floats = model.clusters.evidence(*sums.moments, q.clusters)  # type: ignore[arg-type]
    return np.asarray(evidence + xlogx(sums.counts))


def _regrouped(model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats) -> MixturePosterior:
    return model.global_step(q, stats.regroup(groups, model.tied))


def _divided(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats, halves: ClusterStatistics
) -> MixturePosterior:
    """The groups, and two more clusters."""
    kept = stats.regroup(groups, model.tied)
    if model.tied:
        halves = _within_tied(q, stats, int(np.flatnonzero(groups.sum(axis=0) == 0)[0]), halves)
    seen = np.broadcast_to(halves.seen, (2, kept.seen.shape[1]))  # of filled rows, which show every column
    xx = kept.xx if model.tied else np.concatenate([kept.xx, halves.xx])
    edited = replace(
        kept,
        counts=np.append(kept.counts, halves.counts),
        seen=np.concatenate([kept.seen, seen]),
        x=np.concatenate([kept.x, halves.x]),
        xx=xx,
    )
    return model.global_step(q, edited)


def _within_tied(q: MixturePosterior, stats: ClusterStatistics, which: int, halves: Any) -> Any:
    """The halves of one cluster, about its own mean and no further apart than the scatter that all share allows.

    Clusters that share a covariance have one sum of squares, of all rows; halves of a sample may leave less than
    nothing of it, and no covariance.
    """
    n = halves.counts
    mean = halves.x / np.maximum(n, np.finfo(float).tiny)[:, None]
    centre = stats.x[which] / max(float(stats.counts[which]), np.finfo(float).tiny)
    apart = mean[0] - mean[1]
    precision: Floats = q.clusters.precision[0]  # type: ignore[union-attr]
    used = float(n[0] * n[1] / max(n.sum(), np.finfo(float).tiny) * (apart @ precision @ apart) / stats.n)
    apart = apart * min(1.0, np.sqrt(MOST_SCATTER / max(used, np.finfo(float).tiny)))
    mean = centre + np.outer(n[::-1] * [1, -1] / max(n.sum(), np.finfo(float).tiny), apart)
    return replace(halves, x=n[:, None] * mean)


def _joining(k: int, i: int, j: int, without: int | None = None) -> Floats:
    """(K - 1 or K - 2, K), clusters i and j as one, and another left out."""
    groups = np.eye(k)
    groups[i, j] = 1.0
    return np.delete(groups, [j] if without is None else [j, without], axis=0)
