"""Restarts and moves: the bound alone decides, and nothing that was reached is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from latens.core import Fit, Iteration, Removal, Rows, State
from latens.inference.ascent import OnIteration, ascend
from latens.inference.search.moves import REMOVAL_STEPS, best_of, improve
from tests.contract.cases import CASES, random_rows
from tests.inference.toy import fit_at

HEIGHTS = [-9.0, -4.0, -6.0, -4.0]


def survived(call: Callable[[], Fit]) -> Fit:
    """What is left after an interrupt, which must not fly past and take the whole fit with it."""
    try:
        return call()
    except KeyboardInterrupt:
        pytest.fail("the interrupt went through and everything was lost")


def climb_to(height: float, on: OnIteration | None) -> Fit:
    fit = fit_at(height, q=height)
    if on is not None and on(fit.trace[-1]):
        return fit_at(height, q=height, stopped=True, converged=False)
    return fit


def test_the_highest_bound_wins_and_ties_go_to_the_earlier_start() -> None:
    best = best_of(HEIGHTS, climb_to)
    assert best.elbo == -4.0
    assert best.trace[-1].restart == 1


def test_a_pool_gives_the_same_winner() -> None:
    with ThreadPoolExecutor(3) as pool:
        best = best_of(HEIGHTS, climb_to, map_=pool.map)
    assert (best.elbo, best.trace[-1].restart) == (-4.0, 1)


def test_callbacks_are_told_which_restart_they_see() -> None:
    seen: list[tuple[int, float]] = []
    best_of(HEIGHTS, climb_to, lambda event: seen.append((event.restart, event.elbo)))
    assert seen == list(enumerate(HEIGHTS))


def test_a_stop_ends_the_round_and_compares_what_there_is() -> None:
    seen: list[int] = []

    def stop_in_the_third(event: Iteration) -> bool:
        seen.append(event.restart)
        return event.restart == 2

    best = best_of(HEIGHTS, climb_to, stop_in_the_third)
    assert seen == [0, 1, 2]
    assert best.elbo == -4.0
    assert best.stopped


def test_an_interrupted_restart_ends_the_round() -> None:
    heights_tried: list[float] = []

    def ascent(height: float, on: OnIteration | None) -> Fit:
        heights_tried.append(height)
        return fit_at(height, interrupted=height == -4.0)

    best = best_of(HEIGHTS, ascent)
    assert heights_tried == [-9.0, -4.0]
    assert best.interrupted


def test_an_interrupt_before_a_restart_has_anything_keeps_the_restarts_before_it() -> None:
    def ascent(height: float, on: OnIteration | None) -> Fit:
        if height == -6.0:
            raise KeyboardInterrupt
        return fit_at(height)

    best = survived(lambda: best_of(HEIGHTS, ascent))
    assert best.elbo == -4.0
    assert best.interrupted


def test_no_start_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="n_init=1"):
        best_of([], climb_to)


def candidates_from(*rounds: list[float]) -> Callable[[State], Iterator[float]]:
    """Each call proposes the next list."""
    left = iter(rounds)
    return lambda state: iter(next(left, []))


def climb_state(start: State, max_iter: int, on: OnIteration | None) -> Fit:
    """Candidates are numbers, and their own bounds."""
    return climb_to(start.q, on)


def test_a_better_candidate_is_taken_and_the_search_begins_again() -> None:
    fit = improve(fit_at(-5.0, q=-5.0), candidates_from([-7.0, -3.0, 0.0], [-6.0, -1.0]), climb_state)
    assert fit.elbo == -1.0  # the first better one of each round: 0.0 was never looked at again
    assert fit.state.q == -1.0
    assert [event.elbo for event in fit.trace] == [-5.0, -3.0, -1.0]


def test_without_a_better_candidate_nothing_changes() -> None:
    before = fit_at(-5.0, q=-5.0)
    assert improve(before, candidates_from([-7.0, -5.0, -6.0]), climb_state) is before


def test_a_gain_below_tol_is_no_reason_to_move() -> None:
    before = fit_at(-5.0, q=-5.0)  # of 10 rows
    assert improve(before, candidates_from([-4.95]), climb_state, tol=0.01) is before
    assert improve(before, candidates_from([-4.85]), climb_state, tol=0.01).elbo == -4.85


class Sized(float):
    n_components = 2


def test_a_trial_that_gains_as_little_as_a_settled_fit_is_that_fit_a_little_further_on() -> None:
    before = fit_at(-5.0, q=Sized(-5.0))  # of 10 rows

    def climb_slowly(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        fit = climb_to(start.q, on)
        return replace(fit, trace=fit.trace * 4)

    def moved(height: float, *, slow: bool) -> Fit:
        return improve(before, candidates_from([Sized(height)]), climb_slowly, tol=0.01, slow=slow)

    assert moved(-4.7, slow=True) is before
    assert moved(-4.5, slow=True).elbo == -4.5
    assert moved(-4.7, slow=False).elbo == -4.7


class Followed:
    def follow(self, of: np.ndarray) -> Followed:
        return self


@pytest.mark.parametrize(("first", "n_climbed"), [(-30.0, 3), (-80.0, 1)])
def test_a_component_whose_place_nobody_takes_is_seen_after_one_iteration(first: float, n_climbed: int) -> None:
    before = fit_at(-5.0, q=Sized(-5.0))  # of 10 rows
    before = replace(before, state=replace(before.state, locals=(Followed(),)))
    heights: list[float] = []

    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        for height in (first, first + 1.0, first + 1.1, first + 1.11):
            heights.append(height)
            if on is not None and on(fit_at(height, q=start.q).trace[-1]):
                break
        return fit_at(heights[-1], q=start.q, stopped=True)

    removals = iter([iter([Removal(Sized(0.0), np.arange(1))])])
    assert improve(before, lambda _: next(removals), ascent, tol=0.01) is before
    assert len(heights) == n_climbed


@pytest.mark.parametrize(("shrinks_to", "is_followed"), [(0.8, True), (0.95, False)])
def test_a_removal_far_below_is_followed_as_long_as_it_comes_nearer_fast(shrinks_to: float, is_followed: bool) -> None:
    before = fit_at(-5.0, q=Sized(-5.0))
    climbed: list[float] = []

    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        for step in range(max_iter):
            climbed.append(-4.0 - 3500.0 * shrinks_to**step)
            if on is not None and on(fit_at(climbed[-1], q=start.q).trace[-1]):
                break
        return fit_at(climbed[-1], q=start.q, stopped=True)

    removals = iter([iter([Removal(Sized(0.0), np.arange(1))]), iter([])])
    after = improve(before, lambda _: next(removals), ascent, tol=0.01)
    assert (len(climbed) == REMOVAL_STEPS) == is_followed == (after.elbo > before.elbo)
    assert is_followed or len(climbed) == 2


def test_what_a_bound_is_known_to_miss_is_added_before_bounds_are_compared() -> None:
    """A candidate whose bound is higher only because it is tighter explains the data no better."""
    before = fit_at(-5.0, q=-5.0)
    missed = {-5.0: 3.0, -4.0: 1.0, -3.0: 2.0}
    assert improve(before, candidates_from([-4.0]), climb_state, looseness=missed.__getitem__) is before
    assert improve(before, candidates_from([-4.0]), climb_state).elbo == -4.0
    better = improve(before, candidates_from([-4.0, -3.0]), climb_state, looseness=missed.__getitem__)
    assert better.elbo == -3.0


def test_a_lower_bound_is_never_taken_however_loose_it_is() -> None:
    before = fit_at(-5.0, q=-5.0)
    assert improve(before, candidates_from([-6.0]), climb_state, looseness={-5.0: 0.0, -6.0: 9.0}.__getitem__) is before


def test_steps_and_restart_of_the_trace_go_on() -> None:
    fit = improve(fit_at(-5.0, q=-5.0, step=7, restart=2), candidates_from([-3.0], [-1.0]), climb_state)
    assert [event.step for event in fit.trace] == [6, 7, 8]
    assert {event.restart for event in fit.trace} == {2}
    assert fit.state.step == 9


def test_an_accepted_candidate_climbs_on_until_it_converges() -> None:
    calls: list[tuple[float, int]] = []

    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        calls.append((start.q, max_iter))
        return fit_at(start.q + 0.5, q=start.q + 0.5, step=start.step + 1, converged=len(calls) > 1)

    fit = improve(fit_at(-5.0, q=-5.0), candidates_from([-3.0]), ascent, n_steps=4, max_iter=99)
    assert calls == [(-3.0, 4), (-2.5, 20)]  # a fifth of those left of 99, after one before and one for the candidate
    assert [event.elbo for event in fit.trace] == [-5.0, -2.5, -2.0]


def test_a_slow_ascent_leaves_iterations_for_the_moves_after_it() -> None:
    def slow(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        trace = tuple(fit_at(start.q).trace[0] for _ in range(max_iter))
        return Fit(fit_at(start.q, q=start.q).state, trace, converged=False)

    fit = improve(fit_at(-5.0, q=-5.0), candidates_from([-4.0], [-3.0], [-2.0]), slow, n_steps=4, max_iter=40)
    assert fit.elbo == -2.0
    assert len(fit.trace) == 40  # all are used once no candidate is better
    settled = candidates_from([-4.0], [-3.0])
    whole = improve(fit_at(-5.0, q=-5.0), settled, slow, n_steps=4, max_iter=40, exact=lambda q: False)
    assert whole.elbo == -4.0  # local posteriors are gone on from at once


def test_candidates_that_disappoint_on_a_sample_are_not_tried_in_full() -> None:
    starts: list[float] = []

    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        starts.append(start.q)
        return climb_state(start, max_iter, on)

    def screen(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        return fit_at(start.q / 2)

    improve(fit_at(-5.0, q=-5.0), candidates_from([-9.0, -6.0, -3.0], []), ascent, screens=[screen])
    assert starts == [-3.0]


def test_moves_after_a_stop_or_an_interrupt_are_not_even_proposed() -> None:
    def never(state: State) -> Iterator[float]:
        raise AssertionError("asked for candidates")

    for flag in ("stopped", "interrupted"):
        before = fit_at(-5.0, **{flag: True})
        assert improve(before, never, climb_state) is before


def test_an_interrupt_during_a_trial_is_reported_and_the_fit_kept() -> None:
    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        return fit_at(-9.0, interrupted=True)

    fit = improve(fit_at(-5.0, q=-5.0), candidates_from([-3.0]), ascent)
    assert fit.elbo == -5.0
    assert fit.interrupted


def test_an_interrupt_during_a_screened_trial_is_reported_and_the_fit_kept() -> None:
    def screen(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        return fit_at(-9.0, interrupted=start.q != -5.0)

    fit = improve(fit_at(-5.0, q=-5.0), candidates_from([-3.0]), climb_state, screens=[screen])
    assert fit.elbo == -5.0
    assert fit.interrupted


def press(*_: object) -> Any:
    raise KeyboardInterrupt


def test_an_interrupt_before_a_trial_has_anything_keeps_the_fit() -> None:
    fit = survived(lambda: improve(fit_at(-5.0, q=-5.0), candidates_from([-3.0]), press))
    assert (fit.elbo, fit.interrupted) == (-5.0, True)


def test_an_interrupt_while_candidates_are_thought_of_keeps_the_fit() -> None:
    fit = survived(lambda: improve(fit_at(-5.0, q=-5.0), press, climb_state))
    assert (fit.elbo, fit.interrupted) == (-5.0, True)


def test_an_interrupt_while_an_accepted_candidate_climbs_on_keeps_the_candidate() -> None:
    def ascent(start: State, max_iter: int, on: OnIteration | None) -> Fit:
        if max_iter > 10:
            raise KeyboardInterrupt
        return fit_at(start.q, q=start.q, converged=False)

    fit = survived(lambda: improve(fit_at(-5.0, q=-5.0), candidates_from([-3.0]), ascent, n_steps=10, max_iter=99))
    assert (fit.elbo, fit.interrupted) == (-3.0, True)


@pytest.mark.parametrize("name", ["binary-ml-mean-field", "binary-ard-mean-field", "binary-ard-exact-intercept"])
def test_moves_of_a_real_model_never_lower_the_bound(name: str) -> None:
    case = CASES[name]
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, 80, 5, holes=bool(seed % 2), weighted=False)
        model = case.build(5)
        k = 4

        def ascent(start: State, max_iter: int, on: OnIteration | None, model: Any = model, rows: Rows = rows) -> Fit:
            return ascend(model, [rows], start, max_iter=max_iter, tol=1e-6, on_iteration=on)

        first = ascent(State(case.start(model, k, rows.x, rng)), 100, None)
        fit = improve(first, lambda state, m=model, r=rows, g=rng: m.candidates(state.q, state.stats, r, g, 4), ascent)
        heights = np.array([event.elbo for event in fit.trace])
        assert np.all(np.diff(heights) >= -1e-9 * np.abs(heights[1:]))
        assert fit.elbo >= first.elbo
        assert [event.step for event in fit.trace] == list(range(len(fit.trace)))
        stats = model.statistics(rows, model.local_step(fit.state.q, rows, fit.state.locals[0]))
        terms = {**model.data_terms(fit.state.q, stats), **model.global_terms(fit.state.q)}
        assert sum(terms.values()) >= fit.elbo - 1e-9 * abs(fit.elbo)  # the state belongs to the bound
