"""Columns with a role of their own: weights, exposures, covariates."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from tests.cli.commands import call, done


def test_weights_count_rows(numbers: Path) -> None:
    text = numbers.read_text().splitlines()
    Path("w.csv").write_text("\n".join([text[0] + ",w", *(f"{line},{1 + i % 2}" for i, line in enumerate(text[1:]))]))
    done("fit", "w.csv", "--weights", "w", "--quiet", "--report", "none")
    model = latens.load("w.latens")
    X = latens.read("w.csv", weights="w").encoded().frame()
    weighted = latens.GaussianMixture(random_state=0).fit(X, sample_weight=[1 + i % 2 for i in range(100)])
    assert model.elbo_ == weighted.elbo_


@pytest.mark.extras
def test_exposures_are_a_column_of_the_file_at_the_fit_and_after_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z, depth = rng.normal(size=(80, 1)), rng.uniform(0.5, 5, 80)
    counts = rng.poisson(depth[:, None] * np.exp(1 + z @ rng.normal(size=(1, 6)) * 0.6))
    lines = [",".join(map(str, (*row, f"{d:.3f}"))) for row, d in zip(counts, depth, strict=True)]
    Path("c.csv").write_text("\n".join([",".join([*(f"g{i}" for i in range(6)), "depth"]), *lines]))
    kinds = [f"--likelihood={view}=poisson" for view in latens.read("c.csv", exposure="depth").views()]
    asked = ["--model", "multi-view", "-k", "3", *kinds]
    result = done("fit", "c.csv", "--exposure", "depth", *asked)
    assert "exposure: depth" in result.output
    assert "--exposure depth --out" in result.output
    words = re.sub("</?span[^>]*>", "", Path("c.html").read_text("utf-8"))
    assert "latens stability c.latens --data c.csv --exposure depth" in words
    model = latens.load("c.latens")
    assert model.layout_.exposed
    absent = call("transform", "c.latens", "c.csv")
    assert absent.exit_code == 2
    assert "--exposure NAME" in absent.output
    done("transform", "c.latens", "c.csv", "--exposure", "depth", "--out", "scores.csv")
    scores = np.genfromtxt("scores.csv", delimiter=",", skip_header=1)[:, 1:]
    table = latens.read("c.csv", exposure="depth")
    expected = model.transform(table)
    np.testing.assert_allclose(scores, np.asarray(expected), atol=1e-8)
    done("report", "c.latens", "--data", "c.csv", "--exposure", "depth", "--out", "again.html")
    halves = done("stability", "c.latens", "--data", "c.csv", "--exposure", "depth", "--samples", "2", "--json")
    again = latens.stability(model, table.frame, 2, exposure=table.aside("exposure"))
    assert json.loads(halves.stdout)["verdict"] == again.verdict
    done("fit", "c.csv", *asked, "--exposure", "depth", "-k", "1", "--out", "one.latens", "--report", "none")
    beside = done("compare", "c.latens", "one.latens", "--data", "c.csv", "--exposure", "depth", "--json")
    seen = {row["model"]: row["mean log density"] for row in json.loads(beside.stdout)["table"]}
    assert seen["c"] == pytest.approx(model.score(table), rel=1e-9)
    assert "--exposure NAME" in call("compare", "c.latens", "one.latens", "--data", "c.csv").output
    assert [tuple(row.values()) for row in json.loads(halves.stdout)["table"]] == [tuple(r) for r in again.table.rows]
    assert "--exposure NAME" in call("stability", "c.latens", "--data", "c.csv").output
    refused = call("fit", "c.csv", "--model", "gaussian-mixture", "--exposure", "depth", "--force")
    assert refused.exit_code == 2
    assert "--exposure is for counts" in refused.output


@pytest.mark.extras
def test_classes_take_exposures_and_kinds_of_columns_at_the_fit_and_after_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    label, months = rng.integers(0, 2, 120), rng.uniform(1, 24, 120)
    counts = rng.poisson(months[:, None] * np.array([[0.3, 2.0, 1.0], [2.0, 0.4, 1.0]])[label])
    lines = [",".join(map(str, (*row, "ab"[k], f"{m:.3f}"))) for row, k, m in zip(counts, label, months, strict=True)]
    Path("v.csv").write_text("\n".join(["visits,calls,letters,site,months", *lines]))
    kinds = [f"--likelihood={name}=poisson" for name in ("visits", "calls", "letters")]
    done("fit", "v.csv", "--model", "latent-classes", "-k", "3", "--exposure", "months", *kinds)
    model = latens.load("v.latens")
    assert model.likelihoods_["visits"] == "poisson"
    assert model.n_components_ == 2
    assert "--exposure NAME" in call("predict", "v.latens", "v.csv").output
    done("predict", "v.latens", "v.csv", "--exposure", "months", "--out", "classes.csv")
    found = np.genfromtxt("classes.csv", delimiter=",", skip_header=1)[:, 1]
    assert max(np.mean(found == label), np.mean(found != label)) > 0.95
    for command in ("transform", "impute", "score"):
        done(command, "v.latens", "v.csv", "--exposure", "months", "--out", f"{command}.csv")
    done("report", "v.latens", "--data", "v.csv", "--exposure", "months", "--out", "again.html")
    refused = call("fit", "v.csv", "--model", "latent-classes", "--likelihood", "poisson", "--force")
    assert (refused.exit_code, "names no column; write --likelihood COLUMN=KIND" in refused.output) == (2, True)


@pytest.mark.extras
def test_covariates_are_columns_of_the_file_at_the_fit_and_after_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    batch, age = rng.integers(0, 2, 90), rng.normal(50, 10, 90)
    x = rng.normal(size=(90, 1)) @ rng.normal(size=(1, 6)) + 4 * batch[:, None] + 0.3 * rng.normal(size=(90, 6))
    lines = [
        ",".join([*(f"{v:.4f}" for v in row), f"batch {b}", f"{a:.1f}"])
        for row, b, a in zip(x, batch, age, strict=True)
    ]
    Path("x.csv").write_text("\n".join(["a,b,c,d,e,f,lab,age", *lines]), encoding="utf-8")
    result = done("fit", "x.csv", "--covariates", "lab,age", "-k", "3")
    assert "model: multi-view (--covariates was given)" in result.output
    assert "covariate: lab; covariate: age" in result.output
    table, model = latens.read("x.csv", covariates=["lab", "age"]), latens.load("x.latens")
    again = latens.MultiViewFactorAnalysis(3, likelihoods=model.likelihoods, random_state=0)
    again.fit(table.views(), covariates=table.covariates())
    assert model.elbo_ == pytest.approx(again.elbo_, rel=1e-12)
    assert list(model.covariate_names_) == ["lab = batch 1", "age"]
    done("transform", "x.latens", "x.csv", "--out", "scores.csv")
    scores = np.genfromtxt("scores.csv", delimiter=",", skip_header=1)[:, 1:]
    np.testing.assert_allclose(
        scores, np.asarray(again.transform(table.views(), covariates=table.covariates())), atol=1e-8
    )
    assert "covariates=table.covariates()" in Path("x.html").read_text("utf-8")
    refused = call("fit", "x.csv", "--model", "factor-analysis", "--covariates", "age", "--force")
    assert (refused.exit_code, "--covariates is for multi-view" in refused.output) == (2, True)


def test_exposures_of_what_is_not_taken_as_counts_name_the_option_that_works(numbers: Path) -> None:
    output = call("fit", numbers, "--model", "multi-view", "--exposure", "total")
    assert output.exit_code == 2
    assert "add --likelihood numbers=poisson (or numbers=negative-binomial)" in output.stderr


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Counts of sequenced cells: whole numbers of which some columns alone would be guessed to be counts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    z = rng.normal(size=(120, 1))
    depth = rng.gamma(3.0, 300.0, size=(120, 1))
    means = depth * np.exp(z @ rng.normal(size=(1, 8)) - np.linspace(3.0, 8.0, 8))
    np.savetxt("reads.csv", rng.poisson(means), delimiter=",", fmt="%d", header=",".join("ABCDEFGH"), comments="")
    return Path("reads.csv")


@pytest.mark.extras
def test_exposures_of_one_table_of_numbers_say_the_option_though_some_columns_look_like_counts(reads: Path) -> None:
    refused = call("fit", reads, "--model", "multi-view", "--exposure", "total")
    assert refused.exit_code == 2
    assert "add --likelihood numbers=poisson (or numbers=negative-binomial)" in " ".join(refused.stderr.split())
    kinds = [f"--likelihood={name}=negative-binomial" for name in ("numbers", "counts")]
    done("fit", reads, "--exposure", "total", *kinds, "--max-iter", "5", "-k", "1", "--report", "none")


@pytest.mark.extras
@pytest.mark.parametrize("option", [("--exposure", "total"), ("--covariates", "H")])
def test_what_suggest_says_to_type_names_no_model_that_refuses_its_options(
    reads: Path, option: tuple[str, str]
) -> None:
    result = done("suggest", reads, *option)
    line = next(line for line in result.stdout.splitlines() if line.startswith("next: latens "))
    assert all(word in line for word in option)
    dry = call(*line.removeprefix("next: latens ").replace("--open", "--dry-run").split())
    assert dry.exit_code == 0, dry.output


@pytest.mark.extras
@pytest.mark.parametrize("asked", ["sex", "known.csv:sex"])
def test_groups_are_a_column_of_the_file_or_of_another_and_the_page_reads_them_again(
    tmp_path: Path, monkeypatch: Any, asked: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z, sex = rng.normal(size=60), rng.integers(0, 2, 60)
    X = (np.outer(z, [2.0, 1.5, -1.0, 1.0]) + rng.normal(size=(60, 4)) + 3 * sex[:, None]).round(2)
    words = ["f" if one else "m" for one in sex]
    names = [f"p{i}" for i in range(60)]
    Path("g.csv").write_text("\n".join(["who,a,b,c,d" + (",sex" if asked == "sex" else "")] + [
        ",".join([name, *map(str, row), *([word] if asked == "sex" else [])])
        for name, row, word in zip(names, X, words, strict=True)
    ]))  # fmt: skip
    Path("known.csv").write_text("who,sex\n" + "\n".join(f"{names[i]},{words[i]}" for i in reversed(range(60))))
    done("fit", "g.csv", "--model", "multi-view", "-k", "1", "--groups", asked, "--max-iter", "30")
    model = latens.load("g.latens")
    assert model.layout_.groups == ("f", "m")
    page = Path("g.html").read_text(encoding="utf-8")
    _, code = (html.unescape(block) for block in re.findall(r'<pre class="copied[^"]*">(.*?)</pre>', page, re.S))
    scope: dict[str, Any] = {}
    exec(code, scope)
    assert scope["model"].elbo_ == pytest.approx(model.elbo_, rel=1e-9)
    # answers about rows take them too, and say so where they are left out
    done("score", "g.latens", "g.csv", "--groups", asked, "--out", "told.csv")
    scores = np.loadtxt("told.csv", delimiter=",", skiprows=1, usecols=1)
    alone = latens.read("g.csv", drop=["sex"] if asked == "sex" else [])
    assert scores == pytest.approx(model.score_samples(alone, groups=np.array(words)), abs=1e-6)
    assert "inferred from its values" in done("score", "g.latens", "g.csv", "--out", "guessed.csv").stderr


@pytest.fixture
def roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Counts, numbers, and columns with every role; some numbers are missing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 90
    z, hours, site = rng.normal(size=(n, 1)), rng.uniform(0.5, 3, n).round(2), rng.integers(0, 2, n)
    x = (z @ np.array([[2.0, -1.5, 1.0]]) + 3 * site[:, None] + rng.normal(size=(n, 3))).round(2)
    x[rng.random(x.shape) < 0.05] = np.nan
    calls = rng.poisson(hours[:, None] * np.exp(0.5 + z @ np.array([[0.6, -0.5, 0.4]])))
    head, lines = "who,a,b,c,calls,visits,mails,w,hours,site,age", []
    for i in range(n):
        cells = ["" if value != value else str(value) for value in x[i]]
        cells += [*map(str, calls[i]), str(1 + i % 3), str(hours[i]), "ns"[site[i]], str(20 + i % 41)]
        lines.append(",".join([f"p{i}", *cells]))
    Path("all.csv").write_text("\n".join([head, *lines]), encoding="utf-8")
    # the same in two files, of which one lacks rows and the other has its rows in another order
    parts = [line.split(",") for line in lines]
    first = [",".join([part[0], *part[4:7]]) for part in parts[4:]]
    second = [",".join([part[0], *part[1:4], *part[7:]]) for part in reversed(parts)]
    Path("calls.csv").write_text("\n".join(["who,calls,visits,mails", *first]), encoding="utf-8")
    Path("body.csv").write_text("\n".join(["who,a,b,c,w,hours,site,age", *second]), encoding="utf-8")
    return Path("all.csv")


VIEWS = ["--view", "calls=calls.csv", "--view", "body=body.csv"]
ROLES_OF_FITS = {
    "weights": (["all.csv", "--columns", "a,b,c", "--model", "gaussian-mixture"], ["--weights", "w"]),
    "exposure": (
        ["all.csv", "--columns", "calls,visits,mails", "--model", "latent-classes"],
        ["--exposure", "hours", "--weights", "w"],
    ),
    "groups": (["all.csv", "--columns", "a,b,c", "-k", "1"], ["--groups", "site", "--weights", "w"]),
    "covariates": (["all.csv", "--columns", "a,b,c", "--covariates", "site,age", "-k", "1"], ["--weights", "w"]),
    "target": (["all.csv", "--columns", "b,c,age"], ["--target", "a", "--weights", "w"]),
    "views": ([*VIEWS, "--covariates", "age", "--drop", "hours", "-k", "1"], ["--groups", "site", "--weights", "w"]),
    "exposed views": (
        [*VIEWS, "--likelihood", "calls=poisson", "--drop", "site,age,w", "-k", "1"],
        ["--exposure", "hours"],
    ),
}


def code_of(page: str) -> str:
    """The lines of Python on a page."""
    text = Path(page).read_text(encoding="utf-8")
    return html.unescape(re.findall(r'<pre class="copied python">(.*?)</pre>', text, re.S)[0])


def cells_of(page: str) -> list[str]:
    """The numbers and words in the tables of a page."""
    text = Path(page).read_text(encoding="utf-8")
    return [cell for cell in re.findall(r"<td[^>]*>(.*?)</td>", text, re.S) if "latens" not in cell]


@pytest.mark.extras
@pytest.mark.parametrize("role", list(ROLES_OF_FITS))
def test_the_python_of_pages_passes_what_stood_beside_the_rows(role: str, roles: Path) -> None:
    rows, beside = ROLES_OF_FITS[role]
    done("fit", *rows, *beside, "--out", "m.latens", "--report", "fit.html", "--max-iter", "40", "--quiet")
    assert "No intervals" not in Path("fit.html").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(code_of("fit.html"), scope)
    model = latens.load("m.latens")
    assert scope["model"].elbo_ == pytest.approx(model.elbo_, rel=1e-12)
    assert "No intervals" not in Path("page.html").read_text(encoding="utf-8")
    # a page about the model in its file is of the same rows, and so is what its Python makes
    files = VIEWS if "--view" in rows else ["--data", "all.csv"]
    done("report", "m.latens", *files, *beside, "--out", "again.html")
    assert "No intervals" not in Path("again.html").read_text(encoding="utf-8")
    exec(code_of("again.html"), scope)
    assert cells_of("page.html") == cells_of("again.html")
    if role not in ("target", "exposed views"):
        found = done("stability", "m.latens", *files, *beside, "--samples", "2", "--json")
        assert json.loads(found.stdout)["pairs"] == 1


@pytest.mark.extras
def test_one_new_row_brings_what_stands_beside_it(roles: Path) -> None:
    head, first = roles.read_text(encoding="utf-8").splitlines()[:2]
    Path("one.csv").write_text(f"{head}\n{first}\n", encoding="utf-8")
    rows, beside = ROLES_OF_FITS["exposure"]
    done("fit", *rows, *beside, "--out", "m.latens", "--report", "none", "--quiet")
    done("predict", "m.latens", "all.csv", "--exposure", "hours", "--out", "every.csv")
    done("predict", "m.latens", "one.csv", "--exposure", "hours", "--out", "alone.csv")
    assert Path("every.csv").read_text().splitlines()[:2] == Path("alone.csv").read_text().splitlines()
    assert "mean log density of 1 row:" in done("score", "m.latens", "one.csv", "--exposure", "hours").stdout


@pytest.mark.extras
def test_commands_refuse_what_the_fit_did_not_have_and_ask_for_what_it_had(roles: Path) -> None:
    done("fit", *ROLES_OF_FITS["groups"][0], "--groups", "site", "--out", "g.latens", "--report", "none", "--quiet")
    done("fit", "all.csv", "--columns", "a,b,c", "--model", "multi-view", "-k", "1", "--out", "p.latens", "--quiet")
    asked = call("stability", "g.latens", "--data", "all.csv")
    assert (asked.exit_code, "name their column: --groups COLUMN" in asked.output) == (2, True)
    for option in (["--groups", "site"], ["--exposure", "hours"], ["--target", "age"]):
        refused = call("report", "p.latens", "--data", "all.csv", *option, "--out", "p.html")
        assert (refused.exit_code, f"leave out {option[0]}" in refused.output) == (2, True)
    # of two models that are compared, only those with groups are given them
    found = json.loads(
        done("compare", "g.latens", "p.latens", "--data", "all.csv", "--groups", "site", "--json").stdout
    )
    table = latens.read("all.csv", columns=["a", "b", "c"], groups="site")
    seen = {row["model"]: row["mean log density"] for row in found["table"]}
    grouped, plain = latens.load("g.latens"), latens.load("p.latens")
    assert seen["g"] == pytest.approx(grouped.score_samples(table.frame, groups=table.groups()).mean(), rel=1e-9)
    assert seen["p"] == pytest.approx(plain.score_samples(table.frame).mean(), rel=1e-9)


@pytest.mark.extras
def test_strengths_of_rates_do_not_depend_on_the_unit_of_exposures(roles: Path) -> None:
    from latens.estimators.mixtures.class_rows import class_rows

    table = latens.read("all.csv", columns=["calls", "visits"], exposure="hours")
    kinds = {"calls": "poisson", "visits": "poisson"}
    fits = [
        latens.LatentClassAnalysis(2, likelihoods=kinds, prune=False, random_state=0).fit(
            table.frame, exposure=unit * table.numbers_aside("exposure")
        )
        for unit in (1.0, 3600.0)
    ]
    hours, seconds = ([row.strength for row in class_rows(fit)] for fit in fits)
    assert np.abs(hours[0]).max() > 0.3
    np.testing.assert_allclose(np.abs(seconds), np.abs(hours), rtol=0.02)


@pytest.mark.extras
def test_a_regression_names_the_columns_that_cost_it_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 344 penguins 34 were left for a column of remarks that nothing named."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(f"{a:.3f}", "" if i % 20 == 1 else f"{b:.3f}", ("", "late", "ill")[max(0, i % 10 - 7)], f"{2 * a - b:.4f}")
            for i, (a, b) in enumerate(rng.normal(size=(100, 2)))]  # fmt: skip
    Path("r.csv").write_text("\n".join(["a,b,nest remarks,y", *(",".join(row) for row in rows)]))
    said = done("fit", "r.csv", "--target", "y", "--report", "none").stdout
    assert (
        "80 row(s) with a missing value were left out, and 20 are used: missing are nest remarks in 80, b in 5." in said
    )
    assert "Leave out columns (--drop 'nest remarks' leaves 95 rows), or fill them in first: latens impute." in said
    assert "\n20 of 100 rows used: R²" in said
    found = json.loads(done("fit", "r.csv", "--target", "y", "--report", "none", "--json").stdout)
    assert (found["rows"], found["rows_used"]) == (100, 20)
    said = done("fit", "r.csv", "--target", "y", "--report", "none", "--drop", "nest remarks").stdout
    assert "\n95 of 100 rows used: R²" in said


@pytest.mark.extras
def test_numbers_of_rows_are_told_alike_before_the_fit_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of patients went into fits without a word, those of customers were told after the fit alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    patients = np.cumsum(rng.integers(1, 90, 150))
    rows = [f"{10_000 + p},{5000 + i},{a:.3f},{b:.3f}"
            for i, (p, (a, b)) in enumerate(zip(patients, rng.normal(size=(150, 2)), strict=True))]  # fmt: skip
    Path("p.csv").write_text("\n".join(["patient,customer,a,b", *rows]))
    how = {
        "patient": "every value occurs once, in ascending order",
        "customer": "every value occurs once, at equal steps",
    }
    said = done("fit", "p.csv", "--dry-run").stdout
    for name, words in how.items():
        assert re.search(rf"{name} +number +kept +0 +may number the rows: {words}; --drop {name} leaves it out", said)
    asked = ("--model", "factor-analysis", "-k", "1", "--max-iter", "5", "--report", "none", "--out", "none")
    said = done("fit", "p.csv", *asked).stdout
    for name, words in how.items():
        assert re.search(rf"'{name}' (may )?number the rows: {words}\. .*--drop {name}", said)
    said = done("fit", "p.csv", *asked, "--drop", "patient,customer").stdout
    assert "number the rows" not in said


@pytest.mark.extras
@pytest.mark.parametrize("command", ["predict", "transform", "score", "impute"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_answers_keep_the_heading_of_the_names_of_rows(command: str, suffix: str, mixed: Path) -> None:
    import pandas as pd

    done("fit", mixed, "--model", "latent-classes", "-k", "2", "--report", "none", "--max-iter", "20")
    done(command, "mixed.latens", mixed, "--out", f"answers.{suffix}")
    found = pd.read_parquet("answers.parquet") if suffix == "parquet" else pd.read_csv("answers.csv")
    assert found.columns[0] == "who"
    assert found["who"].tolist() == [f"p{i}" for i in range(80)]
