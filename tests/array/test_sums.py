"""Sums over rows that other libraries hold: products in single precision, sums of them in double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.array.transfer import LEAST_CHUNK, column_sums, cross_sums, cross_sums_together, product_sums

pytestmark = pytest.mark.extras


def rows(n: int, d: int, seed: int) -> Any:
    """Far from 0, so that a sum in single precision loses digits."""
    import torch

    return torch.asarray(np.random.default_rng(seed).normal(3.0, 1.0, size=(n, d)), dtype=torch.float32)


@pytest.mark.parametrize("n", [0, 1, LEAST_CHUNK - 1, LEAST_CHUNK, 5 * LEAST_CHUNK + 3, 100_000])
def test_chunks_add_up_to_the_sum(n: int) -> None:
    a, b = rows(n, 3, 0), rows(n, 4, 1)
    exact = a.double().numpy().T @ b.double().numpy()
    for sums in (cross_sums(a, b), product_sums(a, b)):
        assert sums.dtype == np.float64
        assert sums == pytest.approx(exact, rel=1e-6)
    assert column_sums(a) == pytest.approx(a.double().numpy().sum(axis=0), rel=1e-6)


def test_sums_that_come_together_are_those_that_come_one_by_one() -> None:
    a, b, alone = rows(2000, 3, 0), rows(2000, 4, 1), rows(2000, 1, 2).double()
    chunks = rows(10, 6, 3).reshape(10, 2, 3)
    product, sums, one, whole = cross_sums_together((a, b), columns=(b, alone), chunks=chunks)
    assert np.array_equal(product, cross_sums(a, b))
    assert np.array_equal(sums, column_sums(b))
    assert np.array_equal(one, column_sums(alone))
    assert whole == pytest.approx(chunks.double().numpy().sum(axis=0))


def test_chunks_are_sharper_than_one_sum_in_single_precision() -> None:
    """Rows added one after another in single precision lose four digits more."""
    a = rows(200_000, 1, 2)
    exact = float((a.double() ** 2).sum())
    in_turn = float(np.add.accumulate((a.numpy() ** 2)[:, 0], dtype=np.float32)[-1])
    assert abs(float(cross_sums(a, a)[0, 0]) / exact - 1) < 1e-7
    assert abs(in_turn / exact - 1) > 1e-6


def test_wide_products_are_added_in_longer_chunks() -> None:
    """So that sums of chunks take no more memory than the rows themselves."""
    a, b = rows(5000, 2000, 3), rows(5000, 2000, 4)
    assert cross_sums(a, b)[:2, :2] == pytest.approx(a.double().numpy()[:, :2].T @ b.double().numpy()[:, :2], rel=1e-6)


def test_rows_of_numpy_keep_their_precision() -> None:
    a = rows(1000, 3, 5).numpy()
    assert np.array_equal(product_sums(a, a), (a.T @ a).astype(np.float64))
