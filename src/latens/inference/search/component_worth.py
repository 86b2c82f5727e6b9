"""What a component is worth: how far the bound falls when it is taken out and the others have taken over its rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import B, L, Q, S, State, Steps
from latens.errors import ElboDecreased
from latens.inference.ascent import ascend
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["component_worth"]

CLIMB_ITERATIONS, CLIMB_TOL = 200, 1e-6


def component_worth(model: Steps[B, Q, L, S], batches: Sequence[Any], q: Q, *, sweep: Sweep = serial_sweep) -> Floats:
    """(K,), nats: the bound at q less that of the best fit without each component, climbed anew, plus log K.

    log K is what labels are worth: K! ways to write down the same components, against (K - 1)!. Infinite where there
    is one component, which nothing can replace.
    """
    k = q.n_components
    if k < 2:
        return np.full(k, math.inf)

    def height(start: Any) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElboDecreased)
            return ascend(model, batches, State(start), max_iter=CLIMB_ITERATIONS, tol=CLIMB_TOL, sweep=sweep).elbo

    others = (np.delete(np.arange(k), gone) for gone in range(k))
    top = height(q)
    return np.array([top - height(q.only(keep)) + math.log(k) for keep in others])
