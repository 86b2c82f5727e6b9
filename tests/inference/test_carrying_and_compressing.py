"""Statistics that move with the posterior, rows that are summed once or walked through, streams that are followed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from latens.core import Carrying, Compressing, Rows, State, Walking
from latens.inference.ascent import ascend
from latens.inference.online import Accumulate, compressed, follow, update
from tests.inference.toy import Place, Scripted, Sums, some_rows


@dataclass(frozen=True)
class Carried(Scripted):
    """Marks statistics with the posterior they belong to, and reads its bound from them."""

    def carry(self, stats: Sums, old: Place, new: Place) -> Sums:
        return replace(stats, x=stats.x + 100 * old.at + new.at)

    def data_terms(self, q: Place, stats: Sums) -> dict[str, float]:
        return {"x": stats.x}


@dataclass(frozen=True)
class Compressed(Scripted):
    """Sums of rows are a batch, whose statistics are twice these sums."""

    def compress(self, batch: Rows) -> Sums:
        return Sums(batch.n, batch.n * batch.x.shape[1], float(np.sum(batch.x)))

    def local_step(self, q: Place, batch: Any, warm: Any = None) -> Any:
        return None

    def statistics(self, batch: Any, local: Any) -> Sums:
        return 2.0 * batch


@dataclass(frozen=True)
class Walked(Scripted):
    """One place further with each row."""

    def walk(self, q: Place, stats: Sums | None, batch: Rows) -> tuple[Place, Sums]:
        fresh = Sums(batch.n, batch.n * batch.x.shape[1], float(np.sum(batch.x)))
        return Place(at=q.at + len(batch)), fresh if stats is None else stats + fresh


def test_only_models_that_carry_compress_or_walk_are_taken_for_such() -> None:
    plain = Scripted([1.0])
    assert not isinstance(plain, Carrying)
    assert not isinstance(plain, Compressing)
    assert not isinstance(plain, Walking)
    assert isinstance(Carried([1.0]), Carrying)
    assert isinstance(Compressed([1.0]), Compressing)
    assert isinstance(Walked([1.0]), Walking)


def test_an_ascent_carries_statistics_before_it_reads_the_bound() -> None:
    fit = ascend(Carried([1.0]), [some_rows()], State(Place()), max_iter=2, tol=0)
    assert [event.elbo for event in fit.trace] == [12 + 1, 12 + 100 + 2]  # from place 0 to 1, from 1 to 2
    assert fit.state.stats.x == fit.trace[-1].elbo


def test_an_update_carries_statistics_at_every_global_step() -> None:
    state, event = update(Carried([1.0], exact=True), State(Place()), some_rows(), combine=Accumulate(), n_global=3)
    assert state.stats.x == 12 + 1 + 102 + 203
    assert event.elbo == state.stats.x
    again, _ = update(Carried([1.0], exact=True), state, some_rows(), combine=Accumulate(), n_global=1)
    assert again.stats.x == state.stats.x + 12 + 304  # fresh rows are added to what was carried


def test_an_update_of_a_model_that_compresses_only_collects() -> None:
    model, q = Compressed([1.0, 2.0]), Place(at=1)
    state, _ = update(model, State(q), some_rows(3), combine=Accumulate())
    state, event = update(model, state, some_rows(5), combine=Accumulate())
    assert state.q is q
    assert state.data == Sums(8.0, 24.0, 24.0)
    assert state.stats == Sums(16.0, 48.0, 48.0)
    assert (state.step, event.step) == (2, 1)


def test_each_row_of_a_model_that_walks_is_a_step() -> None:
    model = Walked([float(at) for at in range(20)])
    state, event = update(model, State(Place()), some_rows(3), combine=Accumulate())
    assert (state.q.at, state.step, event.step) == (3, 3, 2)
    assert event.terms["script"] == 2.0  # read at the last place alone
    fit = follow(model, [some_rows(3), some_rows(5)], State(Place()), combine=Accumulate())
    assert (fit.state.q.at, fit.state.step) == (8, 8)
    assert [event.step for event in fit.trace] == [2, 7]
    assert fit.state.stats == Sums(8.0, 24.0, 24.0)


def test_compressing_blocks_is_compressing_their_rows() -> None:
    model = Compressed([1.0])
    assert compressed(model.compress, [some_rows(3), some_rows(4)]) == model.compress(some_rows(7))


def test_following_a_stream_is_one_update_after_another() -> None:
    model, batches = Scripted([3.0, 5.0, 8.0], exact=True), [some_rows(n) for n in (2, 3, 4)]
    fit = follow(model, iter(batches), State(Place()), combine=Accumulate())
    state = State(Place())
    for batch in batches:
        state, event = update(model, state, batch, combine=Accumulate())
        assert fit.trace[event.step].elbo == event.elbo
    assert fit.state.q == state.q
    assert fit.state.stats == state.stats


@pytest.mark.parametrize(("every", "steps"), [(1, [0, 1, 2, 3, 4]), (2, [1, 3, 4]), (7, [4])])
def test_a_stream_reads_the_bound_now_and_then_and_at_its_end(every: int, steps: list[int]) -> None:
    batches = [some_rows() for _ in range(5)]
    fit = follow(Scripted([1.0], exact=True), batches, State(Place()), combine=Accumulate(), every=every)
    assert [event.step for event in fit.trace] == steps


def test_a_callback_may_end_a_stream() -> None:
    seen = []
    fit = follow(
        Scripted([1.0], exact=True),
        (some_rows() for _ in range(100)),
        State(Place()),
        combine=Accumulate(),
        on_iteration=lambda event: seen.append(event) or len(seen) == 3,
    )
    assert fit.stopped
    assert fit.state.step == 3


def test_a_stream_that_was_broken_off_goes_on_to_the_same_end() -> None:
    model, batches, states = Scripted([3.0, 5.0, 8.0, 9.0], exact=True), [some_rows(n) for n in (2, 3, 4, 5)], []
    whole = follow(
        model, batches, State(Place()), combine=Accumulate(), every=2, on_state=lambda *pair: states.append(pair)
    )
    state, trace = states[0]
    again = follow(model, batches[2:], state, combine=Accumulate(), every=2, so_far=trace)
    assert [event.elbo for event in again.trace] == [event.elbo for event in whole.trace] == [5.0, 9.0]
    assert again.state == whole.state
