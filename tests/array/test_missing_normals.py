"""Conditionals of normal rows with missing entries, beside the textbook's formulas and the plain form."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array import missing_normals
from latens.array.missing_normals import Holes, completed_moments, completed_sums, conditioned, holes_of

K, D, N = 3, 5, 40


@pytest.fixture
def problem() -> tuple[np.ndarray, Holes, np.ndarray, np.ndarray]:
    """Rows of which one misses nothing, one everything, and many miss the same."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(K, D, D))
    seen = rng.random((N, D)) < 0.6
    seen[0], seen[1], seen[2:10] = True, False, [True, False, True, True, False]
    x = np.where(seen, rng.normal(size=(N, D)), 0.0)
    return x, holes_of(seen), rng.normal(size=(K, D)), root @ np.swapaxes(root, 1, 2) + np.eye(D)


def _by_covariance(
    x: np.ndarray, seen: np.ndarray, mean: np.ndarray, precision: np.ndarray
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """Of one row and cluster, from the covariance: form, log |P_uu|, expected row, covariance of what is missing."""
    cov, full, spread = np.linalg.inv(precision), x.copy(), np.zeros((len(x), len(x)))
    o, u = np.flatnonzero(seen), np.flatnonzero(~seen)
    gap, across = x[o] - mean[o], cov[np.ix_(u, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
    full[u] = mean[u] + across @ gap
    spread[np.ix_(u, u)] = cov[np.ix_(u, u)] - across @ cov[np.ix_(o, u)]
    form = float(gap @ np.linalg.solve(cov[np.ix_(o, o)], gap))
    return form, float(np.linalg.slogdet(precision[np.ix_(u, u)])[1]), full, spread


def test_compiled_conditionals_are_those_of_the_covariance(
    problem: tuple[np.ndarray, Holes, np.ndarray, np.ndarray],
) -> None:
    x, holes, mean, precision = problem
    weight = np.random.default_rng(1).dirichlet(np.ones(K), size=N)
    stretch = 1 + weight
    form, volume = conditioned(x, holes, mean, precision)
    first, second = completed_sums(x, holes, mean, precision, weight)
    at, variance = completed_moments(x, holes, mean, precision, weight, stretch)
    expected = [[_by_covariance(x[n], holes.seen[n], mean[k], precision[k]) for k in range(K)] for n in range(N)]
    np.testing.assert_allclose(form, [[one[0] for one in row] for row in expected], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(volume, [[one[1] for one in row] for row in expected], rtol=1e-9, atol=1e-9)
    full = np.array([[one[2] for one in row] for row in expected])
    spread = np.array([[one[3] for one in row] for row in expected])
    outer = full[..., :, None] * full[..., None, :]
    np.testing.assert_allclose(first, np.einsum("nk,nkd->kd", weight, full), rtol=1e-9)
    np.testing.assert_allclose(second, np.einsum("nk,nkde->kde", weight, outer + spread), rtol=1e-9, atol=1e-9)
    mixed = np.einsum("nk,nkd->nd", weight, full)
    wide = np.einsum("nk,nkd->nd", weight, full**2 + stretch[..., None] * np.diagonal(spread, axis1=2, axis2=3))
    np.testing.assert_allclose(at, mixed, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(variance, wide - mixed**2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_compiled_and_plain_agree(
    problem: tuple[np.ndarray, Holes, np.ndarray, np.ndarray], tied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, holes, mean, precision = problem
    precision = precision[:1] if tied else precision
    weight = np.random.default_rng(1).dirichlet(np.ones(K), size=N)
    calls = (
        lambda: conditioned(x, holes, mean, precision),
        lambda: completed_sums(x, holes, mean, precision, weight),
        lambda: completed_moments(x, holes, mean, precision, weight, 1 + weight),
    )
    compiled = [call() for call in calls]
    monkeypatch.setattr(missing_normals, "is_numpy_array", lambda _: False)
    for one, call in zip(compiled, calls, strict=True):
        for fast, plain in zip(one, call(), strict=True):
            np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "d", "share"), [(600, 12, 0.3), (20, 80, 0.9)])
def test_more_patterns_and_holes_than_fit_side_by_side(
    n: int, d: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many patterns of as many holes each, and holes of which few factors fit into the scratch."""
    rng = np.random.default_rng(3)
    seen, root = rng.random((n, d)) > share, rng.normal(size=(2, d, d))
    x, holes, weight = np.where(seen, rng.normal(size=(n, d)), 0.0), holes_of(seen), rng.random((n, 2))
    normal = x, holes, rng.normal(size=(2, d)), root @ np.swapaxes(root, 1, 2) + np.eye(d)
    weight[:5, 0] = 0.0
    compiled = [*conditioned(*normal), *completed_sums(*normal, weight), *completed_moments(*normal, weight, weight)]
    monkeypatch.setattr(missing_normals, "is_numpy_array", lambda _: False)
    plain = [*conditioned(*normal), *completed_sums(*normal, weight), *completed_moments(*normal, weight, weight)]
    for fast, slow in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-8, atol=1e-8)


def test_rows_that_miss_nothing_need_no_list_of_holes(
    problem: tuple[np.ndarray, Holes, np.ndarray, np.ndarray],
) -> None:
    _, _, mean, precision = problem
    x = np.random.default_rng(2).normal(size=(N, D))
    form, volume = conditioned(x, holes_of(np.ones((1, D), bool)), mean, precision)
    gap = x[:, None, :] - mean
    np.testing.assert_allclose(form, np.einsum("nkd,kde,nke->nk", gap, precision, gap), rtol=1e-9)
    assert not volume.any()
