"""Columns with outliers: what is predicted of them, by integrals that are none of the library's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import gamma, t

from latens.families.normal_columns import NormalColumns
from latens.families.student_columns import FREEDOMS, StudentColumns, StudentPoints


def posterior(weight: np.ndarray) -> StudentColumns:
    wide = len(FREEDOMS)
    normal = NormalColumns(
        np.linspace(-1, 1, wide)[None], np.array([[4.0]]), np.array([[7.0]]), np.full((1, wide), 5.0)
    )
    return StudentColumns(normal, weight[None])


@pytest.mark.parametrize("degree", range(0, len(FREEDOMS), 2))
def test_the_predictive_density_is_the_integral_over_everything_unknown(degree: int) -> None:
    """log u on a fine grid; given u, middle and scale integrate to a t distribution."""
    own = posterior(np.eye(len(FREEDOMS))[degree])
    nu, middle = FREEDOMS[degree], own.normal.mean[0, degree]
    log_u = np.linspace(-60, 8, 60_001)
    for value in (middle, middle + 0.7, 12.0, 2000.0):
        given_u = t.logpdf(value, 14.0, middle, np.sqrt(5 / 7 * (np.exp(-log_u) + 1 / 4)))
        level = gamma.logpdf(np.exp(log_u), nu / 2, scale=2 / nu) + log_u + given_u
        exact = logsumexp(level) + np.log(log_u[1] - log_u[0])
        found = own.log_density(np.array([[value]]), np.ones((1, 1)))[0, 0]
        assert found == pytest.approx(exact, abs=2e-7)


def test_clusters_are_told_apart_nearly_as_the_predictive_density_does() -> None:
    """One t in place of the integral of each entry, of clusters of 3 to 200 rows, degrees of freedom nearly known."""
    rng, wide = np.random.default_rng(0), 2 * len(FREEDOMS)
    shape = np.repeat([[2.0], [10.0], [100.0]], wide, axis=1)
    middle = np.repeat(rng.normal(0, 2, (3, 2)), len(FREEDOMS), axis=1)
    normal = NormalColumns(middle, 2 * shape - 1, shape, shape * rng.uniform(0.5, 2, (3, 1)))
    own = StudentColumns(normal, np.eye(len(FREEDOMS))[[1, 4]] * 0.8 + np.eye(len(FREEDOMS))[[2, 5]] * 0.2)
    x, seen = 3 * rng.standard_t(2.0, (300, 2)), np.ones((1, 2))
    exact, near = (softmax(each, axis=1) for each in (own.log_density(x, seen), own.near_density(x, seen)))
    surest = softmax(own.expected(x, seen), axis=1)
    assert np.abs(near - exact).mean() < min(0.05, np.abs(surest - exact).mean())


def test_degrees_of_freedom_that_are_not_known_are_averaged_over() -> None:
    weight = np.zeros(len(FREEDOMS))
    weight[[1, 4]] = 0.3, 0.7
    x, seen = np.array([[0.3], [9.0]]), np.ones((2, 1))
    parts = [posterior(np.eye(len(FREEDOMS))[i]).log_density(x, seen) for i in (1, 4)]
    together = np.logaddexp(np.log(0.3) + parts[0], np.log(0.7) + parts[1])
    assert posterior(weight).log_density(x, seen) == pytest.approx(together, abs=1e-12)
    assert posterior(weight).log_density(x, np.array([[1.0], [0.0]]))[1, 0] == 0.0


def test_clusters_are_those_of_a_normal_where_tails_are_light() -> None:
    """With entries that all count fully, the update is the one of normal columns."""
    prior = StudentColumns.prior(NormalColumns(np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1))))
    x = np.random.default_rng(0).normal(2.0, 1.0, (50, 1))
    sums = prior.neutral(x, None).sum(axis=0)[None]
    after = prior.observe(np.full((1, 1), 50.0), sums[:, :1], sums[:, 1:])
    usual = NormalColumns(np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))
    usual = usual.observe(np.full((1, 1), 50.0), x.sum(axis=0)[None], (x**2).sum(axis=0)[None])
    assert after.mean == pytest.approx(usual.mean, rel=1e-12)
    assert after.covariance == pytest.approx(usual.covariance, rel=1e-12)
    assert after.freedom[0] > 50


def test_draws_have_the_tails_they_are_drawn_from() -> None:
    points = StudentPoints(np.array([[1.0, 0.0]]), np.array([[4.0, 1.0]]), np.array([1.0, 256.0]))
    drawn = points.draw(np.zeros(20_000, dtype=int), np.random.default_rng(0))
    for column, (middle, scale, nu) in enumerate(((1.0, 2.0, 1.0), (0.0, 1.0, 256.0))):
        for level in (0.05, 0.5, 0.95):
            share = float(np.mean(drawn[:, column] < t.ppf(level, nu, middle, scale)))
            assert abs(share - level) < 0.01
