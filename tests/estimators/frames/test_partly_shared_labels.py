"""Labels of rows that nearly all match: rows were dropped on one side and others on the other, and nothing says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import RowsByPlace
from latens.estimators.frames.row_labels import beside_rows, places_of_rows

pytestmark = pytest.mark.extras

QUICK: dict[str, Any] = {"max_iter": 4, "moves": False, "n_init": 1, "random_state": 0}
MIXED: dict[str, Any] = {
    "classes": latens.LatentClassAnalysis(2, likelihoods={"visits": "poisson"}, **QUICK),
    "factors of views": latens.MultiViewFactorAnalysis(1, prune=False, likelihoods={"visits": "poisson"}, **QUICK),
}
NUMBERS: dict[str, Any] = {
    "classes of numbers": latens.LatentClassAnalysis(2, **QUICK),
    "one view": latens.MultiViewFactorAnalysis(1, prune=False, **QUICK),
    "factors": latens.FactorAnalysis(1, **QUICK),
    "clusters": latens.GaussianMixture(2, **QUICK),
    "sources": latens.NoisyICA(1, **QUICK),
    "switches": latens.BinaryFactorAnalysis(1, **QUICK),
    "regression": latens.BayesianLinearRegression(),
}


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Fits of four iterations warn of much else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RowsByPlace)
        yield


@pytest.fixture(scope="module")
def table() -> Any:
    """Diabetes of scikit-learn, 442 rows numbered from 0, with a count, a label and columns to give beside them."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame = frame[["age", "bmi", "bp", "target"]].assign(sex=np.where(frame["sex"] > 1, "f", "m"))
    rng = np.random.default_rng(0)
    return frame.assign(visits=rng.poisson(2.0, len(frame)), months=rng.integers(1, 13, len(frame)).astype(float))


@pytest.mark.parametrize("which", NUMBERS)
def test_weights_of_other_rows_are_refused_whatever_the_estimator(which: str, table: Any) -> None:
    model, X, weight = NUMBERS[which], table[["age", "bmi", "bp"]].drop(index=3), table["months"].drop(index=200)
    y = table["target"].loc[X.index]
    with pytest.raises(ValueError, match=r"sample_weight and X share 440 of 441 row labels: .*'200', and has '3'"):
        model.fit(X, y, sample_weight=weight)
    right = model.fit(X, y, sample_weight=table["months"].loc[X.index])
    numbers = right.elbo_
    assert model.fit(X, y, sample_weight=weight.to_numpy()).elbo_ != numbers  # by place, as was typed
    assert model.fit(X, y, sample_weight=table["months"]).elbo_ == numbers  # entries for more rows than X has


def test_targets_of_other_rows_are_refused_and_the_remedies_work(table: Any) -> None:
    X, y = table[["age", "bmi", "bp"]].drop(index=3), table["target"].drop(index=200)
    model = latens.BayesianLinearRegression()
    for ask in (model.fit, model.fit(X, y.to_numpy()).score):
        with pytest.raises(ValueError, match=r"y and X share 440 of 441 .*X\.index\.intersection\(y\.index\)"):
            ask(X, y)
    both = X.index.intersection(y.index)
    assert len(both) == 440
    right = model.fit(table[["age", "bmi", "bp"]].drop(index=[3, 200]), table["target"].drop(index=[3, 200])).coef_
    assert model.fit(X.loc[both], y.loc[both]).coef_ == pytest.approx(right, rel=1e-12)


def test_runs_of_numbers_that_are_shifted_go_by_place_and_say_so(table: Any) -> None:
    X, y = table[["age", "bmi", "bp"]].drop(index=0), table["target"].drop(index=441)
    model = latens.BayesianLinearRegression()
    with pytest.warns(RowsByPlace, match=r"y is labelled '0' to '440' and X '1' to '441', with 440 of 441 labels"):
        model.fit(X, y)
    coef = model.coef_
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowsByPlace)
        assert model.fit(X, y.to_numpy()).coef_ == pytest.approx(coef)
        model.fit(X, y.set_axis(range(1000, 1441)))  # nothing in common: labels of another kind
        model.fit(X.set_axis([f"p{i}" for i in range(441)]), y)


@pytest.mark.parametrize("which", MIXED)
def test_exposures_of_other_rows_are_refused_at_a_fit_and_of_new_rows(which: str, table: Any) -> None:
    model, columns = MIXED[which], ["age", "bmi", "sex", "visits"]
    X, months = table[columns].drop(index=3), table["months"].drop(index=200)
    with pytest.raises(ValueError, match="exposure and X share 440 of 441 row labels"):
        model.fit(X, exposure=months)
    model.fit(table[columns], exposure=table["months"])
    for ask in (model.transform, model.impute, model.score_samples, getattr(model, "predict", model.transform)):
        with pytest.raises(ValueError, match="exposure and X share 440 of 441 row labels"):
            ask(X, exposure=months)
    part = table[columns].iloc[5:9]
    assert model.score_samples(part, exposure=table["months"]) == pytest.approx(
        model.score_samples(table[columns], exposure=table["months"])[5:9]
    )


@pytest.mark.parametrize("columns", [["age", "bmi", "bp"], ["age", "bmi", "sex"]])
def test_covariates_groups_and_metadata_of_other_rows(columns: list[str], table: Any) -> None:
    X, other = table[columns].drop(index=3), table.drop(index=200)
    model = latens.MultiViewFactorAnalysis(1, prune=False, **QUICK)
    with pytest.raises(ValueError, match="covariates and X share 440 of 441 row labels"):
        model.fit(X, covariates=other[["target"]])
    with pytest.raises(ValueError, match="groups and X share 440 of 441 row labels"):
        model.fit(X, groups=other["sex"])
    model.fit(X, covariates=table[["target"]])
    with pytest.raises(ValueError, match="covariates and X share 440 of 441 row labels"):
        model.transform(X, covariates=other[["target"]])
    assert set(model.associate(other[["bp"]])["n"]) == {440}  # metadata may lack rows, which are left out


def test_metadata_numbered_otherwise_are_refused_or_by_place_with_a_word(table: Any) -> None:
    X = table[["age", "bmi", "bp"]].drop(index=[3, 9])
    model = latens.FactorAnalysis(1, **QUICK).fit(X)
    renumbered = table[["target"]].drop(index=[3, 9]).reset_index(drop=True)
    with pytest.raises(ValueError, match="metadata and X share 438 of 440 row labels"):
        model.associate(renumbered, X)
    with pytest.raises(ValueError, match="metadata has 440 entries for 442 rows, and the rows of X are numbered from"):
        model.associate(renumbered, table[["age", "bmi", "bp"]])
    with pytest.warns(RowsByPlace, match="metadata is labelled '1' to '442'"):
        model.associate(table[["target"]].set_axis(range(1, 443)), table[["age", "bmi", "bp"]])


@pytest.mark.parametrize("columns", [["age", "bmi", "bp"], ["age", "bmi", "sex"]])
def test_repeated_labels_go_by_the_same_rule(columns: list[str], table: Any) -> None:
    import pandas as pd

    half = table.iloc[:100]
    twice = pd.concat([half, half.iloc[::-1]])  # each label two times
    X, covariates = twice[columns], twice[["target"]]
    model = latens.MultiViewFactorAnalysis(1, prune=False, **QUICK)
    right = model.fit(X, covariates=covariates.to_numpy()).elbo_
    assert model.fit(X, covariates=covariates).elbo_ == right  # the same labels in the same order
    assert (
        model.fit(X, covariates=half[["target"]].set_axis(["covariate0"], axis=1)).elbo_ == right
    )  # one for each label
    for other in (covariates.iloc[::-1].iloc[np.r_[1:200, 0]], covariates.sample(frac=1.0, random_state=0)):
        with pytest.raises(ValueError, match="covariates has the row labels of X in another order, and some labels"):
            model.transform(X, covariates=other.set_axis(["covariate0"], axis=1))
    with pytest.raises(ValueError, match=r"row labels of X are repeated, .*covariates\.to_numpy\(\) to go by place"):
        model.fit(X, covariates=covariates.reset_index(drop=True))
    model.fit(X)
    with pytest.raises(ValueError, match="metadata has the row labels of X in another order"):
        model.associate(covariates.sample(frac=1.0, random_state=0), X)


def test_rows_that_were_numbered_anew_are_not_the_first_ones(table: Any) -> None:
    X = table[["age", "bmi", "bp"]].drop(index=[3, 9]).reset_index(drop=True)
    for model in (latens.MultiViewFactorAnalysis(1, prune=False, **QUICK), latens.FactorAnalysis(1, **QUICK)):
        with pytest.raises(ValueError, match=r"sample_weight has 442 entries for 440 rows, .* numbered from 0"):
            model.fit(X, sample_weight=table["months"])


def test_halves_and_pages_keep_entries_of_more_rows(table: Any) -> None:
    X = table[["age", "bmi"]].drop(index=3)
    entries = beside_rows(X, {"covariates": table[["target"]], "exposure": {"visits": table["months"]}})
    assert entries["covariates"].index.equals(X.index)
    assert entries["exposure"]["visits"].equals(table["months"].drop(index=3))
    with pytest.raises(ValueError, match="covariates and X share 440 of 441"):
        beside_rows(X, {"covariates": table[["target"]].drop(index=7)})


@pytest.mark.parametrize(
    ("own", "rows", "expected"),
    [
        ("c b a", "a b c", [2, 1, 0]),
        ("x y z", "a b c", None),
        ("c a b d", "a b", [1, 2]),
        ("0 1 2", "7 9 8", None),
        ("a b c", "a a c", [0, 0, 2]),
    ],
)
def test_places(own: str, rows: str, expected: Any) -> None:
    assert places_of_rows("y", own.split(), rows.split()) == expected


def test_few_labels_in_common_are_chance_and_said() -> None:
    with pytest.warns(RowsByPlace, match="with 1 of 4 labels in common"):
        assert places_of_rows("y", ["0", "1", "2", "3"], ["3", "70", "90", "80"]) is None
