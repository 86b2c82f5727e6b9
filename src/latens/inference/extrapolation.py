"""Longer steps of slow ascents: beyond the last statistics, along the way that they came.

Where coordinate ascent is slow it goes in a nearly straight line, a little way at a time. Statistics form a vector
space, so the line through the last two of them leads on, S + reach (S - S_before), and what a global step makes of that
is where an iteration may start from instead. It is judged by the bound, as every iteration is, and taken back if that
is not higher: then a pass was in vain, and the next reach is shorter. After steps that were taken it is longer.

References: Salakhutdinov & Roweis (2003) on adaptive over-relaxation; Honkela, Valpola & Karhunen (2003) on pattern
searches in variational learning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from latens.core import Carrying, Expanding, Iteration, Momentum, State

__all__ = ["further", "with_momentum", "without_momentum"]

WAIT = 10  # iterations of an ascent before it may be called slow: as many as a trial of moves has
N_GAINS = 3  # iterations, the last, of which the least gain is about that of a plain one
SLOW = 0.5  # of it, which the next must gain: an ascent that slows down faster has nearly arrived
FIRST_REACH, LEAST_REACH, MOST_REACH = 1.0, 0.5, 1000.0
LONGER, SHORTER = 1.5, 0.25  # what the reach is multiplied by after a step that was taken, and after one that was not


def further(
    model: Any,
    state: State,
    trace: Sequence[Iteration],
    iterate: Callable[[State], tuple[State, Iteration]],
) -> tuple[State | None, Iteration | None, float]:
    """An iteration from further on, None and None where there is none or it gains too little, and the next reach.

    It must gain what may be expected of a plain one. What is enough does not depend on when the ascent is to end, so
    that one which goes on for longer begins in the same way.
    """
    now = state.momentum
    reach = FIRST_REACH if now is None else now.reach
    gains = np.diff([event.elbo for event in trace[-N_GAINS - 1 :]])
    if now is None or len(trace) < WAIT or not gains[-1] > SLOW * gains[:-1].min() > 0 or isinstance(model, Expanding):
        return None, None, reach
    try:
        with np.errstate(all="ignore"):  # sums on the way may be of no rows at all
            q = model.global_step(state.q, (1 + reach) * state.stats + (-reach) * now.before)
            new, event = iterate(replace(state, q=q, momentum=None))
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # it was too far
        return None, None, max(LEAST_REACH, SHORTER * reach)
    if not event.elbo - trace[-1].elbo > SLOW * gains.min():
        return None, None, max(LEAST_REACH, SHORTER * reach)
    before = _carried(model, _carried(model, state.stats, state.q, q), q, new.q)
    reach = min(MOST_REACH, LONGER * reach)
    return replace(new, momentum=Momentum(before, reach)), event, reach


def with_momentum(model: Any, old: State, new: State, reach: float) -> State:
    """The state after a plain iteration from `old`, which remembers where it comes from."""
    if old.stats is None or isinstance(model, Expanding):
        return new
    return replace(new, momentum=Momentum(_carried(model, old.stats, old.q, new.q), reach))


def without_momentum(state: State) -> State:
    """What is left of an ascent that has ended."""
    return state if state.momentum is None else replace(state, momentum=None)


def _carried(model: Any, stats: Any, old: Any, new: Any) -> Any:
    """Statistics that were taken under one posterior, as of another, where a model has them depend on it."""
    return model.carry(stats, old, new) if isinstance(model, Carrying) else stats
