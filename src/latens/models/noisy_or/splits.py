"""Two causes that a noisy-OR has made one: rows in which a cause is on are of two kinds.

Causes that share columns are easily taken for one that makes all of their columns 1, though seldom. Which ones it is
blamed for then tells two kinds of rows apart: within each the chances are higher and fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats
from latens.array.transfer import host, is_sparse
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.point_beta import PointBeta

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior, ListedStates, NoisyOrCauses

__all__ = ["split_causes"]

N_SPLITS = 2  # that are tried, those that seem to gain most first
MOST_ENTRIES = 4_000_000  # of the rows that are looked at, which are made dense: of wide tables these are fewer
N_ROUNDS = 30  # of a mixture of two kinds
FEWEST_ROWS = 10.0  # of either kind
ON = 0.5  # chance from which on a cause is said to be on in a row
WORTH_TRYING = 0.75  # of what a cause costs, that kinds of rows must gain: rows in which it is off add to it
FIRM = 1e-3  # least chance of a column, and of its absence: what rows say of it stays finite


def split_causes(
    model: NoisyOrCauses, q: CausePosterior, n: float, sample: Rows, local: ListedStates, limit: int
) -> Iterator[CausePosterior]:
    """Each of the causes whose rows are best told apart exchanged for two; rows look for their states anew."""
    if q.n_components >= limit:
        return
    step = -(-sample.x.shape[0] * sample.x.shape[1] // MOST_ENTRIES)
    some = np.arange(0, sample.x.shape[0], max(step, 1))
    on = np.asarray(host(local.mean), dtype=np.float64)[some]
    sample = sample if len(some) == sample.x.shape[0] else sample.take(some)
    times, blamed = n / sample.n, _Blamed.of(q, sample, on)
    kinds = [found for k in range(q.n_components) if (found := _two_kinds(model, blamed, k, times)) is not None]
    for found in sorted(kinds, key=lambda one: -one.gain)[:N_SPLITS]:
        yield _with_two(model, q, found)


@dataclass(frozen=True)
class _Blamed:
    """Who is blamed for the ones of a sample, given the chances with which causes are on in its rows."""

    on: Floats  # (n, K), chances
    weight: Floats  # (n,)
    x: Floats  # (n, D), ones
    zero: Floats  # (n, D), zeros that were seen
    theta: Floats  # (K, D)
    level: Floats  # (n, D), of the leak and all causes together

    @classmethod
    def of(cls, q: CausePosterior, sample: Rows, on: Floats) -> _Blamed:
        x = sample.x.toarray() if is_sparse(sample.x) else host(sample.x)
        x = np.asarray(x, dtype=np.float64)
        zero = np.broadcast_to(np.asarray(host(sample.mask), dtype=np.float64), x.shape) - x
        weight = np.ones(len(x)) if sample.weight is None else np.asarray(host(sample.weight), dtype=np.float64)
        effects = q.expected
        return cls(on, weight, x, zero, effects.theta, effects.leak + on @ effects.theta)


@dataclass(frozen=True)
class _Kinds:
    cause: int
    gain: float  # nats, less most of what a cause costs
    share: Floats  # (2,), of the rows in which the cause is on
    ones: Floats  # (2, D), that it is blamed for
    zeros: Floats  # (2, D)


def _two_kinds(model: NoisyOrCauses, blamed: _Blamed, k: int, times: float) -> _Kinds | None:
    """The rows in which a cause is on as a mixture of two kinds; None where one says as much of them.

    Each row is counted so many times.
    """
    rows = np.flatnonzero(blamed.on[:, k] > ON)
    weight = times * blamed.weight[rows] * blamed.on[rows, k]
    if weight.sum() < 2 * FEWEST_ROWS:
        return None
    ones = blamed.theta[k] * blamed.x[rows] / blamed.level[rows]
    own = np.flatnonzero(weight @ ones > 1.0)
    ones, zeros = ones[:, own], blamed.zero[np.ix_(rows, own)]
    found = _mixture(model, ones, zeros, weight)
    if found is None:
        return None
    part, gain = found
    gain -= WORTH_TRYING * len(own) / 2 * np.log(weight.sum())
    if gain <= 0:
        return None
    sizes, d = part @ weight, blamed.x.shape[1]
    by_ones, by_zeros = np.zeros((2, d)), np.tile(sizes[:, None], d)  # columns that it is not blamed for are zeros
    by_ones[:, own], by_zeros[:, own] = (part * weight) @ ones, (part * weight) @ zeros
    return _Kinds(k, gain, sizes / sizes.sum(), by_ones, by_zeros)


def _mixture(model: NoisyOrCauses, ones: Floats, zeros: Floats, weight: Floats) -> tuple[Floats, float] | None:
    """(2, n), chances that rows are of either kind, and the nats that two kinds gain; None where one is empty.

    Begun along the direction in which rows differ most.
    """
    level, alike = _log_chances(model, ones, zeros, weight[None])
    residual = ones - alike[0] * (ones + zeros)
    coordinate = residual @ np.linalg.eigh(residual.T @ (weight[:, None] * residual))[1][:, -1]
    part = np.array([coordinate > 0, coordinate <= 0], dtype=float)
    gain = 0.0
    for _ in range(N_ROUNDS):
        sizes = part @ weight
        if sizes.min() < FEWEST_ROWS:
            return None
        logits = _log_chances(model, ones, zeros, part * weight)[0] + np.log(sizes / sizes.sum())[:, None]
        whole = np.logaddexp(*logits)
        part, gain = np.exp(logits - whole), float(weight @ (whole - level[0]))
    return part, gain


def _log_chances(model: NoisyOrCauses, ones: Floats, zeros: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """(G, n), of each row under each kind, given how much rows count for it (G, n); and chances of ones (G, D)."""
    a, b = model.strength
    some, none = weight @ ones, weight @ zeros
    chance = np.clip((some + a) / (some + none + a + b), FIRM, 1 - FIRM)
    return np.log(chance) @ ones.T + np.log1p(-chance) @ zeros.T, chance


def _with_two(model: NoisyOrCauses, q: CausePosterior, found: _Kinds) -> CausePosterior:
    """The other causes, and two for the one whose rows are of two kinds, each on in its share of them."""
    usage, causes, (a, b) = q.usage, q.causes, model.strength
    if isinstance(usage, PointBeta) or isinstance(causes, PointBeta):
        raise TypeError("point estimates were given; expected Beta posteriors, whose bound can judge a cause more.")
    k, others = found.cause, np.delete(np.arange(q.n_components), found.cause)
    on = usage.on[:, [k]] * found.share
    off = usage.on[:, [k]] + usage.off[:, [k]] - on
    usage = Beta(np.hstack([usage.on[:, others], on]), np.hstack([usage.off[:, others], off]))
    causes = Beta(np.vstack([causes.on[others], found.ones + a]), np.vstack([causes.off[others], found.zeros + b]))
    return replace(q, usage=usage, causes=causes)
