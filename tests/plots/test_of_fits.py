"""Pictures of real fits: what they show is what the model says."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import latens
from latens import plots

pytestmark = pytest.mark.extras


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def factors() -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(90, 6))
    X[:30, 4] = np.nan
    return latens.FactorAnalysis(2, prior="ard").fit(X), X


@pytest.fixture(scope="module")
def views() -> tuple[Any, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(60, 2))
    tables = {name: z @ rng.normal(size=(2, 4)) + rng.normal(size=(60, 4)) for name in ("a", "b")}
    tables["b"][:15] = np.nan
    return latens.MultiViewFactorAnalysis(2, random_state=0).fit(tables), tables


def test_loadings_are_the_strongest_with_their_signs(factors: Any) -> None:
    model, _ = factors
    ax = plots.loadings(model, 1, n=3)
    row = model.components_[1] / np.sqrt(np.sum(model.components_**2, axis=0) + model.noise_variance_)
    order = np.argsort(-np.abs(row))[:3]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], row[order])
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"x{d}" for d in order]
    assert ax.get_title() == "factor1"
    assert ax.get_xlabel() == "loading (sd of the column)"
    assert model.top_features(3)["factor1"] == [f"x{d}" for d in order]
    assert plots.loadings(model, "factor1", n=2, ax=ax) is ax
    with pytest.raises(ValueError, match="component='growth': there are 2, numbered from 0: factor0, factor1"):
        plots.loadings(model, "growth")


def test_top_features_of_views_carry_the_name_of_their_view(views: Any) -> None:
    model, _ = views
    labels = [label.get_text() for label in plots.top_features(model, n=2).get_yticklabels()]
    assert all(label.startswith(("a: ", "b: ")) for label in labels)
    assert len(plots.loadings(model, 0, view="b").patches) == 4
    with pytest.raises(ValueError, match="view='c': the model has the views 'a', 'b'"):
        plots.top_features(model, view="c")


@pytest.mark.parametrize("kind", ["scatter", "beeswarm"])
def test_scores_are_those_of_transform_by_group(kind: str, factors: Any) -> None:
    model, X = factors
    by = np.array(["young", "old", "old"] * 30)
    ax = plots.scores(model, X, by=by, kind=kind)
    drawn = np.concatenate([np.asarray(dots.get_offsets()) for dots in ax.collections])
    codes = model.transform(X)
    if kind == "scatter":
        assert len(ax.collections) == 2
        np.testing.assert_allclose(drawn[:60], codes[by == "old"])
    else:
        np.testing.assert_allclose(np.sort(drawn[:, 1]), np.sort(codes.ravel()))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["old", "young"]


def test_scores_coloured_by_a_number_have_a_scale(factors: Any) -> None:
    model, X = factors
    ax = plots.scores(model, X, by=np.arange(90.0))
    assert len(ax.figure.axes) == 2
    with pytest.raises(ValueError, match="by has 3 entries for 90 rows"):
        plots.scores(model, X, by=[1, 2, 3])
    with pytest.raises(ValueError, match="kind='pie' is not one of"):
        plots.scores(model, X, kind="pie")
    with pytest.raises(ValueError, match="points need two"):
        plots.scores(model, X, components=[0])


def test_data_are_drawn_in_the_order_of_the_component(factors: Any, views: Any) -> None:
    model, X = factors
    ax = plots.data_heatmap(model, X, 0, n=4)
    image = np.ma.filled(ax.images[0].get_array().astype(float), np.nan)
    assert image.shape == (4, 90)
    order = np.argsort(model.transform(X)[:, 0], kind="stable")
    column = int(ax.get_yticklabels()[0].get_text()[1:])
    z = (X[:, column] - np.nanmean(X[:, column])) / np.nanstd(X[:, column])
    np.testing.assert_allclose(image[0], z[order])
    several, tables = views
    assert plots.data_heatmap(several, tables).get_xlabel() == "rows by factor0"


def test_an_overview_says_how_much_is_there(factors: Any, views: Any) -> None:
    model, X = factors
    labels = [label.get_text() for label in plots.data_overview(model, X).get_yticklabels()]
    assert labels[3:5] == ["x3 (100 %)", "x4 (67 %)"]
    labels = [label.get_text() for label in plots.data_overview(*views).get_yticklabels()]
    assert labels == ["a (100 %)", "b (75 %)"]


def test_sources_run_over_the_rows() -> None:
    X, _ = latens.datasets.make_ica(200, random_state=0)
    model = latens.FactorAnalysis(3).fit(X)
    ax = plots.sources(model, X)
    drawn = np.stack([line.get_ydata() for line in ax.lines], axis=1)
    np.testing.assert_allclose(
        drawn - drawn.mean(axis=0), model.transform(X) - model.transform(X).mean(axis=0), atol=1e-9
    )


def test_intervals_are_those_of_the_table_and_doubtful_ones_are_dashed(factors: Any) -> None:
    model, X = factors
    table = model.intervals(X, quantities="noise_variance")
    ax = plots.intervals(table)
    spans = [line for line in ax.lines if len(line.get_xdata()) == 2]
    assert len(spans) == 6
    np.testing.assert_allclose([line.get_xdata() for line in spans], [row[6:8] for row in table.rows])
    assert [line.get_linestyle() == "-" for line in spans] == [row[8] for row in table.rows]
    with pytest.raises(ValueError, match="there are no intervals to draw"):
        plots.intervals(type(table)(table.columns, ()))


def test_clusters_are_as_large_as_their_weights() -> None:
    rng = np.random.default_rng(2)
    X = np.r_[rng.normal(0, 1, (60, 2)), rng.normal(9, 1, (30, 2))]
    model = latens.GaussianMixture(4, random_state=0).fit(X)
    ax = plots.usage(model)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.weights_)
    assert ax.get_ylabel() == "share of rows"


def test_scores_of_one_component_are_a_swarm() -> None:
    codes = np.random.default_rng(0).normal(size=(30, 1))
    ax = plots.scores(SimpleNamespace(transform=lambda X: X), codes)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 30


def test_a_model_without_components_says_that_there_is_none_to_draw() -> None:
    from latens.plots.fitted import component_number

    with pytest.raises(ValueError, match="found no component"):
        component_number(object(), 0, 0)
