"""What a component is worth: how far the bound falls when it is taken out and the others have taken over its rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import B, Iteration, L, Q, S, State, Steps
from latens.errors import ElboDecreased
from latens.inference.ascent import ascend
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["component_worth"]

CLIMB_ITERATIONS, CLIMB_TOL = 200, 1e-6
KNOWN_TO = 0.01  # of what a component is worth: an ascent that can change it by less is ended


def component_worth(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    q: Q,
    *,
    top: float | None = None,
    which: Collection[int] | None = None,
    sweep: Sweep = serial_sweep,
) -> Floats:
    """(K,), nats: the bound at q less that of the best fit without each component, found by another ascent, plus log K.

    `top` is the bound at q where that is known; of components that are not in `which`, nan.

    log K is what labels are worth: K! ways to write down the same components, against (K - 1)!. Infinite where there
    is one component, which nothing can replace.
    """
    k = q.n_components
    if k < 2:
        return np.full(k, math.inf)

    def height(start: Any, below: float = -math.inf) -> float:
        limits: dict[str, Any] = {"max_iter": CLIMB_ITERATIONS, "tol": CLIMB_TOL}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElboDecreased)
            return ascend(model, batches, State(start), sweep=sweep, on_iteration=_Enough(below), **limits).elbo

    top = height(q) if top is None else top
    worth = np.full(k, np.nan)
    for gone in range(k) if which is None else which:
        worth[gone] = top - height(q.only(np.delete(np.arange(k), gone)), top) + math.log(k)
    return worth


class _Enough:
    """Ends an ascent whose remaining iterations, each gaining as much as the last, leave the answer as it is."""

    def __init__(self, top: float) -> None:
        self.top, self.last, self.left = top, -math.inf, CLIMB_ITERATIONS

    def __call__(self, event: Iteration) -> bool:
        gain, self.last, self.left = event.elbo - self.last, event.elbo, self.left - 1
        return self.left * gain < KNOWN_TO * (self.top - event.elbo)
