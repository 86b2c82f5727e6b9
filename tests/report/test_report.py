"""The offline page about fitted models."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import latens.report
from latens.datasets import make_images, make_shapes
from latens.report import Entry, report, report_many
from latens.report.charts.numbers import number
from tests.report.reading import Page, Switches


@pytest.fixture
def shapes(tmp_path: Path) -> tuple[Any, Any, Any, Path]:
    X, truth = make_shapes(50, random_state=0)
    return Switches(truth.components[::-1].copy()), X, truth, tmp_path / "page.html"


def test_the_page_needs_nothing_from_outside(shapes: tuple[Any, Any, Any, Path]) -> None:
    model, X, truth, path = shapes
    page = Page(report(model, X, path, truth=truth))
    assert "://" not in path.read_text(encoding="utf-8")
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    assert [a.get("type") for tag, a in page.tags if tag == "script"] == ["application/json", None]
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/png;base64,"))
    assert "url(" not in path.read_text(encoding="utf-8")
    assert "@import" not in path.read_text(encoding="utf-8")


def test_the_page_is_well_formed(shapes: tuple[Any, Any, Any, Path]) -> None:
    model, X, truth, path = shapes
    page = Page(report(model, X, path, truth=truth))
    assert page.open == []
    expected = {"html", "head", "title", "style", "body", "svg", "text", "line", "rect", "polyline", "img", "table"}
    assert {tag for tag, _ in page.tags} >= expected
    assert "<" not in page.text  # no markup was escaped into text


def test_the_page_shows_the_facts_of_the_fit(shapes: tuple[Any, Any, Any, Path]) -> None:
    model, X, truth, path = shapes
    text = Page(report(model, X, path, truth=truth, title="Hidden shapes")).text
    for fact in (
        "Hidden shapes",
        "Switches",
        "50 rows × 16 columns",
        "8 of 8",
        "−1,000.0",
        "0.100",
        "30",
        "yes",
        "0.300",
    ):
        assert fact in text
    for heading in ("Components", "Components as images", "Usage", "Rows as images", "Bound", "Terms of the bound"):
        assert heading in text
    assert "8 on/off causes, each on in 20 % to 40 % of the rows, explain" in text
    assert "likelihood" in text
    assert "code entropy" in text


def test_learnt_components_stand_beside_the_true_ones_in_matched_order(shapes: tuple[Any, Any, Any, Path]) -> None:
    model, _, truth, path = shapes
    page = Page(report(model, path=path, truth=truth))
    pairs = [image for image in page.images if image.shape == (4, 4, 3)]
    assert len(pairs) == 16
    for true, learnt in zip(pairs[::2], pairs[1::2], strict=True):
        np.testing.assert_array_equal(true, learnt)
    assert re.findall(r"cause(\d), cosine 1.000", page.text) == list("76543210")


def test_a_missing_and_a_surplus_component_are_shown_as_such(tmp_path: Path) -> None:
    truth = make_shapes(1, random_state=0)[1]
    few = Page(report(Switches(truth.components[:6]), path=tmp_path / "few.html", truth=truth)).text
    assert few.count("not found") == 2
    assert "6 of 8" in few
    surplus = np.vstack([truth.components, np.ones(16)])
    many = Page(report(Switches(surplus), path=tmp_path / "many.html", truth=truth)).text
    assert "cause8, without partner" in many


def test_pixels_are_darker_where_values_are_larger(tmp_path: Path) -> None:
    components = np.arange(32.0).reshape(2, 16)
    page = Page(report(Switches(components), path=tmp_path / "page.html"))
    drawn = np.concatenate([image.reshape(-1, 3) for image in page.images if image.shape == (4, 4, 3)])
    assert tuple(drawn[0]) == (255, 255, 255)
    assert np.all(np.diff(drawn[:, 0].astype(int)) < 0)


def test_names_are_escaped_everywhere(tmp_path: Path) -> None:
    evil = '<script>alert("x")</script>'
    truth = make_shapes(1, random_state=0)[1]
    model = Switches(truth.components, names=[f"{evil}{i}" for i in range(8)])
    model.trace_[-1].terms[f"{evil}term"] = 0.0
    path = report(model, path=tmp_path / "page.html", truth=truth, title=evil)
    assert path.read_text(encoding="utf-8").count("<script") == 2
    assert evil in Page(path).text
    table = Switches(np.ones((2, 3)), names=[evil, '"><img src=x>'])
    table.feature_names_in_ = [evil, "'\"", "&"]  # type: ignore[attr-defined]
    path = report(table, path=tmp_path / "table.html")
    assert path.read_text(encoding="utf-8").count("<script") == 2
    assert "src=x" not in {name for _, attributes in Page(path).tags for name in attributes}
    assert [a["src"] for tag, a in Page(path).tags if tag == "img" and a["src"] == "x"] == []


def test_rows_that_are_no_images_become_a_table_in_units_of_each_column(tmp_path: Path) -> None:
    components = np.random.default_rng(0).normal(size=(3, 7))
    X = np.random.default_rng(1).normal(size=(50, 7)) * 10.0 ** np.arange(-3, 4)
    page = Page(report(Switches(components * 10.0 ** np.arange(-3, 4)), X, tmp_path / "page.html"))
    cells = [float(str(a["data-v"])) for tag, a in page.tags if tag == "td" and "data-v" in a]
    np.testing.assert_allclose(
        np.reshape(cells, (7, 3)), (components / X.std(axis=0) * 10.0 ** np.arange(-3, 4)).T, 1e-3
    )
    kinds = [str(a.get("class"))[:1] for tag, a in page.tags if tag == "td" and "data-v" in a]
    strong = [(value, kind) for value, kind in zip(cells, kinds, strict=True) if abs(value) >= 0.1]
    assert {kind for value, kind in strong if value > 0} == {"p"}
    assert {kind for value, kind in strong if value < 0} == {"m"}
    assert "rebuilt" not in page.text


def test_named_columns_are_never_taken_for_an_image(tmp_path: Path) -> None:
    model = Switches(np.eye(4))
    model.feature_names_in_ = ["age", "height", "weight", "pulse"]  # type: ignore[attr-defined]
    page = Page(report(model, path=tmp_path / "page.html"))
    assert page.images == []
    assert "pulse" in page.text


def test_a_given_shape_makes_rows_images(tmp_path: Path) -> None:
    page = Page(report(Switches(np.eye(6)), path=tmp_path / "page.html", shape=(2, 3)))
    assert sum(image.shape == (2, 3, 3) for image in page.images) == 6


def test_large_models_stay_readable_and_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = Switches(rng.normal(size=(150, 200 * 200)), n_iter=20_000)
    path = report(images, path=tmp_path / "images.html")
    assert path.stat().st_size < 5e6
    assert "64 of 150 are shown." in Page(path).text
    genes = Switches(rng.normal(size=(100, 19_999)))
    path = report(genes, path=tmp_path / "genes.html")
    assert path.stat().st_size < 1e6
    assert "Of 19,999 columns, the 93 with the largest entries" in Page(path).text


def test_the_late_rise_of_the_bound_is_not_flattened_by_the_first_steps(tmp_path: Path) -> None:
    model = Switches(np.eye(4))
    path = report(model, path=tmp_path / "page.html")
    assert "It began at −6,000.0, below the axis." in Page(path).text
    (points, *_) = [a["points"] for tag, a in Page(path).tags if tag == "polyline"]
    heights = np.array([float(point.split(",")[1]) for point in str(points).split()])
    on_axis = (heights >= 0) & (heights <= 182)
    assert not on_axis[:2].any()
    assert on_axis[3:].all()


@pytest.mark.parametrize("n_iter", [1, 2, 3])
def test_very_short_fits_have_a_page(n_iter: int, tmp_path: Path) -> None:
    text = Page(report(Switches(np.eye(4), n_iter=n_iter), path=tmp_path / "page.html")).text
    assert "nan" not in text
    assert "bound (nats)" in text


def test_other_restarts_are_drawn_faintly(tmp_path: Path) -> None:
    model = Switches(np.eye(4))
    first = tuple(SimpleNamespace(**{**vars(step), "restart": 1}) for step in model.trace_)
    model.trace_ = first + model.trace_
    page = Page(report(model, path=tmp_path / "page.html"))
    assert [a["class"] for tag, a in page.tags if tag == "polyline"][:2] == ["curve faint", "curve"]


def test_a_model_without_components_has_a_page(tmp_path: Path) -> None:
    empty = Switches(np.zeros((0, 16)))
    assert "No component was needed" in Page(report(empty, path=tmp_path / "page.html")).text
    truth = make_shapes(1, random_state=0)[1]
    assert Page(report(empty, path=tmp_path / "page.html", truth=truth)).text.count("not found") == 8


def test_several_models_share_one_page_with_an_overview(tmp_path: Path) -> None:
    entries = []
    for title, make in (("Shapes", make_shapes), ("Images", make_images)):
        X, truth = make(20, random_state=0)
        entries.append(Entry(Switches(truth.components), X, truth, title))
    page = Page(report_many(entries, tmp_path / "page.html", "Both"))
    places = [a["id"] for tag, a in page.tags if tag == "section" and a.get("class") == "chapter"]
    assert [str(a["href"]).removeprefix("#") for tag, a in page.tags if tag == "a"][:3] == places
    assert page.text.count("8 of 8") == 4  # once in the overview and once in its own chapter
    assert page.open == []


def test_an_unfitted_model_is_refused_and_no_page_appears(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="SimpleNamespace is not fitted"):
        report(SimpleNamespace(n_components=3), path=tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_where_rows_go_is_told_its_place(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = latens.GaussianMixture(random_state=0).fit(np.random.default_rng(0).normal(size=(30, 2)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=r"the third argument: latens.report\(model, X, 'page.html'\)"):
        latens.report(model, kind("page.html"))
    assert not list(tmp_path.iterdir())


def test_the_package_itself_can_be_called(tmp_path: Path) -> None:
    path = latens.report(Switches(np.eye(4)), path=tmp_path / "page.html")  # type: ignore[operator]
    assert path.is_file()


def test_a_measured_time_replaces_that_of_the_trace(tmp_path: Path) -> None:
    path = report_many([Entry(Switches(np.eye(4)), seconds=12.5)], tmp_path / "page.html")
    assert "12.50" in Page(path).text


def test_a_curve_is_called_what_it_is(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_factor_model(150, n_features=5, n_components=2, random_state=0)
    y = X @ np.arange(5.0) + np.random.default_rng(0).normal(size=150)
    bits = (X > 0).astype(float)
    pages = {
        "bound of the log evidence": latens.FactorAnalysis(prior="ard").fit(X),
        "The log-likelihood at the estimated": latens.FactorAnalysis(2).fit(X),
        "bound of the log-likelihood at the estimated": latens.NoisyICA(2, prior="ml", max_iter=5, tol=0).fit(X),
        "The log evidence, all constants in": latens.BayesianLinearRegression().fit(X, y),
        "prequential log score": latens.FactorAnalysis(2, solver="online-em", random_state=0).fit(X),
    }
    gamma = latens.BayesianLinearRegression("gamma", "gamma").fit(X, y)
    exact = latens.NoisyOr(2, prior="ml", max_iter=5, tol=0, random_state=0).fit(bits)
    cases = [*pages.items(), ("bound of the log evidence", gamma), ("The log-likelihood at the estimated", exact)]
    for i, (words, model) in enumerate(cases):
        text = Page(report(model, path=tmp_path / f"{i}.html")).text
        assert words in text
        others = {other for other in pages if other != words}
        assert not [other for other in others if other in text]
        online = words == "prequential log score"
        assert ("converged" in text.lower()) != online
        assert ("Terms of the" in text) != online
        assert "log score (nats)" in text or not online


def test_models_of_different_curves_are_not_compared_in_one_column(tmp_path: Path) -> None:
    X, _ = latens.datasets.make_factor_model(150, n_features=5, n_components=2, random_state=0)
    entries = [Entry(latens.FactorAnalysis(2, prior=prior).fit(X), title=prior) for prior in ("ml", "ard")]
    text = Page(report_many(entries, tmp_path / "page.html")).text
    overview = text[: text.index("FactorAnalysis: low-rank factors")]
    assert "log-likelihood (nats)" in overview
    assert "bound (nats)" in overview


def test_a_regression_shows_its_weights(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 1e6, 1.0]
    y = X @ [2.0, 3e-6, 0.0] + 5 + rng.normal(size=200)
    model = latens.BayesianLinearRegression().fit(X, y)
    model.feature_names_in_ = np.array(["age", "income <", "nothing"], dtype=object)
    path = report(model, X, tmp_path / "page.html")
    page = Page(path)
    for words in (
        "Weights",
        "age",
        "income <",
        "nothing",
        "intercept",
        "s.d.",
        "precision of the weights",
        "precision of the noise",
        "noise (s.d.)",
    ):
        assert words in page.text
    assert "income <b" not in path.read_text(encoding="utf-8")
    for value in (
        *model.coef_,
        *np.sqrt(np.diag(model.coef_covariance_)),
        model.weight_precision_,
        model.noise_precision_,
    ):
        assert number(float(value)) in page.text
    assert sum(tag == "circle" for tag, _ in page.tags) == 3  # a dot for each weight
    assert model.column_spread_ == pytest.approx(X.std(axis=0))


def test_classes_are_told_by_their_profiles(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=200)
    x = np.column_stack([rng.normal(6.0 * label), rng.choice([1.0, 2.0, 7.0], 200), rng.poisson(1 + 9 * label)])
    model = latens.LatentClassAnalysis(4, likelihoods={1: "categorical"}, random_state=0).fit(x)
    page = latens.report(model, x, tmp_path / "page.html").read_text()
    assert "All numbers of the classes" in page
    assert "P(7)" in page
    assert f"Relative entropy {model.entropy_:.3f}" in page


def test_labels_and_components_are_a_truth_and_what_says_nothing_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=80)
    X = np.column_stack([6.0 * label, -6.0 * label, np.zeros(80)]) + rng.normal(size=(80, 3))
    clusters = latens.GaussianMixture(2, random_state=0, n_jobs=1).fit(X)
    assert "true found 2 of 2" in Page(report(clusters, X, tmp_path / "page.html", truth=label)).text
    factors = latens.FactorAnalysis(1).fit(X)
    text = Page(report(factors, X, tmp_path / "page.html", truth=np.array([[3.0, -3.0, 0.0]]))).text
    assert "true found 1 of 1" in text
    for model, wrong, wanted in (
        (clusters, label[:5], "give the true labels of the rows of X"),
        (factors, label, r"shape \(80,\), of which the page of FactorAnalysis shows nothing.*metadata=\{'truth'"),
        (factors, np.ones((2, 4)), "give true components, one in each row"),
        (factors, "shapes", "truth is a str, of which"),
    ):
        with pytest.raises(ValueError, match=wanted):
            report(model, X, tmp_path / "page.html", truth=wrong)
