"""The batch driver: when it stops, what it reports, and what it keeps when something goes wrong."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from latens.core import Iteration, Rows, State
from latens.errors import BoundNotFinite, ElboDecreased
from latens.inference.ascent import ascend
from latens.inference.sweep import FEW_NUMBERS, ThreadedSweep, serial_sweep, tree_sum
from tests.contract.cases import CASES, random_rows
from tests.inference.toy import Place, Scripted, some_rows

RISING = [-100 + 50 * (1 - 0.5**i) for i in range(200)]


def heights_of(fit: Any) -> list[float]:
    return [event.elbo for event in fit.trace]


def test_ascent_stops_when_the_gain_per_row_is_below_tol() -> None:
    """Gains halve from 25 on; with 4 rows, a gain below 4 tol ends it."""
    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), max_iter=200, tol=0.1)
    gains = np.diff(heights_of(fit))
    assert fit.converged
    assert gains[-1] < 0.4 <= gains[-2]


def test_tol_counts_weights_and_not_rows() -> None:
    heavy = Rows(np.ones((4, 3)), None, np.full(4, 100.0))
    light = ascend(Scripted(RISING), [some_rows()], State(Place()), tol=0.01)
    assert len(ascend(Scripted(RISING), [heavy], State(Place()), tol=0.01).trace) < len(light.trace)


def test_tol_zero_runs_all_iterations() -> None:
    flat = Scripted([-5.0] * 10)
    fit = ascend(flat, [some_rows()], State(Place()), max_iter=30, tol=0)
    assert len(fit.trace) == 30
    assert not fit.converged
    assert ascend(flat, [some_rows()], State(Place()), max_iter=30, tol=1e-9).converged


class LookingAhead(Scripted):
    """Notes where sums are asked for before they are needed."""

    def prepare(self, q: Place) -> None: ...

    def begin(self, q: Place, batches: Sequence[Any]) -> None:
        vars(batches[0]).setdefault("asked", []).append(q.at)

    def inferred(self, q: Place, batch: Rows, warm: Any) -> None: ...


@pytest.mark.parametrize(("max_iter", "tol", "last"), [(6, 0.0, 5), (1, 0.0, 0), (200, 0.1, 7)])
def test_sums_are_asked_for_ahead_unless_the_ascent_is_about_to_end(max_iter: int, tol: float, last: int) -> None:
    """Gains halve from 25 on, the eighth being .195: with 4 rows and tol .1 the seventh, .39, is the last."""
    batch = some_rows()
    fit = ascend(LookingAhead(RISING), [batch], State(Place()), max_iter=max_iter, tol=tol)
    assert vars(batch).get("asked", []) == list(range(1, last + 1))
    assert len(fit.trace) == (max_iter if not tol else 8)


def test_a_bound_that_only_rounds_has_converged_at_any_tol() -> None:
    jitter = Scripted([-1e9, -1e9 + 1e-7, -1e9, -1e9 + 1e-7])
    fit = ascend(jitter, [some_rows()], State(Place()), max_iter=30, tol=1e-12)
    assert fit.converged
    assert len(fit.trace) == 2


def test_an_ascent_ends_where_rounding_moves_the_bound_more_than_iterations_do() -> None:
    """Of single precision: it goes up and down by 2 nats of 70,000, and a gain below tol may never come."""
    rng = np.random.default_rng(0)
    settled = [height - 70_000 for height in RISING[:20]] + list(rng.uniform(-70_052, -70_050, 500))
    fit = ascend(Scripted(settled), [some_rows()], State(Place()), max_iter=500, tol=1e-5, slack=3e-4)
    assert fit.converged
    assert len(fit.trace) < 60


def test_an_ascent_that_rises_beneath_its_rounding_goes_on() -> None:
    climbing = [-70_000 + i + 2.0 * (i % 2) for i in range(100)]
    fit = ascend(Scripted(climbing), [some_rows()], State(Place()), max_iter=100, tol=1e-5, slack=3e-4)
    assert not fit.converged
    assert len(fit.trace) == 100


def test_iterations_are_told_in_full() -> None:
    events: list[Iteration] = []
    fit = ascend(Scripted(RISING), [some_rows()], State(Place(), step=5), max_iter=3, tol=0, on_iteration=events.append)
    assert [event.step for event in events] == [5, 6, 7]
    assert [event.elbo for event in events] == heights_of(fit)
    assert [event.posterior.at for event in events] == [1, 2, 3]
    assert all(event.posterior is None for event in fit.trace)  # a trace must not keep every posterior alive
    assert all(event.seconds >= 0 for event in events)
    assert events[0].terms == {"script": RISING[0], "constant": 0.0, "scale": 0.0}
    assert events[0].elbo == sum(events[0].terms.values())
    assert fit.state.step == 8
    assert fit.elbo == RISING[2]


def test_a_callback_may_stop_the_ascent() -> None:
    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), tol=0, on_iteration=lambda event: event.step == 3)
    assert len(fit.trace) == 4
    assert fit.stopped
    assert not fit.converged
    assert fit.state.q.at == 4


@pytest.mark.parametrize("answer", [None, False, 0])
def test_a_callback_that_says_nothing_lets_it_go_on(answer: object) -> None:
    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), max_iter=5, tol=0, on_iteration=lambda event: answer)
    assert len(fit.trace) == 5
    assert not fit.stopped


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_term_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(BoundNotFinite, match=r"Scripted: the term script .* iteration 2\b.*rescale"):
        ascend(Scripted([-3.0, -2.0, bad]), [some_rows()], State(Place()), tol=0)


def test_a_falling_bound_warns() -> None:
    with pytest.warns(ElboDecreased, match=r"fell by 0.5 at iteration 2\b"):
        ascend(Scripted([-3.0, -2.0, -2.5, -2.5]), [some_rows()], State(Place()), max_iter=4, tol=0)


@pytest.mark.filterwarnings("ignore::latens.errors.ElboDecreased")
@pytest.mark.parametrize(
    ("heights", "highest"), [([-3.0, -2.0, -2.5, -2.4], 1), ([-3.0, -2.0, -2.5, -1.0, -4.0, -3.0], 3)]
)
def test_an_ascent_ends_with_the_highest_state_that_it_visited(heights: list[float], highest: int) -> None:
    fit = ascend(Scripted(heights), [some_rows()], State(Place()), max_iter=len(heights), tol=0)
    assert fit.elbo == max(heights)
    assert heights_of(fit) == heights[: highest + 1]
    assert fit.state.q.at == fit.state.step == highest + 1


@pytest.mark.filterwarnings("ignore::latens.errors.ElboDecreased")
def test_an_ascent_that_falls_and_rises_higher_goes_on() -> None:
    heights = [-3.0, -2.0, -2.5, -1.0]
    fit = ascend(Scripted(heights), [some_rows()], State(Place()), max_iter=4, tol=0)
    assert heights_of(fit) == heights


def test_a_fall_within_rounding_does_not_warn() -> None:
    model = Scripted([-3.0, -2.0, -2.0 - 1e-10, -2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ascend(model, [some_rows()], State(Place()), max_iter=4, tol=0)
    with pytest.warns(ElboDecreased):
        ascend(model, [some_rows()], State(Place()), max_iter=4, tol=0, slack=1e-12)


def test_an_interrupt_keeps_what_was_reached() -> None:
    def press(event: Iteration) -> None:
        if event.step == 2:
            raise KeyboardInterrupt

    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), tol=0, on_iteration=press)
    assert fit.interrupted
    assert not fit.converged
    assert len(fit.trace) == 3
    assert fit.state.q.at == 3
    assert fit.state.stats is not None


def test_an_interrupt_within_a_sweep_keeps_the_iteration_before() -> None:
    class Pressed(Scripted):
        def global_step(self, q: Place, stats: Any) -> Place:
            if q.at == 2:
                raise KeyboardInterrupt
            return super().global_step(q, stats)

    fit = ascend(Pressed(RISING), [some_rows()], State(Place()), tol=0)
    assert fit.interrupted
    assert fit.state.q.at == 2
    assert fit.elbo == RISING[1]


def test_an_interrupt_before_anything_was_reached_goes_through() -> None:
    class Pressed(Scripted):
        def global_step(self, q: Place, stats: Any) -> Place:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ascend(Pressed(RISING), [some_rows()], State(Place()))


def test_the_unit_of_the_rows_is_a_term_of_its_own() -> None:
    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), max_iter=1, log_scale=2.5)
    assert fit.trace[0].terms["scale"] == -2.5 * 12  # entries, not rows
    assert fit.elbo == RISING[0] - 30


@pytest.mark.parametrize("name", ["binary-ml-mean-field", "binary-ml-truncated", "binary-ml-exact-intercept"])
def test_a_state_is_all_that_is_needed_to_go_on(name: str) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 50, 4, holes=True, weighted=True)
    model = CASES[name].build(4)
    start = State(CASES[name].start(model, 3, rows.x, rng))
    batches = [rows[:20], rows[20:]]
    whole = ascend(model, batches, start, max_iter=12, tol=0)
    first = ascend(model, batches, start, max_iter=5, tol=0)
    rest = ascend(model, batches, first.state, max_iter=7, tol=0)
    assert heights_of(first) + heights_of(rest) == heights_of(whole)
    assert [event.step for event in (*first.trace, *rest.trace)] == list(range(12))
    assert np.array_equal(rest.state.q.loadings.mean, whole.state.q.loadings.mean)


@pytest.mark.parametrize("name", ["binary-ard-mean-field", "binary-ard-truncated", "binary-ard-exact"])
@pytest.mark.parametrize("at", [0, 3, 6])  # before and after steps are stretched
def test_an_ascent_that_was_broken_off_goes_on_to_the_same_bits(name: str, at: int) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 50, 4, holes=True, weighted=True)
    model, batches = CASES[name].build(4), [rows[:20], rows[20:]]
    start = State(CASES[name].start(model, 3, rows.x, rng))
    states: list[tuple[State, Any]] = []
    whole = ascend(model, batches, start, tol=1e-3, on_state=lambda state, trace: states.append((state, trace)))
    state, trace = states[at]
    again = ascend(model, batches, state, tol=1e-3, so_far=trace)
    assert heights_of(again) == heights_of(whole)
    assert [event.step for event in again.trace] == [event.step for event in whole.trace]
    assert again.converged
    assert whole.converged
    assert np.array_equal(again.state.q.loadings.mean, whole.state.q.loadings.mean)


@pytest.mark.parametrize(("name", "is_stretched"), [("binary-ard-exact", True), ("binary-ard-mean-field", False)])
def test_binary_factors_are_stretched_where_rows_settle_exactly(name: str, is_stretched: bool) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 50, 4, holes=False, weighted=False)
    model = CASES[name].build(4)
    old = CASES[name].start(model, 3, rows.x, rng)
    new = ascend(model, [rows], State(old), max_iter=1).state.q
    assert (model.beyond(old, new, 2.0) is not new) == is_stretched


def test_iterations_so_far_count_and_are_not_shown_again() -> None:
    first = ascend(Scripted(RISING), [some_rows()], State(Place()), max_iter=3, tol=0)
    events: list[Iteration] = []
    fit = ascend(
        Scripted(RISING), [some_rows()], first.state, max_iter=5, tol=0, so_far=first.trace, on_iteration=events.append
    )
    assert [event.step for event in events] == [3, 4]
    assert heights_of(fit) == RISING[:5]
    none_left = ascend(Scripted(RISING), [some_rows()], first.state, max_iter=3, so_far=first.trace)
    assert none_left.state is first.state
    assert none_left.trace == first.trace


def test_the_first_gain_is_measured_against_the_last_iteration_so_far() -> None:
    flat = Scripted([-5.0] * 10)
    first = ascend(flat, [some_rows()], State(Place()), max_iter=1, tol=0)
    assert len(ascend(flat, [some_rows()], first.state, tol=0.1, so_far=first.trace).trace) == 2


def test_only_states_that_are_gone_on_from_are_given() -> None:
    """A resumed ascent must not take an iteration more than one that converged, or was stopped, there."""
    steps: list[int] = []
    fit = ascend(Scripted(RISING), [some_rows()], State(Place()), tol=0.1, on_state=lambda s, _: steps.append(s.step))
    assert fit.converged
    assert steps == list(range(1, fit.state.step))
    steps.clear()
    ascend(
        Scripted(RISING),
        [some_rows()],
        State(Place()),
        on_iteration=lambda event: event.step == 2,
        on_state=lambda state, _: steps.append(state.step),
    )
    assert steps == [1, 2]


@pytest.mark.parametrize("name", ["binary-ml-mean-field", "binary-ard-truncated", "binary-ard-exact"])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_the_bits_do_not_depend_on_the_number_of_threads(name: str, holes: bool) -> None:
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 700, 6, holes=holes, weighted=True)
    model = CASES[name].build(6)
    start = State(CASES[name].start(model, 4, rows.x, rng))
    batches = [rows[slice(at, at + 100)] for at in range(0, 700, 100)]
    serial = ascend(model, batches, start, max_iter=15, tol=0)
    for n_threads in (1, 2, 3):
        with ThreadPoolExecutor(n_threads) as pool:
            threaded = ascend(model, batches, start, max_iter=15, tol=0, sweep=ThreadedSweep(pool))
        assert heights_of(threaded) == heights_of(serial)
        assert np.array_equal(threaded.state.q.loadings.mean, serial.state.q.loadings.mean)


def test_blocks_of_other_sizes_change_only_rounding() -> None:
    rng = np.random.default_rng(2)
    rows = random_rows(rng, 300, 5, holes=True, weighted=True)
    case = CASES["binary-ard-exact"]
    model = case.build(5)
    start = State(case.start(model, 3, rows.x, rng))
    one, many = (
        ascend(model, [rows[slice(at, at + size)] for at in range(0, 300, size)], start, max_iter=30, tol=0)
        for size in (300, 7)
    )
    assert heights_of(many) == pytest.approx(heights_of(one), rel=1e-10)


def test_sweeps_give_locals_in_the_order_of_their_blocks() -> None:
    def step(batch: int, warm: int) -> tuple[int, int]:
        return batch + warm, batch

    with ThreadPoolExecutor(3) as pool:
        for sweep in (serial_sweep, ThreadedSweep(pool)):
            locals_, total = sweep(step, [1, 2, 3, 4, 5], [10, 20, 30, 40, 50])
            assert locals_ == (11, 22, 33, 44, 55)
            assert total == 15


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def step(batch: int, warm: int) -> tuple[int, int]:
        raise ZeroDivisionError(batch)

    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError):
        ThreadedSweep(pool)(step, [1, 2], [0, 0])


@pytest.mark.parametrize("n", range(1, 18))
def test_a_tree_sums_everything_once_in_an_order_fixed_by_the_number(n: int) -> None:
    class Term:
        """Remembers how it was put together."""

        def __init__(self, text: str) -> None:
            self.text = text

        def __add__(self, other: Term) -> Term:
            return Term(f"({self.text} {other.text})")

    text = tree_sum([Term(str(i)) for i in range(n)]).text
    assert text.replace("(", "").replace(")", "").split() == [str(i) for i in range(n)]
    depth = max(text[:at].count("(") - text[:at].count(")") for at in range(len(text) + 1))
    assert depth <= math.ceil(math.log2(n)) + (n > 1)


@pytest.mark.parametrize("n", [1, 2, 7, 16, 23, 150])
@pytest.mark.parametrize("size", [1, FEW_NUMBERS + 1], ids=["few numbers", "many"])
def test_threads_add_in_the_order_of_the_tree(n: int, size: int) -> None:
    """Whether they leave sums for the end, as those of few numbers, or add them on the way."""
    rng = np.random.default_rng(n)
    parts = [rng.normal(size=size) * 10.0 ** rng.integers(-8, 8) for _ in range(n)]
    with ThreadPoolExecutor(3) as pool:
        total = ThreadedSweep(pool)(lambda part, _: (None, part), parts, [None] * n)[1]
    assert np.array_equal(total, tree_sum(parts))


def test_a_tree_of_four_pairs_neighbours() -> None:
    parts = [np.array([value]) for value in (1e16, 1.0, -1e16, 1.0)]
    assert tree_sum(parts)[0] == (1e16 + 1.0) + (-1e16 + 1.0)


def test_locals_are_kept_without_their_transient_parts() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 30, 4, holes=False, weighted=False)
    model = CASES["binary-ard-truncated"].build(4)
    fit = ascend(model, [rows], State(CASES["binary-ard-truncated"].start(model, 3, rows.x, rng)), max_iter=2)
    assert fit.state.locals[0].chance is None
    assert fit.state.locals[0].words is not None


def test_nothing_is_kept_where_one_local_step_is_exact() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 30, 4, holes=False, weighted=False)
    model = CASES["binary-ard-exact"].build(4)
    fit = ascend(model, [rows], State(CASES["binary-ard-exact"].start(model, 3, rows.x, rng)), max_iter=2)
    assert fit.state.locals == (None,)


def test_ascent_does_not_change_its_start() -> None:
    rng = np.random.default_rng(4)
    rows = random_rows(rng, 30, 4, holes=False, weighted=False)
    case = CASES["binary-ard-mean-field"]
    model = case.build(4)
    first = ascend(model, [rows], State(case.start(model, 3, rows.x, rng)), max_iter=3, tol=0)
    before = [local.mean.copy() for local in first.state.locals]
    again = ascend(model, [rows], replace(first.state), max_iter=3, tol=0)
    assert all(np.array_equal(a, b.mean) for a, b in zip(before, first.state.locals, strict=True))
    assert heights_of(again) == heights_of(ascend(model, [rows], first.state, max_iter=3, tol=0))


class Leaping(Scripted):
    """Would go on from some steps ahead, or behind."""

    steps = 0

    def expanded(self, q: Place, stats: Any) -> Place:
        return replace(q, at=q.at + self.steps)


@pytest.mark.parametrize(("steps", "heights"), [(2, [1, 4, 7, 10]), (-1, [1, 2, 3, 4]), (0, [1, 2, 3, 4])])
def test_where_a_model_would_go_on_from_is_judged_by_the_bound(steps: int, heights: list[float]) -> None:
    model = Leaping([float(i) for i in range(1, 20)])
    object.__setattr__(model, "steps", steps)
    fit = ascend(model, [some_rows()], State(Place()), max_iter=4, tol=0)
    assert heights_of(fit) == heights
