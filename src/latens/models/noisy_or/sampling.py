"""Noisy-OR for a Gibbs sampler: states drawn row by row, and for every one the causes that fired.

Given the states of a row, all firings y_nkj are independent but for one thing: where x_nj = 1 at least one of them is.
They are drawn in turn, the leak first:

    p(y_k = 1 | nothing fired before, x = 1) = p_k / (1 - prod_{j >= k} (1 - p_j)),      p_k once something has fired

Given all firings, chances are Beta again: a cause that is on succeeds where it fires, and fails where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import comb, logsumexp, softmax

from latens.array import Floats, Index
from latens.array.kernels.noisy_or.states import score_all
from latens.array.states import all_states
from latens.array.transfer import host
from latens.core import Rows
from latens.families.point_beta import PointBeta
from latens.families.point_dirichlet import PointDirichlet

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior

__all__ = ["DrawnCauses", "Flattened", "draw_firings", "draw_profiles", "draw_states", "log_ways", "to_power"]


@dataclass(frozen=True)
class DrawnCauses:
    """One state of each row."""

    mean: Floats  # (n, K), 0 or 1

    def reorder(self, order: Index) -> DrawnCauses:
        """States of row order[n] for row n."""
        return DrawnCauses(self.mean[order])


def draw_states(
    point: CausePosterior, batch: Rows, rng: np.random.Generator, log_ways: Floats | None = None
) -> DrawnCauses:
    """States given all chances, profiles and firings summed out; `log_ways` (K, D) favour causes in columns seen."""
    score, states = host(score_all(point.expected, batch.x, batch.mask)), all_states(point.n_components)
    if log_ways is not None:
        score = score + host(batch.mask) @ (states @ log_ways).T
    which = np.argmax(score + rng.gumbel(size=score.shape), axis=1)
    return DrawnCauses(states[which].astype(float))


@dataclass(frozen=True)
class Flattened:
    """A point whose joint density is another's to a power, with the factors that this takes."""

    point: CausePosterior
    log_ways: Floats  # (K, D), of a cause that is on where the column was seen


def to_power(point: CausePosterior, t: float) -> Flattened:
    """p^t and (1 - p)^t in place of every chance: again chances, times a factor p^t + (1 - p)^t.

    The factor of the leak is that of all states, those of usage go with the profile, those of causes with the state.
    """
    usage, both_usage = _to_power(point.usage.mean_log, t)
    causes, both = _to_power(point.causes.mean_log, t)
    leak, _ = _to_power(point.leak.mean_log, t)
    profiles = softmax(t * point.profiles.mean_log + both_usage.sum(axis=1))
    return Flattened(replace(point, profiles=PointDirichlet(profiles), usage=usage, causes=causes, leak=leak), both)


def _to_power(logs: tuple[Floats, Floats], t: float) -> tuple[PointBeta, Floats]:
    both: Floats = np.logaddexp(t * logs[0], t * logs[1])
    return PointBeta.of(np.exp(t * logs[0] - both)), both


def log_ways(batch: Rows, k: int) -> float:
    """Log of the number of states and firings that make the rows, summed over rows.

    A one takes at least one of the leak and the causes that are on, a zero takes none.
    """
    ones = (host(batch.x) > 0) & (host(batch.mask) > 0)
    on = np.arange(k + 1)
    ways = ones.sum(axis=1)[:, None] * np.log(2.0 ** (1 + on) - 1) + np.log(comb(k, on))
    return float(logsumexp(ways, axis=1).sum())


def draw_profiles(point: CausePosterior, codes: Floats, rng: np.random.Generator) -> Floats:
    """(n, P), one 1 in each row: profiles given states."""
    log_on, log_off = point.usage.mean_log
    joint = point.profiles.mean_log + codes @ log_on.T + (1 - codes) @ log_off.T
    profile = np.argmax(joint + rng.gumbel(size=joint.shape), axis=1)
    return np.asarray(np.eye(joint.shape[1])[profile])


def draw_firings(point: CausePosterior, batch: Rows, codes: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Ones (K, D) that each cause fired at, and those (D,) at which the leak did."""
    x, seen = host(batch.x) > 0, host(batch.mask) > 0
    rows, columns = np.nonzero(x & seen)
    chance = np.concatenate([point.leak.mean[columns][:, None], codes[rows] * point.causes.mean[:, columns].T], axis=1)
    # log of the chance that this one and all after it stay dark
    rest = np.cumsum(np.log1p(-chance)[:, ::-1], axis=1)[:, ::-1]
    fired, any_fired = np.zeros((chance.shape[1], x.shape[1])), np.zeros(len(rows), dtype=bool)
    for k in range(chance.shape[1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(rest[:, k] < 0, chance[:, k] / -np.expm1(rest[:, k]), 0.0)
        fires = rng.random(len(rows)) < np.where(any_fired, chance[:, k], needed)
        any_fired |= fires
        fired[k] = np.bincount(columns[fires], minlength=x.shape[1])
    return fired[1:], fired[0]
