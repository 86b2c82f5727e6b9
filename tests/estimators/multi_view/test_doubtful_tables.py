"""Tables of several views that can be fitted and should be looked at: each brings one warning with what to type."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import AbsentColumns, EmptyRows, FewSharedRows, GroupsOfOne, OneFeatureViews

QUICK = {"random_state": 0, "max_iter": 30}


def views(n: int = 40) -> dict[str, np.ndarray]:
    return latens.datasets.make_multiview(n, (8, 6), n_factors=2, noise=0.3, random_state=0)[0]


def fit(X: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, message=".*max_iter.*")
        return latens.MultiViewFactorAnalysis(2, **QUICK).fit(X, **options)


def frames(n: int = 40) -> dict[str, Any]:
    import pandas as pd

    rows = [f"s{i}" for i in range(n)]
    return {
        name: pd.DataFrame(view, index=rows, columns=[f"{name} gene {j}" for j in range(view.shape[1])])
        for name, view in views(n).items()
    }


def long_table(n: int = 40) -> Any:
    """One entry a line, as MOFA2 reads it."""
    import pandas as pd

    parts = [
        frame.rename_axis("sample").reset_index().melt("sample", var_name="feature").assign(view=name)
        for name, frame in frames(n).items()
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("labels", [np.arange(40), np.random.default_rng(0).normal(size=40)], ids=["ids", "measured"])
def test_groups_of_unique_labels_are_doubted(labels: np.ndarray) -> None:
    with pytest.warns(GroupsOfOne, match=r"every group of 40 samples hold a single sample: .* and 35 more"):
        model = fit(views(), groups=labels)
    assert "leave groups out" in model.warnings_[0].remedy


def test_one_small_group_is_named() -> None:
    labels = ["a"] * 20 + ["b"] * 19 + ["c"]
    with pytest.warns(GroupsOfOne, match=r"1 of 3 groups of 40 samples hold a single sample: 'c'"):
        fit(views(), groups=labels)


def test_large_groups_bring_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", GroupsOfOne)
        messages = fit(views(), groups=["a", "b"] * 20).warnings_
    assert [each.code for each in messages] == ["nothing-found"]  # so few samples, in two groups, show no factor


def test_a_view_of_one_feature_is_doubted_beside_others() -> None:
    with pytest.warns(OneFeatureViews, match=r"view\(s\) 'age' have one feature each"):
        fit({**views(), "age": np.random.default_rng(0).normal(size=(40, 1))})
    with warnings.catch_warnings():
        warnings.simplefilter("error", OneFeatureViews)
        fit({"age": np.random.default_rng(0).normal(size=(40, 1))})


def test_samples_that_show_nothing_are_named() -> None:
    given = {name: view.copy() for name, view in views().items()}
    for view in given.values():
        view[[3, 7]] = np.nan
    with pytest.warns(EmptyRows, match=r"2 of 40 samples have no observed value: '3', '7'\. The fit ignores them"):
        model = fit(given)
    mean, std = model.transform(given, return_std=True)
    assert mean[3] == pytest.approx(0.0)
    assert (std[3] > std[0]).all()


@pytest.mark.extras
def test_views_whose_row_names_hardly_agree_are_doubted() -> None:
    given = frames()
    given["view1"].index = [f"S{i}" if i > 5 else f"s{i}" for i in range(40)]
    with pytest.warns(FewSharedRows, match=r"6 of the 40 row names of view 'view0' stand in another view") as records:
        fit(given)
    assert "Compare the spelling, such as 's6' here and 'S10' there." in str(records[0].message)


@pytest.mark.extras
def test_a_view_of_few_of_the_samples_is_no_cause_for_doubt() -> None:
    given = frames()
    given["view1"] = given["view1"].iloc[:10]
    with warnings.catch_warnings():
        warnings.simplefilter("error", FewSharedRows)
        fit(given)


@pytest.mark.extras
class TestLongTables:
    def test_one_entry_a_line_is_fitted_like_its_views(self) -> None:
        found, plain = fit(long_table()), fit(frames())
        assert found.layout_ == plain.layout_
        assert found.elbo_ == plain.elbo_
        codes = found.set_output(transform="pandas").transform(long_table())
        assert list(codes.index) == [f"s{i}" for i in range(40)]
        assert found.impute(long_table())["view0"].equals(plain.impute(frames())["view0"])

    def test_lines_in_any_order_and_absent_lines_are_missing_entries(self) -> None:
        table = long_table().sample(frac=0.8, random_state=1)
        given = frames()
        there = {name: set(zip(part["sample"], part["feature"], strict=True)) for name, part in table.groupby("view")}
        for name, frame in given.items():
            for sample in frame.index:
                for feature in frame.columns:
                    if (sample, feature) not in there[name]:
                        frame.loc[sample, feature] = np.nan
        assert fit(table).elbo_ == pytest.approx(fit(given).elbo_, rel=1e-6)

    def test_without_a_column_of_views_there_is_one(self) -> None:
        model = fit(long_table().query("view == 'view0'").drop(columns="view"))
        assert model.layout_.views == ("x",)

    def test_its_groups_are_taken(self) -> None:
        table = long_table()
        table["group"] = np.where(table["sample"].str.len() > 2, "late", "early")
        assert fit(table).layout_.groups == ("early", "late")
        table.loc[0, "group"] = "other"
        with pytest.raises(ValueError, match=r"sample 's0' is of several groups; give each sample one"):
            fit(table)

    def test_an_entry_given_twice_is_refused(self) -> None:
        table = long_table()
        table.loc[1, "sample"] = "s0"
        with pytest.raises(
            ValueError, match=r"1 line\(s\) of the long table repeat an entry, the first that of sample"
        ):
            fit(table)


@pytest.mark.extras
class TestFeatureSubsets:
    def test_a_feature_left_out_is_a_feature_of_nan(self) -> None:
        model, given = fit(frames()), frames()
        empty = {**given, "view0": given["view0"].assign(**{"view0 gene 2": np.nan})}
        with pytest.warns(AbsentColumns, match=r"view 'view0' lacks 1 of the 8 columns of the fit: 'view0 gene 2'"):
            codes = model.transform({**given, "view0": given["view0"].drop(columns="view0 gene 2")})
        assert codes == pytest.approx(model.transform(empty), abs=1e-12)

    def test_unknown_features_and_views_without_any_are_refused(self) -> None:
        model, given = fit(frames()), frames()
        with pytest.raises(
            ValueError, match=r"has the unknown column\(s\) 'strange'; give columns of the 8 of the fit"
        ):
            model.transform({"view0": given["view0"].rename(columns={"view0 gene 0": "strange"})})


@pytest.mark.extras
def test_a_modality_without_the_column_of_use_var_keeps_its_features() -> None:
    import anndata
    import mudata

    parts = {name: anndata.AnnData(view) for name, view in views().items()}
    parts["view0"].var["chosen"] = np.arange(8) < 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mdata = mudata.MuData(parts)
        model = latens.MultiViewFactorAnalysis(2, use_var="chosen", **QUICK).fit(mdata)
        assert [len(names) for names in model.layout_.features] == [5, 6]
        assert model.transform(mdata) == pytest.approx(model.scores_, abs=1e-9)
        with pytest.raises(ValueError, match=r"use_var='nowhere' is no column of .var of view 'view0'"):
            latens.MultiViewFactorAnalysis(2, use_var="nowhere").fit(mdata)


@pytest.mark.parametrize("seed", range(3))
def test_factors_stand_in_order_of_the_variance_they_explain(seed: int) -> None:
    given = latens.datasets.make_multiview(150, (30, 20), n_factors=4, random_state=seed)[0]
    scales = np.exp(np.random.default_rng(seed).normal(size=50))
    given = {name: view * scales[: view.shape[1]] for name, view in given.items()}
    model = latens.MultiViewFactorAnalysis(6, random_state=0).fit(given)
    parts = [np.sum(w**2, axis=1) / np.nanvar(given[name], axis=0).sum() for name, w in model.components_.items()]
    assert (np.diff(model.share_) <= 0).all()
    assert (np.diff(np.mean(parts, axis=0)) < 0.01).all()  # what factors explain alone overlaps a little


@pytest.mark.extras
def test_rows_counted_from_another_number_are_said() -> None:
    """0 to 29 beside 1 to 30 may be the same rows in turn; names that are told apart by more than numbers are not."""
    import pandas as pd

    rng = np.random.default_rng(0)
    codes = rng.normal(size=(30, 1))
    a, b = (pd.DataFrame(codes @ rng.normal(size=(1, 4)) + rng.normal(size=(30, 4))) for _ in range(2))
    words = r"numbered 0 to 29 in view 'a' and 1 to 30 in view 'b': .*, 1 row\(s\) of each are missing in the other"
    with pytest.warns(FewSharedRows, match=words):
        model = latens.MultiViewFactorAnalysis(1, random_state=0).fit({"a": a, "b": b.set_axis(range(1, 31))})
    assert len(model.scores_) == 31
    for other in (b, b.set_axis([f"s{i}" for i in range(1, 31)])):
        named = a if other is b else a.set_axis([f"s{i}" for i in range(30)])
        with warnings.catch_warnings():
            warnings.simplefilter("error", FewSharedRows)
            latens.MultiViewFactorAnalysis(1, random_state=0).fit({"a": named, "b": other})
