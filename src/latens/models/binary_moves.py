"""Other causes a binary factor model might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats, Index
from latens.core import Rows
from latens.families.relevance import Relevance

if TYPE_CHECKING:
    from latens.models.binary_factors import BinaryFactors, BinaryPosterior, CodeStatistics

__all__ = ["deletions", "propose"]

N_SWAPS = 8  # replacements tried, for the weakest causes first


def propose(
    model: BinaryFactors,
    q: BinaryPosterior,
    stats: CodeStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[BinaryPosterior]:
    """Deletions, the weakest causes first; then causes swapped for what the rows leave unexplained.

    Point estimates keep their number of causes: their bound grows with it and cannot judge.
    """
    k = q.n_components
    strength = stats.on * (1 - stats.on / stats.n) * np.sum(q.loadings.mean[:k] ** 2, axis=1)
    order = np.argsort(strength, kind="stable")
    if not model.points and k > 1:
        yield from deletions(model, q, stats, order, strength[order])
    yield from _swaps(model, q, sample, rng, order[:N_SWAPS])


def deletions(model: Any, q: Any, stats: Any, order: Index, strength: Floats) -> Iterator[Any]:
    """All below the widest gap in strength, the weakest half, a quarter, and so on; then each component alone.

    For any model whose posterior and statistics have `only`, and whose global step needs no more.
    """
    gap = 1 + int(np.argmax(np.diff(np.log(np.maximum(strength, 1e-300)))))
    for more in range(min(4, len(order) - gap) if gap > 1 else 1):  # the weakest above the gap may hang on those below
        yield _without(model, q, stats, order[: gap + more])
    size = len(order) // 2
    while size > 1:
        yield _without(model, q, stats, order[:size])
        size //= 2
    for cause in order:
        yield _without(model, q, stats, [cause])


def _without(model: Any, q: Any, stats: Any, gone: Index | list[int]) -> Any:
    keep = np.delete(np.arange(q.n_components), gone)
    return model.global_step(q.only(keep), stats.only(keep))


def _swaps(
    model: BinaryFactors, q: BinaryPosterior, sample: Rows, rng: np.random.Generator, weakest: Index
) -> Iterator[BinaryPosterior]:
    """Give a weak cause the mean residual of rows that are badly explained in the same way."""
    local = model.local_step(q, sample)
    for k in weakest:
        codes = np.array(local.mean)
        codes[:, k] = 0.0
        gap = (sample.x - model.reconstruct(q, codes)) * sample.mask
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
