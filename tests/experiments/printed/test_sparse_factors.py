"""Document 003: the updates against their formulas written out entry by entry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latens.experiments.printed import sparse_factors as printed

CLOSE = {"rel": 1e-10, "abs": 1e-10}
N, D, K = 8, 4, 2


def test_three_rounds_have_the_numbers_of_the_print() -> None:
    rng = np.random.default_rng(0)
    y, tau = rng.normal(size=(N, D)), rng.uniform(0.5, 2.0, (N, D))
    alpha, theta = np.array([4.0, 6.0]), 0.4
    learnt = printed.learn(y, tau, K, alpha, theta, 3, np.random.default_rng(1))
    z, v = np.random.default_rng(1).standard_normal((N, K)), np.ones((N, K))
    mu, s2, lam, g = np.zeros((D, K)), np.ones((D, K)), np.zeros((D, K)), np.full((D, K), 0.5)

    def weights() -> None:
        for k in range(K):
            for d in range(D):
                pull = sum(tau[n, d] * y[n, d] * z[n, k] for n in range(N))
                for j in range(K):
                    if j != k:
                        pull -= g[d, j] * mu[d, j] * sum(tau[n, d] * z[n, k] * z[n, j] for n in range(N))
                s2[d, k] = 1 / (sum(tau[n, d] * (z[n, k] ** 2 + v[n, k]) for n in range(N)) + alpha[k])
                mu[d, k] = s2[d, k] * pull
                below = sum(tau[n, d] * z[n, k] for n in range(N)) + alpha[k]
                lam[d, k] = math.nan
                if below > 0:
                    lam[d, k] = math.log(theta / (1 - theta)) + pull**2 / below + math.log(alpha[k])
                    lam[d, k] -= 0.5 * math.log(below)
                    g[d, k] = 1 / (1 + math.exp(-lam[d, k]))

    weights()
    for step in range(3):
        for k in range(K):
            for n in range(N):
                square = sum(tau[n, d] * g[d, k] * (mu[d, k] ** 2 + s2[d, k]) for d in range(D))
                v[n, k] = 1 / (square + 1)
        for k in range(K):
            for n in range(N):
                total = 0.0
                for d in range(D):
                    others = sum(g[d, j] * mu[d, j] * z[n, j] for j in range(K) if j != k)
                    total += tau[n, d] * g[d, k] * mu[d, k] * (y[n, d] - others)
                z[n, k] = v[n, k] * total
        weights()
        found, codes, spread = learnt.path[step]
        for ours, theirs in zip((mu, s2, g, z, v), (found.mu, found.sigma2, found.gamma, codes, spread), strict=True):
            assert theirs == pytest.approx(ours, **CLOSE)
        assert found.lam == pytest.approx(lam, nan_ok=True, **CLOSE)


def test_the_likelihood_is_taken_at_the_means() -> None:
    w = printed.Weights(np.array([[2.0]]), np.ones((1, 1)), np.zeros((1, 1)), np.array([[0.5]]))
    z = np.array([[3.0], [-1.0]])
    answer = printed.likelihood(np.array([[1.0], [0.0]]), w, z)
    assert answer[0, 0] == pytest.approx(3 - math.log(1 + math.exp(3)))
    assert answer[1, 0] == pytest.approx(-math.log(1 + math.exp(-1)))


def test_pseudo_data_touch_the_bernoulli_at_its_second_moment() -> None:
    rng = np.random.default_rng(3)
    w = printed.Weights(*(rng.uniform(0.2, 0.8, (D, K)) for _ in range(4)))
    z, v, y = rng.normal(size=(N, K)), rng.uniform(0.1, 1, (N, K)), rng.integers(0, 2, (N, D)).astype(float)
    value, tau = printed.pseudo_data(y, w, z, v)
    n, d = 2, 3
    means, squares = w.gamma[d] * w.mu[d], w.gamma[d] * (w.mu[d] ** 2 + w.sigma2[d])
    second = sum(
        (z[n, i] ** 2 + v[n, i]) * squares[i] if i == j else z[n, i] * z[n, j] * means[i] * means[j]
        for i in range(K)
        for j in range(K)
    )
    xi = math.sqrt(second)
    assert tau[n, d] == pytest.approx(math.tanh(xi / 2) / (2 * xi))
    assert tau[n, d] * value[n, d] == pytest.approx(y[n, d] - 0.5)
