"""Document 000, section 2: the equations against numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import t as student

from latens.experiments.printed import noisy_ica


def test_a_source_is_student_t() -> None:
    z = np.linspace(-5, 5, 11)
    assert noisy_ica.log_p_z(z, 3.7) == pytest.approx(student.logpdf(z, 3.7), abs=1e-12)


def test_the_update_of_a_sensor_by_hand() -> None:
    """x = (1, 2, 6), prior mean 1, nu 2, alpha 3, beta 4: the mean is 3, squares about it add up to 14."""
    answer = noisy_ica.update_mixing(np.array([1.0, 2.0, 6.0]), 1.0, 2.0, 3.0, 4.0)
    assert answer == pytest.approx((11 / 5, 5.0, 4.5, 4 + 7 + 3 * 2 / 5 * 4 / 2), abs=1e-12)


def test_the_shared_tail_solves_its_equation() -> None:
    E_log_u, E_u = np.array([-0.9, -0.4, -0.2]), np.array([0.8, 1.0, 1.1])
    alpha = noisy_ica.learn_alpha(E_log_u, E_u)
    left = 3 * math.log(alpha / 2) + 3 - 3 * digamma(alpha / 2) + E_log_u.sum() - E_u.sum()
    assert left == pytest.approx(0, abs=1e-9)
    assert noisy_ica.learn_alpha(np.zeros(2), np.ones(2)) == 1e8  # log u = u - 1: no finite alpha


@pytest.mark.parametrize("value", [-40.0, -2.5, -1.0, 0.0, 3.0])
def test_the_rule_for_the_number_of_sources_solves_its_equation(value: float) -> None:
    assert digamma(noisy_ica.solve_digamma(value) / 2) == pytest.approx(value, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("nu", [None, 2.5])
def test_sources_by_the_rule_have_the_numbers_of_three_rounds(nu: float | None) -> None:
    N, D, K = 9, 4, 2
    X = np.random.default_rng(0).normal(size=(N, D))
    answer = noisy_ica.learn_sources(X, K, 3, np.random.default_rng(1), nu)
    x = X - X.mean(axis=0)
    variance = np.mean(x**2, axis=0)
    A = np.random.default_rng(1).standard_normal((D, K)) * math.sqrt(variance.mean() / K)
    psi, u, alpha = variance / 2, np.ones((N, K)), np.full(K, 3.0)
    V = np.zeros((K, K))  # covariance of a sensor's loadings, in units of its noise
    for step in range(3):
        zz, zx, logs, squares = np.zeros((K, K)), np.zeros((K, D)), np.zeros(K), np.zeros(K)
        for n in range(N):
            S = np.linalg.inv(np.diag(u[n]) + A.T @ np.diag(1 / psi) @ A + D * V)
            z = S @ A.T @ np.diag(1 / psi) @ x[n]
            zz += S + np.outer(z, z)
            zx += np.outer(z, x[n])
            for k in range(K):
                square = z[k] ** 2 + S[k, k]
                squares[k] += square / N
                logs[k] += (digamma((alpha[k] + 1) / 2) - math.log(1 + square / 2)) / N
                u[n, k] = (alpha[k] + 1) / 2 / (1 + square / 2)
        alpha = np.array([noisy_ica.solve_digamma(value) for value in logs])
        if nu is not None:
            zz += nu * np.eye(K)
            V = np.linalg.inv(zz)
        A = np.array([np.linalg.solve(zz, zx[:, d]) for d in range(D)])
        psi = np.array([variance[d] - A[d] @ zx[:, d] / N for d in range(D)])
        assert answer.alpha[step] == pytest.approx(alpha, rel=1e-10)
        assert answer.variance[step] == pytest.approx(squares * (A**2).sum(axis=0), rel=1e-10)
    assert answer.A == pytest.approx(A, rel=1e-10, abs=1e-10)


def test_alpha_of_a_source_without_loadings_grows_like_the_root_of_twice_the_iterations() -> None:
    """Q(z) is then the prior given <u>, and the rule moves alpha by about 1 / alpha."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    answer = noisy_ica.learn_sources(X, 1, 400, np.random.default_rng(1), nu=1e9)
    assert answer.variance[-1] == pytest.approx(0, abs=1e-3)
    assert answer.alpha[-1] == pytest.approx(math.sqrt(2 * 400), rel=0.1)
