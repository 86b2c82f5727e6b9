"""CPU time of reading a wide table from a CSV file, with the kinds of its columns."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.clocks import in_new_process
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

READ = """
import json, sys, time
import latens
before = time.process_time()
table = latens.read(sys.argv[1])
matrix = table.matrix()
seconds = time.process_time() - before
print(json.dumps({"seconds": seconds, "columns": len(table.columns), "shape": matrix.shape}))
"""


def run(setting: Setting) -> list[Table]:
    n_rows, n_columns = (20, 500) if setting.name == "quick" else (120, 20_000)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.csv"
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(["sample", *(f"gene{j}" for j in range(n_columns))]) + "\n")
            for i in range(n_rows):
                values = ",".join(f"{value:.4f}" for value in rng.normal(size=n_columns))
                file.write(f"s{i},{values}\n")
        found = in_new_process(READ, str(path))
    cells = {"rows": n_rows, "columns": int(found["columns"]), "CPU s": float(found["seconds"])}
    return [Table("latens.read of a CSV file, the import of pandas included", [Row(cells, {"CPU s": at_most(6.0)})])]
