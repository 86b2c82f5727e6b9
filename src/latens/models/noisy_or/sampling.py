"""Noisy-OR for a Gibbs sampler: states drawn row by row, and for every one the causes that fired.

Given the states of a row, all firings y_nkj are independent but for one thing: where x_nj = 1 at least one of them is.
They are drawn in turn, the leak first:

    p(y_k = 1 | nothing fired before, x = 1) = p_k / (1 - prod_{j >= k} (1 - p_j)),      p_k once something has fired

Given all firings, chances are Beta again: a cause that is on succeeds where it fires, and fails where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats, Index
from latens.array.kernels.noisy_or.states import score_all
from latens.array.states import all_states
from latens.array.transfer import host
from latens.core import Rows

if TYPE_CHECKING:
    from latens.models.noisy_or.model import CausePosterior

__all__ = ["DrawnCauses", "draw_firings", "draw_profiles", "draw_states"]


@dataclass(frozen=True)
class DrawnCauses:
    """One state of each row."""

    mean: Floats  # (n, K), 0 or 1

    def dealt(self, order: Index) -> DrawnCauses:
        """States of row order[n] for row n."""
        return DrawnCauses(self.mean[order])


def draw_states(point: CausePosterior, batch: Rows, rng: np.random.Generator) -> DrawnCauses:
    """States given all chances, profiles and firings summed out."""
    score = host(score_all(point.expected, batch.x, batch.mask))
    which = np.argmax(score + rng.gumbel(size=score.shape), axis=1)
    return DrawnCauses(all_states(point.n_components)[which].astype(float))


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
