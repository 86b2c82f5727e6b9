"""Other causes and profiles a noisy-OR might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats, Index
from latens.array.transfer import is_sparse
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior, CauseStatistics, NoisyOrCauses

__all__ = ["fewer_causes", "grouped", "other_causes", "propose", "with_profiles"]

N_SWAPS = 4  # replacements tried, for the weakest causes first
N_DELETIONS = 12


def propose(
    model: NoisyOrCauses, q: CausePosterior, stats: CauseStatistics, sample: Rows, rng: np.random.Generator
) -> Iterator[CausePosterior]:
    """More profiles, fewer causes, fewer profiles, other causes.

    Point estimates keep their sizes: their bound grows with them and cannot judge.
    """
    if not model.points:
        yield from _more_profiles(model, q, sample, rng)
        yield from fewer_causes(model, q, stats)
        yield from _fewer_profiles(model, q, stats)
    yield from other_causes(model, q, stats, sample, rng)


def _more_profiles(
    model: NoisyOrCauses, q: CausePosterior, sample: Rows, rng: np.random.Generator
) -> Iterator[CausePosterior]:
    """Twice as many, half as many again, one more: groups of rows whose causes are alike."""
    now, k = q.n_profiles, q.n_components
    sizes = {min(size, model.most_profiles, 2**k) for size in (2 * now, now + now // 2, now + 1)}
    codes = np.asarray(model.local_step(q, sample).mean, dtype=np.float64) if max(sizes) > now else np.zeros((0, k))
    for size in sorted(sizes, reverse=True):
        if size > now:
            yield with_profiles(q, codes, grouped(codes, size, rng), size)


def fewer_causes(model: Any, q: Any, stats: Any) -> Iterator[Any]:
    """All below the widest gap in strength, the weakest half, a quarter, and so on; then each weak cause alone."""
    if q.n_components <= 1:
        return
    strength = stats.caused.sum(axis=1)
    order = np.argsort(strength, kind="stable")
    gap = 1 + int(np.argmax(np.diff(np.log(np.maximum(strength[order], 1e-12)))))
    sizes = [gap]
    while len(order) >> len(sizes) > 1:
        sizes.append(len(order) >> len(sizes))
    for size in sizes:
        yield _without(model, q, stats, order[:size])
    for cause in order[:N_DELETIONS]:
        yield _without(model, q, stats, np.array([cause]))


def _without(model: Any, q: Any, stats: Any, gone: Index) -> Any:
    keep = np.delete(np.arange(q.n_components), gone)
    return model.global_step(q.only(keep), stats.only(keep))


def _fewer_profiles(model: NoisyOrCauses, q: CausePosterior, stats: CauseStatistics) -> Iterator[CausePosterior]:
    """Without the least used profile."""
    if q.n_profiles > 1 and model.most_profiles > 1:
        keep = np.delete(np.arange(q.n_profiles), np.argmin(stats.used))
        yield replace(q, profiles=q.profiles.only(keep), usage=q.usage.only(keep))


def other_causes(model: Any, q: Any, stats: Any, sample: Rows, rng: np.random.Generator) -> Iterator[Any]:
    """A weak cause takes over the columns that rows that are badly explained without it have in common."""
    local = model.local_step(q, sample)
    x = sample.x.toarray() if is_sparse(sample.x) else np.asarray(sample.x, dtype=np.float64)
    order = np.argsort(stats.caused.sum(axis=1), kind="stable")
    for k in order[:N_SWAPS]:
        codes = np.array(local.mean, dtype=np.float64)
        codes[:, k] = 0.0
        surprise = np.sum(x * -np.log(np.maximum(model.reconstruct(q, codes), 1e-12)), axis=1)
        if not surprise.sum() > 0:
            return
        row = rng.choice(len(x), p=surprise / surprise.sum())
        size = np.sqrt(x.sum(axis=1) * max(x[row].sum(), 1.0))
        alike = np.argsort(-(x @ x[row]) / np.maximum(size, 1.0), kind="stable")[: max(5, len(x) // 20)]
        yield q.with_cause(int(k), np.clip(x[alike].mean(axis=0), 0.01, 0.95))


def grouped(codes: Floats, n_groups: int, rng: np.random.Generator, n_rounds: int = 15) -> Index:
    """(n,), groups of rows whose causes are alike: k-means with seeds spread by distance."""
    centres = codes[rng.integers(len(codes))][None]
    gaps = np.sum((codes - centres[0]) ** 2, axis=1)
    while len(centres) < n_groups:
        chance = gaps + 1e-12
        centres = np.vstack([centres, codes[rng.choice(len(codes), p=chance / chance.sum())]])
        gaps = np.minimum(gaps, np.sum((codes - centres[-1]) ** 2, axis=1))
    label: Index = np.zeros(len(codes), dtype=np.intp)
    for _ in range(n_rounds):
        label = np.argmin(np.sum(centres**2, axis=1) - 2 * codes @ centres.T, axis=1)
        sums, sizes = np.zeros_like(centres), np.bincount(label, minlength=n_groups)
        np.add.at(sums, label, codes)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
    return label


def with_profiles(q: CausePosterior, codes: Floats, label: Index, n_profiles: int) -> CausePosterior:
    """The same causes under the profiles of grouped rows, each pulled towards the whole so that rows may move."""
    overall = np.clip(codes.mean(axis=0), 1e-3, 1 - 1e-3)
    sizes = np.bincount(label, minlength=n_profiles).astype(float)
    sums = np.zeros((n_profiles, codes.shape[1]))
    np.add.at(sums, label, codes)
    usage = (sums + 5 * overall) / (sizes[:, None] + 5)
    weight = (sizes + 1) / (sizes + 1).sum()
    if isinstance(q.usage, PointBeta):
        return replace(q, profiles=PointDirichlet(weight), usage=PointBeta.of(usage))
    counts = len(codes) * weight
    pairs = Beta(np.maximum(counts[:, None] * usage, 1e-3), np.maximum(counts[:, None] * (1 - usage), 1e-3))
    return replace(q, profiles=Dirichlet(counts), usage=pairs)
