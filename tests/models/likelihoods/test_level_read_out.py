"""Chances of levels that are read out of codes: regressions, what holes add to them, and draws."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from latens.models.likelihoods.level_read_out import LevelReadOut, regress_levels

N, K = 400, 2
COEFFICIENTS = np.array([[0.0, 2.0, -0.5], [-2.0, 0.0, 0.5], [2.0, -1.0, 0.0]])  # of two codes and a level


def rows_at(mean: np.ndarray, spread: np.ndarray) -> Any:
    """Regressors of rows that all belong to one group."""
    return SimpleNamespace(mean=np.column_stack([mean, np.ones(len(mean))]), spread=spread, kind=None)


def levels_of(sticks: np.ndarray) -> np.ndarray:
    """(n, C), from chances in turn."""
    left = np.cumprod(np.column_stack([np.ones(len(sticks)), 1 - sticks]), axis=1)
    return left * np.column_stack([sticks, np.ones(len(sticks))])


def test_coefficients_are_where_levels_are_most_probable_and_near_the_true_ones() -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(20_000, K)), np.ones(20_000)])
    level = np.argmax(x @ COEFFICIENTS.T + rng.gumbel(size=(20_000, 3)), axis=1)
    found = regress_levels(x, level, np.ones(20_000), 3, np.array([1e-3]))
    assert found - found[0] == pytest.approx(COEFFICIENTS - COEFFICIENTS[0], abs=0.15)


def test_a_weight_of_two_is_a_row_given_twice() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.normal(size=(60, K)), np.ones(60)])
    level, twice = rng.integers(3, size=60), np.arange(60) < 20
    again = np.concatenate([np.arange(60), np.flatnonzero(twice)])
    weighted = regress_levels(x, level, 1.0 + twice, 3, np.array([1e-3]))
    given = regress_levels(x[again], level[again], np.ones(80), 3, np.array([1e-3]))
    assert weighted == pytest.approx(given, abs=1e-3)


def test_levels_that_codes_tell_apart_have_coefficients_that_end() -> None:
    x = np.column_stack([np.repeat([-1.0, 1.0], 30), np.zeros(60), np.ones(60)])
    found = regress_levels(x, np.repeat([0, 1], 30), np.ones(60), 2, np.array([1e-3]))
    chance = softmax(x @ found.T, axis=1)[np.arange(60), np.repeat([0, 1], 30)]
    assert chance.min() > 0.99
    assert np.abs(found).max() < 10


def test_levels_that_codes_do_not_tell_have_the_shares_of_all_rows() -> None:
    rng = np.random.default_rng(4)
    losses = []
    for _ in range(20):
        x, level = np.column_stack([rng.normal(size=(240, K)), np.ones(240)]), rng.integers(3, size=240)
        found = regress_levels(x[:40], level[:40], np.ones(40), 3, np.array([1e-3]))
        chance = softmax(x[40:] @ found.T, axis=1)[np.arange(200), level[40:]]
        share = np.bincount(level[:40], minlength=3)[level[40:]] / 40
        losses.append(np.mean(np.log(share)) - np.mean(np.log(chance)))
    assert np.mean(losses) < 0.03  # .08 with coefficients of a usual size


def test_chances_of_rows_with_holes_are_averages_over_what_they_would_tell() -> None:
    rng = np.random.default_rng(2)
    mean, least = rng.normal(size=(N, K)), 0.2 * np.eye(K)
    wider = np.array([[0.6, 0.2], [0.2, 0.5]])
    read_out = LevelReadOut(least[None], COEFFICIENTS, (3,))
    complete = levels_of(read_out.chances(rows_at(mean, least[None])))
    assert complete == pytest.approx(softmax(mean @ COEFFICIENTS[:, :K].T + COEFFICIENTS[:, K], axis=1), abs=1e-9)
    found = levels_of(read_out.chances(rows_at(mean, np.repeat((least + wider)[None], N, axis=0))))
    deviations = rng.normal(size=(20_000, K)) @ np.linalg.cholesky(wider).T
    for row in range(5):
        each = softmax((mean[row] + deviations) @ COEFFICIENTS[:, :K].T + COEFFICIENTS[:, K], axis=1)
        assert found[row] == pytest.approx(each.mean(axis=0), abs=0.02)


@pytest.mark.parametrize("n_levels", [3, 2])
def test_drawn_codes_have_the_same_chances_on_average(n_levels: int) -> None:
    rng = np.random.default_rng(3)
    mean, least = np.tile([[0.5, -0.3]], (20_000, 1)), 0.3 * np.eye(K)[None]
    spread = least + np.array([[[0.5, -0.1], [-0.1, 0.2]]])
    read_out = LevelReadOut(least, COEFFICIENTS[:n_levels], (n_levels,))
    drawn = mean + rng.normal(size=mean.shape) @ np.linalg.cholesky(spread[0]).T
    each = levels_of(read_out.chances(rows_at(mean, spread), drawn))
    average = levels_of(read_out.chances(rows_at(mean[:1], spread)))[0]
    assert each.mean(axis=0) == pytest.approx(average, abs=0.02)


def test_levels_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="3 levels of 1 columns cannot be"):
        LevelReadOut(np.zeros((1, K, K)), COEFFICIENTS, (2, 1))
