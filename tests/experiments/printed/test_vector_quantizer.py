"""Document 004: the slides' equations against their sums written out, and against numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import digamma

from latens.experiments.printed import noisy_or
from latens.experiments.printed import vector_quantizer as printed

CLOSE = {"rel": 1e-10, "abs": 1e-10}
N, D, K = 7, 4, 2


def test_the_functional_adds_the_negative_entropy() -> None:
    rng = np.random.default_rng(0)
    x, lam, W, pi = rng.normal(size=(N, D)), rng.uniform(size=(N, K)), rng.normal(size=(D, K)), rng.uniform(size=K)
    total = 0.0
    for n in range(N):
        total -= D * math.log(0.6)
        square = x[n] @ x[n] - 2 * sum(lam[n, i] * W[:, i] @ x[n] for i in range(K))
        for i in range(K):
            for j in range(K):
                both = lam[n, i] * lam[n, j] + (i == j) * (lam[n, i] - lam[n, i] ** 2)
                square += both * W[:, i] @ W[:, j]
            a, p = lam[n, i], pi[i]
            total += a * math.log(p) + (1 - a) * math.log(1 - p) + a * math.log(a) + (1 - a) * math.log(1 - a)
        total -= square / (2 * 0.6**2)
    assert printed.functional(x, lam, W, pi, 0.6) == pytest.approx(total, **CLOSE)


def test_one_sweep_is_the_fixed_point_equation() -> None:
    rng = np.random.default_rng(1)
    x, lam, W, pi = rng.normal(size=(N, D)), rng.uniform(size=(N, K)), rng.normal(size=(D, K)), rng.uniform(size=K)
    printed_sweep, now = printed.sweep(x, lam, W, pi, 0.8), lam.copy()
    for n in range(N):
        for u in range(K):
            others = sum((now[n, j] * W[:, j] for j in range(K) if j != u), np.zeros(D))
            field = (x[n] - others) @ W[:, u] / 0.64 - W[:, u] @ W[:, u] / 1.28 + math.log(pi[u] / (1 - pi[u]))
            now[n, u] = 1 / (1 + math.exp(-field))
    assert printed_sweep == pytest.approx(now, **CLOSE)


def test_the_printed_equations_for_the_weights_give_minus_half_of_them() -> None:
    rng = np.random.default_rng(2)
    x, lam = rng.normal(size=(N, D)), rng.uniform(size=(N, K))
    W = printed.m_step_w(x, lam)
    for u in range(D):
        for v in range(K):
            left = sum(lam[n, v] * x[n, u] + 2 * lam[n, v] * W[u, v] for n in range(N))
            left += sum(2 * lam[n, v] * lam[n, j] * W[u, j] for n in range(N) for j in range(K) if j != v)
            assert left == pytest.approx(0, abs=1e-10)
    assert printed.m_step_pi(lam) == pytest.approx(lam.sum(axis=0) / N)


@pytest.mark.parametrize("gamma_is", ["precision", "variance"])
def test_three_rounds_of_variational_bayes(gamma_is: str) -> None:
    y = np.random.default_rng(3).normal(size=(N, D))
    _, path = printed.learn_bayes(y, K, 3, np.random.default_rng(4), gamma_is)
    lam = np.random.default_rng(4).uniform(0.25, 0.75, (N, K))
    gamma = np.full(K, (1e-3 + D / 2) / (D / 2 * np.mean(y**2)))
    tau = 1 / np.var(y)

    def parameters() -> tuple[np.ndarray, ...]:
        moments = np.zeros((K, K))
        for n in range(N):
            moments += np.outer(lam[n], lam[n]) + np.diag(lam[n] - lam[n] ** 2)
        prior = np.diag(gamma if gamma_is == "precision" else 1 / gamma)
        Sigma = np.linalg.inv(prior + tau * moments)
        m = np.array([Sigma @ sum(tau * lam[n] * y[n, d] for n in range(N)) for d in range(D)])
        rate = 1e-3 + np.array([(m[:, k] @ m[:, k] + D * Sigma[k, k]) / 2 for k in range(K)])
        second = sum(np.outer(m[d], m[d]) + Sigma for d in range(D))
        left = sum(y[n] @ y[n] - 2 * y[n] @ (m @ lam[n]) for n in range(N)) + np.trace(second @ moments)
        return m, Sigma, (1e-3 + D / 2) / rate, (1e-3 + N * D / 2) / (1e-3 + left / 2), second

    m, Sigma, gamma, tau, second = parameters()
    on = lam.sum(axis=0)
    for step in range(3):
        for n in range(N):
            for k in range(K):
                field = digamma(1 + on[k]) - digamma(1 + N - on[k]) + tau * (y[n] @ m[:, k] - second[k, k] / 2)
                field -= tau * sum(lam[n, j] * second[j, k] for j in range(K) if j != k)
                lam[n, k] = 1 / (1 + math.exp(-field))
        on = lam.sum(axis=0)
        m, Sigma, gamma, tau, second = parameters()
        q = path[step]
        for ours, theirs in zip((m, Sigma, gamma, tau, lam), (q.m, q.Sigma, q.gamma, q.tau, q.lam), strict=True):
            assert theirs == pytest.approx(ours, **CLOSE)


def test_the_bound_rises_when_the_divergence_is_taken_off_and_the_printed_sum_lies_above_it() -> None:
    y = np.random.default_rng(5).normal(size=(N, D))
    q, path = printed.learn_bayes(y, K, 40, np.random.default_rng(6))
    right = [np.subtract(*printed.bound(y, step)) for step in path]
    assert np.all(np.diff(right) > -1e-8)
    inside, divergence = printed.bound(y, q)
    assert divergence > 0
    assert inside + divergence > right[-1]


def test_without_a_leak_jensens_bound_lies_above_the_truth() -> None:
    """theta = (1, .8), q = (.5, .5), s = (1, 0): log(1 - 1/e) is -.459, the bound .5 log(1 - exp(-2)) is -.073."""
    theta, s = np.array([[1.0], [0.8]]), np.array([1.0, 0.0])
    bound = noisy_or.jensen(theta, np.array([[0.5, 0.5]]), s)
    assert bound[0] == pytest.approx(0.5 * math.log(1 - math.exp(-2)), abs=1e-12)
    assert noisy_or.log_probability(theta, s)[0] == pytest.approx(math.log(1 - math.exp(-1)), abs=1e-12)
    assert bound[0] > noisy_or.log_probability(theta, s)[0]
    both = np.ones(2)
    assert noisy_or.jensen(theta, np.array([[0.5, 0.5]]), both)[0] < noisy_or.log_probability(theta, both)[0]


def test_codes_and_shares_of_noisy_or_by_their_formulas() -> None:
    rng = np.random.default_rng(7)
    x, theta, pi = (rng.random((N, D)) < 0.5).astype(float), rng.uniform(0.2, 2, (K, D)), np.array([0.3, 0.6])
    q = rng.dirichlet(np.full(K, 8.0), size=(N, D))
    lam = noisy_or.infer(x, theta, pi, q)
    shares = noisy_or.update_q(lam, theta, q)
    for n in range(N):
        for i in range(K):
            on, off = pi[i], 1 - pi[i]
            for j in range(D):
                share = q[n, j, i]
                on *= (1 - math.exp(-theta[i, j] / share)) ** share if x[n, j] else math.exp(-theta[i, j])
            assert lam[n, i] == pytest.approx(on / (on + off), **CLOSE)
        for j in range(D):
            u = [theta[i, j] / q[n, j, i] for i in range(K)]
            slope = [lam[n, i] * (math.log(1 - math.exp(-u[i])) - u[i] / (math.exp(u[i]) - 1)) for i in range(K)]
            raw = [q[n, j, i] * -slope[i] for i in range(K)]
            assert shares[n, j] == pytest.approx(np.array(raw) / sum(raw), **CLOSE)


def test_the_search_for_theta_ends_where_the_slope_is_zero() -> None:
    rng = np.random.default_rng(8)
    x, lam = (rng.random((60, 3)) < 0.5).astype(float), rng.uniform(0.2, 0.9, (60, K))
    q = rng.dirichlet(np.ones(K), size=(60, 3))
    theta, count = noisy_or.search_theta(x, lam, np.ones((K, 3)), q)
    assert count > 3
    for j in range(3):
        for k in range(K):
            slope = 0.0
            for n in range(60):
                u = theta[k, j] / q[n, j, k]
                slope += lam[n, k] / (math.exp(u) - 1) if x[n, j] else -lam[n, k]
            assert slope == pytest.approx(0, abs=1e-2)


def test_variational_em_of_noisy_or_climbs_what_it_prints() -> None:
    x = (np.random.default_rng(9).random((40, 6)) < 0.4).astype(float)
    found = noisy_or.learn(x, K, 3, np.random.default_rng(0))
    assert found.functionals.shape == (3,)
    assert found.functionals[-1] > found.functionals[0]
    assert found.functionals[-1] == pytest.approx(
        noisy_or.functional(x, found.theta, found.pi, found.lam, found.q), **CLOSE
    )
