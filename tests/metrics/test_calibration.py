"""Calibration of probabilities and intervals."""

import numpy as np
import pytest

from latens.metrics import best_temperature, brier, coverage, expected_calibration_error, tempered


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


def test_the_best_temperature_takes_back_what_made_predictions_too_sure():
    rng = np.random.default_rng(3)
    honest = rng.dirichlet(np.ones(4), size=20000)
    y = (rng.uniform(size=(20000, 1)) > np.cumsum(honest, axis=1)).sum(axis=1)
    boastful = tempered(honest, 0.4)
    assert best_temperature(boastful, y) == pytest.approx(2.5, rel=0.03)
    assert tempered(boastful, 2.5) == pytest.approx(honest, abs=1e-9)
    assert best_temperature(honest, y) == pytest.approx(1, rel=0.03)


def test_a_temperature_keeps_the_order_and_the_shape():
    p = np.array([0.9, 0.2, 0.5])
    cooler = tempered(p, 3.0)
    assert cooler.shape == (3,)
    assert np.array_equal(np.argsort(cooler), np.argsort(p))
    assert tempered(p, 1.0) == pytest.approx(p)
    assert np.isfinite(tempered([[1.0, 0.0]], 5.0)).all()


def test_the_best_temperature_stays_finite_where_being_surer_is_always_better():
    assert best_temperature([0.8, 0.1], [1, 0]) == pytest.approx(0.05, rel=1e-3)
    assert best_temperature([0.8, 0.1], [0, 1]) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brier([[0.7, 0.7]], [0]), "sum to 1"),
        (lambda: brier([0.5], [2]), "classes from 0 to 1"),
        (lambda: expected_calibration_error([0.5], [1], n_bins=0), "n_bins=0"),
        (lambda: tempered([0.5], 0.0), "temperature=0.0"),
        (lambda: best_temperature([0.5, 0.5], [1]), "is not 2 classes"),
        (lambda: coverage([1.0], [1.0, 2.0], [1.0]), "shapes"),
        (lambda: coverage([1.0], [1.0], [-1.0]), "negative"),
        (lambda: coverage([1.0], [1.0], [1.0], level=95), "level=95"),
    ],
)
def test_what_is_no_prediction_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
