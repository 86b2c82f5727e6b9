"""How many factors a search begins with where columns are many and samples few."""

from __future__ import annotations

import numpy as np
import pytest

from latens.estimators.multi_view.starts import _standing_out


@pytest.fixture
def noise() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 800))


def test_directions_that_stand_out_of_noise_are_counted_over_all_views(noise: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(40, 3)) @ (rng.normal(size=(3, 800)) * (rng.random((3, 800)) < 0.2))
    both = noise + signal
    assert _standing_out([both], 10) == 3
    assert _standing_out([both[:, :500], 1000 * both[:, 500:]], 10) == 3
    assert _standing_out([both], 2) == 2


def test_noise_has_one_direction_and_columns_that_do_not_vary_none(noise: np.ndarray) -> None:
    assert _standing_out([noise], 10) == 1
    assert _standing_out([np.zeros((5, 20))], 4) == 1


def test_tables_of_few_columns_are_not_counted(noise: np.ndarray) -> None:
    assert _standing_out([noise.T], 10) == 10
