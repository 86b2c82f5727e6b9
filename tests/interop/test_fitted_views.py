"""A fitted model of several views in the files and tables of others."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens import interop

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]

KINDS = ("gaussian", "bernoulli", "poisson")


@pytest.fixture(scope="module")
def frames() -> tuple[dict[str, Any], Any]:
    import pandas as pd

    views, truth = latens.datasets.make_multiview(
        120, (30, 25, 20), KINDS, 2, missing_views=0.1, groups=2, random_state=0
    )
    names = [f"p{i}" for i in range(120)]
    made = {
        kind: pd.DataFrame(view, index=names, columns=[f"{kind[0]}{j}" for j in range(view.shape[1])]).dropna(how="all")
        for kind, view in zip(KINDS, views.values(), strict=True)
    }
    return made, pd.Series(truth.groups, index=names)


@pytest.fixture(scope="module")
def model(frames: tuple[dict[str, Any], Any]) -> Any:
    views, groups = frames
    return latens.MultiViewFactorAnalysis(5, random_state=0).fit(views, groups=groups)


def test_a_file_holds_the_model(frames: tuple[dict[str, Any], Any], model: Any, tmp_path: Path) -> None:
    import mofax

    interop.write_mofa2(model, tmp_path / "model.hdf5", frames[0])
    found = interop.read_mofa2(tmp_path / "model.hdf5")
    assert found.layout_ == model.layout_
    assert found.likelihoods_ == model.likelihoods_
    at = {name: i for i, name in enumerate(found.row_names_)}
    order = [at[name] for name in model.row_names_]
    assert found.scores_[order] == pytest.approx(model.scores_)
    assert np.array_equal(found.group_of_[order], model.group_of_)
    for view, frame in frames[0].items():
        assert found.components_[view] == pytest.approx(model.components_[view])
        there = found.data_[view][[at[name] for name in frame.index]]
        assert there == pytest.approx(frame.to_numpy(), nan_ok=True)
    for m, (view, kind) in enumerate(model.likelihoods_.items()):  # squared errors in data units, as MOFA2 has them
        for g in range(2) if kind == "gaussian" else ():
            at_group = [at[name] for name in np.array(model.row_names_)[model.group_of_ == g]]
            y, z = found.data_[view][at_group] - found.intercepts_[view][g], found.scores_[at_group]
            left = [np.nansum((y - np.outer(z[:, k], w)) ** 2) for k, w in enumerate(found.components_[view])]
            expected = np.clip(1 - np.array(left) / np.nansum(y**2), 0, 1)
            assert found.explained_["per_factor"][g, m] == pytest.approx(expected)
    opened = mofax.mofa_model(str(tmp_path / "model.hdf5"))
    try:
        assert opened.nfactors == model.n_components_
        assert opened.groups == ["group0", "group1"]
        frame = opened.get_factors(df=True)
        assert frame.loc[list(model.row_names_)].to_numpy() == pytest.approx(model.scores_)
        assert opened.get_variance_explained().R2.max() <= 100
    finally:
        opened.close()


def test_pictures_of_the_model_and_of_its_file_agree(model: Any, tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    interop.write_mofa2(model, tmp_path / "model.hdf5")
    ours = latens.plots.variance_explained(model)
    theirs = latens.plots.variance_explained(interop.read_mofa2(tmp_path / "model.hdf5"))
    assert np.asarray(theirs.images[0].get_array()) == pytest.approx(np.asarray(ours.images[0].get_array()))
    pyplot.close("all")


def test_tables_of_scverse_in_and_out(frames: tuple[dict[str, Any], Any], model: Any) -> None:
    import anndata as ad
    import mudata as md
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    views, groups = frames
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mdata = md.MuData({name: ad.AnnData(frame) for name, frame in views.items()})
    mdata.obs["site"] = groups.loc[list(mdata.obs_names)].to_numpy()
    again = latens.MultiViewFactorAnalysis(5, random_state=0).fit(mdata, groups="site")
    assert again.row_names_ == tuple(mdata.obs_names)
    interop.to_mudata(again, mdata, key="mofa")
    assert np.asarray(mdata.obsm["X_mofa"]) == pytest.approx(again.scores_)
    weights = np.vstack([again.components_[name].T for name in mdata.mod])
    assert np.asarray(mdata.varm["LFs"]) == pytest.approx(weights)
    order = [model.row_names_.index(name) for name in mdata.obs_names]
    interop.to_mudata(model, mdata)
    assert np.asarray(mdata.obsm["X_latens"]) == pytest.approx(model.scores_[order])
    outcome = again.scores_[:, 0] > 0
    pipeline = make_pipeline(latens.MultiViewFactorAnalysis(2, prune=False, random_state=0), LogisticRegression())
    assert cross_val_score(pipeline, mdata, outcome, cv=3).mean() > 0.7


def test_a_stream_has_no_samples_to_write(frames: tuple[dict[str, Any], Any], tmp_path: Path) -> None:
    from mudata import MuData

    views, groups = frames
    halves = [
        {kind: view[view.index.isin(names)] for kind, view in views.items()} for names in np.split(groups.index, 2)
    ]
    stream = latens.MultiViewFactorAnalysis(2, max_iter=5, random_state=0)
    for half in halves:
        stream.partial_fit(half)
    with pytest.raises(ValueError, match=r"has no scores_; after partial_fit .* fit\(views\); transform\(views\)"):
        interop.write_mofa2(stream, tmp_path / "model.hdf5")
    assert not (tmp_path / "model.hdf5").exists()
    with pytest.raises(ValueError, match=r"after partial_fit"):
        interop.to_mudata(stream, MuData({}))
