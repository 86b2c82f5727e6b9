"""New samples on model files of MOFA2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens import interop
from latens.errors import AbsentColumns

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]


def frames(groups: int = 1) -> tuple[dict[str, Any], Any]:
    import pandas as pd

    views, truth = latens.datasets.make_multiview(
        200, (20, 15), ("gaussian", "bernoulli"), 2, groups=groups, random_state=0
    )
    index = [f"p{i}" for i in range(200)]
    made = {
        name: pd.DataFrame(view, index=index, columns=[f"{name}_g{j}" for j in range(view.shape[1])])
        for name, view in zip(("rna", "mut"), views.values(), strict=True)
    }
    return made, truth


@pytest.mark.parametrize("groups", [1, 2])
def test_new_samples_get_the_factors_that_the_model_itself_gives(groups: int, tmp_path: Path) -> None:
    views, truth = frames(groups)
    labels = truth.groups if groups > 1 else None
    old = {name: view.iloc[:150] for name, view in views.items()}
    new = {name: view.iloc[150:].copy() for name, view in views.items()}
    model = latens.MultiViewFactorAnalysis(2, random_state=0, sparse_loadings=False, prune=False).fit(
        old, groups=None if labels is None else labels[:150]
    )
    interop.write_mofa2(model, tmp_path / "m.hdf5", old)
    read = interop.read_mofa2(tmp_path / "m.hdf5")
    given = None if labels is None else labels[150:]
    z, sd = read.transform(new, return_std=True, groups=given)
    expected = model.transform(new, groups=given)
    assert z.shape == sd.shape == expected.shape
    for k in range(z.shape[1]):
        assert np.corrcoef(z[:, k], expected[:, k])[0, 1] > 0.99
    assert (sd > 0).all()
    alone = read.transform({"rna": new["rna"]}, groups=given)
    assert np.corrcoef(alone[:, 0], expected[:, 0])[0, 1] > 0.8
    new["rna"].iloc[:10, :5] = np.nan
    whole, spread = read.impute(new, return_std=True, groups=given)
    assert list(whole["rna"].columns) == list(new["rna"].columns)
    ours = model.impute(new, groups=given)["rna"].iloc[:10, :5].to_numpy()
    gap = whole["rna"].iloc[:10, :5].to_numpy() - ours
    assert np.sqrt(np.mean(gap**2)) < 0.1 * ours.std()
    assert (spread["rna"].iloc[:10, :5].to_numpy() > 0).all()
    assert (spread["rna"].iloc[10:].to_numpy() == 0).all()


def test_some_features_are_enough_and_noise_is_estimated_where_the_file_has_none(tmp_path: Path) -> None:
    import h5py

    views, _ = frames()
    model = latens.MultiViewFactorAnalysis(4, random_state=0).fit(views)
    path = tmp_path / "m.hdf5"
    interop.write_mofa2(model, path, views)
    stated = interop.read_mofa2(path)
    with h5py.File(path, "a") as file:
        del file["latens/noise_variance"]
    estimated = interop.read_mofa2(path)
    assert not estimated.noise_variance_
    part = {"rna": views["rna"].iloc[:, ::2]}
    with pytest.warns(AbsentColumns, match="lacks 10 of the 20 columns"):
        z = estimated.transform(part)
    with pytest.warns(AbsentColumns):
        same = stated.transform(part)
    assert z == pytest.approx(same, abs=0.15)
    whole = model.transform(views)
    assert min(np.corrcoef(z[:, k], whole[:, k])[0, 1] for k in range(z.shape[1])) > 0.8
    with h5py.File(path, "a") as file:
        del file["data"]
    with pytest.raises(ValueError, match="neither the noise of view 'rna' nor its data"):
        interop.read_mofa2(path).transform(part)


def test_counts_of_a_file_that_latens_wrote_are_refused(tmp_path: Path) -> None:
    from tests.interop.stand_in import stand_in

    views, model = stand_in()
    interop.write_mofa2(model, tmp_path / "m.hdf5", views)
    with pytest.raises(ValueError, match=r"'counts' holds counts with the logarithmic link .* latens\.load"):
        interop.read_mofa2(tmp_path / "m.hdf5").transform(views)


def test_a_model_that_was_read_prints_as_one_line(tmp_path: Path) -> None:
    views, truth = frames(2)
    model = latens.MultiViewFactorAnalysis(2, random_state=0, prune=False, max_iter=5).fit(views, groups=truth.groups)
    interop.write_mofa2(model, tmp_path / "m.hdf5", views)
    words = "Mofa2Model(2 factors of 200 samples in 2 groups; views 'rna' (20 gaussian), 'mut' (15 bernoulli))"
    assert repr(interop.read_mofa2(tmp_path / "m.hdf5")) == words
