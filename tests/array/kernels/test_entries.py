"""Averages and deviances of entries: compiled and plain forms agree, in any layout, from tiny to huge predictors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import nbinom, norm, poisson

from latens.array.kernels.entries.logistic import (
    count_deviance,
    count_deviance_plain,
    logistic_averages,
    logistic_averages_plain,
    logistic_deviance,
    logistic_deviance_plain,
)


def predictors(n: int = 300, d: int = 13) -> np.ndarray:
    rng = np.random.default_rng(n)
    return np.asarray(rng.normal(size=(n, d)) * rng.choice([1e-9, 0.1, 3.0, 60.0, 900.0], size=(n, d)))


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda x: np.hstack([x, x])[:, 2:15]])
def test_averages_agree_with_the_plain_form(layout) -> None:  # type: ignore[no-untyped-def]
    mean = layout(predictors())
    variance = np.abs(mean) % 3.0
    for ours, plain in zip(
        logistic_averages(mean, variance, 7), logistic_averages_plain(mean, variance, 7), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-15)
    one_row = logistic_averages(mean, variance[:1], 7)[0]
    np.testing.assert_allclose(one_row, logistic_averages(mean, variance[:1] + 0 * mean, 7)[0], rtol=1e-15)


def test_averages_are_those_of_quadrature() -> None:
    mean, variance = np.array([[-3.0, 0.0, 1.2]]), np.array([[0.5, 2.0, 0.1]])
    found = logistic_averages(mean, variance, 20)
    for j in range(3):
        sd = np.sqrt(variance[0, j])

        def weighted(eta: float, power: int, j: int = j, sd: float = sd) -> float:
            return float(norm.pdf(eta, mean[0, j], sd) * expit(eta) * (1 - expit(eta)) ** power)

        for power in (0, 1):
            exact = quad(weighted, mean[0, j] - 12 * sd, mean[0, j] + 12 * sd, args=(power,))[0]
            np.testing.assert_allclose(found[power][0, j], exact, rtol=1e-5)


def test_deviances_agree_with_the_plain_form_and_with_the_likelihoods() -> None:
    rng, eta = np.random.default_rng(0), predictors()
    yes = (rng.random(eta.shape) < 0.4).astype(float)
    np.testing.assert_allclose(logistic_deviance(yes, eta), logistic_deviance_plain(yes, eta), rtol=1e-12, atol=1e-300)

    log_level, y = np.clip(eta, -40, 40), rng.poisson(2.0, eta.shape).astype(float)
    y[:20] *= 1e6
    size, gamma = np.geomspace(1e-3, 1e6, eta.shape[1]), (np.arange(eta.shape[1]) % 3 > 0).astype(float)
    ours, plain = count_deviance(y, log_level, size, gamma), count_deviance_plain(y, log_level, size, gamma)
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-12 * np.max(y))

    near, counts = np.clip(eta, -3, 3), y[20:]
    level = np.exp(near[20:])
    found = count_deviance(y, near, size, gamma)[20:]
    best = np.where(counts > 0, counts, 1e-300)  # a perfect prediction has the mean of the entry

    def lost(log_density) -> np.ndarray:  # type: ignore[no-untyped-def]
        return np.asarray(2 * (log_density(best) - log_density(level)))

    exact = lost(lambda mu: np.where(gamma > 0, nbinom.logpmf(counts, size, size / (size + mu)), 0.0))
    exact += lost(lambda mu: np.where(gamma > 0, 0.0, poisson.logpmf(counts, mu)))
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_single_precision_stays() -> None:
    eta = predictors().astype(np.float32)
    assert logistic_deviance(np.ones_like(eta), eta).dtype == np.float32
    assert {part.dtype for part in logistic_averages(eta, np.ones_like(eta), 7)} == {np.dtype(np.float32)}
