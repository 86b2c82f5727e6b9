"""Units of the columns do not matter to what is said of factors: only its numbers are in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

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
