"""Compiled steps of normal clusters beside the same sums in plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.kernels.normal_wishart_numba import divergences, natural_parameters, scatters_about_means
from latens.array.packed_symmetric import packed, unpacked

N_CLUSTERS, N_COLUMNS = 3, 4


@pytest.fixture(params=[1, N_CLUSTERS], ids=["one matrix for all", "a matrix each"])
def matrices(request: pytest.FixtureRequest) -> np.ndarray:
    root = np.random.default_rng(0).normal(size=(request.param, N_COLUMNS, 2 * N_COLUMNS))
    return np.asarray(root @ np.swapaxes(root, 1, 2))


@pytest.fixture
def means() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(N_CLUSTERS, N_COLUMNS))


def test_natural_parameters_are_products_with_precisions(matrices: np.ndarray, means: np.ndarray) -> None:
    linear = (matrices @ means[:, :, None])[:, :, 0]
    halves = np.broadcast_to(packed(-0.5 * matrices), (N_CLUSTERS, N_COLUMNS * (N_COLUMNS + 1) // 2))
    for theta in (np.empty((N_CLUSTERS, N_COLUMNS)), np.empty((N_CLUSTERS, N_COLUMNS + halves.shape[1]))):
        form = natural_parameters(means, matrices, theta)
        np.testing.assert_allclose(form, np.sum(means * linear, axis=1), rtol=1e-12)
        np.testing.assert_allclose(theta[:, :N_COLUMNS], linear, rtol=1e-12)
        if theta.shape[1] > N_COLUMNS:
            np.testing.assert_allclose(theta[:, N_COLUMNS:], halves, rtol=1e-12)


def test_divergences_are_forms_and_traces(matrices: np.ndarray, means: np.ndarray) -> None:
    centre, scatter = np.zeros_like(means) + 0.5, np.eye(N_COLUMNS) + matrices
    form, trace = divergences(means, matrices, centre, scatter)
    shift = (means - centre)[:, :, None]
    np.testing.assert_allclose(form, (np.swapaxes(shift, 1, 2) @ matrices @ shift)[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(trace, np.trace(scatter @ matrices, axis1=1, axis2=2), rtol=1e-12)


def test_scatters_are_symmetric_sums_about_means(matrices: np.ndarray, means: np.ndarray) -> None:
    rng, n = np.random.default_rng(2), len(matrices)
    sums, strength = rng.normal(size=(n, N_COLUMNS * (N_COLUMNS + 1) // 2)), rng.gamma(2.0, size=N_CLUSTERS)
    for square in (matrices[:1] / 2, np.concatenate([matrices] * N_CLUSTERS)[:N_CLUSTERS]):
        about = square - strength[:, None, None] * means[:, :, None] * means[:, None, :]
        expected = matrices + unpacked(sums, N_COLUMNS) + (about.sum(axis=0) if n == 1 else about)
        found = np.empty_like(matrices)
        scatters_about_means(matrices, square, sums, strength, means, found)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert np.array_equal(found, np.swapaxes(found, 1, 2))
