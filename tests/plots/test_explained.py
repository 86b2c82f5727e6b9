"""The picture of what factors explain."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from latens import plots


@pytest.fixture(autouse=True)
def _no_window(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("extras") is None:
        yield
        return
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def model(groups: tuple[str, ...] = (), k: int = 3) -> Any:
    g = max(len(groups), 1)
    shares = np.arange(2.0 * g * k).reshape(g, 2, k) / 100
    explained = {"per_factor": shares, "total": shares.sum(axis=2)}
    return SimpleNamespace(layout_=SimpleNamespace(views=("rna", "mut"), groups=groups), explained_=explained)


@pytest.mark.extras
def test_views_stand_against_factors_in_per_cent() -> None:
    ax = plots.variance_explained(model())
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(np.arange(6.0).reshape(2, 3))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["rna (3 %)", "mut (12 %)"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4", "5"]


@pytest.mark.extras
def test_groups_are_stacked_and_told_apart() -> None:
    ax = plots.variance_explained(model(("old", "young"), k=40))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert [label.split(" (")[0] for label in labels] == ["old: rna", "old: mut", "young: rna", "young: mut"]
    assert ax.images[0].get_array().shape == (4, 40)
    assert len(ax.texts) == 0  # too many to read
    assert len(ax.lines) == 1


@pytest.mark.extras
def test_the_picture_goes_where_it_is_told() -> None:
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert plots.variance_explained(model(), ax=axes) is axes


def test_a_model_of_one_table_has_no_such_picture() -> None:
    with pytest.raises(ValueError, match="has no layout_; this picture does not apply"):
        plots.variance_explained(SimpleNamespace(components_=np.eye(3)))
    silent = model()
    silent.explained_ = {}
    with pytest.raises(ValueError, match="does not say what its factors explain"):
        plots.variance_explained(silent)
