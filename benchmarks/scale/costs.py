"""What a row costs in a pass of each model, and what a billion of them would cost on 64 and 1,024 cores."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.scale.floors import Shape
from benchmarks.scale.scheduler import Cluster, simulate
from benchmarks.scale.subjects import SUBJECTS
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["extrapolated", "large_run"]

SHAPES = {
    "mixture full": Shape(40_000, 16, 16),
    "mixture diag": Shape(40_000, 64, 16),
    "mixture Bernoulli": Shape(40_000, 64, 16),
    "binary": Shape(20_000, 64, 32),
    "noisy ICA": Shape(20_000, 16, 8),
    "views": Shape(20_000, 200, 10),
    "noisy-OR": Shape(20_000, 100, 20),
}
BILLION, CHUNK = 10**9, 10**6
PER_TASK = 0.001  # seconds of the scheduler; `scale.dask` measures it
N_ITERATIONS = 5


@dataclass(frozen=True)
class Cost:
    per_row: float  # CPU seconds of a pass
    read: float  # bytes of a row
    sums: float  # bytes that come back from a chunk


def extrapolated(setting: Setting) -> list[Table]:
    rows, rng = [], np.random.default_rng(FIRST_SEED)
    decode = _decoding(setting)
    for name, shape in SHAPES.items():
        shape = shape if setting.name == "full" else Shape(2000, 10, 3)
        cost = _cost(name, shape)
        cells: dict[str, Any] = {
            "model": name,
            "D": shape.d,
            "K": shape.k,
            "ns per row": 1e9 * cost.per_row,
            "bytes per row": cost.read,
            "kB of sums per chunk": cost.sums / 1000,
            "ns to decode": 1e9 * decode * shape.d,
        }
        for n_cores in (64, 1024):
            for what, each in (("persisted", cost.per_row), ("Parquet", cost.per_row + decode * shape.d)):
                cluster = Cluster(n_cores, PER_TASK, 0.001 + 16 * cost.sums / 1e9)
                ideal = max(BILLION * each / n_cores, CHUNK * each, BILLION / CHUNK * PER_TASK)
                passes = simulate(cluster, BILLION // CHUNK, CHUNK * each, rng)
                cells[f"s, {what}, {n_cores}"] = passes
                cells[f"x ideal, {what}, {n_cores}"] = passes / ideal
        rows.append(Row(cells, {"x ideal, persisted, 64": at_most(1.2)}))
        print(cells, flush=True)
    notes = [
        "CPU of one thread; s: 1e9 rows in chunks of 1e6, one pass on 64 or 1,024 cores, simulated task by task",
        "ideal: the largest of rows over cores, one chunk, and 1 ms of the scheduler for each chunk",
        f"Parquet is decoded at {1e9 * decode:.1f} ns per value",
    ]
    return [Table("Costs of a pass, and of a billion rows", rows, notes)]


def large_run(setting: Setting) -> list[Table]:
    """A diagonal mixture of 1e8 rows x 8 from Parquet on this machine, ten passes and what goes before them."""
    import latens
    from benchmarks.library.large import MIB, peak_memory

    n_files, rows_each = (100, 10**6) if setting.name == "full" else (4, 20_000)
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        for number in range(n_files):
            _write(Path(folder) / f"part-{number:03d}.parquet", rows_each, number)
        written = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print({"files": n_files, "GB": size / 1e9, "written in s": written}, flush=True)
        began, cpu = time.perf_counter(), time.process_time()
        model = latens.GaussianMixture(
            8,
            covariance_type="diag",
            random_state=0,
            moves=False,
            n_init=1,
            max_iter=10,
            tol=0,
            callbacks=lambda event: print({"iteration": event.step, "s": time.perf_counter() - began}, flush=True),
        )
        model.fit(latens.scan(f"{folder}/part-*.parquet"))
        cells = {
            "rows": n_files * rows_each,
            "GB": size / 1e9,
            "iterations": model.n_iter_,
            "wall s": time.perf_counter() - began,
            "CPU s": time.process_time() - cpu,
            "ms per iteration": 1000 * float(np.median([event.seconds for event in model.trace_])),
            "peak MiB": peak_memory() / MIB,
        }
    return [Table("A diagonal mixture (K = 8) of rows x 8 in float32 from Parquet", [Row(cells)])]


def _cost(name: str, shape: Shape) -> Cost:
    subject, clocks = SUBJECTS[name], list[float]()
    x = subject.draw(shape, np.random.default_rng(FIRST_SEED))
    x = {key: view.astype(float) for key, view in x.items()} if isinstance(x, dict) else x.astype(float)
    fixed = {"moves": False, "n_init": 1, "random_state": 0, "tol": 0, "n_jobs": 1, "max_iter": N_ITERATIONS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = subject.make(shape.k, callbacks=lambda event: clocks.append(time.process_time()), **fixed).fit(x)
    per_pass = float(np.median(np.diff(clocks)))
    return Cost(per_pass / shape.n, 8.0 * shape.d, _bytes(model._state.stats))


def _bytes(stats: Any) -> float:
    """Of the sums of a chunk."""
    import cloudpickle

    return float(len(cloudpickle.dumps(stats)))


def _decoding(setting: Setting) -> float:
    """CPU seconds to read a value of Parquet (float64)."""
    import latens

    n = 10**6 if setting.name == "full" else 20_000
    with TemporaryDirectory() as folder:
        _write(Path(folder) / "x.parquet", n, 0, np.float64)
        scan = latens.scan(Path(folder) / "x.parquet")
        scan.numbers(0)
        began = time.process_time()
        for number in range(scan.n_blocks):
            scan.numbers(number)
        return (time.process_time() - began) / (n * 8)


def _write(path: Path, n: int, number: int, dtype: Any = np.float32) -> None:
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(FIRST_SEED + number)
    centres = 3 * np.random.default_rng(0).normal(size=(8, 8))
    x = (centres[rng.integers(0, 8, n)] + rng.standard_normal((n, 8), dtype=np.float32)).astype(dtype)
    table = pyarrow.table([pyarrow.array(column) for column in x.T], [f"x{d}" for d in range(8)])
    pyarrow.parquet.write_table(table, path, row_group_size=100_000)
