"""What the parts of a page tell of real fits, against the same numbers taken by hand."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.report import Entry, report
from latens.report.measures.hidden_cells import hidden_cells
from latens.report.sections.head import sentence, verdicts
from latens.report.sections.rows.extremes import typical_and_odd
from latens.system.summary_table import Table
from tests.report.reading import Page

N = 200


@pytest.fixture(scope="module")
def clusters() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(N, 4)) * [1, 100, 0.01, 1] + label[:, None] * [5, 0, 0.05, -6] + [0, 1e3, 0, 0]
    return latens.GaussianMixture(6, covariance_type="diag", random_state=0).fit(X), X, label


@pytest.fixture(scope="module")
def factors() -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 2))
    X = (z @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(N, 6))) * 10.0 ** np.arange(-2, 4)
    return latens.FactorAnalysis(2).fit(X), X, z


def test_the_sentence_of_clusters_is_made_of_their_sizes(clusters: Any) -> None:
    model, X, _ = clusters
    words = sentence(Entry(model, X))
    assert words.startswith("3 clusters: the largest")
    assert f"{100 * model.weights_.max():.0f} %" in words
    assert f"{100 * model.weights_.min():.0f} %" in words


def test_shares_of_factors_add_up_to_what_all_explain(factors: Any) -> None:
    model, X, _ = factors
    sizes = Entry(model, X).sizes
    assert sizes is not None
    rebuilt = model.inverse_transform(model.transform(X))
    explained = np.mean(np.var(rebuilt, axis=0) / np.var(X, axis=0))
    assert sizes.total == pytest.approx(explained, rel=1e-9)
    assert f"{100 * explained:.0f} %" in sentence(Entry(model, X))


def test_clusters_are_told_by_their_distance_in_sd_of_each_column(clusters: Any) -> None:
    model, X, _ = clusters
    profile = Entry(model, X).profile
    assert profile is not None
    usual = model.weights_ @ model.means_
    np.testing.assert_allclose(profile.strength, ((model.means_ - usual) / X.std(axis=0)).T)


def test_top_columns_carry_sign_and_interval_in_the_same_unit(factors: Any, tmp_path: Path) -> None:
    model, X, _ = factors
    text = Page(report(model, X, tmp_path / "page.html")).text
    told = {(row[1], row[2]): row for row in model.intervals().rows if row[0] == "components"}
    d = int(np.argmax(np.abs(model.components_[0]) / X.std(axis=0)))
    row = told[str(model.get_feature_names_out()[0]), f"x{d}"]
    ends = [f"{abs(end) / X[:, d].std():.2f}" for end in row[6:8]]
    assert re.search(rf"x{d}\s+\[.{ends[0]}, .{ends[1]}\]", text)


def test_verdicts_say_whether_the_cap_was_reached(clusters: Any) -> None:
    model, X, _ = clusters
    words = str(verdicts(Entry(model, X), "s1"))
    assert "3 clusters needed of at most 6." in words
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = latens.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    assert "All 2 clusters are in use: raise n_components" in str(verdicts(Entry(full, X), "s1"))


def test_hidden_cells_are_filled_better_than_by_means_where_columns_tell_of_each_other(factors: Any) -> None:
    model, X, _ = factors
    cells = hidden_cells(Entry(model, X))
    assert cells is not None
    assert cells.n > 100
    assert cells.error < 0.7
    assert 0.85 < cells.coverage <= 1
    noise = np.random.default_rng(0).normal(size=(N, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        idle = hidden_cells(Entry(latens.FactorAnalysis(1).fit(noise), noise))
    assert idle is not None
    assert idle.error > 0.9


def test_what_is_known_of_the_rows_is_set_against_the_components(factors: Any, tmp_path: Path) -> None:
    model, X, z = factors
    metadata = {"age": [float(v) for v in z[:, 0]], "sex": ["f" if v > 0 else "m" for v in z[:, 1]]}
    text = Page(report(model, X, tmp_path / "page.html", metadata=metadata)).text
    assert "Against what you know" in text
    codes = model.transform(X)
    r = max((np.corrcoef(codes[:, k], z[:, 0])[0, 1] for k in (0, 1)), key=abs)
    assert f"{abs(r):.2f}" in text
    assert "Kruskal-Wallis" in text
    with pytest.raises(ValueError, match="column 'age' of metadata has 3 entries for 200 rows"):
        report(model, X, tmp_path / "other.html", metadata={"age": [1.0, 2.0, 3.0]})


def test_odd_rows_are_the_least_probable_with_the_column_that_makes_them_so(factors: Any) -> None:
    model, X, _ = factors
    X = X.copy()
    X[17, 3] += 30 * X[:, 3].std()
    found = typical_and_odd(Entry(model, X))
    assert found is not None
    odd = found.parts[0].table
    assert odd is not None
    assert odd.rows[0][0] == "row 17"
    assert odd.rows[0][2].startswith("x3 +")


def test_a_regression_is_set_against_its_targets(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(N, 3))
    y = X @ [1.0, -2.0, 0.0] + rng.normal(size=N)
    model = latens.BayesianLinearRegression().fit(X, y)
    text = Page(report(model, X, tmp_path / "page.html", y=y)).text
    assert f"R² {model.score(X, y):.3f} on these rows; 2 of 3 weights lie more than two posterior sd from 0." in text
    assert "Observed against predicted" in text
    assert "Residuals" in text


def test_sources_have_their_courses(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_ica(300, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.NoisyICA(3, max_iter=10, random_state=0).fit(X)
    text = Page(report(model, X, tmp_path / "page.html")).text
    assert "Sources over rows" in text
    assert "tails (degrees of freedom)" in text


def test_views_that_rows_lack_are_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(80, 2))
    views = {name: z @ rng.normal(size=(2, 5)) + rng.normal(size=(80, 5)) for name in ("a", "b")}
    views["b"][:20] = np.nan
    model = latens.MultiViewFactorAnalysis(2, random_state=0).fit(views)
    text = Page(report(model, views, tmp_path / "page.html")).text
    assert "Which rows show which views" in text
    assert "b (75 % of rows)" in text
    assert "Strongest features over the rows" in text


def test_what_was_done_with_a_file_is_told(clusters: Any, tmp_path: Path) -> None:
    model, X, _ = clusters
    treatment = Table(
        ("column", "kind", "note"), (("age", "number", "units removed"), ("id", "dropped", "unique text"))
    )
    about = {"source": "people.csv", "data_notes": ("1 of 5 columns was dropped.",), "treatment": treatment}
    text = Page(report(model, X, tmp_path / "page.html", sweep=[(2, 2, -900.0), (6, 3, -800.0)], **about)).text
    for words in ("people.csv", "units removed", "unique text", "1 of 5 columns was dropped.", "−100.0"):
        assert words in text
    assert "latens fit people.csv --report page.html" in text
    assert "latens.GaussianMixture(covariance_type='diag', n_components=6, random_state=0)" in text


def test_many_rows_are_sampled_and_the_page_says_so(tmp_path: Path) -> None:
    X = np.random.default_rng(4).normal(size=(6000, 3)) * [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.FactorAnalysis(1).fit(X)
    path = report(model, X, tmp_path / "page.html")
    assert "5,000 of 6,000 rows, spread evenly over them." in Page(path).text
    data = json.loads(re.search(r'id="page-data">(.*?)</script>', path.read_text(encoding="utf-8")).group(1))  # type: ignore[union-attr]
    places = data[0]["parts"]["rows"]["first"]
    assert len(places) == 5000
    assert (places[0], places[-1]) == (0, 5999)


def test_a_calculator_is_plain_and_models_without_a_short_answer_have_none(factors: Any, clusters: Any) -> None:
    for model, *_ in (factors, clusters):
        told = model.calculator()
        assert json.loads(json.dumps(told)) == told
        assert told["columns"] == [f"x{d}" for d in range(model.n_features_in_)]
    X, _ = latens.datasets.make_ica(200, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert latens.NoisyICA(2, max_iter=3, random_state=0).fit(X).calculator() is None
