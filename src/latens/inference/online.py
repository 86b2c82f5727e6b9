"""One batch at a time: `partial_fit`, streams and stochastic inference."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from latens.core import Iteration, Model, State
from latens.inference.bound import measure
from latens.inference.settle import settle
from latens.inference.threads import one_blas_thread

__all__ = ["Accumulate", "Combine", "RobbinsMonro", "update"]

Combine = Callable[[Any, Any, int], Any]  # (total or None, fresh, step) -> total


@dataclass(frozen=True)
class Accumulate:
    """Streaming: each row counts once; older rows fade when `forget` < 1."""

    forget: float = 1.0

    def __call__(self, total: Any, fresh: Any, step: int) -> Any:
        return fresh if total is None else self.forget * total + fresh


@dataclass(frozen=True)
class RobbinsMonro:
    """Stochastic inference over `n_rows` rows, with step size (delay + step) ** -decay."""

    n_rows: float
    delay: float = 1.0
    decay: float = 0.7

    def __call__(self, total: Any, fresh: Any, step: int) -> Any:
        scaled = (self.n_rows / fresh.n) * fresh
        rate = (self.delay + step) ** -self.decay
        return scaled if total is None else (1 - rate) * total + rate * scaled


def update(
    model: Model[Any, Any, Any],
    state: State,
    batch: Any,
    *,
    combine: Combine,
    n_global: int = 1,
    log_scale: float = 0.0,
) -> tuple[State, Iteration]:
    """See one batch once; then `n_global` global steps on all that was seen so far."""
    clock = time.perf_counter()
    with one_blas_thread():
        fresh = model.statistics(batch, settle(model, state.q, batch))
        stats = combine(state.stats, fresh, state.step)
        q = state.q
        for _ in range(n_global):
            q = model.global_step(q, stats)
    event = measure(model, q, stats, state.step, clock, log_scale)
    return State(q, stats, None, state.step + 1), event
