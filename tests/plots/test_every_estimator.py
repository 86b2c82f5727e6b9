"""Every picture of every estimator: Axes, or one error that says what the picture needs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import latens
from latens import plots

pytestmark = pytest.mark.extras

PICTURES = [name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))]


def _factors() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(120, 6))
    return X * [1, 1, 1000, 1, 1, 0.01]  # units that differ


def _clusters() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.r_[rng.normal(0, 1, (60, 5)), rng.normal(4, 1, (40, 5))] * [1, 1, 1, 1, 1000]


def _yes_no() -> np.ndarray:
    rng = np.random.default_rng(2)
    chance = np.r_[np.tile([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], (60, 1)), np.tile([0.1, 0.1, 0.1, 0.9, 0.9, 0.9], (60, 1))]
    return (rng.random(chance.shape) < chance).astype(float)


def _mixed() -> Any:
    import pandas as pd

    rng = np.random.default_rng(3)
    kind = np.repeat([0, 1], 60)
    return pd.DataFrame(
        {
            "size": rng.normal(5 * kind, 1),
            "colour": np.where(rng.random(120) < 0.2 + 0.6 * kind, "red", "green"),
            "town": np.array(["a", "b", "c"])[(kind + (rng.random(120) < 0.3)) % 3],
        }
    )


def _views() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    z = rng.normal(size=(100, 2))
    return {
        "real": (z @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(100, 5))) * [1, 1, 1, 1, 500],
        "yes": (z @ rng.normal(size=(2, 6)) * 2 + rng.normal(size=(100, 6)) > 0).astype(float),
    }


MADE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "factors": (lambda: latens.FactorAnalysis(2), _factors),
    "sources": (lambda: latens.NoisyICA(2, random_state=0), _factors),
    "switches": (lambda: latens.BinaryFactorAnalysis(2, random_state=0, max_iter=20), _factors),
    "causes": (lambda: latens.NoisyOr(2, random_state=0, max_iter=30), _yes_no),
    "clusters": (lambda: latens.GaussianMixture(2, random_state=0), _clusters),
    "binary clusters": (lambda: latens.BernoulliMixture(2, random_state=0), _yes_no),
    "classes": (lambda: latens.LatentClassAnalysis(2, random_state=0), _clusters),
    "classes of text": (lambda: latens.LatentClassAnalysis(2, random_state=0), _mixed),
    "views": (lambda: latens.MultiViewFactorAnalysis(2, random_state=0), _views),
    "frame": (lambda: latens.MultiViewFactorAnalysis(2, random_state=0), _mixed),
    "regression": (latens.BayesianLinearRegression, _factors),
}
APPLY = {  # pictures that must be drawn, given the model or the model and rows
    "factors": "bound components loadings top_features usage scores variance_explained data_heatmap data_overview "
    "sources intervals calibration",
    "sources": "bound components loadings top_features usage scores variance_explained data_heatmap data_overview "
    "sources intervals calibration",
    "switches": "bound components loadings top_features usage scores variance_explained data_heatmap data_overview "
    "sources intervals calibration",
    "causes": "bound components loadings top_features usage scores data_heatmap data_overview sources intervals "
    "calibration",
    "clusters": "bound components loadings top_features usage scores clusters data_heatmap data_overview sources "
    "intervals calibration",
    "binary clusters": "bound components loadings top_features usage scores data_heatmap data_overview sources "
    "intervals calibration",
    "classes": "bound components loadings top_features usage scores data_heatmap data_overview sources intervals "
    "calibration",
    "classes of text": "bound components loadings top_features usage scores data_heatmap data_overview sources "
    "intervals",
    "views": "bound loadings top_features usage scores variance_explained data_heatmap data_overview sources intervals "
    "calibration",
    "frame": "bound loadings top_features usage scores variance_explained data_heatmap data_overview sources intervals",
    "regression": "bound data_overview intervals calibration",
}


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


FITTED: dict[str, tuple[Any, Any]] = {}


def fitted(name: str) -> tuple[Any, Any]:
    if name not in FITTED:
        make, rows = MADE[name]
        X = rows()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            FITTED[name] = (make().fit(X, X[:, 0]) if name == "regression" else make().fit(X)), X
    return FITTED[name]


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("name", MADE)
def test_a_picture_is_drawn_or_says_what_it_needs(name: str, picture: str) -> None:
    from matplotlib.axes import Axes

    model, X = fitted(name)
    draw, drawn = getattr(plots, picture), []
    refusals: list[tuple[Exception, int]] = []
    takes = list(inspect.signature(draw).parameters)
    calls: list[tuple[Any, ...]] = [(model,)]
    if len(takes) > 1 and takes[1] == "X":
        calls.append((model, X, X[:, 0]) if name == "regression" and picture == "calibration" else (model, X))
    for given in calls:
        try:
            drawn.append(isinstance(draw(*given), Axes))
        except (ValueError, TypeError) as error:
            drawn.append(False)
            refusals.append((error, len(given)))
    assert any(drawn) == (picture in APPLY[name].split()), drawn
    for error, n_given in refusals:
        words = str(error)
        if isinstance(error, TypeError):  # Python's own word for an argument that is not there
            assert n_given == 1
            assert "missing 1 required positional argument: 'X'" in words
        else:
            assert words.startswith(("calibration", "view", type(model).__name__))
            assert len(words) > 30
            assert "\n" not in words


@pytest.mark.parametrize("name", [name for name in MADE if name != "regression"])
def test_pictures_take_the_axes_they_are_given(name: str) -> None:
    from matplotlib import pyplot

    model, X = fitted(name)
    for picture in set(APPLY[name].split()) - {"bound", "calibration"}:
        ax = pyplot.figure().add_subplot()
        draw = getattr(plots, picture)
        takes_rows = list(inspect.signature(draw).parameters)[1] == "X"
        assert draw(model, *([X] if takes_rows else []), ax=ax) is ax


@pytest.mark.parametrize("name", ["factors", "sources", "switches", "clusters"])
def test_units_of_columns_do_not_hide_other_columns(name: str) -> None:
    model, _ = fitted(name)
    image = np.ma.getdata(plots.components(model).images[0].get_array())
    assert np.max(np.abs(image)) < 3  # in sd of columns, of which one has a size of 1,000
    assert "sd of the column" in plots.components(model).figure.axes[1].get_ylabel()
    for k, (component, top) in enumerate(model.top_features(3).items()):
        ax = plots.loadings(model, component, n=3)
        assert [label.get_text() for label in ax.get_yticklabels()] == top
        assert ax.get_title() == component == model.get_feature_names_out()[k]


def test_a_regression_is_calibrated_on_its_targets() -> None:
    model, X = fitted("regression")
    with pytest.raises(ValueError, match=r"needs targets: calibration\(model, X, y\)"):
        plots.calibration(model, X)
    assert "inside 95 %" in plots.calibration(model, X, X[:, 0]).get_legend().get_texts()[0].get_text()


def test_a_result_is_asked_for_where_a_model_was_given() -> None:
    model, _ = fitted("factors")
    with pytest.raises(ValueError, match=r"give it what latens.sweep\(model, X\) returned"):
        plots.sweep(model)
    with pytest.raises(ValueError, match=r"give it what latens.stability\(model, X\) returned"):
        plots.return_rates(model)
