"""CPU time of default fits, one thread, beside the goal for each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.mixture import GaussianMixture

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_most

__all__ = ["run"]

MANY = 100_000  # rows of the larger cases
MOST_BY_BIC, GOAL_SEARCH = 8, 2.0  # clusters that BIC chooses from; times the CPU of that choice
N_TIMES = 3  # that both are done there
PATIENCE = {"full": 120.0, "quick": 1.0}  # s; a fit that takes longer is ended there


@dataclass(frozen=True)
class Case:
    model: str
    data: str
    goal: float  # CPU s
    rows: Callable[[np.random.Generator], np.ndarray]
    large: bool = False  # left out of a quick run


def run(setting: Setting) -> list[Table]:
    """Each case in turn; what is compiled on first use is compiled before."""
    cases = [case for case in CASES if setting.name == "full" or not case.large]
    patience = PATIENCE[setting.name]
    notes = [f"a fit of more than {patience:.0f} s is ended there (max_time)"]
    return [
        Table("Default fits", [_row(case, patience) for case in cases], notes),
        _holes(patience, full=setting.name == "full"),
        _searches(patience, full=setting.name == "full"),
    ]


def _row(case: Case, patience: float) -> Row:
    x = case.rows(np.random.default_rng(FIRST_SEED))
    model, seconds = _fitted(case.model, x, patience)
    cells = {
        "model": case.model,
        "data": case.data,
        "CPU s": seconds,
        "components": model.n_components_,
        "converged": str(model.converged_),
    }
    return Row(cells, {"CPU s": at_most(case.goal)})


def _fitted(name: str, x: np.ndarray, patience: float) -> tuple[Any, float]:
    estimator = getattr(latens, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator(2, random_state=0, n_jobs=1, max_iter=2).fit(x[:60, :200])
        seconds, model = cpu_seconds(lambda: estimator(random_state=0, n_jobs=1, max_time=patience).fit(x))
    return model, seconds


def _holes(patience: float, *, full: bool) -> Table:
    """Rows with missing entries beside the same rows complete."""
    rng = np.random.default_rng(FIRST_SEED)
    shapes = latens.datasets.make_shapes(1500 if full else 100, random_state=0)[0][:, :8]
    tables = {
        "GaussianMixture": (load_wine().data[: None if full else 60], 0.15),
        "BinaryFactorAnalysis": (shapes, 0.1),
    }
    rows = []
    for name, (x, share) in tables.items():
        whole = _fitted(name, x, patience)[1]
        gappy = _fitted(name, np.where(rng.random(x.shape) < share, np.nan, x), patience)[1]
        cells = {"model": name, "missing": share, "CPU s": gappy, "CPU s complete": whole, "times": gappy / whole}
        rows.append(Row(cells, {"times": at_most(3.0)}))
    return Table("Missing entries", rows)


def _searches(patience: float, *, full: bool) -> Table:
    """A default mixture beside scikit-learn's, fitted with every number of clusters of which BIC chooses one."""
    tables = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}
    rows = []
    for name in tables if full else ("iris",):
        x = tables[name]().data
        ours = [_fitted("GaussianMixture", x, patience) for _ in range(N_TIMES)]
        theirs = min(cpu_seconds(lambda x=x: _by_bic(x))[0] for _ in range(N_TIMES))
        seconds = min(own for _, own in ours)
        cells = {"data": name, "components": ours[0][0].n_components_, "CPU s": seconds, "BIC, CPU s": theirs}
        rows.append(Row({**cells, "times": seconds / theirs}, {"times": at_most(GOAL_SEARCH)}))
    note = f"each the fastest of {N_TIMES}"
    return Table(f"GaussianMixture beside scikit-learn's with 1 to {MOST_BY_BIC} clusters by BIC", rows, [note])


def _by_bic(x: np.ndarray) -> int:
    fits = [GaussianMixture(k, random_state=0).fit(x) for k in range(1, MOST_BY_BIC + 1)]
    return 1 + int(np.argmin([fit.bic(x) for fit in fits]))


def _digits(_: np.random.Generator) -> np.ndarray:
    x = load_digits().data[:1347]
    return (x[:, np.argsort(-x.std(axis=0))[:54]] > 7.5).astype(float)


def _causes(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    strength, on = (rng.random((5, d)) < 0.3) * 0.8, rng.random((n, 5)) < 0.2
    return (rng.random((n, d)) > 0.97 * np.prod(1 - on[:, :, None] * strength, axis=1)).astype(float)


def _clusters(rng: np.random.Generator) -> np.ndarray:
    return (4 * rng.normal(size=(5, 20)))[rng.integers(5, size=MANY)] + rng.normal(size=(MANY, 20))


def _binary(rng: np.random.Generator) -> np.ndarray:
    return (rng.random((MANY, 20)) < rng.uniform(0.05, 0.95, size=(5, 20))[rng.integers(5, size=MANY)]).astype(float)


def _sources(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_t(3, size=(MANY, 5)) @ rng.normal(size=(5, 20)) + 0.3 * rng.normal(size=(MANY, 20))


def _factors(rng: np.random.Generator) -> np.ndarray:
    return rng.laplace(size=(MANY, 5)) @ rng.normal(size=(5, 20)) + 0.5 * rng.normal(size=(MANY, 20))


def _wide(rng: np.random.Generator) -> np.ndarray:
    loadings = rng.normal(size=(4, 20_000)) * (rng.random((4, 20_000)) < 0.2)
    return rng.normal(size=(60, 4)) @ loadings + 0.5 * rng.normal(size=(60, 20_000))


CASES = (
    Case("NoisyICA", "wine", 0.3, lambda _: load_wine().data, large=True),
    Case("NoisyICA", "breast cancer", 1.5, lambda _: load_breast_cancer().data, large=True),
    Case("NoisyOr", "936 x 16", 1.5, lambda rng: _causes(rng, 936, 16), large=True),
    Case("NoisyOr", "digits 1,347 x 54", 5.0, _digits, large=True),
    Case("MultiViewFactorAnalysis", "60 x 20,000", 1.5, _wide, large=True),
    Case("BinaryFactorAnalysis", "200,000 shapes", 20.0, lambda _: latens.datasets.make_shapes(200_000)[0], large=True),
    Case("GaussianMixture", "wine", 1.0, lambda _: load_wine().data),
    Case("GaussianMixture", "1e5 x 20", 10.0, _clusters, large=True),
    Case("BernoulliMixture", "1e5 x 20", 3.0, _binary, large=True),
    Case("MultiViewFactorAnalysis", "1e5 x 20", 4.0, _factors, large=True),
    Case("NoisyOr", "1e5 x 20", 10.0, lambda rng: _causes(rng, MANY, 20), large=True),
    Case("NoisyICA", "1e5 x 20", 15.0, _sources, large=True),
)
