"""Forty rows of real tables, a tenth of their cells hidden: what moves that take factors out do to the cells.

Each sample of rows has a mask of its own. Errors are in standard deviations of the columns of the sample, nats are log
densities of a hidden cell under a normal of the filled mean and standard deviation; differences are from the default,
with their standard errors over samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import norm

import latens
from benchmarks.real.tables import TABLES, RealTable
from benchmarks.records import answers, slug
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, Value

__all__ = ["run"]

N, HIDDEN, N_SAMPLES = 40, 0.1, 8
FEWEST_COLUMNS, FEWEST_VALUES = 8, 3
QUICK = "wine"
KEPT = 10  # factors that the default begins with: a quarter of the rows
NUMBERS = (1, 2, 3, 4, 6, 8)  # of which one is best in hindsight
DEFAULT, BEST = "default", "best number in hindsight"
Judged = dict[str, tuple[float, float, float, float]]  # of each fit: factors, bound, error, nats


def run(setting: Setting) -> list[Table]:
    """Small tables, of which all rows are few, and tables of fewer than eight columns are left out."""
    only = setting.only if setting.name == "full" else QUICK
    rows = [row for table in TABLES if only.lower() in table.name for row in _rows(table, setting)]
    return [Table(f"Hidden cells of {N} rows", rows)]


def _rows(table: RealTable, setting: Setting) -> list[Row]:
    if not table.is_there:
        return [Row({"table": table.name, "fit": f"{table.package} is not installed"})]
    x = table.load()
    if len(x) <= N or x.shape[1] < FEWEST_COLUMNS:
        return []
    path = setting.results / "few-rows" / f"{slug(table.name)}.jsonl"
    n_samples = 2 if setting.name == "quick" else N_SAMPLES
    return _compared(table.name, answers(path, partial(judged, x), n_samples, setting.jobs))


def _compared(name: str, found: list[Judged]) -> list[Row]:
    """A row for each fit, the numbers of factors as that which fills cells best on average."""
    scores = {f"{k} factors": np.mean([each[f"{k} factors"][2] for each in found]) for k in NUMBERS}
    best = min(scores, key=lambda fit: float(scores[fit]))
    rows = []
    for fit in (DEFAULT, "no moves", f"{KEPT} kept", best, "by relevance", "by relevance, moves"):
        own = np.array([each[fit] for each in found])
        gap = own - np.array([each[DEFAULT] for each in found])
        error = gap.std(axis=0, ddof=1) / np.sqrt(len(gap))
        cells: dict[str, Value] = {
            "table": name,
            "samples": len(found),
            "fit": f"{BEST}, {fit}" if fit == best else fit,
            "factors": float(own[:, 0].mean()),
            # bounds of another model are of no use beside those of the default
            "bound beside": None if "relevance" in fit else float(gap[:, 1].mean()),
            "error": float(own[:, 2].mean()),
            "beside": float(gap[:, 2].mean()),
            "s.e.": float(error[2]),
            "nats": float(own[:, 3].mean()),
            "nats beside": float(gap[:, 3].mean()),
            "s.e. of nats": float(error[3]),
        }
        rows.append(Row(cells))
    return rows


def judged(x: Any, number: int) -> Judged:
    """All fits of one sample of the rows of a table; those by relevance take most of the time."""
    rng = np.random.default_rng([FIRST_SEED, number])
    x = x[rng.permutation(len(x))[:N]]
    hidden = rng.random(x.shape) < HIDDEN
    hidden[hidden.all(axis=1), 0] = False
    varies = [len(np.unique(column[~absent])) >= FEWEST_VALUES for column, absent in zip(x.T, hidden.T, strict=True)]
    x, hidden = x[:, varies], hidden[:, varies]
    most = x.shape[1] - 1
    views: Mapping[str, dict[str, Any]] = {
        DEFAULT: {},
        "no moves": {"moves": False},
        f"{KEPT} kept": {"n_components": min(KEPT, most), "prune": False},
        **{f"{k} factors": {"n_components": min(k, most), "prune": False} for k in NUMBERS},
    }
    models: dict[str, Any] = {fit: latens.MultiViewFactorAnalysis(**given) for fit, given in views.items()}
    for fit, moves in (("by relevance", False), ("by relevance, moves", True)):
        models[fit] = latens.FactorAnalysis(prior="ard", moves=moves)
    return {fit: _filled(model.set_params(random_state=0, n_jobs=1), x, hidden) for fit, model in models.items()}


def _filled(model: Any, x: Any, hidden: Any) -> tuple[float, float, float, float]:
    shown = np.where(hidden, np.nan, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean, std = model.fit(shown).impute(shown, return_std=True)
    spread = x.std(axis=0)
    gaps, sd = ((mean - x) / spread)[hidden], (std / spread)[hidden]
    nats = norm.logpdf(gaps, scale=np.maximum(sd, 1e-9))
    return float(model.n_components_), float(model.elbo_), float(np.sqrt(np.mean(gaps**2))), float(np.mean(nats))
