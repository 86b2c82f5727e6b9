"""Two threads over one, on row blocks like those of `fit`. Wall time, since CPU time cannot tell: least of several."""

from __future__ import annotations

import time
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
from latens.models.switches import Switches

__all__ = ["run"]

N_SWEEPS = 20


def run(setting: Setting) -> list[Table]:
    rows = [row for n, d, k, _ in setting.sizes for row in _size(n, d, k, setting.n_repeats)]
    notes = [
        f"{N_SWEEPS} sweeps from undecided codes, rows rest at 1e-5; below 2 cores busy: another load, or serial work"
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
    wall: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(2 * repeats):
        for name, sweep in ways.items():
            began = time.perf_counter()
            cpu[name].append(cpu_seconds(partial(sweep, step, blocks, warm))[0])
            wall[name].append(time.perf_counter() - began)
    one, two = min(wall["one"]), min(wall["two"])
    cells: dict[str, Value] = {
        "what": what,
        "blocks": len(blocks),
        "one thread, wall s": one,
        "two threads, wall s": two,
        "ratio": one / two,
        "cores busy": max(spent / taken for spent, taken in zip(cpu["two"], wall["two"], strict=True)),
        "CPU of two over one": min(cpu["two"]) / min(cpu["one"]),
    }
    return Row(cells, {"ratio": at_least(1.7)})
