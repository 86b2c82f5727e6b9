"""Products of pairs of columns: the kernel, the plain form, and quadratic forms made of them."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from latens.array.packed_symmetric import (
    moment_pairs,
    moment_pairs_plain,
    packed,
    unpacked,
    with_pairs,
    with_pairs_plain,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 1), (5, 4), (30, 11), (3, 0)])
def test_the_kernel_is_the_plain_form(shape: tuple[int, int], dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    assert np.array_equal(with_pairs(x), with_pairs_plain(x))
    assert with_pairs(x).dtype == dtype
    assert np.array_equal(with_pairs(np.asfortranarray(x)), with_pairs(x))


def test_other_libraries_get_the_same_numbers() -> None:
    x = np.random.default_rng(1).normal(size=(6, 3))
    assert np.array_equal(np.asarray(with_pairs(array_api_strict.asarray(x))), with_pairs(x))


def test_quadratic_forms_are_products_with_packed_matrices() -> None:
    rng = np.random.default_rng(2)
    x, root = rng.normal(size=(9, 5)), rng.normal(size=(2, 5, 5))
    matrices = root @ np.swapaxes(root, 1, 2)
    forms = np.einsum("ni,kij,nj->nk", x, matrices, x)
    assert with_pairs(x)[:, 5:] @ packed(matrices).T == pytest.approx(forms)
    sums = unpacked((np.ones((1, 9)) @ with_pairs(x))[:, 5:], 5)
    assert sums[0] == pytest.approx(x.T @ x)


@pytest.mark.parametrize("n_spreads", [1, 8])
def test_expected_products_have_the_covariance_of_the_first_variables(n_spreads: int) -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(n_spreads, 3, 3))
    mean, spread = rng.normal(size=(8, 5)), root @ np.swapaxes(root, 1, 2)
    second = mean[:, :, None] * mean[:, None, :]
    second[:, :3, :3] += spread
    found = moment_pairs(mean, spread)
    assert unpacked(found, 5) == pytest.approx(second, abs=1e-14)
    assert found == pytest.approx(moment_pairs_plain(mean, spread), abs=1e-14)
    strict = (array_api_strict.asarray(part) for part in (mean, spread))
    assert np.asarray(moment_pairs(*strict)) == pytest.approx(found, abs=1e-14)


def test_expected_products_may_have_products_in_their_covariance() -> None:
    rng = np.random.default_rng(4)
    root, lean, pairs = rng.normal(size=(8, 3, 3)), rng.normal(size=(8, 3, 2)), rng.normal(size=(8, 2, 2))
    mean, spread, left = rng.normal(size=(8, 3)), root @ np.swapaxes(root, 1, 2), lean @ (pairs + pairs.swapaxes(1, 2))
    expected = moment_pairs(mean, spread + left @ np.swapaxes(lean, 1, 2))
    assert moment_pairs(mean, spread, (left, lean)) == pytest.approx(expected, abs=1e-13)
    strict = [array_api_strict.asarray(part) for part in (mean, spread, left, lean)]
    assert np.asarray(moment_pairs(*strict[:2], tuple(strict[2:]))) == pytest.approx(expected, abs=1e-13)
