"""Predictive intervals of the last column from the others, beside BayesianRidge."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import BayesianRidge

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.real.tables import RealTable, chosen, splits
from benchmarks.setting import Setting
from benchmarks.tables import Row, Table

__all__ = ["run"]

MODELS: dict[str, Any] = {"BayesianLinearRegression": latens.BayesianLinearRegression, "BayesianRidge": BayesianRidge}


def run(setting: Setting) -> list[Table]:
    """How many targets nominal 95 % intervals hold, how wide these are, and the log density of targets."""
    return [Table("Predictive intervals", [row for table in chosen(setting) for row in _rows(table, setting)])]


def _rows(table: RealTable, setting: Setting) -> list[Row]:
    if not table.is_there:
        return [Row({"table": table.name, "model": f"{table.package} is not installed"})]
    return [_row(table, name, setting) for name in MODELS]


def _row(table: RealTable, name: str, setting: Setting) -> Row:
    held, widths, densities, seconds = [], [], [], 0.0
    for train, test in splits(table.load(), setting):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cpu, model = cpu_seconds(lambda train=train: MODELS[name]().fit(train[:, :-1], train[:, -1]))
            mean, std = model.predict(test[:, :-1], return_std=True)
        gap = np.abs(test[:, -1] - mean)
        held.append(gap <= 1.96 * std)
        widths.append(3.92 * std)
        densities.append(norm.logpdf(gap, 0, std))
        seconds += cpu
    return Row(
        {
            "table": table.name,
            "model": name,
            "held": float(np.mean(np.concatenate(held))),
            "median width": float(np.median(np.concatenate(widths))),
            "log density": float(np.mean(np.concatenate(densities))),
            "CPU s": seconds,
        }
    )
