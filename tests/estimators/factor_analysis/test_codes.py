"""Codes after fits of few rows: as uncertain as the parameters leave them."""

from __future__ import annotations

import numpy as np
import pytest

import latens

LOADINGS = np.array([[1.0, 0.8, -0.6, 0.5, 0.9, 0.7]])


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    z, noise = rng.normal(size=(n, 1)), np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    return z @ LOADINGS + rng.normal(size=(n, 6)) * np.sqrt(noise) + 1, z[:, 0]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_codes_of_thirty_rows_are_held_more_often_than_with_parameters_taken_as_known() -> None:
    held, held_by_narrow = [], []
    for seed in range(25):
        X, z = drawn(30, seed)
        model = latens.FactorAnalysis(1).fit(X)
        mean, std = (np.asarray(part)[:, 0] for part in model.transform(X, return_std=True))
        narrow = np.sqrt(model.transform(X, return_cov=True)[1][0, 0])
        gap = np.abs(np.sign(mean @ z) * mean - z)
        held.append(np.mean(gap <= 1.96 * std))
        held_by_narrow.append(np.mean(gap <= 1.96 * narrow))
    assert np.mean(held_by_narrow) < 0.86
    assert np.mean(held) > 0.87
    assert np.mean(held) > np.mean(held_by_narrow) + 0.05


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_codes_by_relevance_are_held_more_often_than_with_parameters_taken_as_known() -> None:
    held, held_by_narrow = [], []
    for seed in range(12):
        X, z = drawn(30, seed)
        model = latens.FactorAnalysis(1, prior="ard", random_state=0).fit(X)
        if model.n_components_:
            mean, std = (np.asarray(part)[:, 0] for part in model.transform(X, return_std=True))
            narrow = np.sqrt(model.transform(X, return_cov=True)[1][0, 0])
            gap = np.abs(np.sign(mean @ z) * mean - z)
            held.append(np.mean(gap <= 1.96 * std))
            held_by_narrow.append(np.mean(gap <= 1.96 * narrow))
    assert np.mean(held) > 0.91
    assert np.mean(held) > np.mean(held_by_narrow) + 0.02


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_parameters_add_less_to_codes_the_more_rows_there_are_and_most_to_rows_far_out() -> None:
    shares = []
    for n in (30, 120, 480):
        X, _ = drawn(n, 3)
        model = latens.FactorAnalysis(1).fit(X)
        far = X.mean(axis=0) + np.array([[0.0], [3.0]]) * LOADINGS
        given = model.transform(far, return_cov=True)[1][0, 0]
        added = model.transform(far, return_std=True)[1][:, 0] ** 2 - given
        assert added[1] > 3 * added[0] > 0
        shares.append(added[1] / given)
    assert shares[0] > 2 * shares[1] > 4 * shares[2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_with_holes_and_models_of_thousands_of_rows_have_standard_deviations_too() -> None:
    X, _ = drawn(60, 5)
    model = latens.FactorAnalysis(1).fit(X)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    given = np.sqrt(model.transform(holes, return_cov=True)[1][:, 0, 0])
    std = model.transform(holes, return_std=True)[1][:, 0]
    assert np.all(std > given)
    assert np.all(np.isfinite(std))
