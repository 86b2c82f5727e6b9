"""CPU time of importing, and what gets loaded."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.clocks import in_new_process
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, Value, at_most

__all__ = ["run"]

TIMED = """
import json, sys, time
before, modules = time.process_time(), set(sys.modules)
{statement}
seconds = time.process_time() - before
loaded = {{name.partition(".")[0] for name in set(sys.modules) - modules}} - set(sys.stdlib_module_names)
print(json.dumps({{
    "seconds": seconds,
    "count": len(sys.modules) - len(modules),
    "loaded": sorted(name for name in loaded if not name.startswith("_") and name != "latens"),
}}))
"""


GOALS = {
    "import latens": at_most(0.5),
    "import latens; latens.BinaryFactorAnalysis": at_most(1.4),
    "from latens.cli import main": at_most(0.3),
}
BESIDE = (
    "import numpy",
    "import numba",
    "from sklearn.decomposition import NMF",
    "from sklearn.mixture import BayesianGaussianMixture",
)


def run(setting: Setting) -> list[Table]:
    rows, notes = [], ["the start of the interpreter is not counted; packages are those outside the standard library"]
    for statement in (*GOALS, *BESIDE):
        seconds, last = _timed(statement, setting.n_repeats)
        cells: dict[str, Value] = {"statement": statement, "CPU s": seconds, "modules": int(last["count"])}
        rows.append(Row(cells, {"CPU s": GOALS[statement]} if statement in GOALS else {}))
        notes.append(f"{statement}: {' '.join(last['loaded']) or 'no package'}")
    return [Table(f"Imports in a new process (median of {setting.n_repeats})", rows, notes)]


def _timed(statement: str, n_repeats: int) -> tuple[float, dict[str, Any]]:
    """Median CPU seconds, and what the last process said."""
    script = TIMED.format(statement=statement)
    in_new_process(script)  # files into the page cache, byte code into its folder
    runs = [in_new_process(script) for _ in range(n_repeats)]
    return median(float(each["seconds"]) for each in runs), runs[-1]
