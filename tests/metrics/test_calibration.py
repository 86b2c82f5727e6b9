"""Calibration of probabilities and intervals."""

import numpy as np
import pytest

from latens.metrics import brier, coverage, expected_calibration_error


def test_honest_probabilities_are_calibrated_and_boastful_ones_are_not():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20000)
    y = (rng.uniform(size=20000) < p).astype(int)
    assert expected_calibration_error(p, y) < 0.02
    boastful = np.where(p > 0.5, 0.999, 0.001)
    assert expected_calibration_error(boastful, y) == pytest.approx(0.249, abs=0.02)


def test_bins_are_weighed_by_their_rows():
    p = [[0.95, 0.05]] * 3 + [[0.6, 0.4]]
    assert expected_calibration_error(p, [0, 0, 1, 0], n_bins=10) == pytest.approx((3 * abs(2 / 3 - 0.95) + 0.4) / 4)


def test_brier_is_lowest_at_the_truth():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), size=5000)
    y = np.array([rng.choice(3, p=row) for row in p])
    sharper = p**2 / np.sum(p**2, axis=1, keepdims=True)
    assert brier(p, y) < brier(sharper, y)
    assert brier(p, y) == pytest.approx(np.mean(np.sum((p - np.eye(3)[y]) ** 2, axis=1)))


def test_intervals_of_the_right_width_cover_as_said():
    rng = np.random.default_rng(2)
    scale = rng.uniform(0.5, 2, 20000)
    y = rng.standard_normal(20000) * scale
    assert coverage(y, np.zeros(20000), scale**2) == pytest.approx(0.95, abs=0.006)
    assert coverage(y, np.zeros(20000), scale**2, level=0.5) == pytest.approx(0.5, abs=0.012)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brier([[0.7, 0.7]], [0]), "sum to 1"),
        (lambda: brier([0.5], [2]), "classes from 0 to 1"),
        (lambda: expected_calibration_error([0.5], [1], n_bins=0), "n_bins=0"),
        (lambda: coverage([1.0], [1.0, 2.0], [1.0]), "shapes"),
        (lambda: coverage([1.0], [1.0], [-1.0]), "negative"),
        (lambda: coverage([1.0], [1.0], [1.0], level=95), "level=95"),
    ],
)
def test_what_is_no_prediction_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
