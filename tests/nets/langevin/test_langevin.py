"""Draws by stochastic gradients, and SWAG's moments, on arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from latens.metrics import gaussian_kl
from latens.nets.algebra.moments import Swag
from latens.nets.langevin.sampler import Kernel, Secants, langevin_path, sgd_path


def regression(seed: int, n: int = 300, d: int = 5) -> tuple[Callable, Callable, np.ndarray, np.ndarray]:
    """Noisy gradients of a regression whose columns differ in scale, the next batch, the posterior."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    y = x @ rng.normal(size=d) + rng.normal(size=n)
    precision = np.eye(d) + x.T @ x

    def gradient(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return w + n / len(rows) * x[rows].T @ (x[rows] @ w - y[rows])

    return gradient, lambda: rng.integers(n, size=30), np.linalg.solve(precision, x.T @ y), precision


def test_draws_have_the_posterior_that_plain_iterates_lack() -> None:
    gradient, batches, mode, precision = regression(0)
    rng = np.random.default_rng(1)
    rate = 0.2 / np.linalg.eigvalsh(precision)[-1]
    plain = np.array(list(sgd_path(gradient, batches, np.zeros(5), rate, 20_000)))[5_000:]
    draws = np.array(list(langevin_path(gradient, batches, np.zeros(5), rate, 20_000, rng)))
    truth = mode, np.linalg.inv(precision)
    off, near = (gaussian_kl((path.mean(axis=0), np.cov(path.T)), truth) for path in (plain, draws))
    assert near < 0.1
    assert off > 10 * near
    assert len(draws) == 17_000


def test_curvature_and_noise_are_learnt_from_gradients() -> None:
    gradient, batches, mode, precision = regression(2)
    rng, secants = np.random.default_rng(3), Secants.empty(5)
    for _ in range(4_000):
        secants, _ = secants.look(gradient, batches, mode, rng)
    curvature, noise = secants.curvature()
    assert curvature == pytest.approx(precision, abs=0.1 * np.linalg.norm(precision))
    direct = np.cov(np.array([gradient(mode, batches()) for _ in range(4_000)]).T)
    assert noise == pytest.approx(direct, abs=0.1 * np.linalg.norm(direct))


def test_a_kernel_leaves_its_gaussian_as_it_is() -> None:
    rng = np.random.default_rng(4)
    root, noisy = rng.normal(size=(2, 4, 4))
    curvature, noise = root @ root.T + np.eye(4), noisy @ noisy.T
    kernel = Kernel.of(curvature, noise)
    turn = np.eye(4) - kernel.step * kernel.preconditioner @ curvature
    pushed = kernel.step**2 * kernel.preconditioner @ noise @ kernel.preconditioner
    after = turn @ np.linalg.inv(curvature) @ turn.T + pushed + kernel.root @ kernel.root.T
    assert after == pytest.approx(np.linalg.inv(curvature), rel=1e-9)


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 10"):
        Secants.empty(5).curvature()
    with pytest.raises(ValueError, match="pilots is empty"):
        next(langevin_path(lambda w, b: w, lambda: 0, np.zeros(2), 0.1, 100, np.random.default_rng(0), pilots=()))


def test_swag_keeps_moments_and_the_last_deviations() -> None:
    path = 1e4 + np.random.default_rng(5).normal(size=(300, 6))
    swag = Swag(6, rank=4)
    for weights in path:
        swag.update(weights)
    assert swag.mean == pytest.approx(path.mean(axis=0), rel=1e-12)
    assert swag.variance == pytest.approx(path.var(axis=0), rel=1e-9)
    means = np.cumsum(path, axis=0) / np.arange(1, 301)[:, None]
    last = (path - means)[-4:]
    expected = np.diag(path.var(axis=0)) / 2 + last.T @ last / 6
    assert swag.to_low_rank().covariance() == pytest.approx(expected, rel=1e-7)


def test_swag_needs_enough_weights() -> None:
    with pytest.raises(ValueError, match="rank=1"):
        Swag(3, rank=1)
    with pytest.raises(ValueError, match="only 0 weights"):
        Swag(3).to_low_rank()
