"""One predictive density: what `impute` fills in is what `score_samples` says of the entry, given the others."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows
from latens.models.noisy_or.model import NoisyOrCauses

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


def test_chances_of_many_causes_are_those_of_their_score_where_ones_are_few() -> None:
    """Of more than 12 causes not all states are listed; both answers sum over all of them for rows like these."""
    model = fitted(latens.NoisyOr(**{**TWO, "n_components": 14}, n_states=2), BINARY)
    assert model.score_is_bound_  # of rows with many ones
    for row in BINARY[:4]:
        assert filled(model, row, 0) == pytest.approx(by_score(model, row, 0, np.array([0.0, 1.0])), abs=1e-9)


def test_chances_of_many_causes_are_near_those_of_their_score_where_ones_are_many() -> None:
    """The best states are weighed as in the score: by posterior means, not by expected logarithms."""
    rng = np.random.default_rng(1)
    strength, on = (rng.random((14, 40)) < 0.4) * 0.8, rng.random((60, 14)) < 0.2
    X = (rng.random((60, 40)) > 0.95 * np.prod(1 - on[:, :, None] * strength, axis=1)).astype(float)
    model = fitted(latens.NoisyOr(14, prune=False, n_init=1, random_state=0, n_states=100), X)
    many = X[X.sum(axis=1) > 12]
    hidden = many.copy()
    hidden[:, ::8] = np.nan
    all_listed = NoisyOrCauses(n_features=40, most_exact=14)  # every one of the 2^14 states
    rows = Rows(np.nan_to_num(hidden), seen=~np.isnan(hidden))
    q = model.posterior_
    exact, _ = all_listed.impute(q, rows, all_listed.local_step(q, rows))
    assert len(many) > 20
    assert np.abs(model.impute(hidden) - exact)[np.isnan(hidden)].max() < 0.02


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
def test_entries_of_factors_at_maximum_likelihood_have_the_mean_of_their_score_and_count_what_is_estimated(
    d: int,
) -> None:
    """The score is the likelihood at the point, as scikit-learn has it; filled entries are Student's t about it.

    By its degrees of freedom v = n - K - 1 the variance is n / (v - 2) times as large, and more of rows that estimated
    parameters move.
    """
    model = fitted(latens.FactorAnalysis(1, prior="ml"), FACTOR)
    n, v = 25, 25 - 1 - 1
    for row in FACTOR[:4]:
        mean, std = by_score(model, row, d, np.linspace(-20.0, 20.0, 4001))
        own_mean, own_std = filled(model, row, d)
        assert own_mean == pytest.approx(mean, rel=1e-5, abs=1e-6)
        assert np.sqrt(n / (v - 2)) < own_std / std < 1.5 * np.sqrt(n / (v - 2))


def test_many_rows_leave_entries_of_factors_as_their_score_has_them() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1100, 1)) @ np.array([[1.0, 0.8, -0.6, 0.5]]) + 0.7 * rng.normal(size=(1100, 4))
    model = fitted(latens.FactorAnalysis(1, prior="ml"), rows)
    expected = by_score(model, rows[0], 0, np.linspace(-20.0, 20.0, 4001))
    assert filled(model, rows[0], 0) == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.slow
def test_entries_of_factors_at_maximum_likelihood_on_few_rows_are_held_as_often_as_said() -> None:
    """89 to 90 % by the likelihood at the point; two standard errors of 60 data sets are 1.8 %."""
    loadings, noise, held = np.array([[1.0, 0.8, -0.6, 0.5, 0.9, 0.0]]), np.linspace(0.5, 1.0, 6), []
    for seed in range(60):
        rng = np.random.default_rng([seed, 6])
        x = rng.normal(size=(30, 1)) @ loadings + rng.normal(size=(30, 6)) * np.sqrt(noise) + 1
        hidden = rng.random(x.shape) < 0.1
        hidden[hidden.all(axis=1), 0] = False
        gappy = np.where(hidden, np.nan, x)
        mean, std = fitted(latens.FactorAnalysis(1), gappy).impute(gappy, return_std=True)
        held.append((np.abs(mean - x) <= 1.96 * std)[hidden])
    assert 0.92 < np.concatenate(held).mean() < 0.97
