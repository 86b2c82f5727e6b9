"""How factors of views are turned and mixed to where their loadings are sparsest."""

from __future__ import annotations

import numpy as np
import pytest

from latens.models.multi_view.moves import _log_sums, sparse_mix, sparse_turn


def sparse_loadings(seed: int, k: int = 4, d: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_a_turn_finds_the_zeros_of_loadings_that_were_turned(seed: int) -> None:
    """As finely as loadings are known: 33 angles alone leave factors mixed by a degree."""
    truth, rng = sparse_loadings(seed), np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    noise = 1e-3 * rng.normal(size=truth.shape)
    found = sparse_turn(rotation @ truth + noise, 1e-6) @ (rotation @ truth + noise)
    turn = sparse_turn(rotation @ truth, 1e-6)
    assert turn @ turn.T == pytest.approx(np.eye(4), abs=1e-9)
    small = np.sort(np.abs(found), axis=None)[: np.count_nonzero(truth == 0)]
    assert np.mean(small) < 0.01


def test_what_a_factor_holds_of_another_is_taken_out_of_it() -> None:
    truth = sparse_loadings(0)
    mixed = truth.copy()
    mixed[1] += 0.1 * truth[3]
    assert np.abs(sparse_mix(mixed, 1e-4) @ mixed - truth).max() < 0.05 < np.abs(mixed - truth).max()


def test_loadings_that_are_sparse_stay() -> None:
    truth = sparse_loadings(1)
    assert np.array_equal(sparse_mix(truth, 1e-4), np.eye(4))
    assert sparse_turn(truth, 1e-4) == pytest.approx(np.eye(4), abs=2e-3)  # less than loadings are unsure by


@pytest.mark.parametrize("d", [1, 2, 5, 8, 13, 100])
def test_logarithms_of_products_are_sums_of_logarithms(d: int) -> None:
    numbers = np.random.default_rng(d).uniform(0.01, 3.0, size=(3, d))
    assert _log_sums(numbers) == pytest.approx(np.log(numbers).sum(axis=1), rel=1e-12)
