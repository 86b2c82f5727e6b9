"""Causes that a noisy-OR lacks: pairs of columns that are on together more often than its causes make them.

A cause that is on in n rows and makes columns 1 with chances p_j adds n p_i p_j rows to those in which i and j are on
together, so that what it leaves unexplained is of rank one, but for the diagonal: a_i a_j with a = sqrt(n) p.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats, Index
from latens.array.transfer import is_sparse
from latens.core import Proposal, Rows
from latens.families.beta import Beta
from latens.families.point_beta import PointBeta

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses

__all__ = ["count_pairs", "more_causes"]

N_SEEDS = 24  # pairs of columns that new causes are begun from, those that are the least expected first
N_AT_ONCE, N_ALONE = 8, 3  # causes that are added in one trial, and trials that add one
WORTH_TRYING = 0.25  # of what a cause costs, that pairs alone must gain: other columns and single rows add to it
MOST_COLUMNS = 256  # whose pairs are counted, the most common ones
WITH_BOTH = 1.0  # nats by which a column is unexpectedly often on with each of the pair that a cause begins from
N_ROUNDS = 20  # that a direction takes to settle
TOP = 0.7  # the largest chance that a new cause begins with: pairs do not tell chances from how often it is on
LEAST_CHANCE, MOST_OFTEN = 0.02, 0.5  # chance with which it begins elsewhere, and share of the rows in which it is on
LEAST_SHARE_OF_CHANCE = 0.3  # of its largest chance: pairs of columns above it begin no other cause
COUNTED = "pairs of columns"


@dataclass(frozen=True)
class Pairs:
    """How often columns are 1 together."""

    n: float  # rows
    columns: Index  # those that were looked at
    ones: Floats  # (C, C), rows in which both are 1
    seen: Floats  # (C, C), rows in which both were seen

    @classmethod
    def of(cls, sample: Rows, blocks: Iterable[Rows]) -> Pairs:
        """In all blocks, of the columns that are the most common in the sample."""
        often = np.asarray(sample.x.sum(axis=0), dtype=np.float64).reshape(-1)
        columns = np.sort(np.argsort(-often, kind="stable")[:MOST_COLUMNS])
        n, ones, seen = 0.0, np.zeros((len(columns),) * 2), np.zeros((len(columns),) * 2)
        for block in blocks:
            part = block.x[:, columns]
            x = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
            n, ones = n + block.n, ones + x.T @ np.asarray(block.weigh(x))
            if block.seen is None:
                seen = seen + block.n
            else:
                mask = np.asarray(block.mask, dtype=np.float64)[:, columns]
                seen = seen + mask.T @ np.asarray(block.weigh(mask))
        return cls(n, columns, ones, seen)


def count_pairs(sample: Rows, blocks: Iterable[Rows]) -> None:
    """Have moves that look at this sample know how often columns are 1 together in all rows."""
    sample.cached(COUNTED, lambda: Pairs.of(sample, blocks))


def more_causes(model: NoisyOrCauses, q: CausePosterior, n: float, sample: Rows, limit: int) -> Iterator[Proposal]:
    """All that pairs of columns speak for, half of them, and so on; then each alone, the most surprising first."""
    most = min(limit - q.n_components, N_AT_ONCE)
    if most < 1 or sample.x.shape[1] < 2:
        return
    pairs: Pairs = sample.cached(COUNTED, lambda: Pairs.of(sample, [sample]))
    found = list(islice(_lacking(model, q, n, pairs), most))
    size = len(found)
    while size > 1:
        yield _with_more(q, n, found[:size])
        size //= 2
    for cause in found[:N_ALONE]:
        yield _with_more(q, n, [cause])


@dataclass(frozen=True)
class NewCause:
    often: float  # share of the rows in which it is on
    strength: Floats  # (D,)


def _lacking(model: NoisyOrCauses, q: CausePosterior, n: float, pairs: Pairs) -> Iterator[NewCause]:
    """Causes that would bring about pairs of ones of which there are more than is expected, and seem worth a trial."""
    expected = pairs.seen * _expected_pairs(q, pairs.columns)
    used_pairs = np.zeros(expected.shape, dtype=bool)
    by_chance = np.log(max(used_pairs.size, 1) / 2)  # what the most surprising of so many pairs says
    for _ in range(N_SEEDS):
        surprise = _surprise(pairs.ones, expected)
        first, second = np.unravel_index(int(np.argmax(np.where(used_pairs, 0.0, surprise))), used_pairs.shape)
        if used_pairs[first, second] or not surprise[first, second] > 0:
            return
        used_pairs[first, second] = used_pairs[second, first] = True
        size = _direction(surprise, pairs.ones - expected, expected, int(first), int(second))
        own = np.flatnonzero(size > LEAST_SHARE_OF_CHANCE * size.max())
        cause = _at_size(model.n_features, size, pairs)
        evidence = surprise[np.ix_(own, own)].sum() / 2 * n / pairs.n
        if evidence > WORTH_TRYING * _cost(model, q, n, cause) + by_chance:
            yield cause
            expected = expected + np.outer(size, size)


def _at_size(d: int, size: Floats, pairs: Pairs) -> NewCause:
    """A cause of which these products of columns are the excess of pairs; none has a chance of more than `TOP`."""
    largest, strength = float(size.max()), np.full(d, LEAST_CHANCE)
    strength[pairs.columns] = np.maximum(TOP * size / largest, LEAST_CHANCE)
    return NewCause(min((largest / TOP) ** 2 / pairs.n, MOST_OFTEN), strength)


def _cost(model: NoisyOrCauses, q: CausePosterior, n: float, cause: NewCause) -> float:
    """Nats that a cause costs the bound: the divergence of its chances from their prior."""
    more = _with_more(q, n, [cause]).q
    nothing, one = (sum(model.global_terms(more.only(np.arange(k, q.n_components + 1))).values())
                    for k in (q.n_components + 1, q.n_components))  # fmt: skip
    return float(nothing - one)


def _with_more(q: CausePosterior, n: float, causes: Sequence[NewCause]) -> Proposal:
    """The same causes and new ones, on as often in each kind of rows, as sure of themselves as the rows make them."""
    often, strength = np.array([one.often for one in causes]), np.array([one.strength for one in causes])
    counts, rows = (n * q.profiles.mean)[:, None], (n * often)[:, None]
    usage, more = q.usage, q.causes
    if isinstance(usage, PointBeta) or isinstance(more, PointBeta):
        raise TypeError("point estimates were given; expected Beta posteriors, whose bound can judge a cause more.")
    usage = Beta(np.hstack([usage.on, counts * often]), np.hstack([usage.off, counts * (1 - often)]))
    more = Beta(np.vstack([more.on, rows * strength]), np.vstack([more.off, rows * (1 - strength)]))
    of = np.append(np.arange(q.n_components), np.full(len(causes), -1))
    return Proposal(replace(q, usage=usage, causes=more), of)


def _expected_pairs(q: CausePosterior, columns: Index) -> Floats:
    """(D, D), the chance that two columns are both 1 in a row of which nothing is known."""
    p, leak = q.causes.mean[:, columns], q.leak.mean[columns]
    both = np.zeros((len(columns), len(columns)))
    for weight, usage in zip(q.profiles.mean, q.usage.mean, strict=True):
        zero = 1 - leak
        neither = np.outer(zero, zero)
        for often, chance in zip(usage, p, strict=True):
            neither *= 1 - often * (chance[:, None] + chance - np.outer(chance, chance))
            zero = zero * (1 - often * chance)
        both += weight * (1 - zero[:, None] - zero + neither)
    return np.maximum(both, 1e-12)


def _surprise(ones: Floats, expected: Floats) -> Floats:
    """(D, D), nats by which the number of rows that have both is unlikely, were it Poisson; 0 where they are few."""
    more = ones > expected
    np.fill_diagonal(more, False)
    ratio = np.where(more, ones, 1.0) / np.where(more, expected, 1.0)
    return np.asarray(np.where(more, ones * np.log(ratio) - (ones - expected), 0.0))


def _direction(surprise: Floats, excess: Floats, expected: Floats, first: int, second: int) -> Floats:
    """(D,), a whose products are the excess of pairs, each as sure as its expectation is small; begun from one pair.

    Columns that are not on with both of them more often than is expected have no part in it: from any pair it would
    lead to where the excess is largest.
    """
    own = np.flatnonzero((surprise[first] > WITH_BOTH) & (surprise[second] > WITH_BOTH))
    own = np.unique([*own, first, second])
    within = np.ix_(own, own)
    sure = 1 / (expected[within] + np.maximum(excess[within], 0.0) + 1.0)
    np.fill_diagonal(sure, 0.0)
    drive, a = sure * excess[within], np.isin(own, (first, second)).astype(float)
    a *= np.sqrt(max(excess[first, second], 0.0))
    for _ in range(N_ROUNDS):
        a = np.maximum(drive @ a / np.maximum(sure @ a**2, 1e-12), 0.0)
    size = np.zeros(len(excess))
    size[own] = a
    return size
