"""Memory of default fits beyond their data: many rows, and many columns of few rows."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.clocks import in_new_process
from benchmarks.library.large import MIB, peak_memory
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["fit_and_tell", "run"]

CHILD = "import sys; from benchmarks.library.memory import fit_and_tell; fit_and_tell(*sys.argv[1:])"
MODELS = (
    "GaussianMixture",
    "BernoulliMixture",
    "LatentClassAnalysis",
    "FactorAnalysis",
    "MultiViewFactorAnalysis",
    "BinaryFactorAnalysis",
    "NoisyOr",
    "NoisyICA",
    "BayesianLinearRegression",
)
BINARY = ("BernoulliMixture", "NoisyOr")
ANSWER = "BayesianLinearRegression"  # its last column is what the others tell
OPTIONS = {"FactorAnalysis": {"n_components": 5}}  # which has to be given
WIDE_OPTIONS = {"GaussianMixture": {"covariance_type": "diag"}}  # full covariances are refused
PATIENCE = 300.0  # s; a fit that takes longer is ended there


def run(setting: Setting) -> list[Table]:
    """Each fit in a process of its own, whose peak nothing else has reached before."""
    many, few = ((100_000, 20), (20, 10_000)) if setting.name == "full" else ((2_000, 10), (20, 500))
    models = list(filter(setting.asks_for, MODELS))
    long = [_row(model, *many) for model in models]
    wide = [_row(model, *few) for model in models]
    return [
        Table(f"Memory beyond the data, {many[0]} x {many[1]}", [Row(one, {"of data": at_most(3.0)}) for one in long]),
        Table(
            f"Few rows, {few[0]} x {few[1]}",
            [Row(one, {"CPU s": at_most(2.0), "peak beyond MiB": at_most(500.0)}) for one in wide],
            [f"GaussianMixture with covariance_type='diag'; a fit of more than {PATIENCE:.0f} s is ended there"],
        ),
    ]


def _row(model: str, n: int, d: int) -> dict[str, Any]:
    answer = in_new_process(CHILD, model, str(n), str(d))
    size = 8 * n * d / MIB
    return {
        "model": model,
        "CPU s": float(answer["cpu"]),
        "peak beyond MiB": float(answer["peak"]),
        "of data": float(answer["peak"]) / size,
        "data MiB": size,
    }


def fit_and_tell(name: str, n: str, d: str) -> None:
    """CPU and memory of one fit, the same kind of fit having loaded what there is to load."""
    import latens

    rng, size = np.random.default_rng(FIRST_SEED), (int(n), int(d))
    x = rng.laplace(size=(size[0], 5)) @ rng.normal(size=(5, size[1]))
    x += 0.5 * rng.normal(size=size)
    x = (x > 0).astype(float) if name in BINARY else x
    options: dict[str, Any] = OPTIONS.get(name, {}) | (WIDE_OPTIONS.get(name, {}) if size[1] > size[0] else {})
    if name != ANSWER:
        options = {"random_state": 0, "n_jobs": 1, "max_time": PATIENCE} | options

    def fit(rows: np.ndarray) -> None:
        model = getattr(latens, name)(**options)
        model.fit(*((rows[:, :-1], rows[:, -1]) if name == ANSWER else (rows,)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(x[:200, :8])
        before, clock = peak_memory(), time.process_time()
        fit(x)
    print(json.dumps({"cpu": time.process_time() - clock, "peak": (peak_memory() - before) / MIB}))
