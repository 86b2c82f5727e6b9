"""Hidden cells: how far filled entries are from the truth, beside scikit-learn's imputers; one model of ours is chosen
by cells hidden in the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.real.tables import RealTable, chosen, splits
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table

__all__ = ["run"]

HIDDEN = 0.15
Fill = Callable[[np.ndarray, np.ndarray], np.ndarray]  # complete training rows, test rows with holes -> filled


def run(setting: Setting) -> list[Table]:
    """Root mean square error of hidden cells in units of the columns, all splits together."""
    rows = [row for table in chosen(setting) for row in _rows(table, setting)]
    ratios = [row.cells["over the best peer"] for row in rows if row.cells["filled by"] == "latens, chosen"]
    close = sum(isinstance(ratio, float) and ratio <= 1.02 for ratio in ratios)
    return [Table("Hidden cells", rows, [f"within 2 % of the best peer on {close} of {len(ratios)} (goal: 8 of 12)"])]


def _rows(table: RealTable, setting: Setting) -> list[Row]:
    if not table.is_there:
        return [Row({"table": table.name, "filled by": f"{table.package} is not installed"})]
    errors: dict[str, list[np.ndarray]] = {name: [] for name in ("latens, chosen", *PEERS)}
    seconds = dict.fromkeys(errors, 0.0)
    for number, (train, test) in enumerate(splits(table.load(), setting)):
        holes = _holes(test, number)
        for name in errors:
            fill = PEERS.get(name) or _chosen
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                cpu, filled = cpu_seconds(lambda fill=fill, train=train, holes=holes: fill(train, holes))
            errors[name].append((filled - test)[np.isnan(holes)])
            seconds[name] += cpu
    sizes = {name: float(np.sqrt(np.mean(np.concatenate(parts) ** 2))) for name, parts in errors.items()}
    best = min(sizes[name] for name in PEERS)
    return [
        Row(
            {
                "table": table.name,
                "filled by": name,
                "error": sizes[name],
                "over the best peer": sizes[name] / best,
                "CPU s": seconds[name],
            }
        )
        for name in sizes
    ]


def _holes(x: np.ndarray, seed: int) -> np.ndarray:
    """Cells hidden at random, at least one of each row seen."""
    rng = np.random.default_rng([FIRST_SEED, seed])
    hidden = rng.random(x.shape) < HIDDEN
    hidden[np.flatnonzero(hidden.all(axis=1)), 0] = False
    return np.where(hidden, np.nan, x)


def _chosen(train: np.ndarray, holes: np.ndarray) -> np.ndarray:
    """The model of ours that does best on cells hidden in a fifth of the training rows."""
    is_test = np.arange(len(train)) % 5 == 0
    holed = _holes(train[is_test], len(train))
    gaps = np.isnan(holed)
    errors = {name: np.mean((fill(train[~is_test], holed) - train[is_test])[gaps] ** 2) for name, fill in OURS.items()}
    return OURS[min(errors, key=lambda name: float(errors[name]))](train, holes)


def _boosted(train: np.ndarray, holes: np.ndarray) -> np.ndarray:
    """Each column from the others."""
    filled = holes.copy()
    for j in np.flatnonzero(np.isnan(holes).any(axis=0)):
        others = np.arange(train.shape[1]) != j
        model = HistGradientBoostingRegressor(random_state=0).fit(train[:, others], train[:, j])
        gaps = np.isnan(holes[:, j])
        filled[gaps, j] = model.predict(holes[gaps][:, others])
    return filled


OURS: dict[str, Fill] = {
    "clusters": lambda train, holes: latens.GaussianMixture(random_state=0, n_jobs=1).fit(train).impute(holes),
    "factors": lambda train, holes: latens.FactorAnalysis(prior="ard", random_state=0).fit(train).impute(holes),
    "views": lambda train, holes: latens.MultiViewFactorAnalysis(random_state=0).fit(train).impute(holes),
}
PEERS: dict[str, Fill] = {
    "IterativeImputer": lambda train, holes: IterativeImputer(random_state=0).fit(train).transform(holes),
    "KNNImputer": lambda train, holes: KNNImputer().fit(train).transform(holes),
    "HistGradientBoosting": _boosted,
}
