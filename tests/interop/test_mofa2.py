"""Files of MOFA2: what is written is what its tools and we ourselves read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from latens.errors import FileRefused
from latens.interop import read_mofa2, write_mofa2
from tests.interop.stand_in import stand_in

pytestmark = pytest.mark.extras


@pytest.fixture(params=[1, 3])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any], Any]:
    views, model = stand_in(groups=request.param)
    write_mofa2(model, tmp_path / "model.hdf5", views)
    return tmp_path / "model.hdf5", views, model


def test_what_was_written_is_read_again(written: tuple[Path, dict[str, Any], Any]) -> None:
    path, views, model = written
    found = read_mofa2(path)
    assert found.layout_ == model.layout_
    assert found.likelihoods_ == model.likelihoods_
    assert np.array_equal(found.scores_, model.scores_)  # rows stand in the order of groups already
    assert np.array_equal(found.group_of_, model.group_of_)
    assert found.row_names_ == tuple(f"sample{i}" for i in range(40))
    for part in ("components_", "intercepts_", "inclusion_", "noise_variance_", "explained_"):
        ours, theirs = getattr(found, part), getattr(model, part)
        assert set(ours) == set(theirs)
        for name in ours:
            assert ours[name] == pytest.approx(theirs[name])
    for name, view in views.items():
        assert found.data_[name] == pytest.approx(view, nan_ok=True)
    assert found.elbo_history_.tolist() == [-300, -200, -190]
    assert list(found.get_feature_names_out()) == ["growth", "sex", "batch"]
    assert found.n_components_ == 3


def test_mofax_opens_it(written: tuple[Path, dict[str, Any], Any]) -> None:
    import mofax

    path, views, model = written
    opened = mofax.mofa_model(str(path))
    try:
        n_groups = len(model.layout_.groups) or 1
        assert opened.shape == (40, 16)
        assert opened.nfactors == 3
        assert opened.views == ["rna|seq", "mut", "counts"]
        assert opened.groups == list(model.layout_.groups or ["group1"])
        assert opened.likelihoods == ["gaussian", "bernoulli", "poisson"]
        assert opened.get_factors() == pytest.approx(model.scores_)
        weights = np.vstack([w.T for w in model.components_.values()])
        assert opened.get_weights() == pytest.approx(weights)
        r2 = opened.get_variance_explained()
        assert len(r2) == n_groups * 9
        row = r2[(r2.Factor == "Factor2") & (r2.View == "mut") & (r2.Group == opened.groups[-1])]
        assert float(row.R2.iloc[0]) == pytest.approx(100 * model.explained_["per_factor"][-1, 1, 1])
        centred = opened.get_data(views="rna|seq")
        assert centred == pytest.approx(views["rna/seq"] - model.intercepts_["rna/seq"][0], nan_ok=True)
        assert opened.get_data(views="mut") == pytest.approx(views["mut"], nan_ok=True)
        assert opened.get_top_features(views="mut", n_features=2) is not None
    finally:
        opened.close()


def test_equal_names_in_two_views_are_told_apart(tmp_path: Path) -> None:
    import h5py
    import pandas as pd

    views, model = stand_in()
    frames = {name: pd.DataFrame(view, columns=list("abcdefg")[: view.shape[1]]) for name, view in views.items()}
    from latens.estimators.multi_view.tables.wide import lay_out

    model.layout_ = lay_out(frames).layout
    write_mofa2(model, tmp_path / "model.hdf5", frames)
    with h5py.File(tmp_path / "model.hdf5") as file:
        names = [name.decode() for name in file["features/rna|seq"]]
    assert names == ["a_rna/seq", "b_rna/seq", "c_rna/seq", "d_rna/seq", "e_rna/seq", "f", "g"]
    assert read_mofa2(tmp_path / "model.hdf5").layout_ == model.layout_


def test_rows_are_matched_by_name(tmp_path: Path) -> None:
    import pandas as pd

    names = tuple(f"p{i}" for i in range(40))
    views, model = stand_in(row_names=names)
    frames = {name: pd.DataFrame(view, index=list(names)).iloc[::-1] for name, view in views.items()}
    write_mofa2(model, tmp_path / "model.hdf5", frames)
    found = read_mofa2(tmp_path / "model.hdf5")
    assert found.row_names_ == names
    assert found.data_["mut"] == pytest.approx(views["mut"], nan_ok=True)
    with pytest.raises(ValueError, match=r"the views lack 39 row\(s\) of the fit, such as 'p0'"):
        write_mofa2(model, tmp_path / "model.hdf5", {name: frame.iloc[:1] for name, frame in frames.items()})
    assert read_mofa2(tmp_path / "model.hdf5").row_names_ == names  # the file stayed as it was


def test_without_data_a_file_holds_none(tmp_path: Path) -> None:
    views, model = stand_in()
    write_mofa2(model, tmp_path / "model.hdf5")
    assert read_mofa2(tmp_path / "model.hdf5").data_ == {}
    with pytest.raises(ValueError, match="the views have 10 rows and the fit had 40"):
        write_mofa2(model, tmp_path / "model.hdf5", {name: view[:10] for name, view in views.items()})


def test_nothing_is_left_of_a_file_that_fails(tmp_path: Path) -> None:
    _, model = stand_in()
    del model.noise_variance_
    with pytest.raises(AttributeError):
        write_mofa2(model, tmp_path / "model.hdf5")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_mofa2(stand_in()[1], tmp_path / "nowhere" / "model.hdf5")


def test_files_of_mofapy2_in_their_older_forms(tmp_path: Path) -> None:
    import h5py

    path = tmp_path / "old.hdf5"
    with h5py.File(path, "w") as file:
        file["features/rna"] = np.array(["g1", "g2"], dtype="S50")
        file["samples/g"] = np.array(["s1", "s2", "s3"], dtype="S50")
        file["expectations/Z/g"] = np.arange(6.0).reshape(2, 3)
        file["expectations/W/rna"] = np.arange(4.0).reshape(2, 2)
        file["variance_explained/r2_per_factor/g"] = np.array([[0.5, 0.25]])
        file["variance_explained/r2_total/g"] = np.array([0.75])
    found = read_mofa2(path)
    assert found.layout_.views == ("rna",)
    assert found.layout_.groups == ("g",)
    assert found.row_names_ == ("s1", "s2", "s3")
    assert found.scores_.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found.explained_["per_factor"].tolist() == [[[0.5, 0.25]]]
    assert found.likelihoods_ == {"rna": "gaussian"}
    assert found.factor_names_ == ("Factor1", "Factor2")


def test_other_files_are_refused(tmp_path: Path) -> None:
    import h5py

    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_mofa2(tmp_path / "nothing.hdf5")
    (tmp_path / "text.hdf5").write_text("no")
    with pytest.raises(FileRefused, match="is no HDF5 file"):
        read_mofa2(tmp_path / "text.hdf5")
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file["other"] = 1.0
    with pytest.raises(FileRefused, match="it has no expectations"):
        read_mofa2(tmp_path / "empty.hdf5")
    with h5py.File(tmp_path / "torn.hdf5", "w") as file:
        file["features/rna"] = np.array(["g1", "g2"], dtype="S50")
        file["samples/g"] = np.array(["s1"], dtype="S50")
        file["expectations/Z/g"] = np.zeros((2, 1))
        file["expectations/W/rna"] = np.zeros((2, 5))
    with pytest.raises(FileRefused, match=r"view 'rna' has weights of shape \(2, 5\); expected \(2, 2\)"):
        read_mofa2(tmp_path / "torn.hdf5")


def test_a_model_that_is_not_fitted_is_refused(tmp_path: Path) -> None:
    from types import SimpleNamespace

    with pytest.raises(ValueError, match="is not fitted"):
        write_mofa2(SimpleNamespace(), tmp_path / "model.hdf5")
