"""Classes against outcomes and covariates: coverage of corrected intervals, beside those of assignments as they are."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import stats

import latens
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, Value, at_least
from latens.estimators.class_association import Assigned, covariates_table

__all__ = ["run"]

MEANS = np.array([0.0, 1.0, 3.0])  # of the outcome, by class
SLOPES = np.array([0.0, 1.0, -1.0])  # log odds of a class for a unit of the covariate
SURE = {"well separated": 0.85, "poorly separated": 0.75}  # probability of the usual answer to an item
N, ITEMS = 1000, 8
Z95 = float(stats.norm.isf(0.025))


def simulated(sure: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Items (n, 8), an outcome, a covariate, and the classes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    odds = np.exp(np.outer(x, SLOPES) + np.array([0.4, 0.0, 0.0]))
    label = (rng.random(N)[:, None] * odds.sum(axis=1)[:, None] > np.cumsum(odds, axis=1)).sum(axis=1)
    usual = np.array([[1] * ITEMS, [1] * (ITEMS // 2) + [0] * (ITEMS // 2), [0] * ITEMS])
    items = (rng.random((N, ITEMS)) < np.where(usual[label] == 1, sure, 1 - sure)).astype(float)
    return items, MEANS[label] + rng.normal(size=N), x, label


def covered(sure: float, seed: int) -> dict[str, list[bool]]:
    """Whether each interval holds the truth."""
    items, y, x, _ = simulated(sure, seed)
    model = latens.LatentClassAnalysis(3, prune=False, n_init=3, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(items)
    # class k of the truth is the one whose items are answered so
    truth_of = np.argsort(np.argsort(-model.means_.sum(axis=1)))
    table = model.associate({"y": y}, items)
    named, assigned = list(model.get_feature_names_out()), np.asarray(model.predict(items))
    found: dict[str, list[bool]] = {"outcomes": [], "outcomes, by assignment": [], "covariate": [],
                                    "covariate, by assignment": []}  # fmt: skip
    for name, low, high in zip(table["cluster"], table["low"], table["high"], strict=True):
        k = named.index(name)
        found["outcomes"].append(bool(low <= MEANS[truth_of[k]] <= high))
        own = y[assigned == k]
        half = Z95 * own.std(ddof=1) / np.sqrt(len(own))
        found["outcomes, by assignment"].append(bool(abs(own.mean() - MEANS[truth_of[k]]) <= half))
    naive = covariates_table(Assigned(np.eye(3)[assigned], tuple(map(str, named))), {"x": x}, None, 0.95)
    for what, answer in (("covariate", model.associate({"x": x}, items, role="covariates")),
                       ("covariate, by assignment", naive)):  # fmt: skip
        for cluster, covariate, low, high in zip(
            answer["cluster"], answer["covariate"], answer["low"], answer["high"], strict=True
        ):
            if covariate == "x":
                slope = SLOPES[truth_of[named.index(cluster)]] - SLOPES[truth_of[0]]
                found[what].append(bool(low <= slope <= high))
    return found


def run(setting: Setting) -> list[Table]:
    rows = []
    for name, sure in SURE.items():
        every = [covered(sure, FIRST_SEED + seed) for seed in range(setting.n_seeds)]
        for what in every[0]:
            each = [np.mean(found[what]) for found in every]
            goals = {} if "by assignment" in what else {"coverage": at_least(0.9)}
            cells: dict[str, Value] = {
                "classes": name,
                "intervals of": what,
                "coverage": float(np.mean(each)),
                "standard error": float(np.std(each) / np.sqrt(len(each))),
            }
            rows.append(Row(cells, goals))
    title = f"Coverage of 95 % intervals, {N} rows, {ITEMS} yes/no items, 3 classes, {setting.n_seeds} data sets"
    return [Table(title, rows)]
