"""`--missing`: words and numbers that stand for missing, told at the fit and kept for every later file."""

from __future__ import annotations

import html
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import latens
from latens.errors import MixedNumbers
from tests.cli.commands import call, done

HEAD = "age,income,smokes,town"


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighty people, some of whom would not say."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        [str(20 + i % 50), str(1000 + 13 * (i % 29)), "yes" if rng.random() < 0.5 else "no", ["Oslo", "Rome"][i % 2]]
        for i in range(80)
    ]
    for i, j, word in ((0, 0, "refused"), (1, 2, "Refused"), (2, 2, "refused"), (3, 3, "not asked"), (4, 1, "-7")):
        rows[i][j] = word
    Path("survey.csv").write_text("\n".join([HEAD, *map(",".join, rows)]))
    return Path("survey.csv")


def columns_of(*arguments: str | Path) -> dict[str, dict[str, object]]:
    record = json.loads(done("fit", *arguments, "--dry-run", "--json").stdout)
    return {column["column"]: column for column in record["columns"]} | {"": {"notes": record["notes"]}}


@pytest.mark.extras
def test_words_are_missing_in_columns_of_every_kind_and_it_is_said(survey: Path) -> None:
    before = columns_of(survey)
    assert (before["smokes"]["kind"], before["town"]["kind"]) == ("category", "category")
    after = columns_of(survey, "--missing", "refused", "--missing", "not asked,-7")
    assert {name: each["kind"] for name, each in after.items() if name} == {
        "age": "number", "income": "number", "smokes": "binary", "town": "binary",
    }  # fmt: skip
    assert {name: each["missing"] for name, each in after.items() if name} == {
        "age": 1, "income": 1, "smokes": 2, "town": 1,
    }  # fmt: skip
    assert "refused taken as missing, 2 times" in str(after["smokes"]["note"])
    assert after["income"]["note"] == "-7 taken as missing, once"
    assert after[""]["notes"] == []


@pytest.mark.extras
def test_a_word_that_no_cell_holds_is_told(survey: Path) -> None:
    noted = columns_of(survey, "--missing", "refussed")[""]["notes"]
    assert noted == ["no cell is 'refussed', given as a word for missing: is it spelt so in the file?"]


@pytest.mark.extras
def test_new_rows_are_read_with_the_words_of_the_fit(survey: Path) -> None:
    words = ["--missing", "refused", "--missing", "not asked", "--missing=-7"]
    done("fit", survey, "--model", "latent-classes", "-k", "2", "--report", "none", *words)
    Path("new.csv").write_text(f"{HEAD}\n-7,refused,not asked,Rome\n,,,Rome\n30,1100,yes,Rome\n30,1100,yes,Roma\n")
    rows = json.loads(done("predict", "survey.latens", "new.csv", "--json").stdout)
    assert rows["probability"][0] == rows["probability"][1]
    output = call("predict", "survey.latens", "new.csv")
    assert "'town' holds 1 value(s) that were not there at the fit" in output.stderr
    assert "refused" not in output.stderr
    filled = json.loads(done("impute", "survey.latens", "new.csv", "--json").stdout)
    assert filled["smokes"][0] in ("yes", "no")
    again = call("predict", "survey.latens", "new.csv", "--missing", "roma")
    assert again.stderr == ""
    model = latens.load("survey.latens")
    assert model.encodings_[""].missing_words if "" in model.encodings_ else model.encodings_["x"].missing_words


@pytest.mark.extras
def test_the_line_of_python_on_the_page_names_the_same_words(survey: Path) -> None:
    done("fit", survey, "--model", "latent-classes", "-k", "2", "--missing", "refused", "--missing", "none")
    page = Path("survey.html").read_text(encoding="utf-8")
    assert "latens.read('survey.csv', missing=['refused', 'none'])" in html.unescape(page)
    table = latens.read(survey, missing=["refused", "none"])
    assert table.frame["age"].isna().sum() == 1
    assert latens.read(survey, missing="refused").columns.rows == table.columns.rows


@pytest.mark.extras
def test_a_far_number_that_is_to_be_kept_is_kept_by_the_model_too(survey: Path) -> None:
    lines = survey.read_text().splitlines()
    lines[10:20] = [",".join(["99999", *line.split(",")[1:]]) for line in lines[10:20]]
    survey.write_text("\n".join(lines))
    asked = ["--model", "latent-classes", "-k", "1", "--report", "none"]
    Path("new.csv").write_text(f"{HEAD}\n,1100,yes,Rome\n,1200,no,Oslo\n")
    done("fit", survey, *asked, "--missing", "none")
    ages_of_numbers = json.loads(done("impute", "survey.latens", "new.csv", "--json").stdout)["age"]
    output = done("fit", survey, *asked)
    assert "99999 taken as missing, 10 times (--missing none keeps it)" in output.stdout
    ages_of_missing = json.loads(done("impute", "survey.latens", "new.csv", "--json").stdout)["age"]
    assert min(ages_of_numbers) > 5_000 > 100 > max(ages_of_missing)


def test_numbers_that_are_named_are_missing_where_the_fit_had_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)).round(3)
    x[3, 0] = -9.0
    np.save(tmp_path / "x.npy", x)
    table = latens.read(tmp_path / "x.npy", missing=-9)
    assert [row[3] for row in table.columns.rows] == [1, 0]
    np.save(tmp_path / "new.npy", np.array([[0.5, -9.0], [-9.0, 0.5]]))
    encoded = latens.intake.encode_like(tmp_path / "new.npy", table.encodings)["x"]
    np.testing.assert_array_equal(np.isnan(encoded.matrix), [[False, True], [True, False]])


@pytest.mark.extras
@pytest.mark.parametrize("model", ["multi-view", "latent-classes", "factor-analysis"])
def test_filled_files_write_numbers_as_their_column_does(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.standard_normal(60)
    whole = pd.DataFrame(
        {
            "price": [f"${3000 + 800 * a:,.2f}" for a in z],
            "share": [f"{30 + 10 * a:.0f} %" for a in z + 0.2 * rng.standard_normal(60)],
            "rent": [f"{3000 + 800 * a:,.2f} €".translate({44: ".", 46: ","}) for a in z],
            "sold": [f"{x / 1000:.1f}k" if abs(x) >= 1000 else f"{x:.0f}" for x in 1500 + 400 * z],
            "x": [f"{a:.3f}" for a in z],
        }
    )
    patterns = [r"-?\$\d{1,3}(,\d{3})*\.\d\d", r"-?\d+ %", r"-?\d{1,3}(\.\d{3})*,\d\d €", r"-?(\d+\.\dk|\d{1,3})"]
    holes = whole.mask(rng.random(whole.shape) < 0.1)
    holes.to_csv("t.csv", index=False)
    done("fit", "t.csv", "--model", model, "-k", "1", "--report", "none", "--max-iter", "30")
    done("impute", "t.latens", "t.csv", "--out", "full.csv")
    full = pd.read_csv("full.csv", dtype=str, keep_default_na=False)
    for name, pattern in zip(whole, patterns, strict=False):
        assert (full[name] == whole[name])[holes[name].notna()].all()
        assert full[name].str.fullmatch(pattern).all(), full[name][holes[name].isna()]
    done("impute", "t.latens", "t.csv", "--out", "full.npy")
    assert np.isfinite(np.load("full.npy")).all()
    filled = json.loads(done("impute", "t.latens", "t.csv", "--json").stdout)
    assert filled["price"] == full["price"].tolist()


@pytest.mark.extras
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_filled_files_read_back_as_the_same_numbers(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file with decimal commas, cells with units kept them beside plain numbers with points: 3.668 g for 3668."""
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.standard_normal(60)
    cells = {
        "mass": [f"{4200 + 700 * a:,.0f} g" for a in z],
        "bill": [f"{18 + 2 * a:.1f} mm" for a in z + 0.2 * rng.standard_normal(60)],
        "share": [f"{4 + a:.1f} %" for a in z],
        "x": [f"{a:.3f}" for a in z],
    }
    whole = pd.DataFrame(cells).map(lambda cell: cell.translate({44: ".", 46: ","}))
    whole.mask(rng.random(whole.shape) < 0.1).to_csv("t.csv", sep=";", index=False)
    done("fit", "t.csv", "--model", "factor-analysis", "-k", "1", "--report", "none", "--max-iter", "30")
    done("impute", "t.latens", "t.csv", "--out", f"full.{suffix}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MixedNumbers)
        given, filled = latens.read("t.csv").frame, latens.read(f"full.{suffix}").frame
    seen = given.notna().to_numpy()
    np.testing.assert_array_equal(filled[given.columns].to_numpy()[seen], given.to_numpy()[seen])
    np.testing.assert_allclose(filled[given.columns].mean(), given.mean(), rtol=0.1, atol=0.1)


def test_without_pandas_a_word_says_that_the_fit_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pandas", None)  # installed or not
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.3f},{rng.normal():.3f},{1 + i % 3}" for i in range(60)]
    Path("t.csv").write_text("\n".join(["x,y,c", *lines]))
    options = ("--model", "multi-view", "-k", "1", "--max-iter", "5", "--report", "none")
    said = done("fit", "t.csv", "--category", "c", *options).stdout
    assert (
        "pandas is not installed: columns enter without their names as tables by kind, each level of 'c' as a" in said
    )
    assert "pip install 'latens[table]'" in said
    assert "pandas is" not in done("fit", "t.csv", "--drop", "c", *options).stdout


@pytest.mark.extras
def test_missing_cells_are_counted_by_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{'' if i % 30 == 0 else i % 7 + 0.5},{('NA', 'EU', 'AS')[i % 3]}" for i in range(60)]
    Path("regions.csv").write_text("\n".join(["size,dose,region", *rows]))
    said = done("fit", "regions.csv", "--model", "latent-classes", "-k", "1", "--report", "none").stdout
    assert "missing cells, marks such as NA included: dose 2, region 20\n" in said
