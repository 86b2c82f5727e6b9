"""Words of yes/no columns, kinds that were guessed, covariates: what pages and summaries say of columns."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from tests.report.reading import Page


def page_data(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script[^>]*id="page-data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def mixed() -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "age": 50 + 9.0 * kind + rng.normal(size=200),
            "smoker": np.where(2 * kind - 1 + rng.normal(size=200) > 0, "yes", "no"),
            "member": rng.random(200) < 0.3 + 0.4 * kind,
        }
    )
    frame.loc[::9, "smoker"] = None
    return frame


@pytest.mark.extras
def test_the_calculator_of_classes_asks_for_the_words_of_a_column(tmp_path: Path) -> None:
    X = mixed()
    model = latens.LatentClassAnalysis(2, random_state=0).fit(X)
    path = latens.report(model, X, tmp_path / "page.html")
    words = page_data(path)[0]["parts"]["calculator"]["words"]
    assert words == [None, ["no", "yes"], ["False", "True"]]


@pytest.mark.extras
def test_the_legend_of_rows_has_the_words_of_a_column(tmp_path: Path) -> None:
    X = mixed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(X)
    path = latens.report(model, X, tmp_path / "page.html")
    colours = {each["name"]: each["levels"] for each in page_data(path)[0]["parts"]["rows"]["colours"]}
    assert sorted(colours["smoker"]) == ["no", "yes"]
    assert sorted(colours["member"]) == ["False", "True"]


@pytest.mark.extras
def test_guessed_likelihoods_stand_in_the_summary_and_on_the_page(tmp_path: Path) -> None:
    X = mixed()
    model = latens.LatentClassAnalysis(2, random_state=0).fit(X)
    assert (
        model.summary().note
        == "likelihoods (guessed): gaussian 'age'; bernoulli 'smoker' (1 = yes), 'member' (1 = True)"
    )
    assert str(model.summary()).splitlines()[-1] == model.summary().note
    assert "was guessed" in Page(latens.report(model, X, tmp_path / "page.html")).text
    chosen = latens.LatentClassAnalysis(2, likelihoods={"age": "gaussian"}, random_state=0).fit(X)
    assert chosen.summary().note.startswith("likelihoods: ")
    assert "was guessed" not in Page(latens.report(chosen, X, tmp_path / "page.html")).text


def test_likelihoods_of_views_stand_in_the_summary() -> None:
    views, _ = latens.datasets.make_multiview(
        80, (8, 6), n_factors=1, likelihoods=("gaussian", "bernoulli"), random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(views)
    assert model.summary().note == "likelihoods (guessed): gaussian 'view0'; bernoulli 'view1'"
    assert latens.FactorAnalysis(1).fit(views["view0"]).summary().note == ""


@pytest.mark.slow
def test_covariates_have_their_strongest_columns_in_sd(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    views, _ = latens.datasets.make_multiview(150, (8, 6), n_factors=1, random_state=0)
    batch, age = rng.choice(["x", "y"], 150), rng.normal(50, 9, 150)
    views["view0"][:, 3] += 4.0 * (batch == "y")
    covariates = {"age": age, "batch": batch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(1, random_state=0, prune=False).fit(views, covariates=covariates)
    page = Page(latens.report(model, views, tmp_path / "page.html", covariates=covariates))
    spread = np.sqrt(np.sum(model.components_["view0"] ** 2, axis=0) + model.noise_variance_["view0"])
    at = model.covariate_names_.index("batch = y")
    effect = model.covariate_coefficients_["view0"][at, 3] / spread[3]
    assert "Covariates" in page.text
    sentence = page.text[page.text.index("batch = y") :]
    number = re.search(r"\+(\d\.\d+)\s+view0: view0_3", sentence)
    assert number is not None
    assert float(number.group(1)) == pytest.approx(effect, abs=0.01)
    assert "model.fit(X, covariates=covariates)" in page.text


def test_probabilities_as_good_as_nothing_are_no_powers_of_ten(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 20_000)
    X = np.column_stack([kind, 1 - kind, rng.random((20_000, 3)) < 0.2 + 0.5 * kind[:, None]]).astype(float)
    model = latens.BernoulliMixture(2, random_state=0).fit(X)
    assert model.means_.min() < 1e-3
    text = latens.report(model, X, tmp_path / "page.html").read_text(encoding="utf-8")
    parts = text[text.index(">Components<") : text.index(">Rows<")]
    assert not re.findall(r">[^<]*\de-0\d", parts)


def test_an_interval_that_rounding_would_close_has_more_digits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 400)
    X = np.column_stack([2007 + kind + 0.001 * rng.normal(size=400), 5 * kind + rng.normal(size=400)])
    model = latens.LatentClassAnalysis(2, random_state=0).fit(X)
    text = latens.report(model, X, tmp_path / "page.html").read_text(encoding="utf-8")
    parts = text[text.index(">Components<") : text.index(">Columns by components<")]
    ends = re.findall(r"\[([\d.,]+), ([\d.,]+)\]", parts)
    assert any(lower.startswith("2,00") for lower, _ in ends)
    assert all(lower != upper for lower, upper in ends)


def test_four_measurements_in_an_array_are_a_table_and_no_image(tmp_path: Path) -> None:
    from sklearn.datasets import load_iris

    X = load_iris().data
    model = latens.GaussianMixture(3, random_state=0).fit(X)
    text = latens.report(model, X, tmp_path / "page.html").read_text(encoding="utf-8")
    assert ">Columns by components<" in text
    assert re.search(r"@media print \{ table\.heat td[^}]*[^-]print-color-adjust: exact", text)  # signs are colours
    assert "as images" not in text
    assert "as images" in latens.report(model, X, tmp_path / "page.html", shape=(2, 2)).read_text(encoding="utf-8")


@pytest.mark.extras
def test_a_category_is_one_column_and_its_other_levels_are_not_missing(tmp_path: Path) -> None:
    X = mixed()
    X["town"] = np.random.default_rng(1).choice(["a", "b", "c", "d"], len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(X)
    text = latens.report(model, X, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "200 rows × 4 columns" in text
    assert "2.9 % of the entries missing" in text  # 23 of 800
