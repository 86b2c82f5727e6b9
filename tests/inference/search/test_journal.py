"""Steps that were finished before a search died are answered, not done; those that were not are done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from latens.core import Fit, Iteration, State
from latens.inference.search.journal import Entry, Journal, Notes
from tests.inference.toy import Place


class Memory:
    """A store that lives as long as the test."""

    def __init__(self, notes: Notes | None = None) -> None:
        self.notes, self.n_written = notes, 0

    def read(self) -> Notes | None:
        return self.notes

    def write(self, notes: Notes) -> None:
        self.notes, self.n_written = notes, self.n_written + 1

    def remove(self) -> None:
        self.notes = None


def journal_of(store: Memory, **options: Any) -> Journal:
    return Journal(store, **{"interval": 0.0, "share": np.inf, **options})


def never() -> Any:
    pytest.fail("a finished step was done again")


def ascent(n: int, *, die_at: int | None = None) -> Callable[..., Fit]:
    """An ascent of n iterations, each of which raises the bound by 1."""

    def ascend(start: State, *, on_iteration: Any, so_far: Any = (), on_state: Any = None) -> Fit:
        state, trace = start, list(so_far)
        for step in range(len(trace), n):
            if step == die_at:
                raise SystemExit
            state = State(Place(step + 1), None, (*["local"],), step + 1)  # each time a tuple of its own
            trace.append(Iteration(step, 0, float(step), {}, 1, 0.0))
            if on_iteration is not None and on_iteration(trace[-1]):
                break
            on_state(state, trace)
        return Fit(state, tuple(trace), True)

    return ascend


def test_a_finished_step_answers_from_the_journal_and_moves_its_generator() -> None:
    store, rng = Memory(), np.random.default_rng(0)
    drawn = journal_of(store).once(lambda: rng.normal(), rng)
    after = rng.normal()
    again = np.random.default_rng(0)
    assert journal_of(store).once(never, again) == drawn
    assert again.normal() == after


def test_a_step_takes_the_place_of_its_parts() -> None:
    store = Memory()
    journal = journal_of(store)
    assert journal.once(lambda: [journal.once(partial(int, i)) for i in range(3)]) == [0, 1, 2]
    assert store.notes is not None
    assert [(entry.depth, entry.answer) for entry in store.notes.entries] == [(0, [0, 1, 2])]


def test_a_step_that_was_not_finished_is_begun_again_and_its_parts_answer() -> None:
    store = Memory()
    first = journal_of(store)

    with pytest.raises(SystemExit):
        first.once(lambda: [first.once(lambda: 1), first.once(lambda: 2), first.once(_exit)])
    second = journal_of(store)
    assert second.once(lambda: [second.once(never), second.once(never), second.once(lambda: 3)]) == [1, 2, 3]


def _exit() -> Any:
    raise SystemExit


def test_an_ascent_goes_on_from_its_last_state_and_watchers_have_seen_the_rest() -> None:
    store, alone = Memory(), journal_of(Memory()).ascend(ascent(6), State(Place()), None)
    with pytest.raises(SystemExit):
        journal_of(store).ascend(ascent(6, die_at=4), State(Place()), None)
    seen = list[int]()
    fit = journal_of(store).ascend(ascent(6), State(Place()), lambda event: seen.append(event.step))
    assert fit == alone
    assert seen == [0, 1, 2, 3, 4, 5]


def test_callers_hear_only_what_they_have_not_heard() -> None:
    store, events = Memory(), list[tuple[str, int]]()

    def search(journal: Journal, die_at: int | None) -> None:
        listen = journal.unheard(lambda event: events.append(("second", event.step)) or False)
        journal.ascend(ascent(2), State(Place()), listen)
        journal.ascend(ascent(4, die_at=die_at), State(Place()), listen)

    with pytest.raises(SystemExit):
        search(journal_of(store), 2)
    before, events = events, []
    search(journal_of(store), None)
    assert [step for _, step in before] == [0, 1, 0, 1]
    assert [step for _, step in events] == [2, 3]


def test_local_posteriors_are_kept_until_something_has_gone_on_from_them() -> None:
    store = Memory()
    journal = journal_of(store)
    first = journal.ascend(ascent(2), State(Place()), None)
    journal.ascend(ascent(2), State(Place()), None)
    assert store.notes is not None
    assert [entry.answer.state.locals for entry in store.notes.entries] == [("local",)] * 2
    journal.once(lambda: None, start=first.state)  # a round of moves that found nothing
    third = journal.ascend(ascent(2), first.state, None)
    locals_ = [entry.answer and entry.answer.state.locals for entry in store.notes.entries]
    assert locals_ == [None, ("local",), None, third.state.locals]


def test_notes_of_another_path_are_given_up_from_where_it_parts() -> None:
    store = Memory(Notes(0, (Entry(0, 1), Entry(0, 2))))
    journal = journal_of(store)
    assert journal.once(never) == 1
    assert journal.once(lambda: journal.once(lambda: 7) + 1) == 2  # a step that was finished answers as a whole
    store = Memory(Notes(0, (Entry(1, 1), Entry(0, 2))))
    journal = journal_of(store)
    assert journal.once(lambda: journal.once(never) + journal.once(lambda: 5)) == 6
    assert [entry.answer for entry in journal.notes.entries] == [6]


@pytest.mark.parametrize("late", [False, True])
def test_what_was_broken_off_is_not_noted_and_stays_in_the_store(late: bool) -> None:
    store = Memory()
    journal = journal_of(store, over=lambda: late)
    broken = Fit(State(Place(3)), (Iteration(0, 0, 1.0, {}, 1, 0.0),), False, interrupted=not late)
    journal.once(lambda: broken)
    assert journal.broken_off
    journal.once(lambda: 1)
    journal.close()
    assert store.notes is not None
    assert store.notes.entries == ()


def test_a_journal_that_is_closed_leaves_nothing() -> None:
    store = Memory()
    journal = journal_of(store)
    journal.once(lambda: 1)
    journal.close()
    assert store.notes is None


def test_writing_waits_for_the_interval_and_takes_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, store = [0.0], Memory()
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    write = store.write

    def slow(notes: Notes) -> None:
        write(notes)
        clock[0] += 2.0

    store.write = slow  # type: ignore[method-assign]
    journal = Journal(store, interval=30.0, share=0.05)
    times = []
    while clock[0] < 200:
        before = store.n_written
        journal.once(lambda: 1)
        times += [clock[0]] if store.n_written > before else []
        clock[0] += 1.0
    assert times[0] == 32.0  # at 30, and two seconds long
    assert np.diff(times).min() >= 40  # twenty times as long as it took


def test_the_seed_of_the_first_life_is_kept() -> None:
    store = Memory()
    journal_of(store, seed=5).once(lambda: 1)
    assert journal_of(store, seed=6).notes == replace(store.notes, seed=5)  # type: ignore[type-var]
