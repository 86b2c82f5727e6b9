"""Two threads over one, on row blocks like those of `fit`. Wall time, since CPU time cannot tell: least of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.binary.problem import draw_undecided, problem_of
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, Value, at_least
from latens.core import Rows
from latens.inference.ascent import infer
from latens.inference.sweep import Step, Sweep, ThreadedSweep, serial_sweep
from latens.models.binary_factors.posteriors import Switches

__all__ = ["run"]

N_SWEEPS = 20
ENOUGH = 1.8  # cores
MOST_ROWS = 40_000  # dozens of blocks, and still seconds each


def run(setting: Setting) -> list[Table]:
    rows = [row for n, d, k, _ in setting.sizes for row in _size(min(n, MOST_ROWS), d, k, setting.n_repeats)]
    notes = [
        f"{N_SWEEPS} sweeps from undecided codes, rows rest at 1e-5; cores free: what two threads of arithmetic get",
        f"not judged where fewer than {ENOUGH} cores were free of other work",
    ]
    return [Table("Two threads over one", rows, notes)]


def _size(n: int, d: int, k: int, repeats: int) -> list[Row]:
    problem = problem_of(draw_undecided(n, d, k), N_SWEEPS)
    warm = [Switches(np.full((len(block), k), 0.5)) for block in problem.blocks]
    steps: dict[str, Step] = {
        "E step": lambda batch, start: (problem.model.local_step(problem.q, batch, start), 0),
        "E step and statistics": partial(infer, problem.model, problem.q),
    }
    with ThreadPoolExecutor(2) as pool:
        return [
            _row(f"{n} x {d}, K = {k}: {name}", step, problem.blocks, warm, pool, repeats)
            for name, step in steps.items()
        ]


def _row(what: str, step: Step, blocks: list[Rows], warm: list[Any], pool: ThreadPoolExecutor, repeats: int) -> Row:
    ways: dict[str, Sweep] = {"one": serial_sweep, "two": ThreadedSweep(pool)}
    for sweep in ways.values():
        sweep(step, blocks, warm)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}  # wall and CPU seconds
    free = []
    for _ in range(repeats):
        free.append(_cores_free(pool))
        for name, sweep in ways.items():
            spent[name].append(_wall_and_cpu(partial(sweep, step, blocks, warm)))
    (one, _), (two, _) = (min(spent[name]) for name in ways)
    cells: dict[str, Value] = {
        "what": what,
        "blocks": len(blocks),
        "one thread, wall s": one,
        "two threads, wall s": two,
        "ratio": one / two,
        "CPU of two over one": min(cpu for _, cpu in spent["two"]) / min(cpu for _, cpu in spent["one"]),
        "cores free": max(free),
    }
    return Row(cells, {"ratio": at_least(1.7)} if max(free) > ENOUGH else {})


def _cores_free(pool: ThreadPoolExecutor) -> float:
    """How many cores two threads get that share nothing and need no interpreter."""
    square = np.full((700, 700), 0.5)
    wall, cpu = _wall_and_cpu(lambda: list(pool.map(lambda _: [square @ square for _ in range(6)], range(2))))
    return cpu / wall


def _wall_and_cpu(call: Callable[[], object]) -> tuple[float, float]:
    began = time.perf_counter()
    cpu, _ = cpu_seconds(call)
    return time.perf_counter() - began, cpu
