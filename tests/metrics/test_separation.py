"""Scores of separation: order, sign and scale of sources change nothing, wrong sources do."""

from __future__ import annotations

import numpy as np
import pytest

from latens.metrics import amari_distance, source_correlation


def test_order_sign_and_scale_change_nothing() -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(6, 3))
    unmixing = np.linalg.pinv(mixing)
    assert amari_distance(unmixing, mixing) == pytest.approx(0, abs=1e-12)
    assert amari_distance(np.diag([-2.0, 0.1, 30.0]) @ unmixing[[2, 0, 1]], mixing) == pytest.approx(0, abs=1e-12)
    blurred = amari_distance(unmixing + 0.1 * rng.normal(size=unmixing.shape), mixing)
    assert 0.01 < blurred < amari_distance(rng.normal(size=unmixing.shape), mixing) <= 1


def test_the_amari_distance_by_hand() -> None:
    gain = np.array([[1.0, 0.5], [0.2, 2.0]])
    rows, columns = 0.5 / 1 + 0.2 / 2, 0.2 / 1 + 0.5 / 2
    assert amari_distance(gain, np.eye(2)) == pytest.approx((rows + columns) / 4)
    assert amari_distance([[5.0]], [[2.0]]) == 0


@pytest.mark.parametrize(
    ("unmixing", "mixing", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 3)), r"unmixing has shape \(2, 3\) and mixing \(2, 3\)"),
        (np.full((2, 2), np.nan), np.eye(2), "NaN or infinite"),
        (np.array([[1.0, 0.0], [1.0, 0.0]]), np.eye(2), "heard by no estimate"),
    ],
)
def test_matrices_that_cannot_be_compared_are_refused(unmixing: np.ndarray, mixing: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        amari_distance(unmixing, mixing)


def test_sources_are_paired_before_they_are_compared() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(500, 3))
    assert source_correlation(-2 * truth[:, [1, 2, 0]] + 7, truth) == pytest.approx(1)
    assert source_correlation(truth[:, :2], truth) == pytest.approx(2 / 3)
    noisy = source_correlation(truth + rng.normal(size=truth.shape), truth)
    assert noisy == pytest.approx(np.sqrt(0.5), abs=0.05)
    with pytest.raises(ValueError, match="expected"):
        source_correlation(truth[:10], truth)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 0.0, 1e150])
def test_a_dead_source_correlates_with_nothing_and_a_small_one_as_well_as_a_large_one(size: float) -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(50, 2))
    found = np.column_stack([truth[:, 0], size * truth[:, 1]])
    assert source_correlation(found, truth) == pytest.approx(1.0 if size else 0.5, abs=0.2)
    assert source_correlation(np.full((50, 2), 3.0), truth) == 0
    assert 0 <= source_correlation(found, truth) <= 1 + 1e-12
