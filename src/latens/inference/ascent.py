"""Coordinate ascent: the one batch loop of the library. Every `fit` ends here."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from latens.array import Floats
from latens.array.fields import forget_caches
from latens.array.transfer import n_bytes
from latens.core import (
    Averaging,
    B,
    Carrying,
    Expanding,
    Fit,
    Forgetful,
    Fused,
    Iteration,
    L,
    Leaping,
    Overlapping,
    Q,
    S,
    State,
    Steps,
    Stretching,
    Underway,
    Unkept,
    without_transients,
)
from latens.errors import BoundNotFinite, ElboDecreased, warn
from latens.inference.leaps import leap
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.sweep import Sweep, serial_sweep
from latens.system.threads import one_blas_thread

__all__ = ["LARGE_POSTERIOR", "OnIteration", "OnState", "advance", "ascend", "infer", "measure"]

SHORT_STEPS = 5  # iterations before steps are stretched: the first few are long, and not all in a good direction
STRETCH_GROWTH, LONGEST_STRETCH = (
    1.3,
    8.0,
)  # of stretched steps: by which each success lets the next grow, and the limit
STILL_BETWEEN_LEAPS = 3  # iterations that gain nothing: after one of them a leap may find where to go on
FEWEST_GAINS_AHEAD = 2.0  # times the least gain, by which the last iteration gained: where another is begun ahead
LARGE_POSTERIOR = 2**22  # bytes, beside which what is computed from them counts: it goes as soon as it was used
UNKEPT_STEPS = 10  # local steps of a row whose posterior is not kept from pass to pass
WAVERING = 12  # iterations, none of them above all before, after which falls tell that only rounding moves the bound

P = TypeVar("P")
OnIteration = Callable[[Iteration], bool | None]  # return True to stop
OnState = Callable[[State, Sequence[Iteration]], None]  # a state, and the iterations that led to it


def ascend(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    start: State,
    *,
    max_iter: int = 200,
    tol: float = 1e-6,
    slack: float = 1e-9,
    log_scale: float | Floats = 0.0,
    sweep: Sweep = serial_sweep,
    on_iteration: OnIteration | None = None,
    so_far: Sequence[Iteration] = (),
    on_state: OnState | None = None,
    leaps: bool = True,
) -> Fit:
    """Alternate local and global steps until the bound gains less than `tol` nats per row.

    Where the bound fell, and did not rise again, the ascent ends with the state before it fell. It has converged, too,
    where rounding moves the bound by more than `tol`, up and down about what it had reached.

    Parameters
    ----------
    tol : float
        0 never stops early. Rows that count for less than one together are one.
    slack : float
        The fall that rounding may explain, relative to the sum of |terms|, or to 1 nat if that is less; a larger
        one warns.
    log_scale : float
        Rows are in units of exp(log_scale); the bound is reported in the caller's.
    on_iteration : callable, optional
        Sees every `Iteration`; returning True stops. A keyboard interrupt stops too, once there is
        something to keep.
    so_far : sequence of Iteration
        The iterations of an ascent that was broken off at `start`: the trace begins with them, they count towards
        `max_iter`, and the first gain is measured against the last of them. They are not shown to `on_iteration`.
    on_state : callable, optional
        Given each state from which another iteration would start, and the trace up to it. Handed back as `start` and
        `so_far`, they lead to the bits that the ascent would have reached without a break.
    leaps : bool
        False: every iteration is a plain one, also of models that leap where the last ones lead, or know a way ahead.
    """
    first, state, best, trace = start.step, start, start, list(so_far)
    peak, n_to_peak = start, 0
    converged = interrupted = stopped = False
    expanding, stretching = leaps and _offers(model, Expanding), _offers(model, Stretching)
    leaping = model if leaps and _offers(model, Leaping) else None
    n_still, is_large = 1 if leaping is None else STILL_BETWEEN_LEAPS, n_bytes(start.q) >= LARGE_POSTERIOR
    try:
        with one_blas_thread():
            for step in range(first, first + max_iter - len(so_far)):
                more = step + 1 < first + max_iter - len(so_far) and not _nears_rest(trace, tol, state)
                iterate = partial(_iterated, model, batches, sweep, step, log_scale, more, is_large)
                iterate = partial(_stretched_iteration, model, trace, tol, iterate) if stretching else iterate
                if leaping is not None:
                    state, event = leap(leaping, state, trace, iterate, tol)
                else:
                    state, event = (expanding and _expanded(model, state, trace, iterate, tol)) or iterate(state)
                stats = state.stats
                gain = event.elbo - trace[-1].elbo if trace else math.inf
                trace.append(replace(event, posterior=None))
                size = sum(map(abs, event.terms.values()))
                # rows whose posteriors are found anew in each pass settle only nearly: a fall of the bound is the end
                if gain < 0 and isinstance(sweep, Forgetful) and not model.exact_local(state.q):
                    trace.pop()
                    return Fit(_at_rest(best), tuple(trace), converged=True)
                if gain < -slack * max(size, 1.0):
                    if not n_to_peak or trace[-2].elbo > trace[n_to_peak - 1].elbo:
                        peak, n_to_peak = best, len(trace) - 1
                    warn(ElboDecreased(f"the bound fell by {-gain:.3g} at iteration {step}"))
                best = state
                stopped = bool(on_iteration and on_iteration(event))
                least = max(tol * max(stats.n, 1.0), sys.float_info.epsilon * size)
                converged = tol > 0 and (_rests(trace, least, n_still) or _wavers(trace, least, slack * max(size, 1.0)))
                if stopped or converged:
                    break
                if on_state is not None:
                    on_state(state, tuple(trace))
    except KeyboardInterrupt:
        if not trace:
            raise
        interrupted = True
    if n_to_peak and trace[n_to_peak - 1].elbo > trace[-1].elbo:
        state, trace = peak, trace[:n_to_peak]
    return Fit(_at_rest(state), tuple(trace), converged, interrupted, stopped)


_offered: dict[tuple[type, Any], bool] = {}


def _offers(model: Any, protocol: Callable[..., P]) -> TypeGuard[P]:
    """Whether a model has what a protocol asks for: told by its class, once, since asking takes as long as a step.

    A class that hands on what it is asked for (`__getattr__`) does not tell: each of its models is asked.
    """
    kind, asked = type(model), cast("type[P]", protocol)
    known = _offered.get((kind, protocol))
    if known is not None:
        return known
    found = isinstance(model, asked)
    if not any("__getattr__" in vars(base) for base in kind.__mro__):
        _offered[kind, protocol] = found
    return found


def _rests(trace: Sequence[Iteration], least: float, n: int) -> bool:
    """Whether each of the last n iterations changed the bound by less than so many nats."""
    return len(trace) > n and all(abs(trace[-i].elbo - trace[-i - 1].elbo) < least for i in range(1, n + 1))


def _wavers(trace: Sequence[Iteration], least: float, rounding: float) -> bool:
    """Whether the bound goes up and down by no more than rounding explains, and does not rise.

    None of the last iterations is above all before by `least`, and a third of them fell.
    """
    if len(trace) <= 2 * WAVERING or trace[-1].elbo > trace[-2].elbo:
        return False
    recent = [event.elbo for event in trace[-WAVERING - 1 :]]
    steps = [after - before for before, after in pairwise(recent)]
    if sum(step < 0 for step in steps) < WAVERING // 3 or min(steps) < -rounding:
        return False
    return max(recent) < max(event.elbo for event in trace[:-WAVERING]) + least


def _at_rest(state: State) -> State:
    """The same without the way that led to it."""
    if isinstance(state, Underway):
        return state.settled
    return replace(state, path=()) if state.path else state


def _nears_rest(trace: Sequence[Iteration], tol: float, state: State) -> bool:
    """Whether the next iteration may well be the last."""
    return len(trace) > 1 and trace[-1].elbo - trace[-2].elbo < FEWEST_GAINS_AHEAD * tol * max(state.stats.n, 1.0)


def _iterated(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    sweep: Sweep,
    step: int,
    log_scale: float | Floats,
    more: bool,
    is_large: bool,
    state: State,
) -> tuple[State, Iteration]:
    """The state after one local and one global step, and what is told of them; `more`: others are likely to follow."""
    clock = time.perf_counter()
    if _offers(model, Fused):
        model.prepare(state.q)
    locals_, stats = sweep(partial(infer, model, state.q), batches, state.locals or (None,) * len(batches))
    q, stats = advance(model, state.q, stats)
    if is_large:
        forget_caches(state.q)  # of a start, too, which may wait for others
    if more and _offers(model, Overlapping) and isinstance(batches, list | tuple):  # which lie in memory
        model.begin(q, batches)
    return State(q, stats, locals_, step + 1), measure(model, q, stats, step, clock, log_scale)


def _expanded(
    model: Any,
    state: State,
    trace: Sequence[Iteration],
    iterate: Callable[[State], tuple[State, Iteration]],
    tol: float,
) -> tuple[State, Iteration] | None:
    """An iteration from where the model itself would go on; None where it would not, or the bound says otherwise.

    One that gains so little that the ascent would end there is not taken: of rows with missing entries the model only
    guesses where to go, and a plain iteration may gain more.
    """
    if not trace or state.stats is None:
        return None
    q = model.expanded(state.q, state.stats)
    if q is state.q:
        return None
    found = iterate(replace(state, q=q))
    return found if found[1].elbo - trace[-1].elbo > tol * max(found[0].stats.n, 1.0) else None


def _stretched_iteration(
    model: Any,
    trace: Sequence[Iteration],
    tol: float,
    iterate: Callable[[State], tuple[State, Iteration]],
    state: State,
) -> tuple[State, Iteration]:
    """An iteration from beyond the last step (`Stretching`), or the plain one where that gains next to nothing.

    Steps that are too short all have the same direction. Each stretched one that gains lets the next be longer, until
    one fails.
    """
    if isinstance(state, Underway) and state.stretch > 1:
        q = model.beyond(state.before, state.q, state.stretch)
        if q is not state.q:
            found, event = iterate(replace(state, q=q))
            if event.elbo - trace[-1].elbo > tol * max(found.stats.n, 1.0):
                return _with_stretch(found, q, min(STRETCH_GROWTH * state.stretch, LONGEST_STRETCH)), event
    found, event = iterate(state)
    return _with_stretch(found, state.q, STRETCH_GROWTH if len(trace) >= SHORT_STEPS else 1.0), event


def _with_stretch(state: State, before: Any, stretch: float) -> Underway:
    """The state with what the next stretched step needs: the posterior before this step, and how far to go."""
    return Underway(state.q, state.stats, state.locals, state.step, state.data, before=before, stretch=stretch)


def advance(model: Steps[B, Q, L, S], q: Q, stats: S) -> tuple[Q, S]:
    """One global step; statistics that depend on the posterior are carried to the new one."""
    new = model.global_step(q, stats)
    return new, model.carry(stats, q, new) if _offers(model, Carrying) else stats


def infer(model: Steps[B, Q, L, S], q: Q, batch: B, warm: L | Unkept | None) -> tuple[L | None, S]:
    """What is kept of one block's local posterior, and its statistics.

    Nothing is kept where one local step is exact, since the next pass finds the same without it, and where the sweep
    keeps nothing; then rows are settled from q alone, as far as a few steps go.
    """
    if isinstance(warm, Unkept):
        local = local_fixed_point(model, q, batch, max_iter=UNKEPT_STEPS, say=False)
        return None, model.statistics(batch, local)
    steps = model  # what is asked for beside them does not tell that it has them
    if _offers(model, Fused) and (found := model.inferred(q, batch, warm)) is not None:
        return found
    if _offers(model, Averaging) and steps.exact_local(q):
        return None, steps.statistics(batch, model.code_moments(q, batch))
    local = model.local_step(q, batch, warm)
    return None if model.exact_local(q) else without_transients(local), model.statistics(batch, local)


def measure(model: Steps[B, Q, L, S], q: Q, stats: S, step: int, clock: float, log_scale: float | Floats) -> Iteration:
    """Evaluate the bound in the caller's units: rows are exp(log_scale) times the model's, in all columns or in each.

    Raises
    ------
    BoundNotFinite
        If a term is NaN or infinite; the message names it.
    """
    scale = -float(np.sum(log_scale * stats.entries))
    terms = {**model.data_terms(q, stats), **model.global_terms(q), "scale": scale}
    broken = [name for name, value in terms.items() if not math.isfinite(value)]
    if broken:
        raise BoundNotFinite(
            f"{type(model).__name__}: the term {', '.join(broken)} of the bound became non-finite at iteration "
            f"{step}. Look for extreme values in the data, use float64, or rescale single columns."
        )
    seconds = time.perf_counter() - clock
    return Iteration(step, 0, math.fsum(terms.values()), terms, q.n_components, seconds, q)
