"""Moves: posteriors with components deleted, split, merged or swapped, kept only if the bound says so.

And ascents from several starts, and which of them moves go on from, by the bounds that they reached.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

import numpy as np

from latens.array import Index
from latens.array.fields import forget_caches
from latens.array.transfer import n_bytes
from latens.core import Fit, Following, Iteration, Movable, Proposal, Removal, State
from latens.inference.ascent import LARGE_POSTERIOR, OnIteration
from latens.system.scratch import Changed, PutAside

__all__ = [
    "UNRECORDED",
    "Ascent",
    "Hopeless",
    "Map",
    "Record",
    "StartAscent",
    "Unrecorded",
    "ascend_all",
    "best_of",
    "closed_after",
    "distinct",
    "highest",
    "improve",
    "jumped",
    "labelled",
    "leading_at_glance",
    "longer",
    "no_wider_than",
    "records",
    "starts_with_one_more",
    "until",
]

MOST_LARGER_STARTS = 3  # that are made of a smaller fit
REMOVAL_STEPS = 100  # of an ascent without a component at most
# nats, and nats a row, that an ascent without a component may be below the bound with it; the second where rows go on
# from their present codes, of what their gains lead to
FAR_NATS, NEAR_NATS, FAR_PER_ROW = 40.0, 12.0, 0.001
TIMES_FAR_AT_FIRST = 3.0  # times the first of these, while the others have not changed
ITERATIONS_TO_CLOSE = 6.0  # within which an ascent that is farther below would reach the target at its present rate
# nats a row that the first iteration is below where others never take the place of a component
LARGEST_LOSS_PER_ROW = 1.5
# of trials from present codes that ended so many nats below at most, another without these, of so many iterations, the
# first of which tell nothing
NATS_TO_TRY_AGAIN, STEPS_AGAIN, FIRST_STEPS_AGAIN = 100.0, 40, 5

T = TypeVar("T")
Ascent = Callable[[State, int, OnIteration | None], Fit]  # (start, max_iter, on_iteration) -> Fit
StartAscent = Callable[[Any, OnIteration | None], Fit]  # (start, on_iteration) -> Fit
Map = Callable[[Callable[[int, Any], None], Iterable[int], Iterable[Any]], Iterable[None]]


class Record(Protocol):
    """What a search asks of a journal, and what it gets without one."""

    def once(self, step: Callable[[], T], rng: np.random.Generator | None = None, start: State | None = None) -> T:
        """The answer of a step: that of the journal, or the step is done.

        `rng` is the generator that it draws from, and `start` the state that its answer takes the place of.
        """

    def ascend(self, ascend: Callable[..., Fit], start: State, on_iteration: OnIteration | None) -> Fit:
        """The answer of an ascent (start, *, on_iteration, so_far, on_state), which a journal may hold half done."""

    def unheard(self, on_iteration: OnIteration | None) -> OnIteration | None:
        """The same callback, called only for iterations that it has not seen before the fit died."""

    @property
    def in_order(self) -> bool: ...  # whether steps must be done one after another


class Unrecorded:
    """A search without a journal."""

    in_order = False

    def once(self, step: Callable[[], T], rng: np.random.Generator | None = None, start: State | None = None) -> T:
        return step()

    def ascend(self, ascend: Callable[..., Fit], start: State, on_iteration: OnIteration | None) -> Fit:
        return ascend(start, on_iteration=on_iteration)

    def unheard(self, on_iteration: OnIteration | None) -> OnIteration | None:
        return on_iteration


UNRECORDED = Unrecorded()


def improve(
    fit: Fit,
    candidates: Callable[[State], Iterator[Any]],
    ascent: Ascent,
    *,
    screens: Sequence[Ascent] = (),
    rare: Callable[[State], Iterator[Any]] | None = None,
    again: Callable[[State], Iterator[Any]] | None = None,
    n_steps: int = 10,
    max_iter: int = 200,
    tol: float = 1e-6,
    on_iteration: OnIteration | None = None,
    looseness: Callable[[Any], float] | None = None,
    over: Callable[[], bool] | None = None,
    exact: Callable[[Any], bool] | None = None,
    slow: bool = False,
    least_alike: float = 0.0,
    journal: Record = UNRECORDED,
    rng: np.random.Generator | None = None,
) -> Fit:
    """Try candidates until none raises the bound by more than `tol` per row.

    A candidate ascends on all rows before it is judged: for `n_steps` iterations, and a `Removal` until it settles,
    unless it stays far below. With `screens`, ascents over a sample, only candidates that rise in one of them are tried
    on all rows: most do not, and trials are what takes the time. Candidates from `rare`, made for rows that are rare in
    a sample, are tried without. With `looseness`, nats that the bound of a posterior is known to miss, the bound must
    still rise when they are added to both sides: a component is not given up because a bound is loose about it.

    `max_iter` is for all iterations of the fit, those it comes with included; none is left, or time is `over`: no
    candidate is tried. Where local steps are `exact`, a fifth of those left is spent at most between two moves, so that
    slow ascents, as with missing entries, do not end the search half way. Where they are known to be `slow`, as many
    components as before must gain `tol` in each iteration of the trial, or they are those of the fit a little further
    on; where leaps follow, which find that sooner, they must gain `least_alike` nats in all. With `again`, which gives
    candidates in another order for a fit whose last move left as many components or more, moves that take some out go
    on before the fit settles. Rounds that were finished answer from the `journal`; `rng` is what candidates are drawn
    with.
    """
    first_better = partial(
        _first_better, rare, ascent, screens, n_steps, tol, looseness, over, slow, least_alike, journal
    )
    propose = candidates
    while not (fit.interrupted or fit.stopped) and len(fit.trace) < max_iter:
        try:
            better = journal.once(partial(first_better, propose, fit), rng, fit.state)
        except KeyboardInterrupt:
            return replace(fit, interrupted=True)
        if better is None:
            if over is not None and over():  # not all candidates were tried
                return replace(fit, stopped=True)
            if fit.converged:
                return fit
            fit = longer(fit, ascent, max_iter, on_iteration)
            continue
        fewer = again is not None and better.state.q.n_components < fit.state.q.n_components
        propose = candidates if fewer or again is None else again
        try:
            fit = jumped(fit, better, on_iteration)
        except KeyboardInterrupt:
            return replace(_joined(fit, better), interrupted=True)
        # rows that take several local steps go on from where these are, which a journal keeps for the next ascent alone
        pauses = exact is None or exact(fit.state.q)
        until = (4 * len(fit.trace) + max_iter + 4) // 5 if pauses else max_iter
        fit = fit if better.converged or fewer else longer(fit, ascent, until, on_iteration)
    return fit


def jumped(fit: Fit, better: Fit, on_iteration: OnIteration | None) -> Fit:
    """The fit that goes on from the end of another ascent, which is one step of its trace.

    A trial starts below the bound it ends above: only its end belongs in a trace that never falls.
    """
    found = _joined(fit, better)
    event = replace(found.trace[-1], posterior=found.state.q)
    return replace(found, stopped=bool(on_iteration and on_iteration(event)))


def _joined(fit: Fit, better: Fit) -> Fit:
    jump = replace(better.trace[-1], step=fit.state.step, restart=fit.trace[-1].restart)
    return replace(better, state=replace(better.state, step=jump.step + 1), trace=(*fit.trace, jump))


def longer(fit: Fit, ascent: Ascent, max_iter: int, on_iteration: OnIteration | None = None) -> Fit:
    """The same fit after more iterations, as far as `max_iter` for all of them goes and nobody has stopped it."""
    left = max_iter - len(fit.trace)
    if fit.interrupted or fit.stopped or left <= 0:
        return fit
    restart = fit.trace[-1].restart
    try:
        rest = ascent(fit.state, left, labelled(on_iteration, restart))
    except KeyboardInterrupt:
        return replace(fit, interrupted=True)
    return replace(rest, trace=(*fit.trace, *_relabelled(rest, restart)))


def _first_better(
    rare: Callable[[State], Iterator[Any]] | None,
    ascent: Ascent,
    screens: Sequence[Ascent],
    n_steps: int,
    tol: float,
    looseness: Callable[[Any], float] | None,
    over: Callable[[], bool] | None,
    slow: bool,
    least_alike: float,
    journal: Record,
    candidates: Callable[[State], Iterator[Any]],
    fit: Fit,
) -> Fit | None:
    least = tol * max(fit.state.stats.n, 1.0)
    target = fit.elbo + least
    glances = [_Screen(screen, fit.state.q, n_steps, tol, journal) for screen in screens]

    def rises(candidate: Any) -> bool:
        return not glances or any(glance.rises(candidate) for glance in glances)

    close: list[Any] = []

    def better(candidate: Any) -> Fit | bool | None:
        start = _trial_start(candidate, fit.state)
        if n_bytes(fit.state.q) >= LARGE_POSTERIOR:
            forget_caches(fit.state.q)  # which waits, and takes up as much as the trial
        trial = _trial(candidate, start, ascent, target, n_steps, fit.state.stats.n)
        may_be = isinstance(candidate, Removal) and candidate.again and trial.elbo > target - NATS_TO_TRY_AGAIN
        return judged(trial) or may_be or None  # an answer that a journal keeps

    def better_without_codes(candidate: Any) -> Fit | None:
        patience = STEPS_AGAIN - FIRST_STEPS_AGAIN
        return judged(ascent(State(candidate.q), STEPS_AGAIN, Hopeless(target, STEPS_AGAIN, patience=patience)))

    def judged(trial: Fit) -> Fit | None:
        margin = least
        if (slow or least_alike) and trial.state.q.n_components == fit.state.q.n_components:
            margin = max(least * len(trial.trace) if slow else least, least_alike)
        if trial.elbo > fit.elbo + margin and (
            looseness is None or _tighter(trial, looseness) > _tighter(fit, looseness) + margin
        ):
            return replace(trial, stopped=False)
        if trial.interrupted:
            raise KeyboardInterrupt
        return None

    # an interrupt that meets a generator while it is thrown away would be lost
    with (
        closed_after(candidates(fit.state)) as proposed,
        closed_after(() if rare is None else rare(fit.state)) as of_rare_rows,
    ):
        for candidate in chain(filter(rises, proposed), of_rare_rows):
            if over is not None and over():
                return None
            found = journal.once(partial(better, candidate))
            if isinstance(found, Fit):
                return found
            if found:
                close.append(candidate)
    for candidate in close:
        if over is not None and over():
            return None
        again = journal.once(partial(better_without_codes, candidate))
        if again is not None:
            return again
    return None


@contextmanager
def closed_after(candidates: Iterable[Any]) -> Iterator[Iterable[Any]]:
    """Candidates that are closed at the end, where they can be: an interrupt meanwhile is heard."""
    try:
        yield candidates
    finally:
        if isinstance(candidates, Generator):
            candidates.close()


class _Screen:
    """Whether candidates rise above the present posterior on a sample, after as many steps of both."""

    def __init__(self, ascent: Ascent, q: Any, n_steps: int, tol: float, journal: Record) -> None:
        self.ascent, self.n_steps, self.journal = ascent, n_steps, journal
        self.now = ascent(State(q), n_steps, None)
        self.target = self.now.elbo + tol * max(float(self.now.state.stats.n), 1.0)

    def rises(self, candidate: Any) -> bool:
        return self.journal.once(lambda: self._rises(candidate))

    def _rises(self, candidate: Any) -> bool:
        start = _trial_start(candidate, self.now.state)
        glance = _trial(candidate, start, self.ascent, self.target, self.n_steps, self.now.state.stats.n)
        if glance.interrupted:
            raise KeyboardInterrupt
        return bool(glance.elbo > self.target)


def _trial(candidate: Any, start: State, ascent: Ascent, target: float, n_steps: int, n: float) -> Fit:
    """The ascent by which a candidate is judged."""
    if not isinstance(candidate, Removal):
        return ascent(start, n_steps, Hopeless(target, n_steps, shrinking=start.locals is not None))
    if start.locals is None:
        return ascent(start, REMOVAL_STEPS, _FarBelow(target, n, candidate.n_steps_low))
    # rows go on from their present codes, which takes some iterations: what these lead to may not be far below
    near, least = target - FAR_PER_ROW * n - NEAR_NATS, target - LARGEST_LOSS_PER_ROW * n - FAR_NATS
    return ascent(start, REMOVAL_STEPS, Hopeless(near, REMOVAL_STEPS, shrinking=True, least=least))


def _trial_start(candidate: Any, state: State) -> State:
    """The state that a trial starts from: rows have their present codes for the components that the candidate keeps."""
    if not isinstance(candidate, Proposal):
        return State(candidate)
    change = partial(_local_for, of=candidate.of)
    locals_ = tuple(Changed(one, change) if isinstance(one, PutAside) else change(one) for one in state.locals or ())
    return State(candidate.q, None, locals_ if any(one is not None for one in locals_) else None)


def _local_for(local: Any, of: Index) -> Any:
    """The local posterior of a block, or of each of its parts, with these components; None where it cannot follow."""
    if isinstance(local, tuple | list):
        return type(local)(_local_for(one, of) for one in local)
    return local.follow(of) if isinstance(local, Following) else None


def _tighter(fit: Fit, looseness: Callable[[Any], float]) -> float:
    return fit.elbo + looseness(fit.state.q)


class Hopeless:
    """Ends a trial that would not reach the target even if every remaining step gained as much as the last.

    Where rows start from their present codes, gains shrink from step to step: a trial is ended, too, if gains that go
    on shrinking by their last ratio would not reach it, and at once if it is below what is `least`.
    """

    def __init__(
        self, target: float, n_steps: int, *, shrinking: bool = False, patience: int = 2, least: float = -math.inf
    ) -> None:
        self.target, self.left, self.patience, self.least = target, n_steps, n_steps - patience, least
        self.last, self.gain, self.shrinking = -math.inf, math.inf, shrinking

    def __call__(self, event: Iteration) -> bool:
        before, self.gain, self.last = self.gain, event.elbo - self.last, event.elbo
        self.left -= 1
        times: float = self.left
        if self.shrinking and 0 < self.gain < before < math.inf:
            times = min(times, 1 / (before / self.gain - 1))  # a geometric series
        hopeless = self.left <= self.patience and event.elbo + self.gain * times < self.target
        return hopeless or event.elbo < self.least


class _FarBelow:
    """Ends an ascent that stays too far below the target for its slow end to make up for it.

    For the first `n_low` iterations it may be TIMES_FAR_AT_FIRST times as far, and however far where it comes nearer at
    such a rate that ITERATIONS_TO_CLOSE as good as the last would do.
    """

    def __init__(self, target: float, n: float, n_low: int) -> None:
        self.target, self.far, self.n_low = target, FAR_PER_ROW * n + FAR_NATS, n_low
        self.last = -math.inf

    def __call__(self, event: Iteration) -> bool:
        far = self.far + (TIMES_FAR_AT_FIRST - 1) * FAR_NATS * (self.n_low > 0)
        self.n_low -= 1
        gain, self.last = event.elbo - self.last, event.elbo
        return self.target - event.elbo > max(far, ITERATIONS_TO_CLOSE * gain)


def labelled(on_iteration: OnIteration | None, restart: int) -> OnIteration | None:
    """The same callback, given the number of the restart with each iteration."""
    if on_iteration is None:
        return None

    def relabel(event: Iteration) -> bool | None:
        return on_iteration(replace(event, restart=restart))

    return relabel


def _relabelled(fit: Fit, restart: int) -> tuple[Any, ...]:
    return tuple(replace(event, restart=restart) for event in fit.trace)


def starts_with_one_more(model: Any, state: State, sample: Any, rng: np.random.Generator) -> Iterator[State]:
    """Starts with one component more than a fit has, as moves propose it; none where they propose nothing."""
    if not isinstance(model, Movable):
        return iter(())
    k = state.q.n_components + 1
    proposed = model.candidates(state.q, state.stats, sample, rng, k)
    posteriors = (one.q if isinstance(one, Proposal) else one for one in proposed)
    return islice((State(q) for q in posteriors if q.n_components == k), MOST_LARGER_STARTS)


def distinct(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that did not end where one before them did: as many components, and the same bound to `tol` per row."""
    optima: list[Fit] = []
    for fit in fits:
        margin, size = tol * max(fit.state.stats.n, 1.0), fit.state.q.n_components
        if not any(size == other.state.q.n_components and abs(fit.elbo - other.elbo) <= margin for other in optima):
            optima.append(fit)
    return optima


def records(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that are higher than all before them, by more than `tol` nats per row; the first always is.

    More fits at the end leave those that were chosen without them as they are: whatever goes on from records and keeps
    the highest never ends lower for having had more starts.
    """
    chosen = list(fits[:1])
    for fit in fits[1:]:
        if fit.elbo > chosen[-1].elbo + tol * max(fit.state.stats.n, 1.0):
            chosen.append(fit)
    return chosen


def no_wider_than(limit: float, fits: Sequence[Fit]) -> list[Fit]:
    """The fits of so many components at most, interrupted or stopped if any of all was.

    Starts that are only crossed may be wider, whatever the limit is: they are material, and no answers.
    """
    interrupted, stopped = any(fit.interrupted for fit in fits), any(fit.stopped for fit in fits)
    chosen = (fit for fit in fits if fit.trace[-1].n_components <= limit)
    return [replace(fit, interrupted=interrupted, stopped=stopped) for fit in chosen]


def leading_at_glance(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The `records` of fits that still rise: a fit must be higher by more than its last iteration gained, too."""
    chosen = list(fits[:1])
    for fit in fits[1:]:
        gain = fit.elbo - fit.trace[-2].elbo if len(fit.trace) > 1 else 0.0
        if fit.elbo > chosen[-1].elbo + max(tol * max(fit.state.stats.n, 1.0), gain):
            chosen.append(fit)
    return chosen


def highest(fits: Sequence[Fit]) -> Fit:
    """The first of those with the highest bound; interrupted or stopped if any of them was."""
    best = max(fits, key=lambda fit: fit.elbo)  # the first of equals
    return replace(best, interrupted=any(fit.interrupted for fit in fits), stopped=any(fit.stopped for fit in fits))


def until(over: Callable[[], bool], on: OnIteration | None) -> OnIteration:
    """The same callback, which also stops once the time, or the round, is over."""

    def watch(event: Iteration) -> bool:
        stop = bool(on and on(event))
        return stop or over()

    return watch


def ascend_all(
    starts: Sequence[Any],
    ascent: StartAscent,
    on_iteration: OnIteration | None = None,
    *,
    map_: Map = map,
    before: int = 0,
) -> list[Fit]:
    """Ascent from every start, all fits in the order of these; those that an interrupt or a stop left out are missing.

    Starts are numbered from the number of those `before` them.
    """
    if not starts:
        raise ValueError("no start was given; expected at least one, so try n_init=1.")
    over, running, done = threading.Event(), set[int](), dict[int, Fit]()

    def one(restart: int, start: Any) -> None:
        if over.is_set() and restart > before:
            return
        running.add(restart)
        try:
            done[restart] = fit = ascent(start, until(over.is_set, labelled(on_iteration, restart)))
            done[restart] = replace(fit, trace=tuple(replace(event, restart=restart) for event in fit.trace))
        finally:
            running.discard(restart)
        if fit.interrupted or fit.stopped:
            over.set()

    interrupted = False
    try:
        for _ in map_(one, range(before, before + len(starts)), starts):
            pass
    except KeyboardInterrupt:
        over.set()
        while running:  # those in other threads end with their current iteration
            time.sleep(0.005)
        if not done:
            raise
        interrupted = True
    return [replace(done[restart], interrupted=done[restart].interrupted or interrupted) for restart in sorted(done)]


def best_of(
    starts: Sequence[Any], ascent: StartAscent, on_iteration: OnIteration | None = None, *, map_: Map = map
) -> Fit:
    """Ascent from every start; `map_` may be that of a pool. Ties go to the earlier start.

    An interrupt or a callback's stop ends the round: what was found so far is compared.
    """
    return highest(ascend_all(starts, ascent, on_iteration, map_=map_))
