"""Stochastic passes: a global step after every batch, on statistics that forget older batches ever more slowly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from latens.array import Floats
from latens.core import Fit, Iteration, State
from latens.inference.ascent import OnIteration, OnState
from latens.inference.online import Combine, follow

__all__ = ["pass_stochastically"]

MOST_BATCHES = 2**62  # batches: more than any pass has


def pass_stochastically(
    model: Any,
    batches: Callable[[int], Iterable[Any]],
    start: State,
    *,
    combine: Combine,
    max_passes: int,
    tol: float,
    log_scale: float | Floats = 0.0,
    on_iteration: OnIteration | None = None,
    so_far: Sequence[Iteration] = (),
    on_state: OnState | None = None,
) -> Fit:
    """Go through all rows, batch by batch, until a pass gains less than `tol` nats per row.

    The bound that is reported after each pass is read from the averaged statistics: an estimate of that of all rows,
    which may fall. An interrupt ends the passes with the state after the last whole one, or with the start.

    Parameters
    ----------
    batches : callable
        The batches of a pass, by its number.
    start : State
        Its statistics are those that the first batch is averaged with.
    so_far, on_state
        As of `ascend`, after every pass.
    """
    state, trace = start, list(so_far)
    converged = stopped = interrupted = False
    try:
        for number in range(len(so_far), max_passes):
            one_pass = follow(model, batches(number), state, combine=combine, every=MOST_BATCHES, log_scale=log_scale)
            state, event = one_pass.state, replace(one_pass.trace[-1], step=number)
            gain = event.elbo - trace[-1].elbo if trace else float("inf")
            trace.append(event)
            stopped = bool(on_iteration and on_iteration(replace(event, posterior=state.q)))
            converged = tol > 0 and abs(gain) < tol * max(state.stats.n, 1.0)
            if stopped or converged:
                break
            if on_state is not None:
                on_state(state, tuple(trace))
    except KeyboardInterrupt:  # what the pass under way has seen is given up: where it ends is not known
        interrupted = True
    return Fit(state, tuple(trace), converged, interrupted, stopped)
