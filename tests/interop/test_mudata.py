"""Factors and loadings in the tables of scverse."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from latens.interop import to_mudata
from tests.interop.stand_in import stand_in

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]

NAMES = tuple(f"p{i}" for i in range(40))


def tables(views: dict[str, np.ndarray], model: Any, rows: list[str]) -> Any:
    import anndata as ad
    import mudata as md
    import pandas as pd

    parts = {}
    for name, features, view in zip(views, model.layout_.features, views.values(), strict=True):
        parts[name] = ad.AnnData(
            np.nan_to_num(view[: len(rows)]), obs=pd.DataFrame(index=rows), var=pd.DataFrame(index=list(features))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return md.MuData(parts)


def test_factors_and_loadings_stand_beside_rows_and_features() -> None:
    views, model = stand_in(row_names=NAMES)
    rows = [*NAMES[::-1][:38], "new"]
    mdata = to_mudata(model, tables(views, model, rows))
    at = [list(mdata.obs_names).index(name) for name in rows]
    codes = mdata.obsm["X_latens"][at]
    assert np.array_equal(codes[:38], model.scores_[::-1][:38])
    assert np.isnan(codes[38]).all()
    assert np.array_equal(mdata.varm["latens"], np.vstack([w.T for w in model.components_.values()]))
    assert list(mdata.uns["latens"]["factors"]) == ["growth", "sex", "batch"]
    assert mdata.uns["latens"]["variance"]["mut"] == pytest.approx(100 * model.explained_["per_factor"][0, 1])


def test_rows_that_were_only_numbered_go_by_place() -> None:
    views, model = stand_in(row_names=tuple(map(str, range(40))))
    mdata = to_mudata(model, tables(views, model, list(NAMES)))
    at = [list(mdata.obs_names).index(name) for name in NAMES]
    assert np.array_equal(mdata.obsm["X_latens"][at], model.scores_)


def test_the_names_of_muon(tmp_path: Path) -> None:
    import anndata as ad
    import h5py

    views, model = stand_in(groups=3)
    mdata = to_mudata(model, tables(views, model, list(NAMES)), key="mofa")
    assert mdata.obsm["X_mofa"].shape == (40, 3)
    assert mdata.varm["LFs"].shape == (16, 3)
    assert set(mdata.uns["mofa"]) == {"params", "variance"}
    assert set(mdata.uns["mofa"]["params"]) == {"data", "model", "training"}
    assert list(mdata.uns["mofa"]["params"]["data"]["likelihoods"]) == ["gaussian", "bernoulli", "poisson"]
    assert set(mdata.uns["mofa"]["variance"]["mut"]) == {"group0", "group1", "group2"}
    del mdata.uns["mofa"]["variance"]["rna/seq"]  # a file cannot hold a name with "/"
    with h5py.File(tmp_path / "notes.h5", "w") as file:
        ad.io.write_elem(file, "uns", mdata.uns["mofa"])
        back = ad.io.read_elem(file["uns"])
    assert back["params"]["model"]["n_factors"] == 3
    assert back["variance"]["mut"]["group1"] == pytest.approx(100 * model.explained_["per_factor"][1, 1])


def test_what_does_not_belong_together_is_refused() -> None:
    views, model = stand_in(row_names=NAMES)
    with pytest.raises(ValueError, match="no row name in common: 'a0' and the like, against 'p0'"):
        to_mudata(model, tables(views, model, [f"a{i}" for i in range(40)]))
    with pytest.raises(TypeError, match="to_mudata got dict"):
        to_mudata(model, {})
    mdata = tables(views, model, list(NAMES))
    model.layout_ = type(model.layout_)(("rna/seq", "dna", "counts"), model.layout_.features)
    with pytest.raises(ValueError, match="mdata has no modality 'dna'"):
        to_mudata(model, mdata)
    nameless = stand_in()[1]
    with pytest.raises(ValueError, match="fitted to 40 rows without names and mdata has 3"):
        to_mudata(nameless, tables(views, nameless, list(NAMES[:3])))


def test_one_annotated_table_is_one_view() -> None:
    import anndata as ad
    import pandas as pd

    views, model = stand_in()
    layout = model.layout_
    model.layout_ = type(layout)(("mut",), (layout.features[1],))
    model.explained_ = {"per_factor": np.full((1, 1, 3), 0.1), "total": np.full((1, 1), 0.3)}
    adata = ad.AnnData(np.nan_to_num(views["mut"]), var=pd.DataFrame(index=[f"other{i}" for i in range(5)]))
    to_mudata(model, adata)  # neither rows nor features had names in the fit
    assert np.array_equal(adata.varm["latens"], model.components_["mut"].T)
    assert np.array_equal(adata.obsm["X_latens"], model.scores_)
    assert isinstance(model, SimpleNamespace)
