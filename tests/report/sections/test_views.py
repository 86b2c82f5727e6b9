"""A page about several views."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import latens


@pytest.fixture(scope="module")
def fitted():
    views, truth = latens.datasets.make_multiview(120, (30, 20), n_factors=2, random_state=0)
    return latens.MultiViewFactorAnalysis(4, random_state=0).fit(views), views, truth


def test_the_page_shows_what_each_factor_explains_and_by_which_features(fitted, tmp_path: Path) -> None:
    model, views, truth = fitted
    text = latens.report(model, views, tmp_path / "page.html", truth=truth).read_text(encoding="utf-8")
    assert "Variance explained" in text
    assert f"{100 * model.explained_['total'][0, 0]:.1f} %" in text
    y, fit = views["view0"], np.asarray(model.transform(views)) @ model.components_["view0"]
    seen = np.isfinite(y)
    share = [1 - np.var((y - fit)[seen[:, j], j]) / np.var(y[seen[:, j], j]) for j in range(y.shape[1])]
    assert model.explained_["total"][0, 0] == pytest.approx(np.mean(share), abs=0.02)  # each column in its own sd
    assert all(feature in text for found in model.top_features(6).values() for feature in found)
    assert "120 rows × 50 columns (view0 30, view1 20)" in text


@pytest.mark.extras
def test_components_are_drawn_view_by_view(fitted) -> None:
    model, _, _ = fitted
    ax = latens.plots.components(model, view="view1")
    assert np.ma.getdata(ax.images[0].get_array()).shape == (model.n_components_, 20)
    with pytest.raises(ValueError, match="'view0', 'view1'; choose one"):
        latens.plots.components(model)


@pytest.mark.extras
def test_kinds_of_columns_of_one_table_are_not_called_views(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    numbers = pd.DataFrame({f"q{i}": z + rng.normal(size=200) for i in range(6)})
    answers = pd.DataFrame({"member": (z + rng.normal(size=200) > 0).astype(float)})
    views = {"numbers": numbers, "yes_no": answers}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kinds = {"numbers": "gaussian", "yes_no": "bernoulli"}
        model = latens.MultiViewFactorAnalysis(1, likelihoods=kinds, random_state=0).fit(views)
    assert not [each for each in caught if "one feature" in str(each.message)]
    text = latens.report(model, views, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "numbers: q0" not in text
    assert "averaged over kinds of columns (numbers" in text
    assert "yes/no" in text
    assert "Which rows show which views" not in text
    own = {"rna": numbers, "mutations": answers}
    with pytest.warns(latens.errors.LatensWarning, match="one feature"):
        model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(own)
    text = latens.report(model, own, tmp_path / "own.html").read_text(encoding="utf-8")
    assert "rna: q0" in text
    assert "averaged over views (rna" in text
