"""Bootstrap: the same fit on rows drawn anew from the rows, again and again, each ascending from the first fit.

The spread of a number over the refits is how far it would move over data sets of the same kind. It needs no curvature
of the bound and believes no posterior of codes, only that each refit stays in the optimum of the first; it costs as
many short fits as there are refits.

Reference: Efron & Tibshirani (1993).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host, like
from latens.core import B, Compressing, L, Q, Rows, S, State, Steps
from latens.errors import ElboDecreased
from latens.inference.ascent import ascend
from latens.inference.sweep import Sweep, serial_sweep, tree_sum

__all__ = ["refits"]

CLIMB_ITERATIONS, CLIMB_TOL = 500, 1e-7  # nats per row


def refits(
    model: Steps[B, Q, L, S],
    batches: Sequence[Rows],
    q: Q,
    n_refits: int,
    rng: np.random.Generator,
    *,
    sweep: Sweep = serial_sweep,
) -> list[State]:
    """Where the fit ends on each of `n_refits` samples of as many rows, drawn with replacement.

    A row of weight w is w copies: it is drawn that much more often, and the sample has as many rows as all copies.
    """
    ends = []
    for _ in range(n_refits):
        drawn: Sequence[Any] = [batch for batch in _drawn_anew(batches, rng) if len(batch)]
        if isinstance(model, Compressing):
            drawn = [tree_sum([model.compress(batch) for batch in drawn])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElboDecreased)  # of rounding, near the top
            ends.append(ascend(model, drawn, State(q), max_iter=CLIMB_ITERATIONS, tol=CLIMB_TOL, sweep=sweep).state)
    return ends


def _drawn_anew(batches: Sequence[Rows], rng: np.random.Generator) -> list[Rows]:
    """Blocks of the rows that were drawn, each with the number of times it was."""
    weights = [np.ones(len(batch)) if batch.weight is None else host(batch.weight) for batch in batches]
    mass: Floats = np.concatenate(weights).astype(float)
    counts = rng.multinomial(max(1, round(mass.sum())), mass / mass.sum())
    ends = np.cumsum([len(batch) for batch in batches])[:-1]
    return [_counted(batch, part) for batch, part in zip(batches, np.split(counts, ends), strict=True)]


def _counted(batch: Rows, counts: Any) -> Rows:
    present = np.flatnonzero(counts)
    rows = batch.take(present)
    return replace(rows, weight=like(counts[present].astype(float), batch.x))
