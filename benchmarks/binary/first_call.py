"""The first sweep of a process: what loading the compiler and the kernel costs before anything is computed."""

from __future__ import annotations

from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.clocks import in_new_process
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, Value, at_most

__all__ = ["run"]

FIRST = """
import json, time
began = time.process_time()
import numpy as np
from latens.array.kernels.on_off.sweeps import switches
ready = time.process_time()
import numba
compiler = time.process_time()
arguments = np.zeros((4, 3)), np.eye(3)[None], np.full((4, 3), 0.5), 5, 1e-5
switches(*arguments)
first = time.process_time()
switches(*arguments)
print(json.dumps({
    "arrays": ready - began,
    "numba": compiler - ready,
    "call": first - compiler,
    "second": time.process_time() - first,
}))
"""


def run(setting: Setting) -> list[Table]:
    with TemporaryDirectory() as cache:
        cold = in_new_process(FIRST, NUMBA_CACHE_DIR=cache)
        warm = [in_new_process(FIRST, NUMBA_CACHE_DIR=cache) for _ in range(setting.n_repeats)]
    typical = {name: median(each[name] for each in warm) for name in cold}
    rows = [
        Row(_cells("kernel cached", typical), {"numba + call": at_most(0.6)}),
        Row(_cells("kernel compiled", cold)),
    ]
    notes = ["CPU s; arrays: NumPy, scipy.special and the array layer, which any program here has loaded by then"]
    return [Table(f"First call of `switches` in a process (median of {setting.n_repeats})", rows, notes)]


def _cells(what: str, seconds: dict[str, float]) -> dict[str, Value]:
    return {
        "what": what,
        "import arrays": seconds["arrays"],
        "import numba": seconds["numba"],
        "first call": seconds["call"],
        "numba + call": seconds["numba"] + seconds["call"],
        "all three": seconds["arrays"] + seconds["numba"] + seconds["call"],
        "second call": seconds["second"],
    }
