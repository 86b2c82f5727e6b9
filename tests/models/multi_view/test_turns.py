"""Axes of factors in which loadings are sparse: found from any others, and left alone once they are."""

from __future__ import annotations

import numpy as np
import pytest

from latens.models.multi_view.turns import sparse_axes, sparse_shear, sparse_turn

VARIANCE = 1e-4


@pytest.fixture
def sparse() -> np.ndarray:
    rng = np.random.default_rng(4)
    return (rng.random((4, 40)) < 0.4) * rng.normal(size=(4, 40))


def off(found: np.ndarray, sparse: np.ndarray) -> float:
    """The largest share of another factor in one, whatever their order and signs."""
    shares = np.abs(found @ np.linalg.pinv(sparse))
    return float(np.sort(shares, axis=1)[:, :-1].max())


@pytest.mark.parametrize("seed", range(4))
def test_turned_factors_are_turned_back(sparse: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixed = np.linalg.qr(rng.normal(size=(4, 4)))[0] @ sparse + np.sqrt(VARIANCE) * rng.normal(size=sparse.shape)
    turn = sparse_turn(mixed, VARIANCE)
    assert turn @ turn.T == pytest.approx(np.eye(4), abs=1e-12)
    assert off(turn @ mixed, sparse) < 2 * np.sqrt(VARIANCE)


def test_a_small_share_of_another_factor_is_taken_away(sparse: np.ndarray) -> None:
    mixed = sparse.copy()
    mixed[1] += 0.04 * sparse[2]
    mixed[3] -= 0.03 * sparse[0]
    shear = sparse_shear(mixed, VARIANCE)
    assert np.linalg.det(shear) == pytest.approx(1)
    assert off(mixed, sparse) > 0.025
    assert off(shear @ mixed, sparse) < 1.5 * np.sqrt(VARIANCE)


def test_a_shear_that_codes_would_pay_for_more_than_loadings_gain_is_left_alone(sparse: np.ndarray) -> None:
    """Few entries that become 0 do not pay for codes that go together in very many rows."""
    mixed = sparse[:2, :6].copy()
    mixed[0] += 0.09 * mixed[1]
    assert np.array_equal(sparse_shear(mixed, 1e-9), np.eye(2))


def test_turned_and_sheared_factors_come_back_and_sparse_ones_stay(sparse: np.ndarray) -> None:
    rng = np.random.default_rng(9)
    mixed = (np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.01 * rng.normal(size=(4, 4))) @ sparse
    both, _ = sparse_axes(mixed, VARIANCE)
    assert off(both @ mixed, sparse) < 2 * np.sqrt(VARIANCE)
    for axes in sparse_axes(sparse, VARIANCE):
        assert axes == pytest.approx(np.eye(4), abs=2 * np.sqrt(VARIANCE))
