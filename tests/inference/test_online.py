"""One batch at a time, settling of new rows, threads of the linear algebra, the progress bar."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from latens.core import Iteration, Rows, State
from latens.errors import NotSettled
from latens.inference import progress
from latens.inference.ascent import ascend
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.online import Accumulate, RobbinsMonro, update
from latens.inference.progress import ProgressBar
from latens.inference.sweep import ThreadedSweep, note_blocks, serial_sweep
from tests.contract.cases import CASES, bound, posterior_midway, random_rows, settled
from tests.inference.toy import Place, Scripted, some_rows


def test_update_adds_a_batch_and_takes_global_steps() -> None:
    state, event = update(
        Scripted([-5.0, -4.0, -3.0]), State(Place()), some_rows(), combine=Accumulate(), n_global=3, log_scale=0.5
    )
    assert state.q.at == 3
    assert state.step == 1
    assert state.stats.n == 4
    assert event.terms == {"script": -3.0, "constant": 0.0, "scale": -6.0}
    again, event = update(Scripted([-5.0] * 9), state, some_rows(7), combine=Accumulate())
    assert (again.step, event.step) == (2, 1)
    assert again.stats.n == 11
    assert state.stats.n == 4  # what was handed in stays as it was


def test_a_stream_of_all_rows_ends_with_all_of_them_counted_once() -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 90, 4, holes=True, weighted=True)
    case = CASES["binary-ard-exact"]
    model = case.build(4)
    state = State(case.start(model, 3, rows.x, rng))
    for at in range(0, 90, 30):
        state, event = update(model, state, rows[slice(at, at + 30)], combine=Accumulate(), n_global=5)
        assert np.isfinite(event.elbo)
    assert state.stats.n == pytest.approx(rows.n)
    assert state.stats.seen == pytest.approx(rows.counts)
    assert state.stats.xx == pytest.approx(rows.squares)


def test_a_stream_that_sees_all_rows_each_time_is_an_ascent() -> None:
    """With a step size of one, the last batch is all there is."""
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 60, 4, holes=False, weighted=True)
    case = CASES["binary-ard-exact"]
    model = case.build(4)
    start = State(case.start(model, 3, rows.x, rng))
    batch = ascend(model, [rows], start, max_iter=6, tol=0)
    state, heights = start, []
    for _ in range(6):
        state, event = update(model, state, rows, combine=RobbinsMonro(rows.n, delay=1.0, decay=0.0))
        heights.append(event.elbo)
    assert heights == pytest.approx([event.elbo for event in batch.trace], rel=1e-11)


def test_the_bound_of_a_stream_is_below_the_evidence() -> None:
    case = CASES["binary-ard-mean-field"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = Rows(rng.normal(size=(5, 2)) * 2)
        model = case.build(2)
        state = State(case.start(model, 1, rows.x, rng))
        for at in range(5):
            state, event = update(model, state, rows[slice(at, at + 1)], combine=Accumulate(), n_global=4)
        assert event.elbo <= case.log_evidence(model, state.q, rows) + 1e-9


def test_stochastic_steps_find_what_the_batch_finds() -> None:
    rng = np.random.default_rng(2)
    rows = random_rows(rng, 400, 4, holes=False, weighted=False)
    case = CASES["binary-ard-exact"]
    model = case.build(4)
    start = State(case.start(model, 2, rows.x, rng))
    best = ascend(model, [rows], start, max_iter=300)
    state = start
    for _ in range(40):
        for at in rng.permutation(8):
            part = rows[slice(50 * int(at), 50 * int(at) + 50)]
            state, _ = update(model, state, part, combine=RobbinsMonro(400, delay=4, decay=0.7))
    stats = model.statistics(rows, model.local_step(state.q, rows))
    assert bound(model, model.global_step(state.q, stats), stats) > best.elbo - 0.03 * 400


def test_settling_takes_local_steps_until_no_code_moves() -> None:
    local = local_fixed_point(Scripted([0.0], pull=0.5), Place(), some_rows(), tol=1e-3)
    assert local.n_steps == 10  # the n-th step moves a code by 2^-n
    assert local_fixed_point(Scripted([0.0], pull=0.5), Place(), some_rows(), tol=0.0, max_iter=7).n_steps == 8


def test_slow_steps_are_followed_to_their_end() -> None:
    local = local_fixed_point(Scripted([0.0], pull=0.03), Place(), some_rows())
    assert local.mean == pytest.approx(1, abs=1e-6)  # a step of 1e-6 would leave 3e-5
    with pytest.warns(NotSettled, match="4 of 4 rows have not converged after 1000 local steps"):
        local_fixed_point(Scripted([0.0], pull=0.001), Place(), some_rows())


@pytest.mark.parametrize(
    "name",
    [
        "views-mixed",
        *(
            pytest.param(f"views-{kind}", marks=pytest.mark.slow)
            for kind in ("binary", "counts", "dense", "sparse-codes")
        ),
    ],
)
def test_leaps_end_where_steps_do(name: str) -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 60, 4, holes=True, weighted=False)
    model, q = posterior_midway(CASES[name], rows, 3, rng)
    assert local_fixed_point(model, q, rows).mean == pytest.approx(settled(model, q, rows, 2000).mean, abs=1e-6)


def test_settling_an_exact_local_step_takes_one() -> None:
    assert local_fixed_point(Scripted([0.0], exact=True), Place(), some_rows()).n_steps == 1


def test_settled_codes_do_not_depend_on_other_rows_or_on_weights() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 40, 4, holes=True, weighted=True)
    for name in ("binary-ard-mean-field", "binary-ml-exact", "binary-ard-truncated"):
        model, q = posterior_midway(CASES[name], rows, 3, rng)
        whole = local_fixed_point(model, q, rows, tol=1e-12).mean
        alone = local_fixed_point(model, q, replace(rows, weight=None)[5:6], tol=1e-12).mean
        assert alone == pytest.approx(whole[5:6], abs=1e-9)


HOLDERS = """
import json, threading
import numpy, scipy.linalg
from threadpoolctl import threadpool_info
from latens.system.threads import one_blas_thread

def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

def in_another_thread(work):
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()

seen = [("before", threads())]
"""

SCENES = {
    "nested holders": """
with one_blas_thread():
    seen.append(("inside", threads()))
    with one_blas_thread():
        seen.append(("inside", threads()))
    seen.append(("inside", threads()))
seen.append(("after", threads()))
""",
    "an error": """
try:
    with one_blas_thread(), one_blas_thread():
        raise ZeroDivisionError
except ZeroDivisionError:
    seen.append(("after", threads()))
""",
    "a holder in another thread, after one in the main thread": """
with one_blas_thread():
    seen.append(("inside", threads()))
def work():
    with one_blas_thread():
        seen.append(("inside", threads()))
    seen.append(("after", threads()))
in_another_thread(work)
seen.append(("after", threads()))
""",
    "a holder in another thread that leaves first": """
def work():
    with one_blas_thread():
        seen.append(("inside", threads()))
with one_blas_thread():
    in_another_thread(work)
    seen.append(("inside", threads()))
seen.append(("after", threads()))
""",
    "a holder in another thread that leaves last": """
entered, leave = threading.Event(), threading.Event()
def work():
    with one_blas_thread():
        entered.set()
        leave.wait()
        seen.append(("inside", threads()))
    seen.append(("after", threads()))
worker = threading.Thread(target=work)
with one_blas_thread():
    worker.start()
    entered.wait()
seen.append(("inside", threads()))
leave.set()
worker.join()
seen.append(("after", threads()))
""",
}


@pytest.mark.parametrize("scene", SCENES)
def test_linear_algebra_has_one_thread_while_anyone_holds_it_and_all_its_threads_afterwards(scene: str) -> None:
    script = HOLDERS + SCENES[scene] + "print(json.dumps(seen))"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    seen = json.loads(run.stdout)
    before = seen[0][1]
    for where, threads in seen[1:]:
        assert threads == (before if where == "after" else [1] * len(before)), seen


LATECOMER = """
import json
import numpy
from threadpoolctl import threadpool_info
from latens.system.threads import one_blas_thread

def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

with one_blas_thread():
    early = threads()
import scipy.linalg
with one_blas_thread():
    late = threads()
print(json.dumps([early, late]))
"""


def test_a_library_that_is_loaded_later_is_held_too() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", LATECOMER], capture_output=True, text=True, check=True, env=environment)
    early, late = json.loads(run.stdout)
    assert len(late) >= len(early) > 0
    assert early == [1] * len(early)
    assert late == [1] * len(late)


def event_at(step: int, elbo: float, restart: int = 0) -> Iteration:
    return Iteration(step, restart, elbo, {}, 8, 0.01)


def test_the_bar_is_silent_unless_asked() -> None:
    stream = io.StringIO()
    with ProgressBar(0, 10, 1e-3, stream) as bar:
        assert not bar.active
        bar.show(event_at(0, -5.0))
    assert stream.getvalue() == ""


def test_the_bar_shows_iteration_bound_gain_and_time_left_on_one_line() -> None:
    stream = io.StringIO()
    with ProgressBar(1, 10, 1e-3, stream) as bar:
        bar.show(event_at(0, -5.0))
        bar.show(event_at(1, -4.25))
    text = stream.getvalue()
    last = text.rstrip("\n").rpartition("\r")[2]
    for words in ("2/10", "bound -4.25", "gain 0.75", "8 components", "left"):
        assert words in last
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_the_bar_begins_anew_with_each_restart() -> None:
    stream = io.StringIO()
    with ProgressBar(1, 10, 1e-3, stream) as bar:
        for step in range(4):
            bar.show(event_at(step, -5.0 + step))
        bar.show(event_at(0, -9.0, restart=1))
    last = stream.getvalue().rstrip("\n").rpartition("\r")[2]
    assert "start 1" in last
    assert "1/10" in last
    assert "gain" not in last


def test_the_bar_writes_to_standard_error_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(1, 10, 1e-3) as bar:
        bar.show(event_at(0, -5.0))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "bound -5" in printed.err


def test_a_bar_without_iterations_leaves_no_line() -> None:
    stream = io.StringIO()
    with ProgressBar(1, 10, 1e-3, stream):
        pass
    assert stream.getvalue() == ""


def test_the_bar_shows_how_far_a_pass_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)  # every line, however soon after the last
    stream = io.StringIO()
    with ProgressBar(1, 10, 1e-3, stream) as bar:
        _, total = serial_sweep(lambda batch, _: (None, batch), [1, 2, 3], [None] * 3)
        bar.show(event_at(0, -5.0))
        with ThreadPoolExecutor(1) as pool:
            ThreadedSweep(pool)(lambda batch, _: (None, batch), [1, 2], [None] * 2)
    lines = [line.removesuffix("\x1b[K") for line in stream.getvalue().strip().split("\r")]
    assert total == 6
    assert lines[:3] == [f"{done}/3 blocks of a pass" for done in (1, 2, 3)]
    assert [line.partition("left")[2] for line in lines[3:]] == [
        "", "  1/2 blocks of a pass", "  2/2 blocks of a pass", ""]  # fmt: skip


def test_blocks_are_noted_by_the_bar_of_the_fit_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    stream = io.StringIO()
    with ProgressBar(1, 10, 1e-3, stream), ProgressBar(0, 10, 1e-3, stream):
        note_blocks(1, 2)  # a silent fit within one that is shown
    note_blocks(2, 2)
    assert stream.getvalue() == ""


def test_the_bar_does_not_swallow_errors() -> None:
    def work() -> None:
        with ProgressBar(1, 10, 1e-3, io.StringIO()) as bar:
            bar.show(event_at(0, -5.0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
