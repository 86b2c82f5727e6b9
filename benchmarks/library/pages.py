"""Size of pages, and the CPU time of writing them: small tables, many columns, many rows."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import latens
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

FITTED = 1000  # rows that a model is fitted to; the page is about all of them
MODELS: dict[str, Callable[[], Any]] = {
    "factors": lambda: latens.FactorAnalysis(5),
    "full clusters": lambda: latens.GaussianMixture(3, random_state=0, n_init=1),
    "diagonal clusters": lambda: latens.GaussianMixture(3, covariance_type="diag", random_state=0, n_init=1),
}
CASES = (
    ("factors", 1_000, 100, 1.0),
    ("full clusters", 1_000, 100, 1.0),
    ("diagonal clusters", 1_000, 100, 1.0),
    ("factors", 10_000, 10_000, 5.0),
    ("diagonal clusters", 10_000, 10_000, 5.0),
    ("factors", 100_000, 1_000, 5.0),
    ("diagonal clusters", 100_000, 1_000, 5.0),
)
MOST_SECONDS = 20.0


def run(setting: Setting) -> list[Table]:
    """One page for each case; rows are normal about three centres."""
    rows = []
    for name, n, d, most in CASES:
        n, d = (n, d) if setting.name == "full" else (min(n, 500), min(d, 50))
        size, seconds = _page(MODELS[name](), n, d)
        cells = {"model": name, "rows": n, "columns": d, "MB": size, "CPU s": seconds}
        rows.append(Row(cells, {"MB": at_most(most), "CPU s": at_most(MOST_SECONDS)}))
    notes = [f"models are fitted to the first {FITTED:,} rows, pages written about all of them"]
    return [Table("Pages of latens.report", rows, notes)]


def _page(model: Any, n: int, d: int) -> tuple[float, float]:
    """Megabytes of the page, and CPU seconds of writing it."""
    rng = np.random.default_rng(FIRST_SEED)
    X = rng.standard_normal((n, d))
    X += rng.standard_normal((3, d))[rng.integers(3, size=n)]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model.fit(X[:FITTED])
        start = time.process_time()
        path: Path = latens.report(model, X, Path(folder) / "page.html")
        return path.stat().st_size / 1e6, time.process_time() - start
