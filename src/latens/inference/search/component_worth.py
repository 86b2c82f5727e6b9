"""What a component is worth: fits without each of them, ascended anew from where the others are."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from latens.core import B, L, Q, S, Solved, State, Steps
from latens.errors import ElboDecreased
from latens.inference.ascent import ascend, infer
from latens.inference.extrapolated_ascent import ascend_in_leaps
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["CLEARLY_WORTH", "Enough", "FitWithout", "fits_without"]

CLIMB_ITERATIONS, CLIMB_TOL = 200, 1e-6
KNOWN_TO = 0.01  # of what a component is worth: an ascent that can change it by less is ended
# nats that a component is clearly worth, above which it is known to a fifth: without one of several strong factors the
# others turn for hundreds of iterations
CLEARLY_WORTH, CLEARLY_KNOWN_TO = 1000.0, 0.2


@dataclass(frozen=True)
class FitWithout:
    """Where the others went when a component was taken out; one of them may have become it."""

    component: int
    end: State
    nats: float  # that the bound is lower, plus log K
    fall_at_once: Callable[[], float] = field(repr=False)

    @cached_property
    def nats_at_once(self) -> float:
        """The same with the others as they were, before one can have taken its place."""
        return self.fall_at_once()

    def with_more(self, nats: float) -> FitWithout:
        """Both larger by so many nats."""
        return FitWithout(self.component, self.end, self.nats + nats, lambda: self.nats_at_once + nats)


def fits_without(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    q: Q,
    *,
    top: float | None = None,
    which: Collection[int] | None = None,
    sweep: Sweep = serial_sweep,
) -> list[FitWithout]:
    """One for each component, or for those in `which`; without the only one, columns are independent.

    Of clusters there must be two, since rows are in one of them. `top` is the bound at q where that is known. log K is
    what labels are worth: K! ways to write down the same components, against (K - 1)!.
    """
    k, limits = q.n_components, {"max_iter": CLIMB_ITERATIONS, "tol": CLIMB_TOL}
    if k < 1:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElboDecreased)
        if top is None:
            top = ascend(model, batches, State(q), sweep=sweep, **limits).elbo  # type: ignore[arg-type]
        solved = model.optimum(q, k - 1, batches[0]) if isinstance(model, Solved) and len(batches) == 1 else None
        # which is the same whichever was taken out
        best = None if solved is None else _measured(model, batches, solved, sweep)
        found = []
        for component in sorted(range(k) if which is None else which):
            start, end = q.only(np.delete(np.arange(k), component)), best
            if end is None:
                fit = ascend_in_leaps(model, batches, State(start), sweep=sweep, enough=Enough(top), **limits)  # type: ignore[arg-type]
                end = fit.state, fit.elbo
            level = top + math.log(k)
            at_once = partial(_fall_at_once, model, batches, start, sweep, level)
            found.append(FitWithout(component, end[0], level - end[1], at_once))
    return found


def _measured(model: Any, batches: Sequence[Any], q: Any, sweep: Sweep) -> tuple[State, float]:
    """q with its statistics, and the bound there."""
    stats = sweep(partial(infer, model, q), batches, (None,) * len(batches))[1]
    return State(q, stats), float(sum({**model.data_terms(q, stats), **model.global_terms(q)}.values()))


def _fall_at_once(model: Any, batches: Sequence[Any], q: Any, sweep: Sweep, level: float) -> float:
    return level - _measured(model, batches, q, sweep)[1]


class Enough:
    """Ends an ascent whose remaining iterations, each gaining as much as the last, leave the answer as it is."""

    def __init__(self, top: float) -> None:
        self.top, self.left = top, CLIMB_ITERATIONS

    def __call__(self, gain: float, elbo: float) -> bool:
        self.left -= 1
        fall, change = self.top - elbo, self.left * gain
        return change < KNOWN_TO * fall or (change < CLEARLY_KNOWN_TO * fall and fall - change > CLEARLY_WORTH)
