"""The tables, named before anything was measured; those whose package is not installed are told, not left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sklearn import datasets
from sklearn.model_selection import KFold

from benchmarks.setting import FIRST_SEED, Setting

__all__ = ["TABLES", "RealTable", "chosen", "splits"]

N_SPLITS = 5


@dataclass(frozen=True)
class RealTable:
    name: str
    package: str
    load: Callable[[], np.ndarray]  # (n, D), numbers, rows with holes left out

    @property
    def is_there(self) -> bool:
        return find_spec(self.package) is not None


def _learn(name: str) -> Callable[[], np.ndarray]:
    return lambda: np.asarray(getattr(datasets, f"load_{name}")().data, dtype=float)


def _models(name: str) -> Callable[[], np.ndarray]:
    """All numeric columns of a data set of statsmodels, less those that never vary."""

    def load() -> np.ndarray:
        frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
        x = frame.select_dtypes("number").dropna().to_numpy(dtype=float)
        return x[:, x.std(axis=0) > 0]

    return load


def _diabetes() -> np.ndarray:
    bunch = datasets.load_diabetes(scaled=False)
    return np.column_stack([bunch.data, bunch.target])


def _linnerud() -> np.ndarray:
    bunch = datasets.load_linnerud()
    return np.column_stack([bunch.data, bunch.target])


def _digits() -> np.ndarray:
    """Every fourth picture, in blocks of four by four pixels: counts of ink."""
    pictures = datasets.load_digits().images[::4]
    return pictures.reshape(-1, 4, 2, 4, 2).sum(axis=(2, 4)).reshape(len(pictures), -1)


def _penguins() -> np.ndarray:
    frame = import_module("palmerpenguins").load_penguins().dropna()
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return np.asarray(frame[columns], dtype=float)


TABLES = (
    RealTable("iris", "sklearn", _learn("iris")),
    RealTable("wine", "sklearn", _learn("wine")),
    RealTable("breast cancer", "sklearn", _learn("breast_cancer")),
    RealTable("diabetes", "sklearn", _diabetes),
    RealTable("linnerud", "sklearn", _linnerud),
    RealTable("digits", "sklearn", _digits),
    RealTable("penguins", "palmerpenguins", _penguins),
    RealTable("engel", "statsmodels", _models("engel")),
    RealTable("star98", "statsmodels", _models("star98")),
    RealTable("ccard", "statsmodels", _models("ccard")),
    RealTable("scotland", "statsmodels", _models("scotland")),
    RealTable("anes96", "statsmodels", _models("anes96")),
)
QUICK = ("iris", "linnerud")


def chosen(setting: Setting) -> tuple[RealTable, ...]:
    return TABLES if setting.name == "full" else tuple(table for table in TABLES if table.name in QUICK)


def splits(x: np.ndarray, setting: Setting) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and test rows, in units of the training rows' columns; all five splits, or the first."""
    folds = KFold(N_SPLITS, shuffle=True, random_state=FIRST_SEED).split(x)
    for number, (train, test) in enumerate(folds):
        if number and setting.name != "full":
            return
        spread = x[train].std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        mean = x[train].mean(axis=0)
        yield (x[train] - mean) / scale, (x[test] - mean) / scale
