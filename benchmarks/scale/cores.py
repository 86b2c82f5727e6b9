"""One pass on more and more threads. Wall time, since CPU time cannot tell.

On a machine with nothing else to do; or as root on Linux, where passes are timed ahead of all other processes. The same
blocks on as many processes, which share no interpreter, tell what threads lose by waiting for each other's Python.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.scale.floors import Shape
from benchmarks.scale.subjects import SUBJECTS, Subject, timed_fit
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least

__all__ = ["run"]

THREADS = (1, 2, 4, 8, 16)
COPIED = 2**27  # bytes that each thread copies
N_ITERATIONS = 4
N_ROUNDS = 3  # of all numbers of threads in turn: what else the machine does changes in between
SLOWEST = "mixture full"  # comes last: what is broken off loses no other


class _FirstStart(Exception):
    """What a fit has at hand when its iterations begin."""

    def __init__(self, model: Any, context: Any, starts: Any) -> None:
        self.model, self.start = model, starts[0]
        self.data, self.log_scale = context.data, context.units.log_scale


@dataclass(frozen=True)
class Passes:
    milliseconds: float  # the median of those after the first
    elbo: float


def run(setting: Setting) -> list[Table]:
    cores = os.cpu_count() or 1
    threads = [n for n in THREADS if n <= cores]
    enough = {2: 1.7, 16: 8.0}.get(threads[-1], 0.5 * threads[-1])
    bandwidth = _copy_bandwidth(threads[-1])
    rows = []
    for name in sorted(SUBJECTS, key=SLOWEST.__eq__):
        if setting.only not in name:
            continue
        subject = SUBJECTS[name]
        shape = subject.host if setting.name == "full" else Shape(4000, 20, 4)
        x = _doubled(subject.draw(shape, np.random.default_rng(FIRST_SEED)))
        timed_fit(subject.make, shape.k, _few(x), 2, n_jobs=1)  # kernels are compiled
        start = _first_start(subject, shape.k, x)
        rounds = [{n: _passes(start, n) for n in threads} for _ in range(N_ROUNDS)]
        spent = {n: float(np.median([each[n].milliseconds for each in rounds])) for n in threads}
        rate = 2 * 8 * shape.n * shape.d / (1e-3 * spent[threads[-1]])  # rows are read by two products
        ratio = spent[1] / spent[threads[-1]]
        steps = list(pairwise(threads))
        cells: dict[str, Any] = {
            "model": name,
            "N": shape.n,
            "D": shape.d,
            "K": shape.k,
            **{f"ms on {n}": ms for n, ms in spent.items()},
            "x one": ratio,
            "x one, processes": _share_of_pass(start, 1) / _share_of_pass(start, threads[-1]),
            "of copy speed": rate / bandwidth,
            "either": ratio if rate < 0.7 * bandwidth else max(ratio, enough),
            "least x of a step": min((spent[a] / spent[b] for a, b in steps), default=1.0),
            "same bits": int(len({passes.elbo for each in rounds for passes in each.values()}) == 1),
        }
        rows.append(
            Row(cells, {"either": at_least(enough), "same bits": at_least(1)} if setting.name == "full" else {})
        )
        print(cells, flush=True)
    notes = [
        f"{cores} cores; {threads[-1]} threads copy {bandwidth / 1e9:.0f} GB/s, bytes read and written",
        f"either: at least {enough:g} times one core, or 70 % of the copy bandwidth (rows read twice)",
        "least x of a step: from one number of threads to the next; below 1 more threads were slower",
        "processes: local steps and sums of the same blocks, shared out among as many processes",
    ]
    return [Table("One pass by threads, float64", rows, notes)]


def _first_start(subject: Subject, k: int, x: Any) -> _FirstStart:
    """A fit up to its first iteration: its start is the same for any number of threads, and is made once."""

    def stop(model: Any, context: Any, starts: Any, *rest: Any) -> Any:
        raise _FirstStart(model, context, starts)

    estimator = subject.make(k, moves=False, n_init=1, random_state=0)
    estimator._search_from = stop
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(x)
    except _FirstStart as start:
        return start
    raise RuntimeError(f"{type(estimator).__name__} was fitted without a search")


def _passes(start: _FirstStart, n_threads: int) -> Passes:
    """Iterations of a fit on so many threads."""
    from latens.inference.ascent import ascend

    width = start.model.floats_per_row(start.start.q.n_components)
    with _ahead_of_others(), ThreadPoolExecutor(n_threads) as pool:
        sweep = start.data.sweep(width, pool if n_threads > 1 else None, n_threads)
        batches = start.data.batches(width)
        fit = ascend(
            start.model, batches, start.start, max_iter=N_ITERATIONS, tol=0, log_scale=start.log_scale, sweep=sweep
        )
    return Passes(1000 * float(np.median([event.seconds for event in fit.trace[1:]])), fit.elbo)


def _share_of_pass(start: _FirstStart, n_processes: int) -> float:
    """Milliseconds of local steps and sums of all blocks, shared out among processes; NaN where none can be forked."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return float("nan")
    context = multiprocessing.get_context("fork")  # blocks are shared, not sent
    batches = start.data.batches(start.model.floats_per_row(start.start.q.n_components))
    n_processes = min(n_processes, len(batches))
    together, spent = context.Barrier(n_processes), context.SimpleQueue()
    children = [
        context.Process(target=_in_child, args=(start, batches[at::n_processes], together, spent))
        for at in range(n_processes)
    ]
    for child in children:
        child.start()
    slowest = max(spent.get() for _ in children)
    for child in children:
        child.join()
    return float(slowest)


def _in_child(start: _FirstStart, batches: Any, together: Any, spent: Any) -> None:
    from latens.inference.ascent import infer
    from latens.inference.sweep import serial_sweep
    from latens.system.threads import one_blas_thread

    step, locals_, times = partial(infer, start.model, start.start.q), (None,) * len(batches), []
    with one_blas_thread():
        for _ in range(N_ITERATIONS):
            together.wait()
            began = time.perf_counter()
            locals_, _ = serial_sweep(step, batches, locals_)
            times.append(1000 * (time.perf_counter() - began))
    spent.put(min(times[1:]))


@contextmanager
def _ahead_of_others() -> Iterator[None]:
    """This thread and those it starts before all other processes, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except (AttributeError, PermissionError):  # another system, another user
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        time.sleep(1.0)  # the system grants such threads so much of each second


def _copy_bandwidth(n_threads: int) -> float:
    """Bytes read and written a second by all threads at once, the best of five."""
    pairs = [(np.ones(COPIED, np.uint8), np.empty(COPIED, np.uint8)) for _ in range(n_threads)]
    best = 0.0
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(5):
            began = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            best = max(best, 2 * COPIED * n_threads / (time.perf_counter() - began))
    return best


def _doubled(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: view.astype(np.float64) for name, view in x.items()}
    return x.astype(np.float64)


def _few(x: Any, n: int = 2000) -> Any:
    return {name: view[:n] for name, view in x.items()} if isinstance(x, dict) else x[:n]
