"""Odds of clusters where covariates tell them apart without error, or are sums of each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from latens.errors import CollinearColumns, EndlessOdds
from latens.estimators.associations.class_odds import _Regression
from latens.estimators.class_association import Assigned, covariates_table

LABELS = np.repeat([0, 1], 60)
SURE = Assigned(np.eye(2)[LABELS], ("a", "b"))


def test_a_level_that_a_cluster_never_shows_has_the_odds_of_half_a_row_more() -> None:
    # Jeffreys' prior of a table of two by two adds half a row to each cell
    site = np.where(np.arange(120) % 3 == 0, "north", "south").astype(object)
    site[LABELS == 0] = "south"
    with pytest.warns(EndlessOdds, match="covariates 'site = south' separate some clusters without error"):
        table = covariates_table(SURE, {"site": site}, None, 0.95)
    north, south = np.sum(site[LABELS == 1] == "north"), np.sum(site[LABELS == 1] == "south")
    expected = np.log((south + 0.5) / 60.5) - np.log((north + 0.5) / 0.5)
    assert table["log odds"][1] == pytest.approx(expected, abs=1e-3)
    deviation = np.sqrt(1 / 0.5 + 1 / 60.5 + 1 / (north + 0.5) + 1 / (south + 0.5))
    assert table["high"][1] - table["low"][1] == pytest.approx(2 * 1.96 * deviation, rel=0.05)
    assert 0 < table["p"][1] < 0.05
    assert "Jeffreys' prior" in table.note


@pytest.mark.parametrize("errors", [0.0, 0.05])
def test_a_column_that_is_the_clusters_is_not_certain_without_a_word(errors: float) -> None:
    share = np.where(np.eye(2)[LABELS] == 1, 1 - errors, errors)
    with pytest.warns(EndlessOdds, match="'species = y'"):
        table = covariates_table(Assigned(share, ("a", "b")), {"species": np.where(LABELS, "y", "x")}, None, 0.95)
    width = table["high"][1] - table["low"][1]
    assert 0 < table["low"][1] < table["log odds"][1] < 25
    assert width > 2
    assert 1e-12 < table["p"][1] < 0.05


def test_columns_that_are_sums_of_each_other_are_named_and_others_stay() -> None:
    rng = np.random.default_rng(0)
    year, x = rng.integers(2007, 2012, 120).astype(float), rng.normal(size=120)
    alone = covariates_table(SURE, {"a": year, "x": x}, None, 0.95)
    with pytest.warns(CollinearColumns, match="covariates 'a', 'b' are constant, or linear combinations of each other"):
        table = covariates_table(SURE, {"a": year, "b": 2 * year, "x": x}, None, 0.95)
    assert table["covariate"] == ["(intercept)", "a", "b", "x"]
    assert np.isnan(table["log odds"]).tolist() == np.isnan(table["p"]).tolist() == [False, True, True, False]
    assert table["log odds"][3] == pytest.approx(alone["log odds"][2], abs=1e-5)
    assert table["low"][3] == pytest.approx(alone["low"][2], abs=1e-4)


def test_strong_effects_have_odds_with_an_end() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    label = (rng.random(2000) < 1 / (1 + np.exp(-3 * x))).astype(int)
    table = covariates_table(Assigned(np.eye(2)[label], ("a", "b")), {"x": x}, None, 0.95)
    assert table.note == "intervals and p take the clusters as known"
    assert table["low"][1] < 3 < table["high"][1]


def test_slopes_of_jeffreys_prior_are_those_of_differences() -> None:
    rng = np.random.default_rng(0)
    x, labels = np.column_stack([np.ones(30), rng.normal(size=(30, 2))]), rng.integers(3, size=30)
    assigned = Assigned(np.eye(3)[labels], ("a", "b", "c"))
    regression = _Regression.of(assigned, np.arange(30), x, np.arange(3))

    def prior(b: np.ndarray) -> float:
        return regression._jeffreys(regression.chances(b)[2][:, 1:])[0]

    b = rng.normal(size=regression.size)
    slopes = regression._jeffreys(regression.chances(b)[2][:, 1:])[1]
    assert (slopes.T @ regression.z).ravel() == pytest.approx(approx_fprime(b, prior, 1e-6), abs=1e-4)
