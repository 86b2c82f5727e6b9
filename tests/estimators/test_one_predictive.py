"""One predictive density: what `impute` fills in is what `score_samples` says of the entry, given the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens

RNG = np.random.default_rng(0)
ON = RNG.random((25, 2)) < 0.45  # few rows: parameters are uncertain, and E[p] is not exp E[log p]
REAL = ON @ np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 2.0, 1.5, 0.0]]) + RNG.normal(size=(25, 4))
CHANCE = 1 - 0.9 * np.prod(1 - ON[:, :, None] * np.array([[0.8, 0.8, 0.5, 0.1], [0.1, 0.1, 0.5, 0.8]]), axis=1)
BINARY = (RNG.random((25, 4)) < CHANCE).astype(float)
FACTOR = RNG.normal(size=(25, 1)) @ np.array([[1.0, 0.8, -0.6, 0.5]]) + 0.7 * RNG.normal(size=(25, 4))


def fitted(model: Any, X: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def by_score(model: Any, row: np.ndarray, d: int, values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of entry d given the others, by the density of every value."""
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, d] = values
    score = model.score_samples(rows)
    chance = np.exp(score - score.max())
    chance /= chance.sum()
    mean = chance @ values
    return mean, float(np.sqrt(chance @ (values - mean) ** 2))


def filled(model: Any, row: np.ndarray, d: int) -> tuple[float, float]:
    hidden = row.copy()
    hidden[d] = np.nan
    mean, std = model.impute(hidden[None], return_std=True)
    return mean[0, d], std[0, d]


TWO = {"n_components": 2, "random_state": 0, "moves": False, "prune": False}


@pytest.mark.parametrize("prior", ["ard", "ml"])
@pytest.mark.parametrize("d", [0, 2])
def test_chances_of_noisy_or_are_those_of_its_score(prior: str, d: int) -> None:
    model = fitted(latens.NoisyOr(**TWO, prior=prior), BINARY)
    for row in BINARY[:4]:
        assert filled(model, row, d) == pytest.approx(by_score(model, row, d, np.array([0.0, 1.0])), abs=1e-9)


@pytest.mark.parametrize("e_step", ["exact", "mean-field"])
@pytest.mark.parametrize("d", [0, 2])
def test_entries_of_binary_factors_are_those_of_their_score(e_step: str, d: int) -> None:
    """Means are the same; deviations but for what the row itself says of the noise, which all columns share."""
    model = fitted(latens.BinaryFactorAnalysis(**TWO, e_step=e_step), REAL)
    for row in REAL[:4]:
        mean, std = by_score(model, row, d, np.linspace(-60.0, 60.0, 6001))
        own_mean, own_std = filled(model, row, d)
        assert own_mean == pytest.approx(mean, abs=2e-3)
        assert own_std == pytest.approx(std, rel=0.06)


@pytest.mark.parametrize("d", [0, 2])
def test_entries_of_factors_at_maximum_likelihood_are_those_of_their_score(d: int) -> None:
    model = fitted(latens.FactorAnalysis(1, prior="ml"), FACTOR)
    for row in FACTOR[:4]:
        expected = by_score(model, row, d, np.linspace(-20.0, 20.0, 4001))
        assert filled(model, row, d) == pytest.approx(expected, rel=1e-5, abs=1e-6)
