"""The tables, named before anything was measured: their packages, their columns of levels, and at most 500 rows each.

They come with their packages (`pip install palmerpenguins vega_datasets lifelines statsmodels`); those that lie in a
plain file are read without importing the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

__all__ = ["TABLES", "MixedTable", "of_statsmodels"]

MOST_ROWS = 500


def _file(package: str, path: str) -> Any:
    import pandas as pd

    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"the table needs {package}: pip install {package}")
    return pd.read_csv(Path(spec.origin).parent / path, sep=None, engine="python")


def _cars() -> Any:
    from vega_datasets import local_data

    return local_data.cars().drop(columns=["Name", "Year"])


def of_statsmodels(name: str) -> Any:
    from importlib import import_module

    return import_module(f"statsmodels.datasets.{name}").load_pandas().data


def _wine() -> Any:
    from sklearn.datasets import load_wine

    bunch = load_wine(as_frame=True)
    return bunch.data.assign(cultivar=bunch.target)


@dataclass(frozen=True)
class MixedTable:
    name: str
    load: Callable[[], Any]
    levels: tuple[str, ...]  # columns of categories and of yes and no; the others are numbers
    without: tuple[str, ...] = ()

    def frame(self) -> Any:
        """At most 500 rows, drawn once for all; levels as text, numbers as floats."""
        frame = self.load().drop(columns=list(self.without))
        if len(frame) > MOST_ROWS:
            frame = frame.sample(MOST_ROWS, random_state=0)
        frame = frame.reset_index(drop=True)
        for name in frame.columns:
            if name in self.levels:
                frame[name] = [None if value != value or value is None else f"level {value}" for value in frame[name]]
            else:
                frame[name] = frame[name].astype(float)
        return frame


TABLES = (
    MixedTable("penguins", lambda: _file("palmerpenguins", "data/penguins.csv"), ("species", "island", "sex")),
    MixedTable("cars", _cars, ("Cylinders", "Origin")),
    MixedTable("gbsg2", lambda: _file("lifelines", "datasets/gbsg2.csv"), ("horTh", "menostat", "tgrade", "cens")),
    MixedTable("rossi", lambda: _file("lifelines", "datasets/rossi.csv"),
               ("arrest", "fin", "race", "wexp", "mar", "paro")),
    MixedTable("lung", lambda: _file("lifelines", "datasets/lung.csv"), ("status", "sex", "ph.ecog"), ("inst",)),
    MixedTable("anes96", lambda: of_statsmodels("anes96"), ("vote",), ("popul",)),
    MixedTable("fair", lambda: of_statsmodels("fair"), ("occupation", "occupation_husb", "religious")),
    MixedTable("wine", _wine, ("cultivar",)),
)  # fmt: skip
