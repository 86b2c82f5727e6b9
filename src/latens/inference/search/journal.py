"""What a search has found so far, so that a fit which dies goes on where it was.

Between two ascents a search is cheap, and a function of what they returned. So nothing of the search itself has to be
stored: a fit that goes on runs the same code again, and steps that were finished answer from the journal instead of
being done. A step may consist of smaller ones, as a round of moves consists of trials; when it is finished, its answer
takes their place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from latens.core import Fit, Iteration, State
from latens.inference.ascent import OnIteration
from latens.system.scratch import PutAside

__all__ = ["Entry", "Journal", "Notes", "Store"]

T = TypeVar("T")

INTERVAL = 30.0  # seconds
SHARE = 0.05


@dataclass(frozen=True)
class Entry:
    """The answer of a finished step."""

    depth: int  # steps that it is a part of
    answer: Any  # Fit, Statistics, bool or None
    generator: dict[str, Any] | None = None  # state of the step's generator when it was done


@dataclass(frozen=True)
class Notes:
    """All that a journal keeps."""

    seed: int  # of the fit's generator, where the caller gave none
    entries: tuple[Entry, ...] = ()
    state: State | None = None  # of the ascent under way, None before its first iteration
    trace: tuple[Iteration, ...] = ()  # that led to it


class Store(Protocol):
    """Where notes outlive the process."""

    def read(self) -> Notes | None: ...  # None: there are none

    def write(self, notes: Notes) -> None: ...

    def remove(self) -> None: ...


class Journal:
    """Notes, written to a store from time to time.

    Parameters
    ----------
    store : Store
    seed : int
        Of the fit's generator; that of `notes` is the one to take, since the store may have notes already.
    over : callable, optional
        Whether the time of the fit is over: what ends then was broken off, not finished.
    interval, share : float
        Seconds between two writings at least, and the share of the time that writing may take.
    """

    in_order = True

    def __init__(
        self,
        store: Store,
        seed: int = 0,
        over: Callable[[], bool] | None = None,
        *,
        interval: float = INTERVAL,
        share: float = SHARE,
    ) -> None:
        self.store, self.over, self.interval, self.share = store, over, interval, share
        self.notes = store.read() or Notes(seed)
        self.broken_off = False  # interrupted or out of time: nothing is noted any more
        self._position = self._depth = 0
        self._is_climbing = False
        self._due = time.monotonic() + interval

    def once(self, step: Callable[[], T], rng: np.random.Generator | None = None, start: State | None = None) -> T:
        entry = self._recorded()
        if entry is not None:
            self._position += 1
            if rng is not None and entry.generator is not None:
                rng.bit_generator.state = entry.generator
            return cast("T", entry.answer)
        begin = self._position
        self._depth += 1
        try:
            answer = step()
        except BaseException:
            self._break_off()
            raise
        finally:
            self._depth -= 1
        if _is_interrupted(answer) or (self.over is not None and self.over()):
            self._break_off()
        if not self.broken_off:
            state = None if rng is None else dict(rng.bit_generator.state)
            self._note(begin, Entry(self._depth, answer, state), start)
        return answer

    def ascend(self, ascend: Callable[..., Fit], start: State, on_iteration: OnIteration | None) -> Fit:
        return self.once(lambda: self._go_on(ascend, start, on_iteration), start=start)

    def unheard(self, on_iteration: OnIteration | None) -> OnIteration | None:
        if on_iteration is None:
            return None

        def listen(event: Iteration) -> bool | None:
            return False if self._is_replaying else on_iteration(event)

        return listen

    def close(self) -> None:
        """The fit is done: the store is emptied, unless the fit was broken off and may go on."""
        if not self.broken_off:
            self.store.remove()

    def keep(self) -> None:
        """The fit is done, but it is part of a job that may die: all its steps are written down."""
        if not self.broken_off:
            self.store.write(_brought_back(self.notes))

    @property
    def _is_replaying(self) -> bool:
        """Whether what happens now happened before the fit died."""
        waits = self.notes.state is not None and not self._is_climbing
        return not self.broken_off and (self._position < len(self.notes.entries) or waits)

    def _recorded(self) -> Entry | None:
        """The entry of the step that begins now. Deeper ones are of its parts: it was not finished."""
        entries, at = self.notes.entries, self._position
        if self.broken_off or at >= len(entries) or entries[at].depth > self._depth:
            return None
        if entries[at].depth < self._depth:  # a machine that rounds otherwise has taken another path
            self.notes = replace(self.notes, entries=entries[:at], state=None, trace=())
            return None
        return entries[at]

    def _go_on(self, ascend: Callable[..., Fit], start: State, on_iteration: OnIteration | None) -> Fit:
        """The ascent from its start, or from where it was when the fit died."""
        so_far: Sequence[Iteration] = ()
        if self.notes.state is not None and not self.broken_off:
            start, so_far = self.notes.state, self.notes.trace
            for event in so_far:  # those that count or compare must have seen what was
                if on_iteration is not None:
                    on_iteration(event)
        self._is_climbing = True
        try:
            return ascend(start, on_iteration=on_iteration, so_far=so_far, on_state=self._see)
        finally:
            self._is_climbing = False

    def _see(self, state: State, trace: Sequence[Iteration]) -> None:
        """Note a state of the ascent under way."""
        if not self.broken_off:
            self.notes = replace(self.notes, state=state, trace=tuple(trace))
            self._write_if_due()

    def _note(self, begin: int, entry: Entry, start: State | None) -> None:
        """Put a finished step, which led from `start` to its answer, in the place of its parts."""
        before = self.notes.entries[:begin]
        if isinstance(entry.answer, Fit):
            before = _without_locals_of(before, start)
        self.notes = replace(self.notes, entries=(*before, entry), state=None, trace=())
        self._position = begin + 1
        self._write_if_due()

    def _break_off(self) -> None:
        """Keep what there is now; what the fit still does to end well is not noted."""
        if not self.broken_off:
            self.broken_off = True
            self.store.write(_brought_back(self.notes))

    def _write_if_due(self) -> None:
        began = time.monotonic()
        if began >= self._due:
            self.store.write(_brought_back(self.notes))
            ended = time.monotonic()
            self._due = ended + max(self.interval, (ended - began) / self.share)


def _is_interrupted(answer: Any) -> bool:
    return isinstance(answer, Fit) and answer.interrupted


def _without_locals_of(entries: tuple[Entry, ...], start: State | None) -> tuple[Entry, ...]:
    """Entries without the local posteriors that `start` has: the step that went on from there has its own."""
    if start is None or start.locals is None:
        return entries
    return tuple(
        _without_locals(entry) if isinstance(entry.answer, Fit) and entry.answer.state.locals is start.locals else entry
        for entry in entries
    )


def _without_locals(entry: Entry) -> Entry:
    if not isinstance(entry.answer, Fit) or entry.answer.state.locals is None:
        return entry
    return replace(entry, answer=replace(entry.answer, state=replace(entry.answer.state, locals=None)))


def _brought_back(notes: Notes) -> Notes:
    """With the local posteriors themselves where they were put aside: a file must not point to another."""
    entries = tuple(
        replace(entry, answer=replace(entry.answer, state=_with_locals(entry.answer.state)))
        if isinstance(entry.answer, Fit)
        else entry
        for entry in notes.entries
    )
    return replace(notes, entries=entries, state=None if notes.state is None else _with_locals(notes.state))


def _with_locals(state: State) -> State:
    if state.locals is None or not any(isinstance(one, PutAside) for one in state.locals):
        return state
    return replace(state, locals=tuple(one.get() if isinstance(one, PutAside) else one for one in state.locals))
