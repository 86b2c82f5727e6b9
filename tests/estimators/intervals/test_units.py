"""Units of the columns do not matter to what is said of factors: only its numbers are in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import latens

COLUMN = 12  # the one that is in another unit


def wine() -> np.ndarray:
    X = load_wine().data
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def table_in_units(X: np.ndarray, unit: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations in the units of X, of its columns times `unit`, and which are sound."""
    table = latens.FactorAnalysis(random_state=0, **options).fit(X * unit).intervals()
    powers = {"components": 1, "mean": 1, "noise_variance": 2}
    units = {f"x{d}": each for d, each in enumerate(unit)}
    own = [
        units[feature] ** powers[parameter] if parameter in powers else 1.0
        for parameter, feature in zip(table["parameter"], table["feature"], strict=True)
    ]
    std = np.array(table["std"]) / np.array(own)
    if "rotation" in options:  # factors are in the order of their variance, which is in data units
        std = std[np.lexsort((std, table["feature"], table["parameter"]))]
    return std, np.array(table["sound"])


@pytest.mark.parametrize("options", [{}, {"prior": "ml"}], ids=["ard", "ml"])
def test_intervals_of_sources_are_in_the_unit_of_each_sensor(options: dict[str, Any]) -> None:
    X = wine()
    tables = []
    for factor in (1.0, 2.0**10, 1e-6, 1e6):
        unit = np.where(np.arange(X.shape[1]) == COLUMN, factor, 1.0)
        model = latens.NoisyICA(2, random_state=0, **options).fit(X * unit)
        tables.append(_per_unit(model.intervals(X * unit), f"x{COLUMN}", factor))
    for std, sound in tables[1:]:
        np.testing.assert_array_equal(sound, tables[0][1])
        np.testing.assert_allclose(np.sort(std), np.sort(tables[0][0]), rtol=1e-5)  # sources in another order


def test_intervals_of_sources_almost_without_noise_do_not_depend_on_units() -> None:
    X = load_breast_cancer().data[:, :10]  # three columns are sizes of one thing
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sound = []
    for factor in (1.0, 1e-6, 1e3):
        unit = np.where(np.arange(X.shape[1]) == X.shape[1] - 1, factor, 1.0)
        table = latens.NoisyICA(3, random_state=0).fit(X * unit).intervals(X * unit)
        sound.append(np.mean(table["sound"]))
    np.testing.assert_array_equal(sound, sound[0])
    assert sound[0] > 0.9


@pytest.mark.extras
def test_intervals_of_views_of_a_mixed_frame_are_in_the_unit_of_each_column() -> None:
    import pandas

    X, kind = wine(), np.where(np.arange(178) % 3 == 0, "a", "b")
    tables = []
    for factor in (1.0, 2.0**10):
        unit = np.where(np.arange(X.shape[1]) == COLUMN, factor, 1.0)
        frame = pandas.DataFrame(X * unit, columns=[f"x{d}" for d in range(X.shape[1])]).assign(kind=kind)
        model = latens.MultiViewFactorAnalysis(3, random_state=0).fit(frame)
        tables.append(_per_unit(model.intervals(frame), f"x{COLUMN}", factor))
    np.testing.assert_array_equal(tables[1][1], tables[0][1])
    np.testing.assert_allclose(tables[1][0], tables[0][0], rtol=1e-9)


def _per_unit(table: Any, column: str, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations in the unit of the column before it was multiplied, and which are sound."""
    powers = {"share": 0, "tails": 0, "noise_variance": 2}
    own = [
        factor ** powers.get(parameter, 1) if feature.split(" ")[0] == column else 1.0
        for parameter, feature in zip(table["parameter"], table["feature"], strict=True)
    ]
    return np.array(table["std"]) / np.array(own), np.array(table["sound"])


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 3},
        {"n_components": 1},
        {"n_components": 3, "prior": "ard"},
        {"n_components": 3, "rotation": "varimax"},
        {"n_components": 3, "rotation": "varimax", "prior": "ard"},
    ],
    ids=["ml", "one factor", "ard", "varimax", "varimax of ard"],
)
def test_intervals_of_factors_are_in_the_unit_of_each_column(options: dict[str, Any]) -> None:
    X = wine()
    expected, sound = table_in_units(X, np.ones(X.shape[1]), **options)
    assert sound.all()
    for factor in (1e-6, 1e-3, 1e3, 1e4, 1e6):
        unit = np.where(np.arange(X.shape[1]) == COLUMN, factor, 1.0)
        std, sound = table_in_units(X, unit, **options)
        assert sound.all()
        np.testing.assert_allclose(std, expected, rtol=1e-4)


@pytest.mark.parametrize("rotation", [None, "varimax"])
def test_raw_columns_have_finite_intervals(rotation: str | None) -> None:
    model = latens.FactorAnalysis(3, rotation=rotation, random_state=0).fit(load_wine().data)
    assert np.isfinite(model.intervals()["std"]).all()
