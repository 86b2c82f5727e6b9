"""Answers about several tables of the same rows: every cell in the table and the row that it belongs to."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import latens
from tests.cli.commands import call, done


def rows_of(path: str) -> dict[str, dict[str, float]]:
    with open(path, newline="", encoding="utf-8") as file:
        (_, *columns), *lines = csv.reader(file)
        return {name: dict(zip(columns, map(float, values), strict=True)) for name, *values in lines}


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


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts of common and of rare things, a table of several kinds, and measurements of the same rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(80, 1))
    things = rng.poisson(np.exp(np.array([0.0, 0.5, 2.0, 2.5, 3.0]) + z @ rng.normal(size=(1, 5)) * 0.5))
    words = ["yes" if one else "no" for one in rng.integers(0, 2, 80)]
    clinic = [f"{50 + z[i, 0]:.1f},{30 + i % 41},{rng.poisson(1.5)},{words[i]}" for i in range(80)]
    numbers = (z @ rng.normal(size=(1, 3)) + 0.3 * rng.normal(size=(80, 3))).round(3)
    tables = {
        "cnt": ("a,b,c,d,e", [",".join(map(str, row)) for row in things]),
        "clinic": ("weight,age,visits,smokes", clinic),
        "met": ("m0,m1,m2", [",".join(map(str, row)) for row in numbers]),
    }
    for name, (head, lines) in tables.items():
        text = [f"who,{head}", *(f"p{i},{line}" for i, line in enumerate(lines))]
        Path(f"{name}.csv").write_text("\n".join(text), encoding="utf-8")
    return [f"--view={name}={name}.csv" for name in tables]


@pytest.mark.extras
def test_a_table_of_counts_is_one_view_and_its_likelihood_that_of_all_columns(counts: list[str]) -> None:
    things, clinic, measured = counts
    kinds = {column.kind for column in latens.read("cnt.csv").parts["x"].columns if column.is_kept}
    assert kinds == {"number", "count"}  # alone, each column is taken as what it looks like
    said = done(
        "fit", things, measured, "--likelihood", "cnt=poisson", "-k", "1", "--out", "m.latens", "--report", "none"
    )
    assert "cnt: 6 columns: 5 counts" in said.stdout
    assert latens.load("m.latens").likelihoods_ == {"cnt": "poisson", "met": "gaussian"}
    done("impute", "m.latens", things, measured, "--out", "whole.csv")
    assert list(rows_of("whole.csv")["p0"])[:2] == ["cnt: a", "cnt: b"]
    # of a table of several kinds, the columns that can have it, and the others are named
    said = done(
        "fit", clinic, measured, "--likelihood", "clinic=poisson", "-k", "1", "--out", "c.latens", "--report", "none"
    )
    assert "clinic is poisson in counts alone: numbers hold fractions; yes_no are words." in said.stderr
    found = latens.load("c.latens").likelihoods_
    assert (found["clinic counts"], found["clinic numbers"]) == ("poisson", "gaussian")


@pytest.mark.extras
def test_the_likelihood_of_all_numbers_of_a_file_is_that_of_those_that_can_have_it(counts: list[str]) -> None:
    asked = ["--model", "multi-view", "-k", "1", "--out", "m.latens", "--report", "none"]
    said = done("fit", "clinic.csv", "--likelihood", "numbers=poisson", "--likelihood", "yes_no=categorical", *asked)
    assert "Warning: numbers is poisson in age alone: weight hold fractions." in said.stderr
    model = latens.load("m.latens")
    kinds = {
        name: model.likelihoods_[view]
        for view, own in zip(model.layout_.views, model.layout_.features, strict=True)
        for name in own
    }
    assert (kinds["age"], kinds["weight"]) == ("poisson", "gaussian")


@pytest.mark.extras
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("clinik=poisson", "names no table; give the name of one, 'clinic', 'met'"),
        ("clinic=poison", "'poison' is not known; choose one of 'gaussian'"),
        ("clinic=poisson", "suits no column of clinic: numbers hold fractions"),
    ],
)
def test_likelihoods_that_suit_no_table_are_refused(asked: str, words: str, counts: list[str]) -> None:
    refused = call("fit", *counts[1:], "--drop", "visits", "--likelihood", asked, "-k", "1")
    assert refused.exit_code in (1, 2)
    assert words in refused.stderr


@pytest.mark.extras
def test_pages_of_views_with_outliers_are_written(counts: list[str]) -> None:
    done("fit", *counts[1:], "--likelihood", "met=student", "-k", "1", "--max-iter", "5", "--report", "m.html")
    assert "tails (degrees of freedom)" not in Path("m.html").read_text(encoding="utf-8")


@pytest.mark.extras
def test_halves_of_views_are_halves_of_the_rows_by_name(tables: tuple[np.ndarray, np.ndarray]) -> None:
    import pandas

    names = [f"s{i}" for i in range(60)]
    a, b = (pandas.DataFrame(values, index=names) for values in tables)
    views = {"a": a.iloc[7:], "b": b.iloc[::-1]}
    whole = {"a": a.reindex(names[7:] + names[6::-1]), "b": b.reindex(names[7:] + names[6::-1])}
    whole["a"].iloc[53:] = np.nan
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(views)
    assert latens.stability(model, views, 4).table.rows == latens.stability(model, whole, 4).table.rows


@pytest.mark.extras
def test_pages_of_rows_that_lack_a_whole_table_say_nothing_of_empty_means(counts: list[str]) -> None:
    _, clinic, measured = counts
    done("fit", clinic, measured, "-k", "1", "--max-iter", "5", "--out", "m.latens", "--report", "none")
    said = done("report", "m.latens", measured, "--out", "m.html")
    assert "Mean of empty slice" not in said.stderr
    assert "<h1>met.csv: multi-view</h1>" in Path("m.html").read_text(encoding="utf-8")
