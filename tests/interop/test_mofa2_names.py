"""Names in files of MOFA2 are such as its R package takes, and ours come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from latens.estimators.multi_view.tables.wide import lay_out
from latens.interop import read_mofa2, write_mofa2
from latens.interop.mofa2_names import feature_names, path_names, sample_names
from tests.interop.stand_in import stand_in

AWKWARD = {"covariates": "é", "β/x": "e", "my cov_samples": "α"}  # views, and the first letters of their features
ABSENT = {"covariates", "samples_metadata", "features_metadata", "cov_samples"}  # R reads these wherever it sees them


@pytest.fixture(params=[True, False], ids=["data", "no data"])
def awkward(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any, bool]:
    pd = pytest.importorskip("pandas")
    rows = ("Zoë", "Zoe", "", *(f"sample {i}" for i in range(37)))
    drawn, model = stand_in(groups=3, row_names=rows)
    views = {
        name: pd.DataFrame(view, index=list(rows), columns=["same", *(f"{letter}{j}" for j in range(1, view.shape[1]))])
        for (name, letter), view in zip(AWKWARD.items(), drawn.values(), strict=True)
    }
    for part in ("likelihoods_", "components_", "intercepts_", "inclusion_"):
        setattr(model, part, dict(zip(AWKWARD, getattr(model, part).values(), strict=True)))
    model.noise_variance_ = {"covariates": model.noise_variance_["rna/seq"]}
    groups = [("data", "größe", "..")[g] for g in model.group_of_]
    model.layout_ = lay_out(views, groups=groups).layout
    model.group_of_ = pd.Index(model.layout_.groups).get_indexer(groups)
    write_mofa2(model, tmp_path / "model.hdf5", views if request.param else None)
    return tmp_path / "model.hdf5", model, request.param


@pytest.mark.extras
def test_r_takes_them(awkward: tuple[Path, Any, bool]) -> None:
    import h5py

    path, _, with_data = awkward
    found: list[str] = []
    with h5py.File(path) as file:
        for kind, count in (("views", 3), ("groups", 3), ("features", 16), ("samples", 40)):
            names = [name.decode() for part in file[kind].values() for name in part]
            assert len(set(names)) == count
            assert all(name.isascii() and name for name in names)
        file.visit(found.append)
        assert [*file["views/views"].asstr()] == ["covariates_", "<U+03B2>|x", "my cov-samples"]
        assert {"data"} & {name.decode() for name in file["groups/groups"]} == ({"data"} if with_data else set())
    assert not ABSENT & {part for name in found for part in name.split("/")}
    assert not any("cov_samples" in name for name in found)
    assert with_data or not any("data" in name.split("/") for name in found)


@pytest.mark.extras
def test_ours_come_back(awkward: tuple[Path, Any, bool]) -> None:
    path, model, with_data = awkward
    found = read_mofa2(path)
    assert found.layout_ == model.layout_
    order = [model.row_names_.index(name) for name in found.row_names_]
    assert found.scores_ == pytest.approx(model.scores_[order])
    assert found.group_of_.tolist() == model.group_of_[order].tolist()
    assert set(found.data_) == (set(AWKWARD) if with_data else set())


@pytest.mark.extras
def test_mofax_takes_them_too(awkward: tuple[Path, Any, bool]) -> None:
    import mofax

    path, _, _ = awkward
    opened = mofax.mofa_model(str(path))
    try:
        assert opened.get_factors().shape == (40, 3)
        assert opened.get_weights().shape == (16, 3)
        assert opened.views == ["covariates_", "<U+03B2>|x", "my cov-samples"]
        assert {"Zoe_", "Zoe", "_"} < {name for names in opened.samples.values() for name in names}
    finally:
        opened.close()


def test_names_that_are_fine_stay() -> None:
    assert path_names(["RNA seq", "mut.(x)", "data", "views"], with_data=True) == [
        "RNA seq",
        "mut.(x)",
        "data",
        "views",
    ]
    assert path_names(["data", "data_"], with_data=False) == ["data__", "data_"]
    assert feature_names(["rna", "mut"], [["a", "b"], ["c", "NA"]]) == [["a", "b"], ["c", "NA"]]
    assert sample_names(["s 1", "s/2"]) == ["s 1", "s/2"]


def test_names_of_two_features_never_meet() -> None:
    made = feature_names(["b_c", "c", "d"], [["a", "a_b"], ["a", "a_b"], ["a_c", "á_c"]])
    assert made == [["a_b_c", "a_b_b_c"], ["a_c_", "a_b_c_"], ["a_c", "a_c__"]]
