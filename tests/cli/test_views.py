"""Answers about several tables of the same rows: every cell in the table and the row that it belongs to."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import done


def rows_of(path: str) -> dict[str, dict[str, float]]:
    with open(path, newline="", encoding="utf-8") as file:
        return {row.pop("row"): {name: float(value) for name, value in row.items()} for row in csv.DictReader(file)}


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, np.ndarray]:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 1))
    return tuple(level + z @ rng.normal(size=(1, 3)) + 0.1 * rng.normal(size=(60, 3)) for level in (10.0, 500.0))


def test_columns_of_one_name_in_two_tables_are_filled_each_from_its_own(
    tables: tuple[np.ndarray, np.ndarray],
) -> None:
    a, b = tables
    b[5, 1] = np.nan
    np.savez("v.npz", a=a, b=b)
    done("fit", "v.npz", "-k", "1", "--report", "none")
    done("impute", "v.latens", "v.npz", "--out", "whole.csv")
    rows = rows_of("whole.csv")
    assert list(rows["0"]) == ["a: x0", "a: x1", "a: x2", "b: x0", "b: x1", "b: x2"]
    found = np.array([list(rows[str(i)].values()) for i in range(60)])
    seen = ~np.isnan(np.column_stack([a, b]))
    np.testing.assert_allclose(found[seen], np.column_stack([a, b])[seen], rtol=1e-12)
    assert abs(found[5, 4] - 500.0) < 10.0


@pytest.mark.extras
def test_rows_that_one_table_lacks_keep_their_names(tables: tuple[np.ndarray, np.ndarray]) -> None:
    import pandas

    names = [f"s{i}" for i in range(60)]
    frames = {
        view: pandas.DataFrame(values, index=names, columns=list("xyz"))
        for view, values in zip("ab", tables, strict=True)
    }
    frames["a"].iloc[:40].to_csv("a.csv")
    frames["b"].iloc[20:].to_csv("b.csv")
    files = ["--view", "a=a.csv", "--view", "b=b.csv"]
    result = done("fit", *files, "-k", "1", "--out", "m.latens", "--report", "m.html")
    assert "a.csv, b.csv: 60 rows" in result.stdout
    assert "of 60 rows by name, a lacks 20, b lacks 20: missing there" in result.stdout
    assert "a lacks 20, b lacks 20" in Path("m.html").read_text(encoding="utf-8")
    assert "60 rows" in Path("m.html").read_text(encoding="utf-8")
    done("impute", "m.latens", *files, "--out", "whole.csv")
    rows = rows_of("whole.csv")
    assert list(rows) == names
    for name, view in (("s0", "a"), ("s30", "a"), ("s30", "b"), ("s59", "b")):
        np.testing.assert_allclose([rows[name][f"{view}: {x}"] for x in "xyz"], frames[view].loc[name], rtol=1e-12)
    assert abs(rows["s59"]["a: x"] - frames["a"].loc["s59", "x"]) < 1.0
    done("transform", "m.latens", *files, "--out", "scores.csv")
    assert list(rows_of("scores.csv")) == names
