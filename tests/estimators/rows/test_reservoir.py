"""The rows kept of a stream are a uniform sample of it, whatever the batches."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from latens.core import Rows
from latens.estimators.rows.reservoir import Reservoir, capacity_for


def filled(n: int, size: int, capacity: int, seed: int = 0, window: int | None = None) -> Reservoir:
    held = Reservoir.empty(seed, capacity, 1, window)
    for at in range(0, n, size):
        held = held.add(Rows(np.arange(at, min(at + size, n), dtype=float)[:, None]))
    return held


def test_every_row_is_as_likely_to_be_kept_as_any_other() -> None:
    counts = np.zeros(50)
    for seed in range(500):
        counts[filled(50, 7, 10, seed).values[:, 0].astype(int)] += 1
    assert np.abs(counts - 100).max() < 4.5 * np.sqrt(100 * 0.8)


def test_while_there_is_room_all_rows_are_kept_in_their_order() -> None:
    held = filled(30, 4, 30)
    assert held.values[:, 0].tolist() == list(range(30))
    assert (held.is_whole, held.each, held.n_rows, held.n) == (True, 1.0, 30, 30.0)


def test_rows_kept_stand_for_all() -> None:
    held = filled(100, 9, 20)
    assert (len(held.keys), held.n_rows, held.is_whole, held.each) == (20, 100, False, 5.0)
    assert np.all(np.diff(held.values[:, 0]) > 0)


def test_weights_holes_and_what_else_is_known_stay_with_their_rows() -> None:
    held = Reservoir.empty(3, 8, 2)
    for at in range(0, 40, 5):
        number = np.arange(at, at + 5, dtype=float)
        seen = np.stack([number % 2 > 0, number > -1], axis=1)
        x = np.where(seen, number[:, None], 0.0)
        held = held.add(Rows(x, seen, 1 + number, {"group": number % 3}))
    number = held.values[:, 1]
    assert np.array_equal(held.weight, 1 + number)
    assert np.array_equal(held.seen[:, 0], number % 2 > 0)
    assert np.array_equal(held.aux["group"], number % 3)
    assert held.n == 40 + np.arange(40).sum()
    assert held.each == held.n / (1 + number).sum()


def test_rows_without_weight_count_once_beside_others() -> None:
    held = Reservoir.empty(0, 10, 1).add(Rows(np.zeros((2, 1)))).add(Rows(np.ones((2, 1)), None, np.array([2.0, 3.0])))
    assert held.weight.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_sparse_rows_are_told_by_their_ones_and_mix_with_dense_ones() -> None:
    x = (np.random.default_rng(0).random((30, 6)) < 0.3).astype(float)
    held = Reservoir.empty(1, 20, 6).add(Rows(csr_array(x[:15]))).add(Rows(csr_array(x[15:])))
    assert held.values is None
    dense = Reservoir.empty(1, 20, 6).add(Rows(x[:15])).add(Rows(x[15:]))
    assert np.array_equal(held.rows.x.toarray(), dense.rows.x)
    mixed = Reservoir.empty(1, 20, 6).add(Rows(csr_array(x[:15]))).add(Rows(x[15:]))
    assert np.array_equal(mixed.rows.x, dense.rows.x)
    assert held.nbytes < dense.nbytes


def test_room_grows_with_parameters_and_is_bounded_by_bytes() -> None:
    assert capacity_for(10, 5) == 2000
    assert capacity_for(1000, 5) == 10_000
    assert capacity_for(10**7, 1000) * 1000 * 8 <= 2**28
    assert capacity_for(10**7, 10**7) == 200


def test_a_window_that_there_is_room_for_holds_the_last_rows() -> None:
    held = filled(100, 7, 50, window=30)
    assert held.values[:, 0].tolist() == list(range(70, 100))
    assert (held.is_whole, held.each, held.n_rows, held.n, held.n_within) == (True, 1.0, 100, 30.0, 30)
    early = filled(20, 7, 50, window=30)
    assert (early.is_whole, early.n, early.n_within) == (True, 20.0, 20)


def test_of_a_larger_window_every_row_is_as_likely_to_be_kept_as_any_other() -> None:
    counts = np.zeros(200)
    for seed in range(400):
        held = filled(200, 9, 20, seed, window=50)
        assert len(held.keys) <= 20
        assert np.allclose([held.n, held.each * len(held.keys)], 50)
        counts[held.values[:, 0].astype(int)] += 1
    assert not counts[:150].any()
    share = counts[150:] / 400
    assert abs(share.mean() - 0.9 * 20 / 50) < 0.03
    assert np.abs(share - share.mean()).max() < 4.5 * np.sqrt(0.36 * 0.64 / 400)


def test_weights_of_a_window_are_those_of_its_rows() -> None:
    held = Reservoir.empty(0, 10, 1, 3)
    for weight in (1.0, 2.0, 3.0, 4.0, 5.0):
        held = held.add(Rows(np.full((1, 1), weight), None, np.array([weight])))
    assert (held.weight.tolist(), held.n, held.numbers.tolist()) == ([3.0, 4.0, 5.0], 12.0, [2, 3, 4])
