"""Distances of Gaussians in low-rank algebra, against dense algebra and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from latens.families.low_rank import LowRankNormal
from latens.metrics import covariance_distance, gaussian_kl, wasserstein2


def gaussian(seed: int, d: int = 12, k: int = 3) -> LowRankNormal:
    rng = np.random.default_rng(seed)
    return LowRankNormal(rng.normal(size=d), rng.normal(size=(k, d)), rng.uniform(0.1, 2, d))


def dense(q: LowRankNormal) -> tuple[np.ndarray, np.ndarray]:
    return q.mean, q.covariance()


@pytest.mark.parametrize("measure", [covariance_distance, gaussian_kl, wasserstein2])
def test_low_rank_and_dense_algebra_agree(measure) -> None:
    for seed, d in ((0, 12), (1, 5), (2, 260)):
        a, b = gaussian(seed, d), gaussian(seed + 50, d, 2)
        assert measure(a, b) == pytest.approx(measure(dense(a), dense(b)), rel=1e-7)
        assert measure(a, dense(b)) == pytest.approx(measure(dense(a), b), rel=1e-9)


def test_distances_are_their_definitions() -> None:
    a, b = gaussian(3), gaussian(4)
    (c, s), (c0, s0) = dense(a), dense(b)
    assert covariance_distance(a, b) == pytest.approx(np.linalg.norm(s - s0) / np.linalg.norm(s0))
    inverse, gap = np.linalg.inv(s0), c - c0
    logs = np.linalg.slogdet(s0)[1] - np.linalg.slogdet(s)[1]
    assert gaussian_kl(a, b) == pytest.approx(0.5 * (np.trace(inverse @ s) - 12 + logs + gap @ inverse @ gap))
    root = np.trace(sqrtm(s @ s0)).real
    assert wasserstein2(a, b) == pytest.approx(np.sqrt(gap @ gap + np.trace(s) + np.trace(s0) - 2 * root))


def test_nothing_is_at_no_distance_from_itself() -> None:
    for d in (12, 300):
        q = gaussian(5, d)
        assert covariance_distance(q, q) < 1e-12
        assert abs(gaussian_kl(q, q)) < 1e-10
        assert wasserstein2(q, q) < 1e-3 * np.sqrt(d)


def test_small_differences_are_not_lost_to_cancellation() -> None:
    q = gaussian(6, 50)
    near = LowRankNormal(q.mean, q.components * (1 + 1e-9), q.noise_variance)
    expected = 2e-9 * np.linalg.norm(q.components.T @ q.components) / np.linalg.norm(q.covariance())
    assert covariance_distance(near, q) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("given", "message"), [(np.ones((2, 3)), "shape"), ((np.zeros(3), np.eye(2)), "mean")])
def test_what_is_no_gaussian_is_refused(given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gaussian_kl(given, np.eye(2))
