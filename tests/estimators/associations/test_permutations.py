"""p by permutation, and beyond."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from latens.estimators.associations.permutations import log_arrangements, minus_log, permutation_p


@pytest.mark.parametrize("rate", [1.0, 0.4])
def test_tails_are_continued_at_the_rate_of_the_permutations(rate: float) -> None:
    rng, found = np.random.default_rng(0), list[float]()
    for _ in range(40):
        found.append(float(np.log(permutation_p(np.array([20.0 / rate]), rng.exponential(1 / rate, 2000), 1e3)[0])))
    assert np.mean(found) == pytest.approx(-20, abs=3)


def test_p_of_what_is_permuted_is_uniform_whatever_the_reference() -> None:
    rng = np.random.default_rng(1)
    p = np.array([permutation_p(rng.exponential(3.0, 1), rng.exponential(3.0, 500), 1e3)[0] for _ in range(2000)])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert np.mean(p < 0.005) < 0.009


def test_p_is_at_least_that_of_one_arrangement() -> None:
    assert log_arrangements(np.array([3, 3])) == pytest.approx(np.log(20))
    assert permutation_p(np.array([1e3]), np.random.default_rng(0).exponential(size=500), np.log(20))[0] >= 0.05
    assert np.isfinite(minus_log(np.array([0.0])))
