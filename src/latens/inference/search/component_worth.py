"""What a component is worth: fits without each of them, ascended anew from where the others are."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from latens.core import B, L, Q, S, Solved, State, Steps
from latens.errors import ElboDecreased
from latens.inference.ascent import ascend, infer
from latens.inference.extrapolated_ascent import ascend_in_leaps
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["FitWithout", "fits_without"]

CLIMB_ITERATIONS, CLIMB_TOL = 200, 1e-6
KNOWN_TO = 0.01  # of what a component is worth: an ascent that can change it by less is ended


@dataclass(frozen=True)
class FitWithout:
    """Where the others went when a component was taken out; one of them may have become it."""

    component: int
    end: State
    nats: float  # that the bound is lower, plus log K
    nats_at_once: float  # the same with the others as they were, before one can have taken its place


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
        fit, found = None, []
        for component in sorted(range(k) if which is None else which):
            start = State(q.only(np.delete(np.arange(k), component)))
            if fit is None or solved is None:  # which is the same whichever was taken out
                begin, enough = start if solved is None else State(solved), _Enough(top)
                fit = ascend_in_leaps(model, batches, begin, sweep=sweep, enough=enough, **limits)  # type: ignore[arg-type]
            falls = (top - each + math.log(k) for each in (fit.elbo, _height(model, batches, start.q, sweep)))
            found.append(FitWithout(component, fit.state, *falls))
    return found


def _height(model: Any, batches: Sequence[Any], q: Any, sweep: Sweep) -> float:
    """The bound at q as it is."""
    stats = sweep(partial(infer, model, q), batches, (None,) * len(batches))[1]
    return float(sum({**model.data_terms(q, stats), **model.global_terms(q)}.values()))


class _Enough:
    """Ends an ascent whose remaining iterations, each gaining as much as the last, leave the answer as it is."""

    def __init__(self, top: float) -> None:
        self.top, self.left = top, CLIMB_ITERATIONS

    def __call__(self, gain: float, elbo: float) -> bool:
        self.left -= 1
        return self.left * gain < KNOWN_TO * (self.top - elbo)
