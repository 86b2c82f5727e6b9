"""Columns that `latens.read` was told to keep aside: fits and answers use them, or refuse them by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.extras

KINDS = {"n": "poisson"}


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Any]:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    k, exposure = rng.integers(0, 2, 80), rng.uniform(0.5, 3, 80).round(3)
    frame = pandas.DataFrame(
        {
            "a": (rng.normal(size=80) + 2 * k).round(3),
            "n": rng.poisson(exposure * (1 + 4 * k)),
            "t": np.array(["x", "y", "z"])[(k + rng.integers(0, 2, 80)) % 3],
            "w": rng.integers(1, 4, 80),
            "e": exposure,
            "g": np.array(["u", "v"])[rng.integers(0, 2, 80)],
            "c": rng.normal(size=80).round(3),
        }
    )
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["LatentClassAnalysis", "MultiViewFactorAnalysis"])
def test_weights_and_exposures_of_a_table_are_used_by_fits_and_answers(name: str, people: tuple[Path, Any]) -> None:
    path, d = people
    build = lambda: getattr(latens, name)(2, likelihoods=KINDS, random_state=0, max_iter=30)  # noqa: E731
    table = latens.read(path, weights="w", exposure="e", drop=["g", "c"])
    rows, beside = d[["a", "n", "t", "e"]].copy(), {"exposure": "e"}
    model, other = build().fit(table), build().fit(rows, sample_weight=d.w, **beside)
    assert model.elbo_ == other.elbo_
    np.testing.assert_array_equal(model.transform(table), other.transform(rows, **beside))
    assert model.score(table) == other.score(rows, sample_weight=d.w, **beside)
    rows.loc[:9, "a"] = np.nan
    filled = model.impute(latens.read(rows, exposure="e"))
    np.testing.assert_array_equal(filled["a"], other.impute(rows, **beside)["a"])
    batches = build().partial_fit(table).partial_fit(table)
    others = build().partial_fit(rows.assign(a=d.a), sample_weight=d.w, **beside)
    assert batches.elbo_ == others.partial_fit(rows.assign(a=d.a), sample_weight=d.w, **beside).elbo_
    assert len(model.intervals(table))
    with pytest.raises(ValueError, match="sample_weight is given beside a table that was read with weights='w'"):
        build().fit(table, sample_weight=d.w)


@pytest.mark.filterwarnings("ignore")
def test_groups_and_covariates_of_a_table_are_used(people: tuple[Path, Any]) -> None:
    path, d = people
    table = latens.read(path, groups="g", covariates=["c"], drop=["w", "e"])
    build = lambda: latens.MultiViewFactorAnalysis(2, random_state=0, max_iter=30)  # noqa: E731
    model = build().fit(table)
    beside = {"groups": d.g, "covariates": d[["c"]]}
    other = build().fit(d[["a", "n", "t"]], **beside)
    assert model.elbo_ == other.elbo_
    np.testing.assert_array_equal(model.transform(table), other.transform(d[["a", "n", "t"]], **beside))


def test_a_target_and_weights_of_a_table_are_used_by_a_regression(people: tuple[Path, Any]) -> None:
    path, d = people
    table, rows = latens.read(path, target="a", weights="w", drop=["t", "g"]), d[["n", "e", "c"]]
    model = latens.BayesianLinearRegression().fit(table)
    other = latens.BayesianLinearRegression().fit(rows, d.a, sample_weight=d.w)
    assert model.elbo_ == other.elbo_
    assert model.score(table) == other.score(rows, d.a, sample_weight=d.w)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["GaussianMixture", "NoisyICA", "FactorAnalysis", "BinaryFactorAnalysis"])
def test_weights_of_a_table_count_its_rows(name: str, people: tuple[Path, Any]) -> None:
    path, d = people
    build = lambda: getattr(latens, name)(2, random_state=0, max_iter=10)  # noqa: E731
    table, rows = latens.read(path, weights="w", drop=["t", "g"]), d[["a", "n", "e", "c"]]
    model = build().fit(table)
    assert model.elbo_ == build().fit(rows, sample_weight=d.w).elbo_
    np.testing.assert_array_equal(model.transform(table), model.transform(rows))


@pytest.mark.parametrize("role", [{"groups": "g"}, {"covariates": ["c"]}, {"exposure": "e"}])
@pytest.mark.parametrize(
    "name",
    [
        "BernoulliMixture",
        "BayesianLinearRegression",
        "BinaryFactorAnalysis",
        "FactorAnalysis",
        "GaussianMixture",
        "LatentClassAnalysis",
        "NoisyICA",
        "NoisyOr",
    ],
)
def test_a_role_that_an_estimator_does_not_know_is_refused_by_name(
    name: str, role: dict[str, Any], people: tuple[Path, Any]
) -> None:
    if name == "LatentClassAnalysis" and "exposure" in role:
        return  # it knows them
    table = latens.read(people[0], **role)
    ((word, column),) = role.items()
    words = f"{name} has no {word}; leave {word}={column!r} out of latens.read"
    with pytest.raises(ValueError, match=re.escape(words)):
        getattr(latens, name)().fit(table)


def test_a_column_of_weights_without_numbers_or_with_holes_is_refused(people: tuple[Path, Any]) -> None:
    path, d = people
    with pytest.raises(latens.errors.TableRefused, match="the column 't' of weights holds no numbers but text"):
        latens.LatentClassAnalysis().fit(latens.read(path, weights="t"))
    d.loc[3, "c"] = np.nan
    with pytest.raises(latens.errors.TableRefused, match="the column 'c' of exposure is empty in 1 of 80 rows"):
        latens.LatentClassAnalysis().fit(latens.read(d, exposure="c"))
