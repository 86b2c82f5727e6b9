"""`latens suggest | compare | stability`, and what --model auto rests on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import latens
from latens.cli.model_names import choose
from latens.intake import read
from tests.cli.commands import call, done


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of two clusters, and two fits of it."""
    folder = tmp_path_factory.mktemp("choosing")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + 5.0 * (np.arange(120) % 2)[:, None]
    for name, rows in (("data", X[:80]), ("test", X[80:])):
        lines = [",".join(f"{value:.4f}" for value in row) for row in rows]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c", *lines]))
    for name, options in (("two", ["-k", "2"]), ("one", ["-k", "1"])):
        model = ["--model", "gaussian-mixture", "--report", "none", "--quiet", "--out", folder / f"{name}.latens"]
        done("fit", folder / "data.csv", *model, *options)
    return folder


def test_compare_ranks_models_by_rows_that_none_has_seen(home: Path) -> None:
    result = done("compare", home / "one.latens", home / "two.latens", "--data", home / "test.csv")
    assert "'two' has the highest log density of 40 rows" in result.stdout
    record = json.loads(done("compare", home / "one.latens", home / "two.latens", "--json").stdout)
    assert (record["best"], record["by"]) == ("two", "bound")
    assert [row["model"] for row in record["table"]] == ["two", "one"]


def test_stability_says_which_components_return(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = done("stability", home / "two.latens", "--data", home / "data.csv", "--samples", "4", "--out", page)
    assert "2 of 2 components return in most of 2 pairs of halves" in result.stdout
    assert "return rate above chance" in page.read_text("utf-8")


def test_suggest_says_when_cells_are_too_few(home: Path) -> None:
    result = done("suggest", home / "data.csv")
    assert "80 rows; 3 columns" in result.stdout
    assert "Too few to tell: 240 cells" in result.stdout


def test_suggest_names_the_command_that_fits_what_it_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    chance = np.array([[0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.9, 0.9, 0.9]])
    np.save(tmp_path / "answers.npy", (rng.random((150, 6)) < chance[rng.integers(2, size=150)]).astype(float))
    record = json.loads(done("suggest", tmp_path / "answers.npy", "--json").stdout)
    assert (record["leader"], record["model"]) == ("clusters", "bernoulli-mixture")
    table = read(tmp_path / "answers.npy")
    choice = choose("auto", table, None)
    assert choice.name == "bernoulli-mixture"
    assert "fill hidden cells best" in choice.why


def test_auto_falls_back_to_kinds_of_columns_and_says_why(home: Path) -> None:
    choice = choose("auto", read(home / "data.csv"), None)
    assert choice.name == "gaussian-mixture"
    assert "all columns are numbers" in choice.why
    assert "Too few to tell" in choice.why
    assert choose("noisy-ica", read(home / "data.csv"), None).why == "as asked"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["compare", "one.latens"], "name two models or more"),
        (["compare", "one.latens", "none.latens"], "there is no file none.latens"),
        (["suggest", "data.csv", "--max-time", "0"], "--max-time 0 leaves no time"),
        (["suggest", "--view", "a=data.csv", "--view", "b=test.csv"], "suggest takes one table"),
        (["stability", "one.latens", "--data", "missing.csv"], "no file missing.csv"),
        (["fit", "data.csv", "--max-time", "-1"], "--max-time -1 leaves no time"),
    ],
)
def test_mistakes_meet_one_line(home: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], words: str) -> None:
    monkeypatch.chdir(home)
    result = call(*typed)
    assert result.exit_code in (1, 2)
    assert words in result.output.strip().splitlines()[-1]
    assert "Traceback" not in result.output


def test_names_and_limits_reach_the_fit(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "named.latens"
    options = ["--component-names", "low,high", "--max-time", "60", "--checkpoint", tmp_path / "kept"]
    arguments = ["--model", "gaussian-mixture", "-k", "2", "--report", "none", "--out", out, *options]
    done("fit", home / "data.csv", *arguments)
    model = latens.load(out)
    assert sorted(model.get_feature_names_out()) == ["high", "low"]
    assert model.max_time == 60


@pytest.mark.extras
def test_latent_classes_take_categories_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = np.arange(90) % 2
    lines = ["size,colour,fond"]
    for k in label:
        colour = ["red", "green", "blue"][k if rng.random() < 0.9 else 2]
        lines.append(f"{rng.normal(5.0 * k):.3f},{colour},{'yes' if rng.random() < 0.2 + 0.6 * k else 'no'}")
    lines[5] = ",red,yes"
    data, out = tmp_path / "d.csv", tmp_path / "m.latens"
    data.write_text("\n".join(lines))
    done("fit", data, "--model", "latent-classes", "--out", out, "--report", tmp_path / "p.html")
    model = latens.load(out)
    assert model.likelihoods_ == {"size": "gaussian", "colour": "categorical", "fond": "bernoulli"}
    filled = done("impute", out, data).stdout
    assert "red" in filled
    assert done("predict", out, data).stdout.split()[:3] == ["row", "class", "probability"]


@pytest.mark.extras
def test_a_device_that_is_not_there_is_refused(home: Path) -> None:
    result = call("fit", home / "data.csv", "--model", "gaussian-mixture", "--device", "nowhere", "--report", "none")
    assert result.exit_code == 2
    assert "--device nowhere cannot be used" in result.output


@pytest.mark.extras
def test_the_next_command_of_suggest_keeps_the_options_that_were_given(home: Path) -> None:
    rows = ["a,b,c,d", *(f"{i % 2 * 9 + i % 5},{i % 2 * 8 + i % 7},{i % 2 * 7 + i % 3},{i % 4}" for i in range(120))]
    (home / "long enough.csv").write_text("\n".join(rows))
    result = done("suggest", home / "long enough.csv", "--drop", "d", "--missing=-999", "--max-time", "10")
    line = next(line for line in result.output.splitlines() if line.startswith("next:"))
    assert line.startswith(f"next: latens fit '{home / 'long enough.csv'}' --drop d --missing=-999 --model ")
    assert line.endswith(" --open")
    assert "--max-time" not in line  # it bounds a search there, a fit here


def test_stability_is_told_on_the_page_where_asked_for(home: Path) -> None:
    page = home / "stable.html"
    done("report", home / "two.latens", "--data", home / "data.csv", "--stability", "--out", page)
    assert "Stable: all 2 clusters return" in page.read_text(encoding="utf-8")
    again = done("report", home / "two.latens", "--out", home / "plain.html", "--json")
    assert json.loads(again.stdout) == {"files": {"page": str(home / "plain.html")}}
    refused = call("report", home / "two.latens", "--stability", "--out", home / "x.html")
    assert refused.exit_code == 2
    assert "--data FILE" in refused.output


def test_causes_have_noise_by_column_as_where_they_were_chosen(numbers: Path) -> None:
    done("fit", numbers, "--model", "binary-factors", "-k", "2", "--report", "none", "--out", "m.latens")
    assert np.shape(latens.load("m.latens").noise_variance_) == (3,)


def baskets_of_three_kinds(folder: Path) -> tuple[Path, Path]:
    """The same baskets as lists of items and as a table of 0 and 1."""
    rng = np.random.default_rng(0)
    kinds = [["bread", "milk", "butter"], ["beer", "chips", "salsa"], ["wipes", "diapers", "talc"]]
    on = rng.random((40, 3)) < 0.4
    on[~on.any(axis=1), 0] = True
    baskets = np.repeat(on, 3, axis=1) & (rng.random((40, 9)) < 0.95)
    items = [item for kind in kinds for item in kind]
    lines = [",".join(item for item, is_in in zip(items, row, strict=True) if is_in) or "bread" for row in baskets]
    table = [",".join("1" if item in line.split(",") else "0" for item in items) for line in lines]
    (folder / "lists.csv").write_text("\n".join(lines))
    (folder / "table.csv").write_text("\n".join([",".join(items), *table]))
    return folder / "lists.csv", folder / "table.csv"


def test_structures_are_tried_on_lists_of_items_as_on_their_table_of_0_and_1(tmp_path: Path) -> None:
    lists, table = (choose("auto", read(path), None) for path in baskets_of_three_kinds(tmp_path))
    assert lists == table
    assert "cells could be hidden and scored" in lists.why


@pytest.mark.extras
@pytest.mark.parametrize("model", ["multi-view", "latent-classes"])
def test_items_keep_their_names_in_models_that_take_no_sparse_rows(model: str, tmp_path: Path) -> None:
    (lists, _), out = baskets_of_three_kinds(tmp_path), tmp_path / "lists.latens"
    found = done("fit", lists, "--model", model, "-k", "3", "--out", out, "--report", "none", "--max-iter", "9").stdout
    assert "salsa" in found
    assert "yes_no_" not in found
    assert "x7" not in found
    assert "salsa" in done("impute", out, lists).stdout.splitlines()[0]
