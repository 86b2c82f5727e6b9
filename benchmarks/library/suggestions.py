"""Whether `latens.suggest` names the structure that was planted, "nothing" on noise, and what it costs.

Structures are planted strongly, in 400 rows; what the leader is counts, whether or not it is a clear winner.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.records import answers, slug
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Row, Table, at_least, at_most

__all__ = ["run"]

N, LARGE = 400, (1_000, 30)


def run(setting: Setting) -> list[Table]:
    rows = [_row(name, setting) for name in PLANTED if setting.asks_for(name)]
    tables = [Table(f"What suggest names, {N} rows", rows)]
    if setting.asks_for("time"):
        tables.append(Table("CPU time of suggest at 1,000 x 30", [_time()]))
    return tables


def _row(name: str, setting: Setting) -> Row:
    n_seeds = 10 if setting.name == "full" else 1
    results = setting.results / "suggestions" / f"{setting.name}-{slug(name)}.jsonl"
    found = answers(results, partial(named, name), n_seeds, setting.jobs)
    right = sum(one["named"] == PLANTED[name][0] for one in found)
    others = ", ".join(sorted({str(one["named"]) for one in found if one["named"] != PLANTED[name][0]}))
    seconds = max(one["seconds"] for one in found)
    cells: dict[str, Any] = {"planted": name, "right": Count(right, n_seeds), "else": others, "CPU s": seconds}
    return Row(cells, {"right": at_least(0.9)})


def named(name: str, number: int) -> dict[str, Any]:
    """What is suggested for one data set, and the CPU seconds that it took."""
    x = PLANTED[name][1](np.random.default_rng(FIRST_SEED + number), N)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, answer = cpu_seconds(lambda: latens.suggest(x, max_time=None))
    return {"named": "nothing" if answer.nothing else answer.leader, "seconds": seconds}


def _time() -> Row:
    x = PLANTED["factors"][1](np.random.default_rng(FIRST_SEED), LARGE[0], LARGE[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, _ = cpu_seconds(lambda: latens.suggest(x, max_time=None))
    return Row({"planted": "factors", "CPU s": seconds}, {"CPU s": at_most(60.0)})


def _clusters(rng: np.random.Generator, n: int) -> np.ndarray:
    centres = 3 * rng.normal(size=(4, 6))
    return centres[rng.integers(0, 4, n)] + rng.normal(size=(n, 6))


def _factors(rng: np.random.Generator, n: int, d: int = 10) -> np.ndarray:
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.7 * rng.normal(size=(n, d))


def _switches(rng: np.random.Generator, n: int) -> np.ndarray:
    return latens.datasets.make_shapes(n, random_state=int(rng.integers(2**31)))[0]


def _sources(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.standard_t(2.0, size=(n, 3)) @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(n, 8))


def _classes(rng: np.random.Generator, n: int) -> Any:
    """Measurements, counts, yes and no, and categories of three classes."""
    import pandas as pd

    label = rng.integers(0, 3, n)
    chance = rng.dirichlet(np.ones(3), size=(3, 2))
    columns: dict[str, Any] = {f"size{j}": 3 * rng.normal(size=3)[label] + rng.normal(size=n) for j in range(2)}
    columns |= {f"visits{j}": rng.poisson(rng.gamma(2.0, 3.0, 3)[label]) for j in range(2)}
    columns |= {f"has{j}": np.where(rng.random(n) < rng.uniform(0.05, 0.95, 3)[label], "yes", "no") for j in range(3)}
    for j in range(2):
        reached = np.cumsum(chance[label, j], axis=1)
        columns[f"colour{j}"] = np.array(["red", "green", "blue"])[np.sum(rng.random((n, 1)) > reached[:, :2], axis=1)]
    return pd.DataFrame(columns)


def _normal_noise(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 8))


def _binary_noise(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.random((n, 10)) < 0.3).astype(float)


PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "clusters": ("clusters", _clusters),
    "factors": ("factors", _factors),
    "switches": ("switches", _switches),
    "sources": ("sources", _sources),
    "classes": ("classes", _classes),
    "normal noise": ("nothing", _normal_noise),
    "binary noise": ("nothing", _binary_noise),
}
