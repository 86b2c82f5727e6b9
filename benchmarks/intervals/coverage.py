"""How often intervals hold the truth, for every estimator: rules first, truths after.

A number is judged where the fit found as many components as there are. `sound` is what the table said before the
truth was looked at. Data sets are fresh: seeds start at 50,000 with the problem's name. Standard errors are clustered
by data set, since the numbers of one fit err together. The promise: sound numbers hold 90 to 98 % at nominal 95 after
allowing two standard errors, and at least 60 % of the numbers are sound.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from benchmarks.intervals.problems import PROBLEMS, Problem, truth_beside
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least, at_most
from latens.plots.fitted import loadings

__all__ = ["complete", "with_holes"]

LEAST, MOST, MOSTLY_SOUND = 0.90, 0.98, 0.60
Judged = list[tuple[str, bool, bool, bool, float]]  # parameter, sound, held, held by mean field, width


def complete(setting: Setting) -> list[Table]:
    """All entries seen."""
    return _tables(setting, 0.0, "complete")


def with_holes(setting: Setting) -> list[Table]:
    """One entry in ten missing."""
    return _tables(setting, 0.1, "10 % of entries missing")


def _tables(setting: Setting, holes: float, title: str) -> list[Table]:
    rows = [row for problem in PROBLEMS for row in _rows(problem, setting, holes)]
    return [Table(f"Coverage at nominal 95 %, {title}", rows)]


def _rows(problem: Problem, setting: Setting, holes: float) -> list[Row]:
    n_sets = problem.n_sets if setting.name == "full" else 2
    began = time.process_time()
    judge = partial(judged, PROBLEMS.index(problem), holes=holes)
    if setting.jobs > 1:
        with ProcessPoolExecutor(setting.jobs) as pool:
            sets = list(pool.map(judge, range(n_sets)))
    else:
        sets = [judge(number) for number in range(n_sets)]
    found = [one for one in sets if one is not None]
    by_parameter: dict[str, list[Judged]] = defaultdict(list)
    for one in found:
        for name in dict.fromkeys(each[0] for each in one):
            by_parameter[name].append([each for each in one if each[0] == name])
    rows = [_row(f"{problem.name}: {name}", parts, {}) for name, parts in by_parameter.items()]
    extra = {"right K": len(found), "of": n_sets, "CPU s": time.process_time() - began}
    return [*rows, _row(f"{problem.name}: all", found, extra, judged_row=True)]


def judged(which: int, number: int, holes: float) -> Judged | None:
    """One data set: None where the fit found another number of components."""
    problem = PROBLEMS[which]
    rng = np.random.default_rng([FIRST_SEED + number, zlib.crc32(problem.name.encode()), round(100 * holes)])
    x, truth = problem.draw(rng)
    if holes:
        x = np.where(rng.random(x.shape) < holes, np.nan, x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = problem.model().fit(x)
        n_true = truth[problem.loadings].shape[1 if problem.loadings == "mixing" else 0]
        if model.n_components_ != n_true:
            return None
        table, narrow = model.intervals(x), model.intervals(x, method="mean-field")
    components = loadings(model)
    fitted = np.asarray(next(iter(components.values())) if isinstance(components, dict) else components)
    values = _values(truth_beside(problem, truth, fitted), list(map(str, model.get_feature_names_out())))
    by_mean_field = {row[:4]: (row[6], row[7]) for row in narrow.rows}
    answers: Judged = []
    for name, component, feature, view, _, _, low, high, sound, _ in table.rows:
        value = values.get((name, component, feature))
        if value is not None:
            ends = by_mean_field.get((name, component, feature, view), (np.nan, np.nan))
            answers.append((name, sound, low <= value <= high, ends[0] <= value <= ends[1], high - low))
    return answers


def _values(truth: dict[str, np.ndarray], names: Sequence[str]) -> dict[tuple[str, str, str], float]:
    """True numbers by parameter, component and feature, as tables name them."""
    values: dict[tuple[str, str, str], float] = {}
    for name, array in truth.items():
        for place in np.ndindex(array.shape):
            if name in ("weights", "usage"):
                key = (name, names[place[0]], "")
            elif name == "covariances":
                k, d, e = place
                key = (name, names[k], f"x{d}" if d == e else f"x{d}, x{e}")
            elif name == "mixing":
                key = (name, names[place[1]], f"x{place[0]}")
            elif name in ("means", "components"):
                key = (name, names[place[0]], f"x{place[1]}")
            else:
                key = (name, "", f"x{place[0]}" if place else "")
            values[key] = float(array[place])
    return values


def _row(label: str, sets: list[Judged], extra: dict[str, Any], *, judged_row: bool = False) -> Row:
    every = [each for one in sets for each in one]
    sound = [[each for each in one if each[1]] for one in sets]
    coverage, error = _clustered([[each[2] for each in one] for one in sound])
    widths = [each[4] for each in every if each[1]]
    cells: dict[str, Any] = {
        "numbers": label,
        "sound": float(np.mean([each[1] for each in every])) if every else 0.0,
        "sound held": coverage,
        "two s.e.": 2 * error,
        "not sound held": _clustered([[each[2] for each in one if not each[1]] for one in sets])[0],
        "mean field held": _clustered([[each[3] for each in one] for one in sets])[0],
        "median width": float(np.median(widths)) if widths else None,
        **extra,
    }
    if not judged_row or np.isnan(coverage):
        return Row(cells)
    cells |= {"upper": coverage + 2 * error, "lower": coverage - 2 * error}
    return Row(cells, {"upper": at_least(LEAST), "lower": at_most(MOST), "sound": at_least(MOSTLY_SOUND)})


def _clustered(sets: list[list[bool]]) -> tuple[float, float]:
    """A share over all numbers, and its standard error with data sets as clusters."""
    hits, totals = np.array([sum(one) for one in sets], float), np.array([len(one) for one in sets], float)
    if not totals.sum():
        return float("nan"), float("nan")
    share = hits.sum() / totals.sum()
    return float(share), float(np.sqrt(np.sum((hits - share * totals) ** 2)) / totals.sum())
