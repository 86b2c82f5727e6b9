"""Overdispersed counts: functions that keep their digits at large sizes, and the Poisson limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import betaln, digamma, gammaln
from scipy.stats import nbinom, poisson

from latens.families import negative_binomial_columns as columns
from latens.families.gamma import Gamma
from latens.families.negative_binomial_columns import SIZES, NegativeBinomialColumns
from latens.families.poisson_columns import PoissonColumns


def test_gains_of_gamma_functions_are_differences_that_keep_their_digits() -> None:
    a, b = np.meshgrid(np.array([0.02, 1.0, 31.9, 32.1, 500.0, 1e4]), np.array([0.3, 2.0, 40.0]))
    assert columns._log_gamma_gain(a, b) == pytest.approx(gammaln(a + b) - gammaln(a), rel=1e-9)
    assert columns._log_beta(a, b) == pytest.approx(betaln(a, b), rel=1e-9)
    assert columns._digamma_gain(a, b) == pytest.approx(digamma(a + b) - digamma(a), rel=1e-9)
    # Gamma(a + 1) / Gamma(a) = a, and the digamma function's gain is 1 / a: exact at any size
    large = 10.0 ** np.arange(2, 13)
    assert columns._log_gamma_gain(large, 1.0) == pytest.approx(np.log(large), rel=1e-14)
    assert columns._digamma_gain(large, 1.0) == pytest.approx(1 / large, rel=1e-13)


def test_draws_have_the_mean_and_variance_that_are_told() -> None:
    rng = np.random.default_rng(0)
    prior = NegativeBinomialColumns.prior(np.array([3.0]), np.array([0.5]))
    y = rng.negative_binomial(4, 4 / (4 + 6.0), size=2000).astype(float)[:, None]
    after = prior.observe(
        np.array([[2000.0]]), y.sum(axis=0)[None], np.zeros((1, 0)), prior.base_sums(y, np.ones(1), np.ones((1, 1)))
    )
    assert after.mean[0, 0] == pytest.approx(6, rel=0.1)
    assert after.size[0] == pytest.approx(4, rel=0.25)
    assert after.row_variance[0, 0] == pytest.approx(6 + 36 / 4, rel=0.2)
    drawn = np.concatenate([after.draw(np.zeros(50, int), rng) for _ in range(400)])
    assert drawn.mean() == pytest.approx(after.mean[0, 0], rel=0.05)
    assert drawn.var() == pytest.approx(after.row_variance[0, 0], rel=0.1)


def test_at_its_largest_size_a_column_is_poisson() -> None:
    y = np.arange(6.0)[:, None]
    limit = NegativeBinomialColumns(np.array([[4.0]]), np.array([[7.0]]), np.eye(len(SIZES))[[-1]])
    plain = PoissonColumns(Gamma(np.array([[7.0]]), np.array([[4.0]])))
    assert limit.log_density(y, np.ones((1, 1))) == pytest.approx(plain.log_density(y, np.ones((1, 1))), abs=1e-3)
    assert nbinom.logpmf(2, SIZES[-1], SIZES[-1] / (SIZES[-1] + 3)) == pytest.approx(poisson.logpmf(2, 3), abs=1e-4)
