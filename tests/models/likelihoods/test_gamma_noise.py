"""Gamma noise of counts whose log means are uncertain: shift and size are at the top of what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

from latens.core import Rows
from latens.models.likelihoods.gamma_noise import NODES, GammaNoise

PRIOR = (0.1, 1e-4)
# rows, columns, level of log means, size of the noise
CASES = {
    "usual": (300, 12, 0.5, 2.0),
    "rare": (100, 12, -2.0, 0.3),
    "without noise": (200, 12, 0.5, 1e4),
    "common": (60, 5, 6.0, 5.0),  # values so large that they are not summed by value
}


def _problem(name: str, *, missing: float, weighted: bool) -> tuple[Rows, np.ndarray, np.ndarray]:
    n, d, level, size = CASES[name]
    rng = np.random.default_rng(n + d)
    log_mean = level + 0.7 * rng.normal(size=(n, d))
    y = rng.poisson(np.exp(log_mean) * rng.gamma(size, 1 / size, (n, d))).astype(float)
    seen = rng.random((n, d)) >= missing if missing else None
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    return Rows(y if seen is None else y * seen, seen, weight), log_mean - 0.3, 0.05 + 0.1 * rng.random((n, d))


def _height(rows: Rows, mean: np.ndarray, variance: np.ndarray, shift: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(D,), what is to be highest, node by node from the density itself, and half a count of none."""
    total = np.zeros_like(mean)
    for node in NODES:
        mu = np.exp(mean + node * np.sqrt(variance) + shift)
        y = rows.x
        total += 0.5 * (gammaln(y + size) - gammaln(size) + y * np.log(mu / size) - (y + size) * np.log1p(mu / size))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    return np.asarray((total * rows.mask * weight[:, None]).sum(axis=0))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_size_is_at_the_top(name: str, missing: float, weighted: bool) -> None:
    rows, mean, variance = _problem(name, missing=missing, weighted=weighted)
    noise = GammaNoise(rows, mean, variance)
    shift = noise.shift(np.full(mean.shape[1], 2.0))
    sizes = np.exp(np.linspace(np.log(0.005), np.log(3e5), 800))
    log_prior = PRIOR[0] * np.log(sizes) - PRIOR[1] * sizes
    heights = np.stack([_height(rows, mean, variance, shift, size) for size in sizes]) + log_prior[:, None]
    found = noise.size(shift, PRIOR)
    own = _height(rows, mean, variance, shift, found) + PRIOR[0] * np.log(found) - PRIOR[1] * found
    assert np.all(own > heights.max(axis=0) - 1e-3)
    np.testing.assert_allclose(noise.height(shift, found), own - PRIOR[0] * np.log(found) + PRIOR[1] * found, rtol=1e-9)
    again = noise.size(shift, PRIOR, about=1.7 * found)  # it is looked for nearby
    np.testing.assert_allclose(np.log(again), np.log(found), atol=0.02)


@pytest.mark.parametrize("name", CASES)
def test_shift_is_where_means_are_those_of_counts_as_the_likelihood_weighs_them(name: str) -> None:
    rows, mean, variance = _problem(name, missing=0.1, weighted=True)
    noise, size, step = GammaNoise(rows, mean, variance), np.full(mean.shape[1], 2.0), 1e-4
    shift = noise.shift(size)
    ends = [
        _height(rows, mean, variance, shift + side * step, size)
        + 0.5 * (shift + side * step)
        - 0.5 * np.exp(shift + side * step)
        for side in (1, -1)
    ]
    slope = (ends[0] - ends[1]) / (2 * step)
    assert np.all(np.abs(slope) < 1e-3 * np.maximum((rows.x * rows.weight[:, None]).sum(axis=0), 1.0))  # type: ignore[index]
