"""What is said about frames that cannot be taken as they are, and what to do about it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import UnusedColumns

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]
KINDS = [latens.MultiViewFactorAnalysis, latens.LatentClassAnalysis]
QUICK = {"random_state": 0, "max_iter": 9, "moves": False}


def visits(n: int = 60) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    age = rng.normal(50, 10, n)
    return pd.DataFrame(
        {
            "age": age,
            "height": rng.normal(170, 8, n),
            "visits": 1 + rng.poisson(age / 20),
            "months": 1.0 + np.arange(n) % 9,
        }
    )


def test_likelihoods_by_column_of_a_frame_of_numbers() -> None:
    X = visits()
    model = latens.MultiViewFactorAnalysis(1, likelihoods={"visits": "poisson"}, **QUICK).fit(X)
    assert model.likelihoods_ == {"numbers": "gaussian", "counts": "poisson"}
    holes = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    assert model.impute(holes).dtypes.equals(holes.dtypes)
    assert latens.MultiViewFactorAnalysis(1, likelihoods={"x": "gaussian"}, **QUICK).fit(X).likelihoods_ == {
        "x": "gaussian"
    }
    with pytest.raises(ValueError, match="likelihoods names 'vists'; there are the columns 'age', 'height', 'visits'"):
        latens.MultiViewFactorAnalysis(1, likelihoods={"vists": "poisson"}).fit(X)


def test_likelihoods_by_column_of_views_are_told_how_to_name_it() -> None:
    X = visits()
    views = {"body": X[["age", "height"]], "clinic": X[["visits", "months"]]}
    with pytest.raises(ValueError, match="'visits' is a column of 'clinic': likelihoods=") as refused:
        latens.MultiViewFactorAnalysis(1, likelihoods={"visits": "poisson"}).fit(views)
    chosen = eval(str(refused.value).partition("likelihoods={")[2].join(["{", ""]).rstrip("."))
    model = latens.MultiViewFactorAnalysis(1, likelihoods=chosen, **QUICK).fit(views)
    assert model.likelihoods_["clinic (poisson)"] == "poisson"


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", KINDS)
def test_durations_are_called_so_and_can_be_turned_into_numbers(kind: Any, library: str) -> None:
    import pandas as pd

    X = visits().assign(stay=pd.to_timedelta(np.random.default_rng(1).integers(1, 99, 60), unit="h"))
    X.loc[3, "stay"] = pd.NaT
    X = X if library == "pandas" else pytest.importorskip("polars").from_pandas(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = kind(1, **QUICK).fit(X)
    (said,) = [str(each.message) for each in caught if isinstance(each.message, UnusedColumns)]
    assert "stay (durations are not modelled)" in said
    call = said.partition("numbers of a unit: ")[2].rstrip(".")
    numbers = eval(call, {"X": X})
    X = X.assign(stay=numbers) if library == "pandas" else X.with_columns(numbers)
    assert "stay" in str(model.fit(X).layout_ if kind is KINDS[0] else model.fit(X).likelihoods_)
    with pytest.raises(ValueError, match="column 'stay' is to be gaussian but holds durations"):
        kind(1, likelihoods={"stay": "gaussian"}).fit(visits().assign(stay=pd.to_timedelta(np.arange(60), unit="h")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_with_exposures_asks_for_them_by_name(kind: Any) -> None:
    for X in (visits(), visits().assign(sex=np.resize(["f", "m", "f"], 60))):
        model = kind(1, likelihoods={"visits": "poisson"}, **QUICK).fit(X, exposure="months")
        for answer in (model.score_samples, model.transform, model.impute):
            with pytest.raises(
                ValueError, match=r"fitted with exposures; pass exposure= .* the name of a column of X, or"
            ):
                answer(X)
            answer(X, exposure="months")


def test_views_of_one_table_with_exposures_ask_for_them_by_name() -> None:
    X = visits()[["visits", "months"]].assign(calls=2)
    model = latens.MultiViewFactorAnalysis(1, likelihoods={"x": "poisson"}, **QUICK).fit(X, exposure="months")
    with pytest.raises(ValueError, match="the model was fitted with exposures; pass exposure="):
        model.score_samples(X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_without_rows_is_refused_in_words(kind: Any) -> None:
    X = visits().assign(sex=np.resize(["f", "m", "f"], 60))
    model = kind(1, **QUICK).fit(X)
    for answer in (model.impute, model.transform, model.score_samples):
        with pytest.raises(ValueError, match="X has no rows; give at least one"):
            answer(X.iloc[:0])


@pytest.mark.parametrize("kind", [*KINDS, latens.FactorAnalysis, latens.GaussianMixture])
def test_a_plan_for_a_table_is_refused_with_what_reads_it(kind: Any) -> None:
    X = pytest.importorskip("polars").from_pandas(visits())
    with pytest.raises(TypeError, match=r"X is a LazyFrame, .* give X.collect\(\), or, .* latens.scan\(X\)"):
        kind(1, **QUICK).fit(X.lazy())
    model = kind(1, **QUICK).fit(X.lazy().collect())
    with pytest.raises(TypeError, match=r"give X.collect\(\)"):
        model.transform(X.lazy())
    kind(1, **QUICK).fit(latens.scan(X.lazy()))


def test_a_plan_for_a_view_is_refused_by_its_name() -> None:
    X = pytest.importorskip("polars").from_pandas(visits())
    with pytest.raises(TypeError, match=r"views\['b'\] is a LazyFrame, .* give views\['b'\].collect\(\)"):
        latens.MultiViewFactorAnalysis(1).fit({"a": X, "b": X.lazy()})


@pytest.mark.parametrize("estimator", KINDS)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_words_of_a_scale_without_an_order_are_told_and_the_remedy_orders_them(estimator: Any, kind: str) -> None:
    import pandas as pd
    import polars as pl

    rng, levels = np.random.default_rng(0), ["unlikely", "somewhat likely", "very likely"]
    answers = {"apply": rng.choice(levels, 90).tolist(), "grade": rng.normal(size=90).tolist()}
    X = pd.DataFrame(answers) if kind == "pandas" else pl.DataFrame(answers)
    model = estimator(1, likelihoods={"apply": "ordinal"}, max_iter=3, prune=False, random_state=0)
    with pytest.warns(
        latens.errors.OrderAssumed, match=r"apply \(somewhat likely < unlikely < very likely\)"
    ) as records:
        model.fit(X)
    (remedy,) = (str(each.message) for each in records if each.category is latens.errors.OrderAssumed)
    call = remedy.partition("theirs: ")[2].partition(", with the levels")[0]
    ordered = eval(call.replace(repr(sorted(levels)), repr(levels)), {"pandas": pd, "polars": pl, "X": X})
    X = X.assign(apply=ordered) if kind == "pandas" else X.with_columns(ordered)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", latens.errors.OrderAssumed)
        model.fit(X)
    names = str(model.profiles_ if hasattr(model, "profiles_") else model.levels_)
    assert names.index("unlikely") < names.index("somewhat likely") < names.index("very likely")


def test_two_levels_that_have_an_order_keep_it() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    size = pd.Categorical(rng.choice(["low", "high"], 60), ["low", "high"], ordered=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.LatentClassAnalysis(1, random_state=0).fit(
            pd.DataFrame({"size": size, "x": rng.normal(size=60)})
        )
    assert model.profiles_["of"][0] == "P(high)"


def test_names_of_columns_as_groups_or_covariates_are_refused_with_what_to_type() -> None:
    X, model = visits(), latens.MultiViewFactorAnalysis(1, **QUICK)
    with pytest.raises(ValueError, match=r"fit\(X\.drop\(columns=\['months'\]\), groups=X\['months'\]\)\.$"):
        model.fit(X, groups="months")
    for given in ("age", ["age"]):
        with pytest.raises(ValueError, match=r"fit\(X\.drop\(columns=\['age'\]\), covariates=X\[\['age'\]\]\)\.$"):
            model.fit(X, covariates=given)


def long_frame(kind: str) -> Any:
    values = np.random.default_rng(0).normal(size=(30, 5))
    columns = {
        "sample": np.repeat([f"patient{i}" for i in range(30)], 5),
        "feature": np.tile([f"gene{j}" for j in range(5)], 30),
        "view": np.tile(["rna", "rna", "rna", "protein", "protein"], 30),
        "value": values.ravel(),
    }
    return pytest.importorskip(kind).DataFrame(columns)


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (latens.LatentClassAnalysis, "pandas"),
        (latens.LatentClassAnalysis, "polars"),
        (latens.MultiViewFactorAnalysis, "polars"),  # of pandas it takes such frames as they are
    ],
)
def test_a_long_frame_is_refused_with_what_lays_it_out(estimator: Any, kind: str) -> None:
    frame = long_frame(kind)
    with pytest.raises(
        ValueError, match=r"long table.*\(sample, feature, view, value\): fit latens.read\(X, format='long'"
    ):
        estimator(2, random_state=0).fit(frame)
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(latens.read(frame, format="long"))
    assert model.layout_.views == ("rna", "protein")
    lines = latens.read(frame, format="matrix")
    assert estimator(1, max_iter=3, random_state=0).fit(lines).n_features_in_ >= 3


def test_a_table_of_samples_with_such_names_is_none() -> None:
    pandas, rng = pytest.importorskip("pandas"), np.random.default_rng(0)
    frame = pandas.DataFrame({"sample": rng.normal(size=40), "gene": rng.choice(["x", "y"], 40), "level": range(40)})
    assert latens.LatentClassAnalysis(2, random_state=0).fit(frame).n_components_ >= 1
