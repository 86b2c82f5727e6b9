"""Rows that a model draws look like the frame that it was fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
KINDS = [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis]
QUICK = {"random_state": 0, "max_iter": 9, "moves": False}


def people(n: int = 80) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    z = rng.normal(size=n)
    grade = pd.cut(z + rng.normal(size=n), [-9, -0.5, 0.5, 9], labels=["low", "middle", "high"])
    return pd.DataFrame(
        {
            "height": 170 + 8 * z,
            "age": (40 + 10 * rng.normal(size=n)).round().astype(int),
            "visits": rng.poisson(np.exp(0.5 * z)),
            "weight": (70 + 5 * z + rng.normal(size=n)).astype(np.float32),
            "grade": grade,
            "rank": pd.Categorical(np.where(z > 0, "low", "high"), categories=["low", "high"], ordered=True),
            "town": np.resize(["Ulm", "Bonn", "Kiel"], n),
            "smokes": rng.random(n) < 0.4,
            "asked": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "rooms": pd.Categorical(rng.integers(1, 4, n)),
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_rows_have_the_types_and_categories_of_the_frame(kind: Any, tmp_path: Path) -> None:
    X = people()
    model = kind(2, prune=False, **QUICK).fit(X)
    latens.save(model, tmp_path / "model.latens")
    for each in (model, latens.load(tmp_path / "model.latens")):
        drawn, codes = each.sample(200)
        assert list(drawn.columns) == list(X.columns)
        assert drawn.dtypes.to_dict() == X.dtypes.to_dict()
        assert len(drawn) == len(codes) == 200
        assert set(drawn["town"]) <= {"Ulm", "Bonn", "Kiel"}
        assert drawn["height"].mean() == pytest.approx(X["height"].mean(), abs=3)
        assert drawn["smokes"].mean() == pytest.approx(X["smokes"].mean(), abs=0.2)
        assert (drawn["rank"] == "low").mean() == pytest.approx((X["rank"] == "low").mean(), abs=0.2)
        each.transform(drawn)  # they are rows like those of the fit


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_rows_of_polars(kind: Any) -> None:
    pl = pytest.importorskip("polars")
    X = pl.from_pandas(people().drop(columns=["asked", "rooms"]))
    X = X.with_columns(X["town"].cast(pl.Categorical), X["grade"].cast(pl.Enum(["low", "middle", "high"])))
    drawn, _ = kind(2, prune=False, **QUICK).fit(X).sample(5)
    assert drawn.schema == X.schema


@pytest.mark.parametrize("kind", KINDS)
def test_written_numbers_are_drawn_as_they_are_written_and_arrays_as_arrays(kind: Any) -> None:
    X = people()[["height", "town"]].assign(share=[f"{i % 40}%" for i in range(80)])
    drawn, _ = kind(1, prune=False, **QUICK).fit(X).sample(4)
    assert drawn["share"].dtype == X["share"].dtype
    assert drawn["share"].str.fullmatch(r"-?\d+%").all()
    rows = np.random.default_rng(0).normal(size=(60, 3))
    assert isinstance(kind(1, **QUICK).fit(rows).sample(4)[0], np.ndarray)
