"""Starts that are crossed with the best before them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

from latens.core import Fit, Iteration, State
from latens.inference.search.crossing import crossed_in_turn
from latens.inference.search.moves import no_wider_than


class _Rows:
    n = 10.0


def fit(elbo: float, **flags: bool) -> Fit:
    return Fit(State(None, _Rows()), (Iteration(0, 0, elbo, {}, 1, 0.0, None),), True, **flags)


def same(one: Fit) -> Fit:
    return one


def first_gains(best: Fit, other: Fit) -> Fit:
    return fit(best.elbo + 5) if other.elbo < 0 else best


def test_the_best_of_starts_and_crossings_is_the_last() -> None:
    found = crossed_in_turn([fit(1.0), fit(-2.0), fit(3.0)], same, same, same, first_gains, 1e-6)
    assert found[-1].elbo == 6.0


def test_more_starts_never_end_lower() -> None:
    bounds = [1.0, -2.0, 3.0, 9.0, -1.0, 0.0]
    ends = [
        crossed_in_turn([fit(each) for each in bounds[:m]], same, same, same, first_gains, 1e-6)[-1].elbo
        for m in range(1, len(bounds) + 1)
    ]
    assert ends == sorted(ends)
    assert ends[-1] == 14.0


def test_other_starts_are_asked_for_once_the_first_has_ended() -> None:
    ends: list[float] = []

    def rest(end: Fit) -> list[Fit]:
        ends.append(end.elbo)
        return [fit(-2.0), fit(3.0)]

    def rises(one: Fit) -> Fit:
        return fit(one.elbo + 1)

    alone = crossed_in_turn([fit(1.0)], rises, rises, same, first_gains, 1e-6, unmoved=True, rest=rest)
    at_once = crossed_in_turn([fit(1.0), fit(-2.0), fit(3.0)], rises, rises, same, first_gains, 1e-6, unmoved=True)
    assert ends == [3.0]
    assert [one.elbo for one in alone] == [one.elbo for one in at_once] == [3.0, 8.0]


def test_only_what_a_crossing_made_is_moved_again() -> None:
    moved: list[float] = []

    def again(one: Fit) -> Fit:
        moved.append(one.elbo)
        return one

    crossed_in_turn([fit(1.0), fit(0.5), fit(-1.0)], same, same, again, first_gains, 1e-6)
    assert moved == [6.0]


def test_of_starts_that_are_crossed_unmoved_what_is_above_all_before_is_moved() -> None:
    moved: list[float] = []

    def move(one: Fit) -> Fit:
        moved.append(one.elbo)
        return fit(one.elbo + 1)

    found = crossed_in_turn(
        [fit(1.0), fit(-2.0), fit(3.0), fit(20.0)], move, same, move, first_gains, 1e-6, unmoved=True
    )
    assert moved == [1.0, 7.0, 20.0]  # the first; what it and the second made; the fourth, which is higher by itself
    assert [one.elbo for one in found] == [2.0, 8.0, 21.0]


def test_a_start_of_more_components_than_are_allowed_is_crossed_and_never_the_best() -> None:
    def wide(elbo: float) -> Fit:
        one = fit(elbo)
        return replace(one, trace=tuple(replace(event, n_components=9) for event in one.trace))

    crossings: list[tuple[float, float]] = []

    def crossed(best: Fit, other: Fit) -> Fit:
        crossings.append((best.elbo, other.elbo))
        return best

    found = crossed_in_turn([fit(1.0), wide(7.0)], same, same, same, crossed, 1e-6, unmoved=True, limit=8)
    assert crossings == [(1.0, 7.0)]
    assert [one.elbo for one in found] == [1.0]
    fits = no_wider_than(8, [fit(1.0), replace(wide(7.0), interrupted=True)])
    assert [(one.elbo, one.interrupted) for one in fits] == [(1.0, True)]


def test_an_interrupt_keeps_what_was_reached() -> None:
    def interrupted(best: Fit, other: Fit) -> Any:
        raise KeyboardInterrupt

    found = crossed_in_turn([fit(1.0), fit(4.0)], same, same, same, cast("Any", interrupted), 1e-6)
    assert found[-1].elbo == 4.0
    assert found[-1].interrupted
    stopped = crossed_in_turn([fit(1.0, stopped=True), fit(4.0)], same, same, same, first_gains, 1e-6)
    assert max(one.elbo for one in stopped) == 4.0  # the other was not gone on from, and is higher
    assert any(one.stopped for one in stopped)
    stopped = crossed_in_turn([fit(1.0), fit(4.0)], same, partial(replace, stopped=True), same, first_gains, 1e-6)
    assert max(one.elbo for one in stopped) == 4.0
    assert stopped[-1].stopped
