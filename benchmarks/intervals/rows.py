"""Codes and filled entries: how often mean and 1.96 standard deviations hold the truth of single rows.

Rules as in `coverage`: 100 fresh data sets, the number of components told, one entry in ten missing for imputation.
The promise: 93 to 97 % after two standard errors.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.intervals.coverage import clustered
from benchmarks.records import answers, slug
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table, at_least, at_most

__all__ = ["run"]

FIRST_DATA_SET = 80_000  # those before it were looked at while methods were chosen
N_SETS, HOLES, Z = 100, 0.1, 1.959964
LOADINGS = np.array([[1.0, 0.8, -0.6, 0.5, 0.9, 0.7]])


@dataclass(frozen=True)
class Task:
    name: str
    n: int
    model: Callable[[], Any]
    kind: str  # of rows: "factor", "clusters"
    codes: bool  # whether codes have a truth


TASKS = (
    Task("factor analysis, ml, N = 30", 30, lambda: latens.FactorAnalysis(1, prior="ml"), "factor", True),
    Task("factor analysis, ml, N = 200", 200, lambda: latens.FactorAnalysis(1, prior="ml"), "factor", True),
    Task(
        "factor analysis, ard, N = 30",
        30,
        lambda: latens.FactorAnalysis(1, prior="ard", random_state=0),
        "factor",
        True,
    ),
    Task(
        "multi-view, N = 100",
        100,
        lambda: latens.MultiViewFactorAnalysis(1, random_state=0, moves=False),
        "factor",
        True,
    ),
    Task("noisy ICA, N = 200", 200, lambda: latens.NoisyICA(1, random_state=0, moves=False), "heavy", True),
    Task("mixture, N = 60", 60, lambda: latens.GaussianMixture(2, random_state=0, moves=False), "clusters", False),
    Task(
        "binary factors, N = 100",
        100,
        lambda: latens.BinaryFactorAnalysis(1, random_state=0, moves=False, fit_intercept=True),
        "switch",
        False,
    ),
)


def run(setting: Setting) -> list[Table]:
    """Codes of complete rows, and entries that were hidden."""
    rows = [_row(task, setting) for task in TASKS if setting.asks_for(task.name)]
    return [Table("Codes and filled entries at nominal 95 %", rows)]


def _row(task: Task, setting: Setting) -> Row:
    n_sets = N_SETS if setting.name == "full" else 2
    results = setting.results / "intervals" / f"rows-{slug(task.name)}.jsonl"
    sets = answers(results, partial(judged, TASKS.index(task)), n_sets, setting.jobs)
    cells: dict[str, Any] = {"model": task.name, "data sets": n_sets}
    goals = {}
    for part in ("codes", "entries"):
        held, error = clustered([one[part] for one in sets])
        if np.isnan(held):
            continue
        cells |= {part: held, f"{part} two s.e.": 2 * error}
        cells |= {f"{part} upper": held + 2 * error, f"{part} lower": held - 2 * error}
        goals |= {f"{part} upper": at_least(0.93), f"{part} lower": at_most(0.97)}
    return Row(cells, goals)


def judged(which: int, number: int) -> dict[str, list[bool]]:
    """Of one data set: which codes of complete rows, and which hidden entries, were held."""
    task = TASKS[which]
    rng = np.random.default_rng([FIRST_DATA_SET + number, zlib.crc32(task.name.encode())])
    x, z = _drawn(task, rng)
    hidden = rng.random(x.shape) < HOLES
    hidden[np.all(hidden, axis=1), 0] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = task.model().fit(x) if task.codes else None
        codes = _codes_held(found, x, z) if found is not None and found.n_components_ else []
        model = task.model().fit(np.where(hidden, np.nan, x))
        mean, std = model.impute(np.where(hidden, np.nan, x), return_std=True)
    entries = np.abs(mean - x)[hidden] <= Z * std[hidden]
    return {"codes": [bool(one) for one in codes], "entries": [bool(one) for one in entries]}


def _codes_held(model: Any, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    mean, std = (np.asarray(part)[:, 0] for part in model.transform(x, return_std=True))
    sign = np.sign(mean @ z) or 1.0
    scale = np.sqrt(np.mean(z**2)) / np.sqrt(np.mean(mean**2 + std**2)) if isinstance(model, latens.NoisyICA) else 1.0
    return np.asarray(np.abs(sign * scale * mean - z) <= Z * scale * std)


def _drawn(task: Task, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n, noise = task.n, np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    if task.kind == "clusters":
        z = (rng.random(n) < 0.4).astype(float)
        return 3 * z[:, None] * np.array([1.0, 0.5, 0.0]) + rng.normal(size=(n, 3)), z
    if task.kind == "switch":
        z = (rng.random(n) < 0.4).astype(float)
        return 2 * z[:, None] @ LOADINGS + rng.normal(size=(n, 6)) * np.sqrt(noise), z
    z = rng.standard_t(4, size=n) / np.sqrt(2) if task.kind == "heavy" else rng.normal(size=n)
    return z[:, None] @ LOADINGS + rng.normal(size=(n, 6)) * np.sqrt(noise) + 1, z
