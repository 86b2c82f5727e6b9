"""A whole fit of many rows: CPU and wall time on one and two threads, memory beyond the data."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.clocks import in_new_process
from benchmarks.data import draw_sums
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table

__all__ = ["fit_and_tell", "peak_memory", "run"]

CHILD = "import sys; from benchmarks.library.large import fit_and_tell; fit_and_tell(*sys.argv[1:])"
MIB = 2**20


def run(setting: Setting) -> list[Table]:
    n, d, true_k, k = setting.large
    sums = draw_sums(n, d, true_k, FIRST_SEED)
    rows = []
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", sums.x)
        np.save(Path(folder) / "components.npy", sums.components)
        size = sums.x.nbytes / MIB
        del sums
        by_threads = {threads: in_new_process(CHILD, folder, str(k), str(threads)) for threads in (1, 2)}
    for threads, each in by_threads.items():
        cells = {
            "threads": threads,
            "CPU s": float(each["cpu"]),
            "wall s": float(each["wall"]),
            "x one thread": by_threads[1]["wall"] / each["wall"],
            "cores busy": each["cpu"] / each["wall"],
            "causes": int(each["causes"]),
            "found": f"{each['found']}/{true_k}",
            "iterations": int(each["iterations"]),
            "data MiB": size,
            "peak beyond MiB": float(each["peak"]),
            "of data": each["peak"] / size,
        }
        rows.append(Row(cells))
    same = by_threads[1]["elbo"] == by_threads[2]["elbo"]
    notes = [f"the bound of one and two threads is {'the same to the last bit' if same else 'NOT the same'}"]
    return [Table(f"Whole fit, N = {n}, D = {d}, {true_k} causes, ard from K = {k}", rows, notes)]


def fit_and_tell(folder: str, k: str, threads: str) -> None:
    """In a process of its own: a fit whose peak of memory nothing else has reached before."""
    from latens import BinaryFactorAnalysis
    from latens.metrics import match_components

    x, true = np.load(Path(folder) / "x.npy"), np.load(Path(folder) / "components.npy")
    BinaryFactorAnalysis(12, random_state=0, max_iter=5, tol=1.0, n_jobs=1).fit(x[:200])  # loads what there is to load
    before = peak_memory()
    wall, cpu = time.perf_counter(), time.process_time()
    model = BinaryFactorAnalysis(int(k), random_state=FIRST_SEED, n_jobs=int(threads)).fit(x)
    answer: dict[str, Any] = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": (peak_memory() - before) / MIB,
        "causes": model.n_components_,
        "found": match_components(model.components_, true).found(),
        "iterations": model.n_iter_,
        "elbo": model.elbo_,
    }
    print(json.dumps(answer))


def peak_memory() -> int:
    """Most bytes of memory this process has held so far.

    Linux tells it in /proc; its other account, of resources used, starts at the parent's peak.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
