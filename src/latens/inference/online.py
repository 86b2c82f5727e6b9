"""One batch at a time: `partial_fit`, streams and stochastic inference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from latens.array import Floats
from latens.core import B, Compressing, Fit, Iteration, L, Q, S, State, Steps, Walking
from latens.inference.ascent import OnIteration, OnState, advance, measure
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.sweep import Sweep, serial_sweep
from latens.system.threads import one_blas_thread

__all__ = ["Accumulate", "Combine", "RobbinsMonro", "compressed", "follow", "recount", "update"]

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
    model: Steps[B, Q, L, S],
    state: State,
    batch: Any,
    *,
    combine: Combine,
    n_global: int = 1,
    log_scale: float | Floats = 0.0,
    local: Any = None,
) -> tuple[State, Iteration]:
    """See one batch once; then `n_global` global steps on all that was seen so far.

    `local` is the settled posterior of the batch's rows, where the caller has it.
    """
    clock = time.perf_counter()
    with one_blas_thread():
        state = _absorb(model, state, batch, combine, n_global, local)
        return state, measure(model, state.q, state.stats, state.step - 1, clock, log_scale)


def recount(
    model: Steps[B, Q, L, S], state: State, factor: float, *, n_global: int = 3, log_scale: float | Floats = 0.0
) -> tuple[State, Iteration]:
    """Let the rows seen so far stand for `factor` times as many, of which they were drawn."""
    clock, q, stats = time.perf_counter(), state.q, factor * state.stats
    with one_blas_thread():
        for _ in range(n_global):
            q, stats = advance(model, q, stats)
        return State(q, stats, None, state.step + 1), measure(model, q, stats, state.step, clock, log_scale)


def follow(
    model: Steps[B, Q, L, S],
    batches: Iterable[Any],
    start: State,
    *,
    combine: Combine,
    n_global: int = 1,
    every: int = 1,
    log_scale: float | Floats = 0.0,
    on_iteration: OnIteration | None = None,
    so_far: Sequence[Iteration] = (),
    on_state: OnState | None = None,
) -> Fit:
    """See a stream once, batch by batch; the bound is read after every so many of them, and after the last.

    `on_state` is given the state and the trace after each such reading; handed back as `start` and `so_far`, with the
    batches that are still to come, they lead to the bits of a stream without a break. An interrupt ends the stream,
    once the bound was read.
    """
    state, trace, clock, waiting = start, list(so_far), time.perf_counter(), 0
    stopped = interrupted = False
    try:
        with one_blas_thread():
            for batch in batches:
                state, waiting = _absorb(model, state, batch, combine, n_global), waiting + 1
                if waiting == every:
                    event, waiting = measure(model, state.q, state.stats, state.step - 1, clock, log_scale), 0
                    trace.append(replace(event, posterior=None))
                    clock = time.perf_counter()
                    stopped = bool(on_iteration and on_iteration(event))
                    if stopped:
                        break
                    if on_state is not None:
                        on_state(state, tuple(trace))
            if waiting:
                event = measure(model, state.q, state.stats, state.step - 1, clock, log_scale)
                trace.append(replace(event, posterior=None))
    except KeyboardInterrupt:
        if not trace:
            raise
        interrupted = True
    return Fit(state, tuple(trace), converged=False, interrupted=interrupted, stopped=stopped)


def compressed(compress: Callable[[Any], Any], batches: Sequence[Any], sweep: Sweep = serial_sweep) -> Any:
    """One pass over the rows: the single batch that a model says is as good as all of them."""
    with one_blas_thread():
        return sweep(lambda batch, _: (None, compress(batch)), batches, (None,) * len(batches))[1]


def _absorb(
    model: Steps[B, Q, L, S], state: State, batch: Any, combine: Combine, n_global: int, local: Any = None
) -> State:
    if isinstance(model, Compressing):
        # only collected: a read-out ascends from a start that the total determines, so the path leaves no trace
        data = combine(state.data, model.compress(batch), state.step)
        stats = model.statistics(data, model.local_step(state.q, data))
        return State(state.q, stats, None, state.step + 1, data)
    if isinstance(model, Walking):
        q, stats = model.walk(state.q, state.stats, batch)  # every row is a step
        return State(q, stats, None, state.step + len(batch))
    fresh = model.statistics(batch, local_fixed_point(model, state.q, batch) if local is None else local)
    q, stats = state.q, combine(state.stats, fresh, state.step)
    for _ in range(n_global):
        q, stats = advance(model, q, stats)
    return State(q, stats, None, state.step + 1)
