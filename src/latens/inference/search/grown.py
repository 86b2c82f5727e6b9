"""Starts with one component more than a fit has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from latens.core import Movable, State

__all__ = ["grown"]

N_GROWN = 3  # starts that are made of a smaller fit


def grown(model: Any, state: State, sample: Any, rng: np.random.Generator) -> Iterator[State]:
    """Starts with one component more, as moves propose it; none where they propose nothing."""
    if not isinstance(model, Movable):
        return iter(())
    k = state.q.n_components + 1
    proposed = model.candidates(state.q, state.stats, sample, rng, k)
    return islice((State(q) for q in proposed if q.n_components == k), N_GROWN)
