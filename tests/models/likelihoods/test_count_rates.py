"""Rates of counts in answers: their moments beside quadrature, and fills and draws beside what was hidden."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm

import latens
from latens.models.likelihoods.count_rates import bent, bent_moments, unbent


@pytest.mark.parametrize("slope", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("knee", [-3.0, 0.5, 4.0, 30.0])
def test_moments_are_those_of_quadrature(slope: float, knee: float) -> None:
    z = np.linspace(-12, 12, 200_001)
    mass = norm.pdf(z) / norm.pdf(z).sum()
    for level, variance, top in ((0.0, 0.01, 3.0), (1.0, 1.0, 2.0), (2.0, 4.0, 5.0), (-4.0, 9.0, 0.0)):
        x = np.minimum(level + np.sqrt(variance) * z, top)
        log_rate = bent(x, np.minimum(knee, top), slope)
        found = bent_moments(*(np.array([each]) for each in (level, variance, knee, slope, top)))
        for power, moment in enumerate(found, 1):
            assert moment[0] == pytest.approx(mass @ np.exp(power * log_rate), rel=1e-5)


def test_unbent_goes_back() -> None:
    x, knee, slope = np.array([-1.0, 0.5, 7.0]), np.array([0.0, 1.0, 2.0]), np.array([0.3, 0.5, 1.0])
    np.testing.assert_allclose(unbent(bent(x, knee, slope), knee, slope), x)


def test_counts_with_a_tail_of_zeros_are_filled_and_drawn_with_as_much_as_they_hold() -> None:
    """Log rates with a long tail below and none above, as receptors of tumours have: 1.4 and 2 times before."""
    rng = np.random.default_rng(7)
    n = 700
    z = rng.normal(size=n)
    low = rng.exponential(1.6, size=(n, 2))
    log_rate = 5.5 + 0.5 * z[:, None] - low - rng.exponential(1.0, size=(n, 1))
    y = rng.poisson(np.exp(log_rate)).astype(float)
    other = z[:, None] + rng.normal(size=(n, 2))
    hidden = rng.random(y.shape) < 0.2
    views = {"counts": np.where(hidden, np.nan, y), "numbers": other}
    model = latens.MultiViewFactorAnalysis(3, likelihoods={"counts": "negative-binomial"}, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        filled = model.fit(views).impute(views)
        drawn = model.impute(views, n_draws=20)[1]
        ends = model.impute(views, quantiles=[0.05, 0.95])[1]
        sampled = model.sample(4000)[0]
    truth = y[hidden].mean()
    assert 0.8 < filled["counts"][hidden].mean() / truth < 1.2
    assert 0.8 < np.mean([each["counts"][hidden].mean() for each in drawn]) / truth < 1.2
    assert 0.8 < sampled["counts"].mean() / np.nanmean(views["counts"]) < 1.2
    lower, upper = (ends[level]["counts"][hidden] for level in (0.05, 0.95))
    assert 0.85 < np.mean((y[hidden] >= lower) & (y[hidden] <= upper)) < 0.97
