"""Exponentials and logarithms of compiled loops are those of NumPy to the last digit or two."""

from __future__ import annotations

import numba as nb
import numpy as np
import pytest

from latens.array.kernels.fastmath_numba import (
    COMPILED,
    LARGEST_EXPONENT,
    log_beyond_one,
    log_normal,
    log_one_more,
    shrunk,
)

OPTIONS = {**COMPILED, "cache": False}
DIGITS = 3 * np.finfo(float).eps


@nb.njit(**OPTIONS)
def apply_shrunk(x, power, loss):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        power[i], loss[i] = shrunk(x[i])


@nb.njit(**OPTIONS)
def apply_log_beyond_one(x, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = log_beyond_one(x[i])


@nb.njit(**OPTIONS)
def apply_log_normal(x, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = log_normal(x[i])


@nb.njit(**OPTIONS)
def apply_log_one_more(x, out):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        out[i] = log_one_more(x[i])


def many(seed: int = 0) -> np.ndarray:
    """Positive numbers of all sizes, and some that matter."""
    rng = np.random.default_rng(seed)
    return np.concatenate([np.exp(rng.uniform(-600, 600, 20_001)), np.linspace(0.1, 4, 4001), [1e-300, 0.5, 1.0, 2.0]])


def test_powers_and_what_they_lack_to_one() -> None:
    x = np.concatenate([many()[many() < LARGEST_EXPONENT], np.linspace(0, LARGEST_EXPONENT, 5001), [0.0]])
    power, loss = np.empty_like(x), np.empty_like(x)
    apply_shrunk(x, power, loss)
    assert power == pytest.approx(np.exp(-x), rel=DIGITS, abs=0)
    assert loss == pytest.approx(-np.expm1(-x), rel=DIGITS, abs=0)


def test_powers_beyond_the_range_stay_at_its_end() -> None:
    x = np.array([LARGEST_EXPONENT, 1e9, np.inf, np.nan])
    power, loss = np.empty_like(x), np.empty_like(x)
    apply_shrunk(x, power, loss)
    assert power[:3] == pytest.approx(np.exp(-LARGEST_EXPONENT), rel=1e-12)
    assert np.array_equal(loss[:3], np.ones(3))
    assert np.isnan(power[3])
    assert np.isnan(loss[3])


def test_logarithms_beyond_one() -> None:
    x = np.concatenate([many()[many() <= 1], np.linspace(0, 1, 5001)])
    out = np.empty_like(x)
    apply_log_beyond_one(x, out)
    assert out == pytest.approx(np.log1p(x), rel=DIGITS, abs=0)


def test_logarithms_of_normal_numbers() -> None:
    x = np.concatenate([many(), 1 + np.geomspace(1e-15, 0.5, 101), 1 - np.geomspace(1e-15, 0.5, 101)])
    out = np.empty_like(x)
    apply_log_normal(x, out)
    assert out == pytest.approx(np.log(x), rel=DIGITS, abs=0)


def test_logarithms_of_one_and_more_keep_the_digits_of_what_is_tiny() -> None:
    x = np.concatenate([many(), -np.linspace(0, 0.999, 4001), -(10.0 ** np.arange(-18, -1)), [0.0]])
    out = np.empty_like(x)
    apply_log_one_more(x, out)
    np.testing.assert_allclose(out, np.log1p(x), rtol=2 * DIGITS)
