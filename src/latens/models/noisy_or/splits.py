"""Splits of a cause of a noisy-OR into two.

Two causes that share columns are easily fitted as one, which then makes the columns of both 1 with small probabilities.
Its rows are of two kinds: in each, fewer columns have ones that this cause is responsible for, with higher
probabilities. A mixture of two kinds, fitted to these responsibilities, finds them.
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
MOST_ENTRIES = 4_000_000  # of the rows that are looked at, which are made dense: of wide tables only some are
N_ROUNDS = 30  # of EM of the mixture of two kinds
FEWEST_ROWS = 10.0  # of either kind
LEAST_ON = 0.5  # probability above which a cause is said to be on in a row
LEAST_GAIN = 0.75  # of a cause's cost, which two kinds must gain to be tried: rows where it is off may gain the rest
LEAST_CHANCE = 1e-3  # of a one in a column, and of a zero: logarithms stay finite


def split_causes(
    model: NoisyOrCauses, q: CausePosterior, n: float, sample: Rows, local: ListedStates, limit: int
) -> Iterator[CausePosterior]:
    """Posteriors in which a cause is replaced by two: first the cause whose rows fall most clearly into two kinds."""
    if q.n_components >= limit:
        return
    step = -(-sample.x.shape[0] * sample.x.shape[1] // MOST_ENTRIES)
    some = np.arange(0, sample.x.shape[0], max(step, 1))
    on = np.asarray(host(local.mean), dtype=np.float64)[some]
    sample = sample if len(some) == sample.x.shape[0] else sample.take(some)
    times, dense = n / sample.n, _DenseRows.of(q, sample, on)
    kinds = [found for k in range(q.n_components) if (found := _two_kinds(model, dense, k, times)) is not None]
    for found in sorted(kinds, key=lambda one: -one.gain)[:N_SPLITS]:
        yield _with_two(model, q, found)


@dataclass(frozen=True)
class _DenseRows:
    """A sample in dense arrays: cause k is responsible for theta_kd / level_nd of the one of row n in column d."""

    on: Floats  # (n, K), probabilities that causes are on
    weight: Floats  # (n,)
    x: Floats  # (n, D), 1 at ones
    zero: Floats  # (n, D), 1 at observed zeros
    theta: Floats  # (K, D), -log of the probability that a cause which is on leaves a column 0
    level: Floats  # (n, D), the expected sum of theta over the causes that are on, and the leak's

    @classmethod
    def of(cls, q: CausePosterior, sample: Rows, on: Floats) -> _DenseRows:
        x = sample.x.toarray() if is_sparse(sample.x) else host(sample.x)
        x = np.asarray(x, dtype=np.float64)
        zero = np.broadcast_to(np.asarray(host(sample.mask), dtype=np.float64), x.shape) - x
        weight = np.ones(len(x)) if sample.weight is None else np.asarray(host(sample.weight), dtype=np.float64)
        effects = q.expected
        return cls(on, weight, x, zero, effects.theta, effects.leak + on @ effects.theta)


@dataclass(frozen=True)
class _Kinds:
    """The rows in which a cause is on, as two kinds."""

    cause: int
    gain: float  # nats, less `LEAST_GAIN` of what a cause costs
    share: Floats  # (2,), of the rows in which the cause is on
    ones: Floats  # (2, D), expected number that the cause is responsible for
    zeros: Floats  # (2, D), number of zeros


def _two_kinds(model: NoisyOrCauses, dense: _DenseRows, k: int, times: float) -> _Kinds | None:
    """The rows in which cause k is on as a mixture of two kinds; None where that gains too little.

    Each row counts `times` times, since the sample stands for all rows.
    """
    rows = np.flatnonzero(dense.on[:, k] > LEAST_ON)
    weight = times * dense.weight[rows] * dense.on[rows, k]
    if weight.sum() < 2 * FEWEST_ROWS:
        return None
    ones = dense.theta[k] * dense.x[rows] / dense.level[rows]
    own = np.flatnonzero(weight @ ones > 1.0)
    ones, zeros = ones[:, own], dense.zero[np.ix_(rows, own)]
    found = _mixture(model, ones, zeros, weight)
    if found is None:
        return None
    part, gain = found
    gain -= LEAST_GAIN * len(own) / 2 * np.log(weight.sum())
    if gain <= 0:
        return None
    sizes, d = part @ weight, dense.x.shape[1]
    # columns without ones of this cause have zeros alone
    by_ones, by_zeros = np.zeros((2, d)), np.tile(sizes[:, None], d)
    by_ones[:, own], by_zeros[:, own] = (part * weight) @ ones, (part * weight) @ zeros
    return _Kinds(k, gain, sizes / sizes.sum(), by_ones, by_zeros)


def _mixture(model: NoisyOrCauses, ones: Floats, zeros: Floats, weight: Floats) -> tuple[Floats, float] | None:
    """(2, n), probabilities that rows are of either kind, and the nats gained over one kind; None where one is empty.

    EM, which begins with the rows on either side of their mean along the direction in which they differ most.
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
    """(G, n), log probability of each row under each of G kinds, and (G, D), probability of a one in each column.

    `weight` (G, n) is how much each row counts for each kind.
    """
    a, b = model.strength
    some, none = weight @ ones, weight @ zeros
    chance = np.clip((some + a) / (some + none + a + b), LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.log(chance) @ ones.T + np.log1p(-chance) @ zeros.T, chance


def _with_two(model: NoisyOrCauses, q: CausePosterior, found: _Kinds) -> CausePosterior:
    """The posterior with two causes in place of one, each on in its share of the rows."""
    usage, causes, (a, b) = q.usage, q.causes, model.strength
    if isinstance(usage, PointBeta) or isinstance(causes, PointBeta):
        raise TypeError("point estimates were given; expected Beta posteriors, whose bound can judge a cause more.")
    k, others = found.cause, np.delete(np.arange(q.n_components), found.cause)
    on = usage.on[:, [k]] * found.share
    off = usage.on[:, [k]] + usage.off[:, [k]] - on
    usage = Beta(np.hstack([usage.on[:, others], on]), np.hstack([usage.off[:, others], off]))
    causes = Beta(np.vstack([causes.on[others], found.ones + a]), np.vstack([causes.off[others], found.zeros + b]))
    return replace(q, usage=usage, causes=causes)
