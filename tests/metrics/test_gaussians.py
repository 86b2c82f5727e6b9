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
        assert wasserstein2(q, q) < 1e-6 * np.sqrt(d)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e4])
def test_variances_of_any_size_leave_no_floor_under_distances(size: float) -> None:
    axes = np.linalg.qr(np.random.default_rng(7).normal(size=(300, 3)))[0].T
    lengths = size * np.array([2.0, 30.0, 400.0])
    one, two = (
        LowRankNormal(np.zeros(300), np.sqrt(times * lengths)[:, None] * axes, np.full(300, size))
        for times in (1, 1.01)
    )
    traces = 2 * float(np.sum(one.variance))
    assert wasserstein2(one, one) < np.sqrt(1e-12 * traces)  # a difference of traces keeps this much of them
    exact = np.sqrt(np.sum((np.sqrt(size + 1.01 * lengths) - np.sqrt(size + lengths)) ** 2))
    assert wasserstein2(one, two) == pytest.approx(exact, rel=1e-8)


def test_spectra_over_many_decades_are_integrated_whole() -> None:
    rng = np.random.default_rng(8)
    a, b = (
        LowRankNormal(np.zeros(250), 10 ** rng.uniform(-3, 3, (3, 1)) * rng.normal(size=(3, 250)), noise)
        for noise in 10.0 ** rng.uniform(-6, 2, (2, 250))
    )
    assert wasserstein2(a, b) == pytest.approx(wasserstein2(dense(a), dense(b)), rel=1e-7)


def test_small_differences_are_not_lost_to_cancellation() -> None:
    q = gaussian(6, 50)
    near = LowRankNormal(q.mean, q.components * (1 + 1e-9), q.noise_variance)
    expected = 2e-9 * np.linalg.norm(q.components.T @ q.components) / np.linalg.norm(q.covariance())
    assert covariance_distance(near, q) == pytest.approx(expected, rel=1e-4)


MEASURES = [covariance_distance, gaussian_kl, wasserstein2]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((2, 3)), r"was given as an array of shape \(2, 3\); give a covariance \(D, D\)"),
        ((np.zeros(3), np.eye(2)), r"the mean of .* has shape \(3,\); expected \(2,\)"),
        ((np.zeros(2), np.eye(2), 3), "is a tuple of 3; give a covariance"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN or infinity"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), r"is not symmetric; try \(covariance"),
        (np.eye(3), "3 columns and .* has 2; give two Gaussians over the same columns"),
        (gaussian(0, 5), "has 5 columns and .* has 2"),
    ],
)
def test_what_is_no_gaussian_is_refused(measure, given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(given, np.eye(2))


@pytest.mark.parametrize("measure", MEASURES)
def test_objects_that_tell_no_gaussian_are_refused(measure) -> None:
    with pytest.raises(TypeError, match="is a set, which does not define a Gaussian; give a covariance"):
        measure({1, 2}, np.eye(2))


@pytest.mark.parametrize("measure", [gaussian_kl, wasserstein2])
def test_no_direction_has_a_negative_variance(measure) -> None:
    wrong = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(ValueError, match="the covariance of p is not positive definite: it has the eigenvalue -1 "):
        measure(wrong, np.eye(2))
    with pytest.raises(ValueError, match="the covariance of q is not positive definite"):
        measure(np.eye(2), wrong)


def test_gaussians_without_spread_in_a_direction() -> None:
    flat = np.ones((2, 2))
    with pytest.raises(ValueError, match=r"the covariance of q is singular.*leave out columns"):
        gaussian_kl(np.eye(2), flat)
    assert gaussian_kl(flat, np.eye(2)) == np.inf
    assert wasserstein2(flat, np.zeros((2, 2))) == pytest.approx(np.sqrt(2))
    with pytest.raises(ValueError, match="truth is a covariance of zeros"):
        covariance_distance(flat, np.zeros((2, 2)))


def test_models_of_scikit_learn_are_taken() -> None:
    from sklearn.decomposition import PCA, FactorAnalysis

    x = np.random.default_rng(9).normal(size=(100, 5))
    for peer in (FactorAnalysis(2).fit(x), PCA(2).fit(x)):
        moments = (peer.mean_, peer.get_covariance())
        for measure in MEASURES:
            assert measure(peer, (np.zeros(5), np.eye(5))) == measure(moments, (np.zeros(5), np.eye(5)))
