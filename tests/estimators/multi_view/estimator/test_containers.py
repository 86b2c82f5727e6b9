"""Views as data frames, AnnData and MuData."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.estimators.multi_view.estimator.views import Views, model

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.extras
class TestContainers:
    def test_a_pipeline_on_a_two_level_frame_is_cross_validated(self, data: tuple[Views, Any]) -> None:
        import pandas as pd
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline

        views, truth = data
        frame = pd.concat({name: pd.DataFrame(view) for name, view in views.items()}, axis=1)
        y = truth.codes[:, 0] > 0
        scores = cross_val_score(make_pipeline(model(4), LogisticRegression()), frame, y, cv=3)
        assert scores.mean() > 0.9

    def test_a_pipeline_on_annotated_views_is_cross_validated(self, data: tuple[Views, Any]) -> None:
        import anndata
        import mudata
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import cross_val_score
        from sklearn.pipeline import make_pipeline

        views, truth = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mdata = mudata.MuData({name: anndata.AnnData(view) for name, view in views.items()})
            y = truth.codes[:, 0] > 0
            scores = cross_val_score(make_pipeline(model(4), LogisticRegression()), mdata, y, cv=3)
        assert scores.mean() > 0.9

    def test_frames_keep_their_names_everywhere(self, data: tuple[Views, Any]) -> None:
        import pandas as pd

        views, _ = data
        rows = [f"patient {i}" for i in range(200)]
        frames = {
            name: pd.DataFrame(view, index=rows, columns=[f"{name} gene {d}" for d in range(view.shape[1])])
            for name, view in views.items()
        }
        frames["view1"] = frames["view1"].iloc[50:][::-1]  # some are missing there, and in another order
        found = model(4).fit(frames).set_output(transform="pandas")
        assert found.row_names_ == tuple(rows)
        assert found.transform(frames).index.tolist() == rows
        filled = found.impute(frames)
        assert filled["view1"].index.tolist() == rows
        assert filled["view1"].columns.tolist() == frames["view1"].columns.tolist()
        assert not filled["view1"].isna().any().any()
        assert all("gene" in name for top in found.top_features(2).values() for name in top)
        table = found.variance_explained_.to_frame()
        assert table.index.names == ["group", "view"]
        assert table.columns.tolist() == [*found.get_feature_names_out(), "total"]
        turned = pd.DataFrame({"age": found.scores_[:, 0]}, index=rows)[::-1]
        assert found.associate(turned)["factor"][0] == found.get_feature_names_out()[0]

    def test_layers_chosen_features_and_groups_of_annotated_views(self, grouped: tuple[Views, Any, Any]) -> None:
        import anndata
        import mudata

        views, truth, _ = grouped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = {}
            for name, view in views.items():
                parts[name] = anndata.AnnData(np.zeros_like(view), layers={"scaled": view})
                parts[name].var["chosen"] = np.arange(view.shape[1]) < 30
            mdata = mudata.MuData(parts)
            mdata.obs["site"] = truth.groups
            found = model(6, layer="scaled", use_var="chosen").fit(mdata, groups="site")
            plain = model(6).fit({name: view[:, :30] for name, view in views.items()}, groups=truth.groups)
            assert found.layout_.groups == ("group0", "group1")
            assert found.scores_ == pytest.approx(plain.scores_, abs=1e-9)
            assert found.transform(mdata, groups="site") == pytest.approx(found.scores_, abs=1e-9)
            assert found.transform(mdata[:20], groups="site").shape == (20, found.n_components_)

    def test_torch_answers_in_kind(self, data: tuple[Views, Any], fitted: Any) -> None:
        import torch

        views = {name: torch.asarray(view) for name, view in data[0].items()}
        found = model().fit(views)
        assert isinstance(found.scores_, np.ndarray)
        assert found.scores_ == pytest.approx(fitted.scores_, abs=1e-4)
        codes, std = found.transform({"view1": views["view1"]}, return_std=True)
        assert isinstance(codes, torch.Tensor)
        assert isinstance(std, torch.Tensor)
        filled = found.impute({"view1": views["view1"]})
        assert isinstance(filled["view0"], torch.Tensor)
