"""Clusters in the plane, with matplotlib."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import latens
from latens import plots

pytestmark = pytest.mark.extras
KINDS = ["full", "tied", "diag", "spherical", "known"]


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.mark.parametrize("kind", KINDS)
def test_an_ellipse_holds_the_points_within_two_standard_deviations(kind: str) -> None:
    X, _ = latens.datasets.make_mixture(300, n_components=3, n_features=3, spread=9.0, shape="any", random_state=0)
    model = latens.GaussianMixture(3, covariance_type=kind, random_state=0, n_init=1).fit(X)
    ax = plots.clusters(model, X, columns=(2, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "x0")
    assert len(ax.patches) == len(ax.collections) == model.n_components_
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(X)
    full = {"full": lambda k: model.covariances_[k], "tied": lambda k: model.covariances_}
    for k, ellipse in enumerate(ax.patches):
        covariance = full.get(kind, lambda k: model.covariances_[k] * np.eye(3))(k)[np.ix_([2, 0], [2, 0])]
        edge = ax.transData.inverted().transform(ellipse.get_verts()) - model.means_[k, [2, 0]]
        assert np.sum(edge @ np.linalg.inv(covariance) * edge, axis=1) == pytest.approx(4.0, rel=0.02)


def test_columns_by_name_holes_and_own_axes() -> None:
    pandas = pytest.importorskip("pandas")
    from matplotlib import pyplot

    X, _ = latens.datasets.make_mixture(120, n_components=2, n_features=3, spread=9.0, random_state=0)
    X[:10, 1] = np.nan
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = latens.GaussianMixture(4, random_state=0, n_init=1).fit(frame).set_component_names(["left", "right"])
    ax = pyplot.subplots()[1]
    assert plots.clusters(model, frame, columns=("b", "c"), ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "c")
    assert [text.get_text() for text in ax.texts] == ["left", "right"]
    assert sum(len(points.get_offsets()) for points in ax.collections) == 110
    with pytest.raises(ValueError, match="are not two of the 3 columns"):
        plots.clusters(model, frame, columns=("a", "z"))


def test_one_column_is_a_histogram_and_models_without_covariances_are_refused() -> None:
    X, _ = latens.datasets.make_mixture(200, n_components=2, n_features=1, spread=9.0, random_state=0)
    model = latens.GaussianMixture(2, random_state=0, n_init=1).fit(X)
    ax = plots.clusters(model, X)
    assert sum(bar.get_height() for bar in ax.patches) >= 200
    assert len(ax.lines) == model.n_components_
    binary = (X > 0).astype(float)
    with pytest.raises(ValueError, match="has no covariances_"):
        plots.clusters(latens.BernoulliMixture(2, random_state=0).fit(np.hstack([binary, binary])), binary)


def test_scikit_learn_s_own_mixtures_can_be_drawn() -> None:
    from sklearn.mixture import GaussianMixture

    X, _ = latens.datasets.make_mixture(100, n_components=2, n_features=2, random_state=0)
    assert len(plots.clusters(GaussianMixture(2, random_state=0).fit(X), X).patches) == 2
