"""Other causes and profiles a noisy-OR might have: candidates for moves, none of them judged here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, gammaln

from latens.array import Floats, Index
from latens.array.transfer import column_sums, is_sparse, total
from latens.core import Proposal, Removal, Rows
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet
from latens.models.noisy_or.new_causes import more_causes
from latens.models.noisy_or.splits import split_causes

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior, CauseStatistics, ListedStates, NoisyOrCauses

__all__ = ["fewer_causes", "grouped", "other_causes", "propose", "with_profiles"]

N_SWAPS = 4  # replacements tried, for the weakest causes first
N_DELETIONS = 8
N_STEPS_LOW = 1  # iterations after which others have begun to bring about the ones of a cause that is left out
BETTER_STATES = 5e-4  # nats a row that states which are looked for anew must be better to be worth a trial
LEAST_OFF = 1e-6  # chance that a cause is off in a row: listed states do not tell smaller ones
FEW_PROFILES = 8  # profiles that are tried however few the rows: of many columns a few rows say much
ROWS_PER_CHANCE = 2.0  # rows that a profile needs for each of its probabilities; these cost more than they gain else
MOST_DOUBLED = 5  # times that the number of profiles is doubled in one trial, where codes speak for so many
LEFT_BY_CODES, NATS_BY_CHANCE = 0.05, 20.0  # nats a row, and nats, that codes as they are may speak against profiles
ROWS_OF_PROFILE = 2.0  # expected rows of a profile below which all such are left out in one trial


def propose(
    model: NoisyOrCauses,
    q: CausePosterior,
    stats: CauseStatistics,
    sample: Rows,
    rng: np.random.Generator,
    limit: int,
) -> Iterator[Any]:
    """Other states; without causes that are on nowhere; more profiles, fewer; fewer causes, more, two for one, others.

    Profiles come first: they are the cheaper to leave out, and every move that is taken begins a new round.

    Point estimates keep their sizes: their bound grows with them and cannot judge.
    """
    local = model.local_step(q, sample)
    if not model.exact_local(q):
        yield from _with_other_states(model, q, stats, sample, local)
    if not model.points:
        yield from _without_idle(model, q, stats)
        yield from _more_profiles(model, q, stats.n, local, rng)
        yield from _fewer_profiles(model, q, stats)
        yield from fewer_causes(model, q, stats, sample, local)
        yield from more_causes(model, q, stats.n, sample, limit)
        yield from split_causes(model, q, stats.n, sample, local, limit)
    yield from other_causes(model, q, stats, sample, local, rng)


def _with_other_states(
    model: NoisyOrCauses, q: CausePosterior, stats: CauseStatistics, sample: Rows, local: ListedStates
) -> Iterator[CausePosterior]:
    """The same causes, where states of rows that are looked for anew are better than those that rows have.

    Single flips do not always lead from the best states under earlier causes to the best ones now.
    """
    bound = (stats.n / sample.n) * total(sample.weigh(local.row_bound))
    if bound > sum(model.data_terms(q, stats).values()) + BETTER_STATES * stats.n:
        yield q


def _without_idle(model: NoisyOrCauses, q: CausePosterior, stats: CauseStatistics) -> Iterator[Proposal]:
    """Without those that are on in less than a row: they say nothing, and every other trial would carry them along."""
    idle = np.flatnonzero(stats.on.sum(axis=0) < 1.0)
    if 0 < len(idle) < q.n_components:
        yield _without(model, q, stats, idle)


def _more_profiles(
    model: NoisyOrCauses, q: CausePosterior, n: float, local: Any, rng: np.random.Generator
) -> Iterator[Proposal]:
    """Groups of rows whose causes are alike: as many as their codes speak for, twice as many, half as many again.

    Where codes speak against all of them, and more than rows that move between profiles make up for, none is tried.
    """
    now, k = q.n_profiles, q.n_components
    most = min(model.most_profiles, 2**k, max(FEW_PROFILES, int(n / (ROWS_PER_CHANCE * max(k, 1)))))
    if most <= now:
        return
    codes = np.asarray(local.mean, dtype=np.float64)
    usual = dict.fromkeys((min(2 * now, most), min(now + (now + 1) // 2, most)))
    if model.exact_local(q):  # trials are cheap: step by step the bound itself tells
        for size in usual:
            yield Proposal(with_profiles(q, codes, grouped(codes, size, rng), size), np.arange(k))
        return
    sizes = {*usual, *(min(now << times, most) for times in range(1, MOST_DOUBLED + 1))}
    labels = {size: grouped(codes, size, rng) for size in sorted(sizes)}
    present = _evidence(model, codes, np.argmax(q.expected.profile_logits(codes), axis=1), now)
    gains = {size: _evidence(model, codes, label, size) - present for size, label in labels.items()}
    best = max(gains, key=lambda size: gains[size])
    least = -LEFT_BY_CODES * len(codes) - NATS_BY_CHANCE
    for size in dict.fromkeys((best, *usual)):
        if max(gains[best], gains[size]) > least:
            yield Proposal(with_profiles(q, codes, labels[size], size), np.arange(k))


def _evidence(model: NoisyOrCauses, codes: Floats, label: Index, n_profiles: int) -> float:
    """Log evidence of codes under profiles of which each row has one, chances of causes integrated out."""
    sizes, on = np.bincount(label, minlength=n_profiles).astype(float), np.zeros((n_profiles, codes.shape[1]))
    np.add.at(on, label, codes)
    (a, b), w = model.usage, np.full(n_profiles, model.profiles)
    within = betaln(a + on, b + np.maximum(sizes[:, None] - on, 0.0)) - betaln(a, b)
    kinds = gammaln(w + sizes).sum() - gammaln(w).sum() + gammaln(w.sum()) - gammaln(w.sum() + len(codes))
    return float(within.sum() + kinds)


def fewer_causes(model: Any, q: Any, stats: Any, sample: Rows, local: Any) -> Iterator[Proposal]:
    """All that seem to cost more than they are worth, half of them, and so on; then each alone, the least worth first.

    What a cause is worth is how much less likely rows are without it, and without any other change: where another
    takes its place it is worth less, so that those that seem to be worth something are tried as well. Others take a
    place slowly: what is without a single one is judged where its ascent ends.
    """
    if q.n_components <= 1:
        return
    off = np.maximum(1.0 - np.asarray(local.mean, dtype=np.float64), LEAST_OFF)
    worth = -(stats.n / sample.n) * column_sums(sample.weigh(np.log(off))) - _costs(model, q)
    order = np.argsort(worth, kind="stable")
    size = int(np.sum(np.cumsum(worth[order]) < 0))
    while size > 1:
        yield _without(model, q, stats, order[:size])
        size //= 2
    for cause in order[:N_DELETIONS]:
        fewer = _without(model, q, stats, np.array([cause]))
        yield Removal(fewer.q, fewer.of, N_STEPS_LOW)


def _costs(model: Any, q: Any) -> Floats:
    """(K,), nats that each cause costs the bound: the divergence of its probabilities from their prior."""

    def bound(keep: list[int]) -> float:
        return float(sum(model.global_terms(q.only(np.array(keep, dtype=np.intp))).values()))

    nothing = bound([])
    return np.array([nothing - bound([k]) for k in range(q.n_components)])


def _without(model: Any, q: Any, stats: Any, causes: Index) -> Any:
    keep = np.delete(np.arange(q.n_components), causes)
    return Proposal(model.global_step(q.only(keep), stats.only(keep)), keep)


def _fewer_profiles(model: NoisyOrCauses, q: CausePosterior, stats: CauseStatistics) -> Iterator[Proposal]:
    """Without all that are hardly used, then without the least used."""
    if q.n_profiles == 1 or model.most_profiles == 1:
        return
    order = np.argsort(stats.used, kind="stable")
    n_idle = min(int(np.sum(stats.used < ROWS_OF_PROFILE)), q.n_profiles - 1)
    for size in sorted({n_idle, 1} - {0}, reverse=True):
        keep = np.sort(order[size:])
        fewer = replace(q, profiles=q.profiles.only(keep), usage=q.usage.only(keep))
        yield Proposal(fewer, np.arange(q.n_components))


def other_causes(
    model: Any, q: Any, stats: Any, sample: Rows, local: Any, rng: np.random.Generator
) -> Iterator[Proposal]:
    """A weak cause takes over the columns that rows that are badly explained without it have in common."""
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
        of = np.arange(q.n_components)
        of[k] = -1
        yield Proposal(q.with_cause(int(k), np.clip(x[alike].mean(axis=0), 0.01, 0.95)), of)


def grouped(codes: Floats, n_groups: int, rng: np.random.Generator, n_rounds: int = 15) -> Index:
    """(n,), groups of rows whose causes are alike: k-means with seeds spread by distance."""
    centres = codes[rng.integers(len(codes))][None]
    gaps = np.sum((codes - centres[0]) ** 2, axis=1)
    while len(centres) < n_groups:
        chance = gaps + 1e-12
        centres = np.vstack([centres, codes[rng.choice(len(codes), p=chance / chance.sum())]])
        gaps = np.minimum(gaps, np.sum((codes - centres[-1]) ** 2, axis=1))
    label: Index = np.zeros(len(codes), dtype=np.intp)
    for number in range(n_rounds):
        last, label = label, np.argmin(np.sum(centres**2, axis=1) - 2 * codes @ centres.T, axis=1)
        if number and np.array_equal(label, last):
            break
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
