"""`latens fit` and the commands that ask a fitted model: what they print, write, choose and keep."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import latens
from tests.cli.commands import call, done


def test_numbers_give_clusters_a_model_and_a_page(numbers: Path) -> None:
    result = done("fit", numbers)
    for words in (
        *(
            "100 rows; 3 columns: 3 numbers",
            "model: gaussian-mixture (all columns are numbers; Too few",
            "2 clusters found",
        ),
        *("model: ", "page: ", "next: latens predict n.latens new.csv"),
    ):
        assert words in result.stdout
    assert Path("n.latens").is_file()
    assert Path("n.html").is_file()
    assert "fitting gaussian-mixture" in result.stderr


@pytest.mark.extras
def test_the_page_tells_of_the_file_and_of_what_else_is_known(mixed: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    known = ["who,visits", *(f"p{i},{i % 7}" for i in range(80))]
    (tmp_path / "known.csv").write_text("\n".join(known))
    done("fit", mixed, "--model", "latent-classes", "--metadata", "known.csv", "--max-iter", "20")
    page = (tmp_path / "mixed.html").read_text(encoding="utf-8")
    for words in ("mixed.csv · 80 rows", "Against what you know", "visits", "smokes", "p0", "latens fit mixed.csv"):
        assert words in page
    assert "there is no file" in call("fit", mixed, "--metadata", "nowhere.csv", "--force").output


def test_the_same_as_in_python(numbers: Path) -> None:
    done("fit", numbers, "--quiet", "--report", "none")
    X = latens.read(numbers).encoded().frame()
    model = latens.GaussianMixture(random_state=0).fit(X)
    again = latens.load("n.latens")
    assert again.elbo_ == model.elbo_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(again.feature_names_in_) == ["a", "b", "c"]


def test_quiet_prints_paths_alone_and_none_writes_nothing(numbers: Path, tmp_path: Path) -> None:
    result = done("fit", numbers, "--quiet", "--out", "m.latens", "--report", "none")
    assert result.output == f"{tmp_path / 'm.latens'}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.latens", "n.csv"]


def test_json_tells_everything(numbers: Path) -> None:
    record = json.loads(done("fit", numbers, "--json", "-k", "2:3").stdout)
    assert [column["column"] for column in record["columns"]] == ["a", "b", "c"]
    assert record["columns"][1]["missing"] == 1
    assert (record["model"], record["n_components"], record["rows"]) == ("gaussian-mixture", 2, 100)
    assert [each["asked"] for each in record["sweep"]] == [2, 3]
    assert record["bound"] == max(each["bound"] for each in record["sweep"])
    assert Path(record["files"]["page"]).is_file()


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(numbers: Path, tmp_path: Path) -> None:
    result = done("fit", numbers, "--dry-run", "--drop", "c")
    assert "c       number  dropped    0        as asked" in result.stdout
    assert "model: gaussian-mixture" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["n.csv"]
    record = json.loads(done("fit", numbers, "--dry-run", "--json").stdout)
    assert "bound" not in record
    assert len(record["columns"]) == 3


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("factor-analysis", "factor"),
        ("noisy-ica", "source"),
        ("binary-factors", "cause"),
        ("gaussian-mixture", "cluster"),
    ],
)
def test_a_named_model_is_fitted(model: str, words: str, numbers: Path) -> None:
    result = done("fit", numbers, "--model", model, "-k", "2", "--report", "none", "--out", "m.latens")
    assert f"model: {model} (as asked)" in result.stdout
    assert words in result.stdout
    assert type(latens.load("m.latens")).__name__.lower() in {"factoranalysis", "noisyica", "binaryfactoranalysis",
                                                              "gaussianmixture"}  # fmt: skip


def test_regression_predicts_its_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)).round(3)
    y = 2 * X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=50)
    lines = [f"{a},{b},{c:.4f}" for (a, b), c in zip(X, y, strict=True)]
    Path("r.csv").write_text("\n".join(["a,b,y", *lines, "1.0,,2.0"]))
    result = done("fit", "r.csv", "--target", "y", "--report", "none")
    assert "model: linear-regression (the column 'y' is to be predicted)" in result.stdout
    assert "1 row(s) with a missing value were left out" in result.stdout
    Path("new.csv").write_text("b,a\n0,1\n1,0\n")
    done("predict", "r.latens", "new.csv", "--out", "p.csv")
    rows = [line.split(",") for line in Path("p.csv").read_text().splitlines()]
    assert rows[0] == ["row", "predicted", "sd"]
    assert abs(float(rows[1][1]) - 2) < 0.2
    assert abs(float(rows[2][1]) + 1) < 0.2
    Path("holes.csv").write_text("b,a\n0,1\n,0\n1,0\n")
    result = done("predict", "r.latens", "holes.csv", "--json")
    assert "1 row(s) lack a value; nothing is predicted for them" in result.stderr
    assert [value is None for value in json.loads(result.stdout)["predicted"]] == [False, True, False]


def test_new_rows_are_asked_about(numbers: Path) -> None:
    done("fit", numbers, "--quiet")
    Path("new.csv").write_text("c,b,a\n0,0,0\n6,,6\n6,6,6\n")
    result = done("predict", "n.latens", "new.csv")
    clusters = [line.split()[1] for line in result.stdout.splitlines()[1:]]
    assert clusters[0] != clusters[1] == clusters[2]
    scores = json.loads(done("transform", "n.latens", "new.csv", "--json").stdout)
    assert len(scores) == 3
    assert scores["rows"] == ["0", "1", "2"]
    assert "mean log density of 3 rows" in done("score", "n.latens", "new.csv").stdout
    done("impute", "n.latens", "new.csv", "--out", "full.tsv")
    full = [line.split("\t") for line in Path("full.tsv").read_text().splitlines()]
    assert full[0] == ["row", "a", "b", "c"]
    assert abs(float(full[2][2]) - 6) < 1.5
    done("transform", "n.latens", "new.csv", "--out", "z.npy")
    assert np.load("z.npy").shape == (3, 2)
    page = done("report", "n.latens", "--data", "new.csv", "--out", "again.html").output.strip()
    assert Path(page).is_file()


@pytest.mark.extras
def test_counts_and_kinds_of_columns_are_those_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z, lines = rng.normal(size=90), ["visits,age,site,year"]
    for i in range(90):
        visits = rng.poisson(rng.gamma(0.7, np.exp(1 + z[i])))
        lines.append(
            f"{visits},{40 + 9 * z[i] + rng.normal():.1f},{'abc'[int(np.clip(z[i] + 1.5, 0, 2))]},{2007 + i % 3}"
        )
    Path("v.csv").write_text("\n".join(lines))
    quick = ("--model", "multi-view", "-k", "2", "--report", "none", "--quiet", "--force")
    done("fit", "v.csv", *quick, "--likelihood", "year=ordinal")
    model = latens.load("v.latens")
    again = latens.MultiViewFactorAnalysis(2, likelihoods={"year": "ordinal"}, random_state=0).fit(latens.read("v.csv"))
    assert model.likelihoods_ == again.likelihoods_
    assert model.likelihoods_["scales"] == "ordinal"
    assert set(model.likelihoods_) & {"counts", "dispersed_counts"}
    assert model.elbo_ == again.elbo_
    done("fit", "v.csv", *quick, "--log1p", "visits")
    assert latens.load("v.latens").elbo_ == (
        latens.MultiViewFactorAnalysis(2, random_state=0).fit(latens.read("v.csv", log1p=["visits"])).elbo_
    )
    Path("w.csv").write_text("\n".join([*lines[:40], ",50.0,b,2008"]))
    done("impute", "v.latens", "w.csv", "--out", "full.csv")
    filled = Path("full.csv").read_text().splitlines()
    assert float(filled[1].split(",")[1]) == pytest.approx(float(lines[1].split(",")[0]), abs=1e-9)
    assert 0.5 < float(filled[-1].split(",")[1]) < 30  # visits, not their logarithm


@pytest.mark.extras
def test_a_mixed_table_gives_factors_over_kinds_and_its_encoding_travels_with_the_model(mixed: Path) -> None:
    import pandas

    result = done("fit", mixed, "--model", "multi-view")
    for words in (
        *(
            "5 columns: 2 numbers, 1 yes/no, 1 category; row names: who",
            "1 = yes, 0 = no",
            "3 levels: Lima, Oslo, Rome",
        ),
        "model: multi-view (as asked)",
    ):
        assert words in result.stdout
    model = latens.load("mixed.latens")
    assert model.likelihoods_ == {"numbers": "gaussian", "yes_no": "bernoulli", "categories": "categorical"}
    frame = pandas.read_csv(mixed)
    again = latens.MultiViewFactorAnalysis(random_state=0).fit(latens.read(mixed))
    assert (again.elbo_, again.likelihoods_) == (model.elbo_, model.likelihoods_)
    scores = model.transform(frame)
    done("transform", "mixed.latens", mixed, "--out", "z.csv")
    written = pandas.read_csv("z.csv", index_col="who")
    np.testing.assert_allclose(written.to_numpy(), scores, rtol=1e-12)
    assert list(written.index[:2]) == ["p0", "p1"]
    np.testing.assert_array_equal(model.transform(latens.read(mixed)), scores)
    filled = model.impute(frame)
    assert list(filled.columns) == list(frame.columns)
    assert filled["weight"].notna().all()
    done("impute", "mixed.latens", mixed, "--out", "full.csv")
    full = pandas.read_csv("full.csv", index_col="who")
    assert list(full.columns) == ["height", "weight", "smokes", "town"]
    assert full["weight"].notna().all()
    assert set(full["town"]) == {"Oslo", "Rome", "Lima"}
    model.fit(latens.read(mixed).views())
    assert not hasattr(model, "encodings_")


@pytest.mark.extras
@pytest.mark.parametrize("name", ["multi-view", "latent-classes"])
def test_impute_writes_columns_that_the_model_does_not_use_as_they_were(mixed: Path, name: str) -> None:
    import pandas

    done("fit", mixed, "--model", name, "-k", "2", "--report", "none", "--max-iter", "30")
    frame = pandas.read_csv(mixed)
    n = len(frame)
    frame["note"] = [f"seen {i}" if i % 3 else None for i in range(n)]
    frame["ward"] = [i % 7 if i % 5 else None for i in range(n)]
    frame.to_csv("more.csv", index=False)
    done("impute", "mixed.latens", "more.csv", "--out", "full.csv")
    full = pandas.read_csv("full.csv", index_col="who", dtype={"ward": str})
    assert list(full.columns) == ["height", "weight", "smokes", "town", "note", "ward"]
    assert full["note"].fillna("").tolist() == frame["note"].fillna("").tolist()
    assert full["ward"].fillna("").tolist() == ["" if i % 5 == 0 else str(i % 7) for i in range(n)]
    assert json.loads(done("impute", "mixed.latens", "more.csv", "--json").stdout)["note"][:2] == [None, "seen 1"]


@pytest.mark.extras
def test_a_scale_is_doubted_as_a_number_and_taken_as_levels_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=300)
    lines = [f"{10 * group[i] + rng.normal():.3f},{rng.integers(1, 6)}" for i in range(300)]
    Path("s.csv").write_text("\n".join(["size,rating", *lines]))
    options = ("--model", "latent-classes", "--report", "none", "-k", "8")
    doubted = done("fit", "s.csv", *options).stdout
    assert "column 'rating' is taken as gaussian and has only 5 distinct values" in doubted
    assert "If they are steps of a scale: --likelihood rating=ordinal." in doubted
    assert "2 classes found" in done("fit", "s.csv", *options, "--likelihood", "rating=ordinal").stdout
    assert latens.load("s.latens").likelihoods_ == {"size": "gaussian", "rating": "ordinal"}
    assert "2 classes found" in done("fit", "s.csv", *options, "--category", "rating").stdout
    assert latens.load("s.latens").likelihoods_ == {"size": "gaussian", "rating": "categorical"}


@pytest.mark.extras
def test_impute_names_the_columns_that_a_file_of_numbers_leaves_out(mixed: Path) -> None:
    done("fit", mixed, "--model", "factor-analysis", "--columns", "height,weight", "-k", "1", "--report", "none")
    result = done("impute", "mixed.latens", mixed, "--out", "full.npy")
    assert "left out, as a .npy file holds numbers alone: who, smokes, town" in result.stderr
    assert np.load("full.npy").shape == (80, 2)


def test_a_fit_that_finds_nothing_offers_no_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).normal(size=(12, 3)).round(3)
    Path("noise.csv").write_text("\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]))
    result = done("fit", "noise.csv", "--model", "factor-analysis", "--report", "none")
    assert "0 factors found" in result.stdout
    assert "next: there is nothing to find in new rows yet; give more rows" in result.stdout
    assert "latens transform" not in result.stdout
    refused = call("transform", "noise.latens", "noise.csv", "--out", "scores.csv")
    assert refused.exit_code == 2
    assert "found nothing, so rows have no hidden values; latens score noise.latens FILE" in refused.stderr
    assert not Path("scores.csv").exists()


def test_names_of_clusters_are_written_beside_their_numbers(numbers: Path) -> None:
    arguments = ("--model", "gaussian-mixture", "-k", "2", "--report", "none")
    done("fit", numbers, *arguments)
    assert list(json.loads(done("predict", "n.latens", numbers, "--json").stdout)) == ["rows", "cluster", "probability"]
    done("fit", numbers, *arguments, "--component-names", "small,large")
    found = json.loads(done("predict", "n.latens", numbers, "--json").stdout)
    assert found["name"] == [["small", "large"][k] for k in found["cluster"]]


@pytest.mark.extras
def test_latent_classes_take_columns_as_they_are(mixed: Path) -> None:
    import pandas

    result = done("fit", mixed, "--model", "latent-classes", "-k", "2", "--report", "none", "--max-iter", "100")
    assert "model: latent-classes (as asked)" in result.stdout
    assert "enter as 0 and 1" not in result.stdout
    classes = json.loads(done("predict", "mixed.latens", mixed, "--json").stdout)["class"]
    model = latens.load("mixed.latens")
    np.testing.assert_array_equal(classes, model.predict(latens.read(mixed).frame))
    done("impute", "mixed.latens", mixed, "--out", "full.csv")
    full = pandas.read_csv("full.csv", index_col="who")
    assert full["weight"].notna().all()
    assert set(full["smokes"]) == {"yes", "no"}


@pytest.mark.extras
@pytest.mark.parametrize("model", ["auto", "multi-view"])
def test_numbers_beside_yes_and_no_are_fitted_and_asked_about(model: str, mixed: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(mixed).drop(columns=["town", "who"])
    frame["smokes"] = (frame["smokes"] == "yes").astype(int)
    frame.to_csv("two_kinds.csv", index=False)
    done("fit", "two_kinds.csv", "--model", model, "--out", "m.latens", "--report", "page.html", "--force")
    for command in ("transform", "score", "impute"):
        done(command, "m.latens", "two_kinds.csv", "--out", f"{command}.csv")
    assert pd.read_csv("impute.csv")["weight"].notna().all()
    done("report", "m.latens", "--data", "two_kinds.csv", "--out", "again.html")
    loaded = latens.load("m.latens")
    answer = pd.read_csv("transform.csv").iloc[:, 1:].to_numpy(float)
    assert loaded.transform(frame) == pytest.approx(answer, abs=1e-5)


@pytest.mark.extras
def test_unseen_levels_and_absent_columns_are_said(mixed: Path) -> None:
    done("fit", mixed, "--quiet", "--report", "none")
    Path("new.csv").write_text("town,height,smokes\nParis,180,yes\nRome,160,no\n")
    result = done("transform", "mixed.latens", "new.csv")
    assert "column 'town' holds 1 value(s) that were not there at the fit, taken as missing: 'Paris'" in result.stderr
    assert "1 column(s) of the model are not in this table and are taken as missing: 'weight'" in result.stderr


@pytest.mark.extras
def test_files_by_view_are_aligned_and_any_of_them_suffices(mixed: Path) -> None:
    import pandas

    rng = np.random.default_rng(0)
    names = [f"p{i}" for i in range(80)]
    pandas.DataFrame(rng.normal(size=(80, 6)).round(3), index=names, columns=list("abcdef")).to_csv("rna.csv")
    result = done("fit", "--view", "rna=rna.csv", "--view", f"clinic={mixed}", "-k", "3", "--report", "none",
                  "--out", "v.latens", "--groups", f"{mixed}:smokes", "--drop", "smokes")  # fmt: skip
    assert "model: multi-view (there are 2 tables)" in result.stdout
    done("transform", "v.latens", "--view", "rna=rna.csv", "--out", "z.csv")
    assert len(Path("z.csv").read_text().splitlines()) == 81
    files = ["--view", "rna=rna.csv", "--view", f"clinic={mixed}"]
    done("fit", *files, "-k", "1", "--report", "none", "--out", "one.latens", "--drop", "smokes")
    table = json.loads(done("compare", "v.latens", "one.latens", *files, "--json").stdout)["table"]
    own = json.loads(done("score", "one.latens", *files, "--json").stdout)
    seen = next(row["mean log density"] for row in table if row["model"] == "one")
    assert seen == pytest.approx(np.mean(next(values for name, values in own.items() if name != "rows")), rel=1e-9)


def test_rare_ones_are_taken_to_be_caused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    sets = [["milk", "bread", "butter"], ["beer", "crisps", "nuts"], ["soap"]]
    lines = [",".join(item for j in range(3) if rng.random() < 0.4 for item in sets[j]) for _ in range(150)]
    Path("baskets.csv").write_text("\n".join(line or "water,tea,salt,rice,oil,flour,eggs" for line in lines))
    result = done("fit", "baskets.csv", "--report", "none", "--model", "noisy-or", "-k", "5", "--max-iter", "60")
    assert "lists, of" in result.stdout
    assert "causes found" in result.stdout
    Path("new.csv").write_text("milk,bread\nbeer,nuts,wine\n")
    assert "and" not in done("transform", "baskets.latens", "new.csv").stdout
    dense = (rng.random((60, 4)) < 0.5).astype(float)
    np.save("dense.npy", dense)
    record = json.loads(done("fit", "dense.npy", "--dry-run", "--json").stdout)
    assert record["model"] == "bernoulli-mixture"
    np.save("rare.npy", (rng.random((200, 4)) < 0.1).astype(float))
    assert json.loads(done("fit", "rare.npy", "--dry-run", "--json").stdout)["model"] == "noisy-or"
    np.save("wide.npy", rng.normal(size=(30, 20)))
    assert json.loads(done("fit", "wide.npy", "--dry-run", "--json").stdout)["model"] == "factor-analysis"


def test_names_of_components_that_do_not_suit_do_not_cost_the_fit(numbers: Path) -> None:
    options = ("--model", "gaussian-mixture", "-k", "2", "--report", "none")
    result = call("fit", numbers, *options, "--component-names", "small,large,huge")
    assert result.exit_code == 2
    assert "Error: --component-names small,large,huge are not 2 different names" in result.output
    assert list(latens.load("n.latens").get_feature_names_out()) == ["cluster0", "cluster1"]
    done("fit", numbers, *options, "--component-names", "small,large")
    assert list(latens.load("n.latens").get_feature_names_out()) == ["small", "large"]


@pytest.mark.parametrize("model", ["latent-classes", "factor-analysis", "multi-view"])
def test_filled_tables_write_whole_numbers_as_they_were(numbers: Path, model: str) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{2000 + i % 9},{rng.normal():.3f},{'' if i == 4 else rng.integers(100, 900)}" for i in range(60)]
    Path("whole.csv").write_text("\n".join(["year,x,mass", *lines]))
    options = ("-k", "1", "--report", "none", "--max-iter", "20")
    done("fit", "whole.csv", "--model", model, *options)
    done("impute", "whole.latens", "whole.csv", "--out", "full.csv")
    rows = [line.split(",")[-3:] for line in Path("full.csv").read_text().splitlines()[1:]]
    given = [line.split(",") for line in lines]
    assert [(row[0], row[2]) for row in rows[5:]] == [(row[0], row[2]) for row in given[5:]]
    assert rows[4][:1] == ["2004"]
    assert 100 < float(rows[4][2]) < 900


@pytest.mark.extras
def test_groups_ask_for_factors_of_views(mixed: Path) -> None:
    assert (
        json.loads(done("fit", mixed, "--groups", "town", "--dry-run", "--json").stdout)["why"] == "--groups was given"
    )


def test_models_are_listed_and_those_of_json_exist() -> None:
    text = done("models").stdout
    assert "gaussian-mixture   clusters of rows of numbers" in text
    for each in json.loads(done("models", "--json").stdout):
        assert hasattr(latens, each["estimator"])


@pytest.mark.extras
@pytest.mark.parametrize("model", ["gaussian-mixture", "latent-classes", "multi-view", "factor-analysis"])
def test_the_lines_of_python_on_the_page_give_the_same_fit(model: str, mixed: Path) -> None:
    options = ["--drop", "who", "--model", model, "-k", "2", "--seed", "4"]
    options += ["--drop", "town,smokes"] if model in ("gaussian-mixture", "factor-analysis") else []
    done("fit", mixed, *options, "--quiet")
    page = Path("mixed.html").read_text(encoding="utf-8")
    command, code = (html.unescape(block) for block in re.findall(r'<pre class="copied[^"]*">(.*?)</pre>', page, re.S))
    assert command.startswith(f"latens fit mixed.csv --model {model} --n-components 2")
    assert "--drop who" in command
    assert "--seed 4" in command
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["model"].elbo_ == pytest.approx(latens.load("mixed.latens").elbo_, rel=1e-12)


@pytest.mark.extras
@pytest.mark.parametrize(
    ("options", "sign"),
    [
        (["--target", "weight"], "Predictions on these rows"),
        (["--exposure", "hours", "--model", "latent-classes", "-k", "2"], "Columns by components"),
        (["--covariates", "height", "--model", "multi-view", "-k", "2"], "Covariates"),
    ],
)
def test_the_lines_of_python_on_the_page_give_the_same_page(options: list[str], sign: str, mixed: Path) -> None:
    """What stood beside the rows of the fit stands beside those of the page."""
    rng = np.random.default_rng(0)
    head, *lines = Path(mixed).read_text(encoding="utf-8").splitlines()
    lines = [f"{line},{rng.poisson(2 + i % 3)},{1 + i % 7}" for i, line in enumerate(lines) if i != 7]
    Path("mixed.csv").write_text("\n".join([f"{head},calls,hours", *lines]), encoding="utf-8")
    drop = "who,town,smokes" if "--target" in options else "who"
    done("fit", mixed, "--drop", drop, *options, "--quiet")
    page = Path("mixed.html").read_text(encoding="utf-8")
    _, code = (html.unescape(block) for block in re.findall(r'<pre class="copied[^"]*">(.*?)</pre>', page, re.S))
    exec(code, {})
    assert f">{sign}<" in page
    assert f">{sign}<" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.extras
def test_yes_and_no_keep_their_words_where_no_column_is_a_category(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=120)
    columns = {
        "sex": np.where(rng.random(120) < 0.2 + 0.7 * label, "male", "female"),
        "night": 1 + (rng.random(120) < 0.8 - 0.6 * label),
        "plain": (rng.random(120) < 0.2 + 0.6 * label).astype(int),
        "age": np.round(40 + 20 * label + rng.normal(size=120), 1),
    }
    names, values = list(columns), list(zip(*columns.values(), strict=True))
    lines = [",".join(names), *(",".join(map(str, row)) for row in values)]
    Path("people.csv").write_text("\n".join(lines), encoding="utf-8")
    said = done("fit", "people.csv", "--model", "latent-classes", "-k", "2").stdout
    assert "sex = male" in said
    assert "night = 2" in said
    assert "plain = 1" in said
    assert "sex = male" in Path("people.html").read_text(encoding="utf-8")
    model = latens.load("people.latens")
    plain = latens.read("people.csv").encoded().frame()
    numbers = latens.LatentClassAnalysis(2, random_state=0).fit(plain)
    assert model.elbo_ == pytest.approx(numbers.elbo_, rel=1e-10)  # the same fit, in words
    Path("new.csv").write_text("\n".join(lines[:6]), encoding="utf-8")
    assert "probability" in done("predict", "people.latens", "new.csv").stdout


@pytest.fixture
def baskets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    kinds = [["milk", "bread", "butter"], ["beer", "chips", "wine"]]
    lines = [",".join(item for item in kinds[i % 2] + ["eggs"] if rng.random() < 0.8) or "eggs" for i in range(60)]
    (tmp_path / "baskets.txt").write_text("\n".join(lines))
    return Path("baskets.txt")


def test_lists_of_items_are_fitted_and_items_that_are_new_are_counted(baskets: Path, tmp_path: Path) -> None:
    result = done("fit", baskets, "--format", "transactions", "--max-iter", "50", "--report", "none")
    assert "bernoulli-mixture" in result.stdout
    (tmp_path / "new.txt").write_text("milk,bread,cake\nbeer,chips\nwine,cake,tea\n")
    output = done("transform", "baskets.latens", "new.txt")
    assert output.stderr == (
        "Warning: 2 item(s) of this table were not there at the fit and are left out: 'cake', 'tea'.\n"
    )


def next_command(result: Result) -> list[str]:
    line = next(line for line in result.stdout.splitlines() if line.startswith("next: latens "))
    return shlex.split(line.removeprefix("next: latens "))


@pytest.mark.extras
@pytest.mark.parametrize(
    ("files", "options", "column"),
    [
        ({"": "n"}, [], ""),
        ({"": "n"}, ["--model", "factor-analysis"], ""),
        ({"": "n"}, ["--target", "c"], ""),
        ({"": "m"}, ["--model", "multi-view", "--likelihood", "numbers=poisson", "--exposure", "hours"], "--exposure"),
        ({"left": "n", "right": "m"}, ["--max-iter", "30"], "--view"),
    ],
)
def test_every_command_that_is_suggested_runs(
    files: dict[str, str], options: list[str], column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(80, 1)) * [1.0, -1.0, 0.5]
    names = [f"r{i}" for i in range(80)]
    for name, table, head in (
        ("n", (z + 0.3 * rng.normal(size=z.shape)).round(3), "id,a,b,c"),
        ("m", np.column_stack([rng.poisson(np.exp(1 + z)), rng.integers(1, 9, 80)]), "id,d,e,f,hours"),
    ):
        rows = [",".join([who, *map(str, row)]) for who, row in zip(names, table.tolist(), strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]))
        if name == files.get(""):
            (tmp_path / "new.csv").write_text("\n".join([head, *rows]))
    read = [f"{files['']}.csv"] if "" in files else [f"--view={name}={file}.csv" for name, file in files.items()]
    result = done("fit", *read, *options)
    command = next_command(result)
    assert column in command or not column
    done(*command)
    assert Path(command[command.index("--out") + 1]).read_text().count("\n") == 81
    page = html.unescape(
        Path("n.html" if files.get("") == "n" else "m.html" if "" in files else "views.html").read_text()
    )
    found = re.search(r"halves of the rows: latens (stability [^<]+)", re.sub("</?span[^>]*>", "", page))
    assert (found is None) == ("--target" in options)
    if found is not None:
        done(*shlex.split(found[1]), "--samples", "2", "--max-time", "30")


@pytest.mark.extras
def test_metadata_of_other_rows_are_refused_before_the_fit(mixed: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    (tmp_path / "known.csv").write_text("\n".join(["who,visits", *(f"q{i},{i % 7}" for i in range(80))]))
    result = call("fit", mixed, "--model", "latent-classes", "--metadata", "known.csv")
    assert result.exit_code == 1
    assert "--metadata and the model have no row name in common: 'q0', 'q1' and 78 more, against 'p0'" in result.stderr
    assert "fitting" not in result.stderr
    assert not Path("mixed.latens").exists()


def test_a_page_that_fails_leaves_the_model_and_says_so(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> Path:
        raise ValueError("no ink")

    monkeypatch.setattr(latens, "report", failing)
    result = call("fit", numbers, "--max-iter", "20")
    assert result.exit_code == 1
    assert "n.latens; the page was not:\nError: no ink" in result.stderr
    assert Path("n.latens").is_file()


@pytest.mark.extras
def test_a_dry_run_says_what_it_did_not_try_and_finds_bad_targets(numbers: Path, tmp_path: Path) -> None:
    line = next(line for line in done("fit", numbers, "--dry-run").stdout.splitlines() if line.startswith("model: "))
    assert line.endswith("(all columns are numbers; a dry run tries no structures; the fit does, as latens suggest, "
                         "and may choose another)")  # fmt: skip
    lines = ["a,b,kind", *(f"{i % 7}.5,{i % 5}.25,{['low', 'mid', 'high'][i % 3]}" for i in range(30))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    output = call("fit", "t.csv", "--target", "kind", "--dry-run")
    assert output.exit_code == 2
    assert (
        "the column 'kind' of --target holds no numbers but text, such as 'low', 'mid', 'high'; give" in output.stderr
    )


@pytest.mark.extras
def test_a_third_answer_among_yes_and_no_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    cells = np.where(rng.random((60, 3)) < 0.5, "yes", "no").astype(object)
    cells[4, 1] = "refused"
    (tmp_path / "s.csv").write_text("\n".join(["p,q,r", *(",".join(row) for row in cells)]))
    output = done("fit", "s.csv", "--model", "bernoulli-mixture", "--dry-run").stdout
    assert "'q' hold more than two values ('no', 'refused', 'yes'), and each value enters as a yes/no column" in output
    assert "--model latent-classes takes such a column as one" in output
    assert "more than two values" not in done("fit", "s.csv", "--model", "latent-classes", "--dry-run").stdout


@pytest.mark.extras
def test_a_counter_without_a_heading_does_not_stand_beside_the_names_of_rows(tmp_path: Path) -> None:
    import pandas as pd

    lines = [f"{i + 1},Ann {i},{160 + i * 7 % 31},{i * 11 % 17}.5" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join([",name,height,weight", *lines, "41,Bo,170,"]), encoding="utf-8")
    options = ("--model", "gaussian-mixture", "-k", "1", "--report", "none")
    said = done("fit", tmp_path / "people.csv", *options, "--out", tmp_path / "p.latens")
    assert said.stdout.index("row names: name") < said.stdout.index("model: gaussian-mixture")
    for suffix in ("csv", "parquet"):
        out = tmp_path / f"whole.{suffix}"
        done("impute", tmp_path / "p.latens", tmp_path / "people.csv", "--out", out)
        frame = pd.read_parquet(out) if suffix == "parquet" else pd.read_csv(out)
        assert list(frame.columns) == ["name", "height", "weight"]
        assert frame["name"].iloc[-1] == "Bo"
        assert frame["weight"].notna().all()
