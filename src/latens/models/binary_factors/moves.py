"""Other causes a binary factor model might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats, Index
from latens.core import Proposal, Rows
from latens.families.relevance import Relevance
from latens.models.binary_factors.posteriors import Switches

if TYPE_CHECKING:
    from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior, CodeStatistics

__all__ = ["deletions", "gather", "merges", "rearrange", "splits"]

N_WEAKEST = 4  # causes that are left out one by one before others are rearranged
N_SWAPS = 8  # replacements tried, for the weakest causes first
N_MERGES = 4
N_SPLITS = 3  # causes split, each in three ways
# correlation of codes, or cosine of loadings whose codes exclude each other, from which a pair is tried
LEAST_LIKENESS = 0.5
EXCESS = 1.3  # variance about a cause, over what noise alone may show, from which it is split
LEAST_ROWS_OF_HALF = 5  # rows that a half of a split cause needs


def gather(model: BinaryFactors, q: BinaryPosterior, stats: CodeStatistics) -> Iterator[Proposal]:
    """Fewer causes, many of them in one trial, and without the weakest: what a start that has too many needs first.

    None for point estimates: their bound grows with the number of causes and cannot judge.
    """
    if not model.points and q.n_components > 1:
        order, strength = _by_strength(q, stats)
        yield from _without_many(model, q, stats, order, strength)
        yield from _without_each(model, q, stats, order[:N_WEAKEST])


def rearrange(
    model: BinaryFactors,
    q: BinaryPosterior,
    stats: CodeStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[Any]:
    """Merges; splits; causes swapped for what the rows leave unexplained; then stronger causes are left out, one each.

    Point estimates keep their number of causes: there, and where `limit` is reached, a cause is split into the place
    of one that can be spared. Strong causes come last, since hardly any of them can be spared and every move that is
    taken begins a new round.
    """
    k = q.n_components
    order, _ = _by_strength(q, stats)
    if not model.points and k > 1:
        yield from merges(model, q, stats)
    codes = np.array(model.local_step(q, sample).mean)
    yield from splits(model, q, stats, sample, codes, order if model.points or k >= limit else None)
    yield from _swaps(model, q, sample, codes, rng, order[:N_SWAPS])
    if not model.points and k > 1:
        yield from _without_each(model, q, stats, order[N_WEAKEST:])


def _by_strength(q: BinaryPosterior, stats: CodeStatistics) -> tuple[Index, Floats]:
    """Causes, the weakest first, and the variance that each makes in this order."""
    strength = stats.on * (1 - stats.on / stats.n) * np.sum(q.loadings.mean[: q.n_components] ** 2, axis=1)
    order = np.argsort(strength, kind="stable")
    return order, strength[order]


def deletions(model: Any, q: Any, stats: Any, order: Index, strength: Floats) -> Iterator[Any]:
    """Without many components in one trial; then without each of them alone.

    For any model whose posterior and statistics have `only`, and whose global step needs no more.
    """
    yield from _without_many(model, q, stats, order, strength)
    yield from _without_each(model, q, stats, order)


def _without_many(model: Any, q: Any, stats: Any, order: Index, strength: Floats) -> Iterator[Any]:
    """Without all below the widest gap in strength, the weakest half, a quarter, and so on."""
    gap = 1 + int(np.argmax(np.diff(np.log(np.maximum(strength, 1e-300)))))
    for more in range(min(4, len(order) - gap) if gap > 1 else 1):  # the weakest above the gap may hang on those below
        yield _without(model, q, stats, order[: gap + more])
    size = len(order) // 2
    while size > 1:
        yield _without(model, q, stats, order[:size])
        size //= 2


def _without_each(model: Any, q: Any, stats: Any, order: Index) -> Iterator[Any]:
    for cause in order:
        yield _without(model, q, stats, [cause])


def _without(model: Any, q: Any, stats: Any, causes: Index | list[int]) -> Any:
    keep = np.delete(np.arange(q.n_components), causes)
    return Proposal(model.global_step(q.only(keep), stats.only(keep)), keep)


def merges(model: BinaryFactors, q: BinaryPosterior, stats: CodeStatistics) -> Iterator[BinaryPosterior]:
    """Two causes as one: those on in the same rows, and those that add the same, in different rows."""
    for i, j, share in _alike(q, stats):
        mix = np.eye(len(stats.zx))
        mix[i, [i, j]] = share
        mix = np.delete(mix, j, axis=0)
        zz = mix @ stats.zz @ mix.T
        # the square of a code is the code itself, which the products of two halves fall short of
        zz[:, i, i] = np.maximum(zz[:, i, i], share * (stats.zz[:, i, i] + stats.zz[:, j, j]))
        keep = np.delete(np.arange(q.n_components), j)
        on = np.minimum(mix[: len(keep), : q.n_components] @ stats.on, stats.n)
        yield model.global_step(q.only(keep), replace(stats, on=on, zz=zz, zx=mix @ stats.zx))


def _alike(q: BinaryPosterior, stats: CodeStatistics) -> list[tuple[int, int, float]]:
    """Pairs i < j that may be one cause, the likeliest first, and how much of each code goes into its code."""
    k = q.n_components
    both = stats.zz[:, :k, :k].sum(axis=0) / (stats.n if len(stats.zz) == 1 else stats.seen.sum())
    usage = np.diagonal(both)
    spread = np.sqrt(np.maximum(usage * (1 - usage), 1e-300))
    together = (both - np.outer(usage, usage)) / np.outer(spread, spread)
    w = q.loadings.mean[:k] * np.sqrt(q.loadings.tau)
    size = np.maximum(np.sqrt(np.sum(w**2, axis=1)), 1e-150)  # products of two are numbers, too
    exclusion = 1 - both / np.maximum(np.minimum(usage[:, None], usage), 1e-300)
    same = (w @ w.T) / np.outer(size, size) * np.clip(exclusion, 0, 1)
    likeness = np.triu(np.maximum(together, same), 1)
    best = np.argsort(-likeness, axis=None, kind="stable")[:N_MERGES]
    pairs = [divmod(int(at), k) for at in best if likeness.flat[at] > LEAST_LIKENESS]
    return [(i, j, 0.5 if together[i, j] >= same[i, j] else 1.0) for i, j in pairs]


def splits(
    model: BinaryFactors,
    q: BinaryPosterior,
    stats: CodeStatistics,
    sample: Rows,
    codes: Floats,
    order: Index | None,
) -> Iterator[BinaryPosterior]:
    """A cause whose rows differ along one direction as two: one for each side, or one for all and one for a side.

    With `order`, the weakest cause first, their number stays: two that are alike become one, or the weakest goes.
    """
    gap = (sample.x - model.reconstruct(q, codes)) * sample.mask / np.sqrt(q.loadings.mean_noise)
    halves = {k: half for k in range(codes.shape[1]) if (half := _half(gap, codes[:, k], model.n_features))}
    for k in sorted(halves, key=lambda k: -halves[k][0])[:N_SPLITS] if order is None or len(order) > 1 else ():
        changed, free = np.column_stack([codes, codes[:, k]]), codes.shape[1]
        if order is not None:
            changed, free = _with_room(q, stats, codes, order, k)
        whole, side = codes[:, k], np.where(halves[k][1], codes[:, k], 0.0)
        for base, extra in ((whole - side, side), (whole, side), (whole, whole - side)):
            changed[:, k], changed[:, free] = base, extra
            scaled = (stats.n / sample.n) * model.statistics(sample, Switches(changed))
            yield model.global_step(model.prior(changed.shape[1]), scaled)


def _half(gap: Floats, code: Floats, d: int) -> tuple[float, Index] | None:
    """How far rows with this code on differ along one direction, and which are on its upper side; None: as noise does.

    A few steps of the power method suffice, as any direction of excess will do.
    """
    on = code > 0.5
    rows = gap[on]
    n = len(rows)
    if n < 2 * LEAST_ROWS_OF_HALF:
        return None
    rows = rows - rows.mean(axis=0)
    projection = rows @ rows[np.argmax(np.sum(rows**2, axis=1))]
    for _ in range(8):
        direction = projection @ rows
        projection = rows @ (direction / (np.sqrt(direction @ direction) + 1e-300))
    upper = np.zeros(len(code), bool)
    upper[on] = projection > 0
    usual = (1 + np.sqrt(d / n)) ** 2  # the largest variance of n rows of noise
    if np.mean(projection**2) < EXCESS * usual or min(upper.sum(), n - upper.sum()) < LEAST_ROWS_OF_HALF:
        return None
    return float(np.sum(projection**2)), upper


def _with_room(q: BinaryPosterior, stats: CodeStatistics, codes: Floats, order: Index, k: int) -> tuple[Floats, int]:
    """Codes in which one cause other than k is free, and which: one of a pair that is alike, else the weakest."""
    codes = codes.copy()
    for i, j, share in _alike(q, stats):
        if k not in (i, j):
            codes[:, i] = np.minimum(share * (codes[:, i] + codes[:, j]), 1.0)
            return codes, j
    return codes, int(order[order != k][0])


def _swaps(
    model: BinaryFactors, q: BinaryPosterior, sample: Rows, codes: Floats, rng: np.random.Generator, weakest: Index
) -> Iterator[BinaryPosterior]:
    """Give a weak cause the mean residual of rows that are badly explained in the same way."""
    whole = (sample.x - model.reconstruct(q, codes)) * sample.mask
    for k in weakest:
        gap = whole + codes[:, [k]] * q.loadings.mean[k] * sample.mask
        size = np.sum(gap**2, axis=1)
        if not size.sum() > 0:
            return
        row = rng.choice(len(gap), p=size**2 / np.sum(size**2))
        likeness = gap @ gap[row] / np.sqrt(size * size[row] + 1e-300)
        alike = np.argsort(-likeness, kind="stable")[: max(5, len(gap) // 20)]
        yield _replaced(q, int(k), gap[alike].mean(axis=0))


def _replaced(q: BinaryPosterior, k: int, direction: Floats) -> BinaryPosterior:
    loadings = q.loadings
    mean = loadings.mean.copy()
    mean[k] = direction
    if isinstance(loadings, Relevance):
        return replace(q, loadings=replace(loadings, weights=replace(loadings.weights, mean=mean)))
    return replace(q, loadings=replace(loadings, mean=mean))
