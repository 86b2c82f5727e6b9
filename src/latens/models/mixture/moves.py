"""Other clusters a mixture might have: candidates for moves, ranked by what the statistics say, none judged here.

Merging clusters i and j changes the bound by about F(S_i + S_j) - F(S_i) - F(S_j) less the entropy of the pair, where
F(S) = log evidence of the sums S + n log n: that needs no rows at all, but for the entropy, which a sample tells.
Splitting one is tried on a sample of its rows. The best of both are proposed, and their combinations: two clusters
joined and another split (swaps), and a half of one given to another (transfers). Last, rows are dealt to the clusters
by the predictive density: the bound holds rows where they are, for E[log p] of what a cluster has not seen is far below
log E[p], and a cluster that lost a row does not take it back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from latens.array import Array, Floats, Index
from latens.array.fields import forget_caches
from latens.array.linalg import LARGEST_COMPILED
from latens.array.packed_symmetric import are_too_many_pairs
from latens.array.special import xlogx
from latens.array.transfer import host, is_sparse, like, total
from latens.core import Removal, Rows
from latens.families.normal_wishart import NormalWishart
from latens.families.sticks import Sticks
from latens.models.mixture.features import EXPOSURE, exposure_of
from latens.models.mixture.nearby import Move, Nearby

if TYPE_CHECKING:
    from latens.models.mixture.model import ClusterStatistics, Mixture, MixturePosterior

__all__ = ["Present", "agglomerated", "crossed", "deal", "gather", "rearrange"]

Split = tuple[float, int, Any]  # what it gains, the cluster, the statistics of its halves
Swap = tuple[float, Move, Callable[[], Any]]  # what it gains, what it replaces, and the clusters after it

N_MERGES = 2  # merges tried by themselves
N_SPLITS = 2  # splits tried
N_SWAPS = 6  # swaps and transfers tried
NATS_OF_MOVE = 1.0  # that a move may lose among the clusters concerned and still be tried with all clusters free
TIMES_CROSSED = (1.0, 1.5)  # the number of clusters that sums ask for, to which pieces of two posteriors are joined
N_DEALS = 6  # times that rows are dealt at most
FEWEST_DEALT = 0.1  # rows of the sample that go elsewhere in a deal, below which no other deal changes much
HOPELESS, HOPELESS_PER_ROW = 50.0, 0.01  # nats, and nats a row, that sums may say a candidate loses
KEPT_NUMBERS = 2**20  # of halves that are kept beyond a round
PAIRED_NUMBERS = 2**16  # sums of pairs of clusters whose evidence is found at once
N_ROUNDS = 3  # steps of the two-cluster fit that a split is
N_POWERS = 12  # of the matrix of sparse rows, towards their widest direction
MOST_SCATTER = 0.8  # of the scatter that clusters share, which may lie between the halves of one
FEWEST_TO_SPLIT = 4  # rows of the sample that can be split


class Present:
    """The present clusters, and what moves ask of them: found when the first asks, since most rounds end before."""

    def __init__(self, model: Mixture, q: MixturePosterior, stats: ClusterStatistics, sample: Rows) -> None:
        self.model, self.q, self.stats, self.sample = model, q, stats, sample

    @cached_property
    def near(self) -> Nearby | None:
        tells = Nearby.tells(self.model, self.stats, self.sample)
        return Nearby(self.model, self.q, self.sample) if tells else None

    @cached_property
    def local(self) -> Any:
        """Memberships of the rows of the sample."""
        return self.model.local_step(self.q, self.sample) if self.near is None else self.near

    @cached_property
    def share(self) -> Floats:
        """(n, K), the same, times as many rows as each of the sample stands for."""
        return np.asarray(host(self.sample.weigh(self.local.mean)) * (self.stats.n / self.sample.n))

    @cached_property
    def merges(self) -> list[tuple[float, int, int]]:
        return _merges(self.model, self.q, self.stats, self.share)


def gather(now: Present) -> Iterator[MixturePosterior]:
    """Posteriors with as many clusters or fewer, in the order in which they are tried.

    Sticks sorted by size; clusters left out that hold no row; all merges that gain, at once; single merges; rows dealt
    anew.
    """
    model, q, stats = now.model, now.q, now.stats
    k, order = q.n_components, np.argsort(-stats.counts, kind="stable")
    if isinstance(q.weights, Sticks) and np.any(np.diff(stats.counts[order]) != np.diff(stats.counts)):
        yield _regrouped(model, q.only(order), stats, np.eye(k)[order])
    if k < 2:
        return
    empty = order[stats.counts[order] < 1.0][-(k - 1) :]
    if len(empty) > 1:
        yield _regrouped(model, q, stats, np.delete(np.eye(k), empty, axis=0))
    if len(_gaining(now.merges)) > 1:
        yield _regrouped(model, q, stats, _all_gaining(now))
    best = now.merges[:N_MERGES]
    if now.near is None:
        for _, i, j in best:
            yield _regrouped(model, q, stats, _joining(k, i, j))
    else:
        moves = [Move((i, j), stats, np.eye(k)[[i]] + np.eye(k)[[j]]) for _, i, j in best]
        yield from _settled(now.near, moves, -NATS_OF_MOVE, k)
    yield deal(model, q, now.sample, stats.n)


def rearrange(now: Present, limit: int) -> Iterator[MixturePosterior | Removal]:
    """Splits up to `limit` clusters; swaps and transfers; each cluster taken out."""
    model, q, stats = now.model, now.q, now.stats
    k, worst = q.n_components, _worst(stats)
    splits = _splits(now)
    divided: list[Swap] = [
        (
            gain,
            Move((which,), halves, np.eye(2)),
            partial(_divided, model, q, stats, np.delete(np.eye(k), which, axis=0), halves),
        )
        for gain, which, halves in (splits[:N_SPLITS] if k < limit else ())
    ]
    best = splits[: N_SWAPS // 2]
    swaps: list[Swap] = []
    if k > 1:
        merges = now.merges[: N_SWAPS // 2]
        swaps += [
            _swap(model, q, stats, merge, split) for merge in merges for split in best if split[1] not in merge[1:]
        ]
        if not model.tied:  # whose one sum of squares halves have no part in
            swaps += [transfer for split in best for transfer in _transfers(model, q, stats, split)]
    proposed = [*divided, *sorted(swaps, key=lambda swap: -swap[0])[:N_SWAPS]]
    if now.near is None:
        for gain, _, made in proposed:
            if gain > worst:
                yield made()
    else:
        moves = [move for gain, move, _ in proposed if gain > worst]
        yield from _settled(now.near, moves, -NATS_OF_MOVE, limit)
    if k > 1:
        yield from _without_each(q, stats, now.near)


def _settled(near: Nearby, moves: Sequence[Move], least: float, limit: int) -> Iterator[MixturePosterior]:
    """Moves that may gain, after an ascent of the clusters concerned: first those that gain, together."""
    found = near.settled(moves, least)
    together = near.together(found, limit)
    if len(together) > 1:
        yield near.after(together)
    for move in found:
        yield near.after([move])


def _without_each(q: MixturePosterior, stats: ClusterStatistics, near: Nearby | None) -> Iterator[Any]:
    """Each cluster taken out, the smallest first."""
    k, order = q.n_components, np.argsort(stats.counts, kind="stable")
    if near is None:
        for cluster in order:
            keep = np.delete(np.arange(k), cluster)
            yield Removal(q.only(keep), keep)
        return
    moves = [Move((int(cluster),), stats, np.zeros((0, k))) for cluster in order]
    found = near.settled(moves, -NATS_OF_MOVE)
    for move in found:
        yield near.after([move]) if move.gain > 0 else Removal(near.after([move]), near.present([move]))


def _worst(stats: ClusterStatistics) -> float:
    return -max(HOPELESS, HOPELESS_PER_ROW * stats.n)


def deal(model: Mixture, q: MixturePosterior, rows: Rows, n: float) -> MixturePosterior:
    """Clusters of the rows, which stand for n, after these were dealt a few times by the predictive density."""
    last = None
    for _ in range(N_DEALS):
        local = model.predicted_step(q, rows)
        q = model.global_step(q, (n / rows.n) * model.statistics(rows, local))
        if last is not None and total(abs(local.mean - last)) < FEWEST_DEALT:
            break
        last = local.mean
    return q


def agglomerated(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, times: float = 1.0, most: int | None = None
) -> MixturePosterior:
    """The clusters of the statistics joined two at a time, to `times` the number at which their evidence is largest.

    Or to `most`, if that is fewer.

    Sums alone tell it: no row is looked at. Pairs are joined in the order of what that gains, down to one cluster, for
    a pair that loses a little may open the way to one that gains much.
    """
    k, sums = q.n_components, stats
    first, second = np.triu_indices(k, 1)
    level, gains = _evidences(model, q, sums), np.full((k, k), -np.inf)
    at_once = max(k, PAIRED_NUMBERS // (stats.x.shape[1] + stats.xx.shape[1]))  # all have K times what clusters have
    for start in range(0, len(first), at_once):
        i, j = first[start : start + at_once], second[start : start + at_once]
        gains[i, j] = gains[j, i] = _of_pairs(model, q, sums, i, j) - level[i] - level[j]
    alive, groups, gain = np.arange(k), np.eye(k), [0.0]
    path = [groups.copy()]
    while len(alive) > 1:
        one, other = sorted(divmod(int(np.argmax(gains)), k))
        gain.append(gain[-1] + float(gains[one, other]))
        level[one] += level[other] + gains[one, other]
        groups[one] += groups[other]
        sums, alive = sums.with_joined(one, other, model.tied), alive[alive != other]
        gains[other] = gains[:, other] = -np.inf
        rest = alive[alive != one]
        if len(rest):
            joined = _of_pairs(model, q, sums, np.full(len(rest), one), rest)
            gains[one, rest] = gains[rest, one] = joined - level[one] - level[rest]
        path.append(groups[alive])
    best = k - int(len(gain) - 1 - np.argmax(gain[::-1]))  # clusters; of equals, the fewest
    return _regrouped(model, q, stats, path[k - min(int(np.ceil(times * best)), k if most is None else most, k)])


def crossed(model: Mixture, one: Any, other: Any, sample: Rows, limit: int) -> Iterator[MixturePosterior]:
    """Rows that are in the same clusters of both posteriors, joined again while their evidence rises, and dealt.

    Where the two divide rows differently, each piece goes where its evidence is highest. Joined to half as many
    clusters again as the evidence asks for, dealt, and then joined further, clusters that overlap come apart.
    """
    from latens.models.mixture.model import Memberships

    if model.clusters.joint and sample.seen is not None:  # whose sums need what is filled in, of each cluster
        return
    labels = [np.argmax(host(model.local_step(q, sample).mean), axis=1) for q in (one, other)]
    pieces, label = np.unique(labels[0] * other.n_components + labels[1], return_inverse=True)
    if len(pieces) <= max(one.n_components, other.n_components):  # one has what the other has, cut further
        return
    stats = model.statistics(sample, Memberships(like(np.eye(len(pieces))[label], sample.x)))
    q = model.global_step(model.prior(len(pieces)), stats)
    for times in TIMES_CROSSED[:1] if model.clusters.joint else TIMES_CROSSED:  # one, of clusters that take longer
        found = deal(model, agglomerated(model, q, stats, times), sample, sample.n)
        if times > 1:
            again = model.statistics(sample, model.predicted_step(found, sample))
            found = deal(model, agglomerated(model, found, again), sample, sample.n)
        if found.n_components <= limit:
            yield found


def _merges(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, share: Floats
) -> list[tuple[float, int, int]]:
    """(gain, i, j), the best first, among the pairs whose centres are closest, in units of their widths."""
    k = q.n_components
    place = _places(model, q)
    first, second = np.triu_indices(k, 1)
    near = np.argsort(np.sum((place[first] - place[second]) ** 2, axis=1), kind="stable")[: 4 * k]
    first, second = first[near], second[near]
    alone = _evidences(model, q, stats)
    gain = _of_pairs(model, q, stats, first, second) - alone[first] - alone[second]
    may = np.flatnonzero(gain > _worst(stats))  # the entropy of the pair only lowers it
    first, second, gain = first[may], second[may], gain[may]
    gain = gain - _pair_entropy(share[:, first], share[:, second])
    best = np.argsort(-gain, kind="stable")
    return [(float(gain[p]), int(first[p]), int(second[p])) for p in best if gain[p] > _worst(stats)]


def _gaining(merges: list[tuple[float, int, int]]) -> list[tuple[int, int]]:
    """Pairs that gain by being one, the best first, no cluster in two of them: what they gain adds up."""
    clusters_of_pairs, chosen_pairs = set[int](), list[tuple[int, int]]()
    for gain, *pair in merges:
        if gain > 0 and clusters_of_pairs.isdisjoint(pair):
            clusters_of_pairs.update(pair)
            chosen_pairs.append((pair[0], pair[1]))
    return chosen_pairs


def _all_gaining(now: Present) -> Floats:
    """(new, K), clusters joined in pairs, and these again, until sums say that no pair gains; no row is looked at."""
    model, stats, merges, groups = now.model, now.stats, now.merges, np.eye(now.q.n_components)
    while pairs := _gaining(merges):
        together = np.eye(len(groups))
        for i, j in pairs:
            together[i, j] = 1.0
        groups = np.delete(together, [j for _, j in pairs], axis=0) @ groups
        sums = stats.regroup(groups, model.tied)
        merges = _merges(model, model.global_step(now.q, sums), sums, now.share @ groups.T)
    return groups


def _places(model: Mixture, q: MixturePosterior) -> Floats:
    """(K, D), centres of clusters in units of their widths."""
    if model.axes is not None:
        return np.asarray(q.clusters.mean @ model.axes)
    width = np.maximum(np.asarray(q.clusters.row_variance).mean(axis=0), np.finfo(float).tiny)  # type: ignore[union-attr]
    return np.asarray(q.clusters.mean / np.sqrt(width))


def _swap(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, merge: tuple[float, int, int], split: Split
) -> Swap:
    """Two clusters joined and another one split."""
    (gain, i, j), (more, which, halves), k = merge, split, q.n_components
    made = partial(_divided, model, q, stats, _joining(k, i, j, without=which), halves)
    each = np.eye(k + 2)
    move = Move((i, j, which), _beside(stats, halves), np.stack([each[i] + each[j], each[k], each[k + 1]]))
    return gain + more, move, made


def _transfers(model: Mixture, q: MixturePosterior, stats: ClusterStatistics, split: Split) -> Iterator[Swap]:
    """What is gained where one half of a split cluster goes to each of the others, and the clusters after it."""
    more, which, halves = split
    k, both = q.n_components, _beside(stats, halves)
    others = np.delete(np.arange(k), which)
    if not len(others):
        return
    each = np.eye(k + 2)
    alone = _evidences(model, q, both)
    larger = _of_pairs(model, q, both, np.tile(others, 2), np.repeat([k, k + 1], k - 1)).reshape(2, k - 1)
    gains = (larger - alone[others] + (more - alone[k:])[:, None]).reshape(-1)
    for best in np.argsort(-gains, kind="stable")[:N_SWAPS]:
        side, to = divmod(int(best), k - 1)
        groups, to = np.eye(k, k + 2), int(others[to])
        groups[which] = each[k + 1 - side]
        groups[to] += each[k + side]
        move = Move((which, to), both, groups[[which, to]])
        yield float(gains[best]), move, partial(_regrouped, model, q, both, groups)


def _pair_entropy(a: Floats, b: Floats) -> Floats:
    """(P,), summed over rows: how much is left open between two clusters by memberships (n, P) in each."""
    both = a + b
    return np.asarray(np.sum(xlogx(both) - xlogx(a) - xlogx(b), axis=0))


def _splits(now: Present) -> list[Split]:
    """(gain, cluster, statistics of its halves), the best first.

    Rows that were a cluster before, in the last round or after another start, are not cut again: what their halves are
    depends on them alone, unless some of their entries are filled in.
    """
    model, q, stats, sample, local = now.model, now.q, now.stats, now.sample, now.local
    whole = sample.seen is None
    x = sample.x if is_sparse(sample.x) else host(sample.x if whole else model.impute(q, sample, local)[0])
    label, found = np.argmax(host(local.mean), axis=1), list[Split]()
    if are_too_many_pairs(x.shape[1]):
        forget_caches(q)  # halves need as many matrices of all pairs of columns, and these no more
    cache: dict[bytes, tuple[float, Any]] = sample.cached("halves", dict)
    known = dict(cache) if whole and not model.tied else {}
    if not known or 2 * len(known) * stats.xx.shape[1] > KEPT_NUMBERS:
        cache.clear()
    for which in range(q.n_components):
        own = np.flatnonzero(label == which)
        if len(own) < FEWEST_TO_SPLIT:
            continue
        name = own.tobytes()
        halved = known.get(name) or _best_halves(now, x[own], own)
        if halved is None:
            continue
        cache[name] = halved
        gain, halves = halved
        found.append((gain, which, (stats.counts[which] / halves.counts.sum()) * halves))
    return sorted(found, key=lambda split: -split[0])


def _best_halves(now: Present, x: Array, own: Index) -> tuple[float, ClusterStatistics] | None:
    """What a cluster of the sample's rows `own`, filled in as x, gains by being two, and their statistics."""
    model, sample = now.model, now.sample
    weight = None if sample.weight is None else sample.weight[own]
    aux = {name: sample.aux[name][own] for name in (EXPOSURE,) if name in sample.aux}
    rows, rng = Rows(x, weight=weight, aux=aux), np.random.default_rng([len(own), int(own[0]), int(own[-1])])
    sides = list(_sides(model.coordinates(rows.x, exposure_of(rows)), rng))
    if not sides:
        return None
    if now.near is not None:
        return now.near.halved(own, rows, sides, N_ROUNDS)
    # for as many rows as there are: scaled to those they stand for, needless halves would gain as often
    effective = len(rows) if rows.weight is None else rows.n**2 / float(np.sum(rows.weight**2))
    stats, entropy = _halved(model, rows, sides)
    stats, entropy, n = (effective / rows.n) * stats, (effective / rows.n) * entropy, 2 * len(sides)
    whole = np.eye(1, n) + np.eye(1, n, 1)
    energy = _free_energy(model, now.q, stats, np.concatenate([whole, np.eye(n)]))
    gains = energy[1:].reshape(-1, 2).sum(axis=1) + entropy - energy[0]
    best = int(np.argmax(gains))
    return float(gains[best]), stats.regroup(np.eye(n)[2 * best : 2 * best + 2], model.tied)


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
    scores = z @ direction
    yield (scores > 0 if np.sum(scores**3) >= 0 else scores < 0).astype(float)  # the sign of a direction is chance
    distances = np.sum((z - z[rng.integers(len(z))]) ** 2, axis=1)
    if distances.sum() > 0:
        other = np.sum((z - z[rng.choice(len(z), p=distances / distances.sum())]) ** 2, axis=1)
        yield (other < distances).astype(float)


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
    distances = _distances(z, sizes, int(rng.integers(z.shape[0])))
    if distances.sum() > 0:
        yield (_distances(z, sizes, int(rng.choice(len(distances), p=distances / distances.sum()))) < distances).astype(
            float
        )


def _distances(z: Array, sizes: Floats, row: int) -> Floats:
    """(n,), squared, of CSR rows from one of them."""
    to = z[[row]].toarray()[0]
    return np.asarray(np.maximum(sizes - 2 * (z @ to) + sizes[row], 0.0))


def _halved(model: Mixture, rows: Rows, sides: list[Floats]) -> tuple[Any, Floats]:
    """Statistics of two clusters fitted to the rows of one from each of the cuts, and the entropies of the pairs."""
    from latens.models.mixture.model import Memberships

    local = Memberships(np.column_stack([half for side in sides for half in (side, 1 - side)]))
    for _ in range(N_ROUNDS):
        # no posterior outlives its step: those of many columns fill the memory
        local = model.pairs_step(model.global_step(model.prior(2 * len(sides)), model.statistics(rows, local)), rows)
    open_ = host(rows.weigh(-xlogx(local.mean))).sum(axis=0)
    return model.statistics(rows, local), open_.reshape(-1, 2).sum(axis=1)


def _free_energy(model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats) -> Floats:
    """Log evidence of each group of clusters as one, and n log n, its part in how rows fall into groups."""
    return _evidences(model, q, stats.regroup(groups, model.tied))


def _evidences(model: Mixture, q: MixturePosterior, sums: ClusterStatistics) -> Floats:
    """(K,), the same of the clusters of these sums."""
    evidence: Floats = model.clusters.evidence(*sums.moments, q.clusters)  # type: ignore[arg-type]
    return np.asarray(evidence + xlogx(sums.counts))


def _of_pairs(model: Mixture, q: MixturePosterior, sums: ClusterStatistics, first: Index, second: Index) -> Floats:
    """(P,), the same of two clusters each as one."""
    clusters = model.clusters
    if not isinstance(clusters, NormalWishart) or clusters.tied or sums.x.shape[1] > LARGEST_COMPILED:
        return _evidences(model, q, sums.pairs(first, second, model.tied))
    together = clusters.pair_evidence(sums.moments, first, second)
    return np.asarray(together + xlogx(sums.counts[first] + sums.counts[second]))


def _regrouped(model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats) -> MixturePosterior:
    return model.global_step(q, stats.regroup(groups, model.tied))


def _divided(
    model: Mixture, q: MixturePosterior, stats: ClusterStatistics, groups: Floats, halves: ClusterStatistics
) -> MixturePosterior:
    """The groups, and two more clusters."""
    regrouped = stats.regroup(groups, model.tied)
    if model.tied:
        halves = _within_tied(q, stats, int(np.flatnonzero(groups.sum(axis=0) == 0)[0]), halves)
        return model.global_step(q, replace(_beside(regrouped, halves), xx=regrouped.xx))
    return model.global_step(q, _beside(regrouped, halves))


def _beside(stats: ClusterStatistics, halves: ClusterStatistics) -> ClusterStatistics:
    """The clusters, and two more."""
    seen = np.broadcast_to(halves.seen, (2, stats.seen.shape[1]))  # of filled rows, which show every column
    return replace(
        stats,
        counts=np.append(stats.counts, halves.counts),
        seen=np.concatenate([stats.seen, seen]),
        x=np.concatenate([stats.x, halves.x]),
        xx=np.concatenate([stats.xx, halves.xx]),
    )


def _within_tied(q: MixturePosterior, stats: ClusterStatistics, which: int, halves: Any) -> Any:
    """The halves of one cluster, about its own mean and no further apart than the scatter that all share allows.

    Clusters that share a covariance have one sum of squares, of all rows; halves of a sample may leave less than
    nothing of it, and no covariance.
    """
    n = halves.counts
    mean = halves.x / np.maximum(n, np.finfo(float).tiny)[:, None]
    centre = stats.x[which] / max(float(stats.counts[which]), np.finfo(float).tiny)
    gap = mean[0] - mean[1]
    precision: Floats = q.clusters.precision[0]  # type: ignore[union-attr]
    used = float(n[0] * n[1] / max(n.sum(), np.finfo(float).tiny) * (gap @ precision @ gap) / stats.n)
    gap = gap * min(1.0, np.sqrt(MOST_SCATTER / max(used, np.finfo(float).tiny)))
    mean = centre + np.outer(n[::-1] * [1, -1] / max(n.sum(), np.finfo(float).tiny), gap)
    return replace(halves, x=n[:, None] * mean)


def _joining(k: int, i: int, j: int, without: int | None = None) -> Floats:
    """(K - 1 or K - 2, K), clusters i and j as one, and another left out."""
    groups = np.eye(k)
    groups[i, j] = 1.0
    return np.delete(groups, [j] if without is None else [j, without], axis=0)
