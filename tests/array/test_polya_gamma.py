"""Polya-Gamma draws have the moments and the Laplace transform of their distribution."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.polya_gamma import draw_polya_gamma

N = 60_000


@pytest.mark.parametrize("tilt", [0.0, 0.3, 1.0, 3.1, -3.2, 8.0, 60.0])
def test_draws_have_mean_variance_and_laplace_transform(tilt: float) -> None:
    drawn, c = draw_polya_gamma(np.full(N, tilt), np.random.default_rng(1)), abs(tilt)
    mean = np.tanh(c / 2) / (2 * c) if c else 1 / 4
    variance = (np.sinh(c) - c) / (4 * c**3 * np.cosh(c / 2) ** 2) if c else 1 / 24
    assert drawn.min() > 0
    assert drawn.mean() == pytest.approx(mean, abs=5 * np.sqrt(variance / N))
    assert drawn.var() == pytest.approx(variance, rel=0.05)
    for t in (0.5, 3.0):  # E[exp(-t w)] = cosh(c / 2) / cosh(sqrt(c^2 / 4 + t / 2))
        expected = np.cosh(c / 2) / np.cosh(np.sqrt(c * c / 4 + t / 2))
        assert np.exp(-t * drawn).mean() == pytest.approx(expected, rel=0.02)


def test_each_entry_has_its_own_tilt_and_far_ones_do_not_overflow() -> None:
    tilt = np.array([[0.0, 5.0, 700.0], [-1e4, 1e-9, 40.0]])
    with np.errstate(all="raise", under="ignore"):
        drawn = np.mean([draw_polya_gamma(tilt, np.random.default_rng(seed)) for seed in range(400)], axis=0)
    expected = np.tanh(np.abs(tilt) / 2) / (2 * np.maximum(np.abs(tilt), 1e-12))
    assert drawn.shape == tilt.shape
    assert drawn == pytest.approx(np.where(np.abs(tilt) < 1e-6, 0.25, expected), rel=0.2)
