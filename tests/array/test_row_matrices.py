"""Many small definite matrices: compiled, plain, and NumPy's own algebra agree."""

from __future__ import annotations

import numpy as np
import pytest

from latens.array.kernels.row_matrices_numba import N_SIDE
from latens.array.kernels.row_posteriors.student import student_scales, student_scales_plain
from latens.array.packed_symmetric import upper
from latens.array.row_matrices import (
    inverse_rows,
    inverse_rows_plain,
    log_determinants,
    normal_given,
    normal_rows,
    normal_rows_plain,
    side_by_side,
)


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "one per row"])
def test_inverses_and_determinants(k: int, shared: bool) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(1 if shared else 40, k, k + 1))
    gram, diagonal = root @ np.swapaxes(root, 1, 2), rng.gamma(1.0, size=(40, k)) + 0.01
    answer = inverse_rows(gram, diagonal)
    expected = np.linalg.inv(gram + diagonal[:, :, None] * np.eye(k))
    assert answer == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert inverse_rows_plain(gram, diagonal) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.array_equal(answer, np.swapaxes(answer, 1, 2))
    assert log_determinants(answer) == pytest.approx(np.linalg.slogdet(expected)[1], rel=1e-9, abs=1e-9)


def test_single_precision_rows_stay_single_and_close() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(1, 4, 4)).astype(np.float32)
    gram, diagonal = 1e4 * root @ np.swapaxes(root, 1, 2), rng.gamma(1.0, size=(30, 4)).astype(np.float32)
    answer = inverse_rows(gram, diagonal)
    assert answer.dtype == np.float32
    exact = np.linalg.inv(gram.astype(float) + diagonal[:, :, None].astype(float) * np.eye(4))
    assert answer == pytest.approx(exact, rel=1e-4, abs=1e-6 * np.abs(exact).max())


def test_what_is_not_definite_is_not_a_number() -> None:
    bad = np.diag([1.0, -2.0])[None]
    assert np.isnan(inverse_rows(bad, np.ones((1, 2)))).all()
    assert np.isnan(log_determinants(bad)).all()


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("grams", [1, N_SIDE + 9])
@pytest.mark.parametrize("diagonals", [1, N_SIDE + 9])
def test_normal_posteriors_of_rows(k: int, grams: int, diagonals: int) -> None:
    rng, n = np.random.default_rng(k), N_SIDE + 9
    root = rng.normal(size=(grams, k, k + 1))
    gram, diagonal = root @ np.swapaxes(root, 1, 2), rng.gamma(1.0, size=(diagonals, k)) + 0.01
    drive = rng.normal(size=(n, k))
    spread = np.linalg.inv(gram + diagonal[:, :, None] * np.eye(k))
    for form in (normal_rows, normal_rows_plain):
        mean, variance, volume = form(drive, np.asarray(upper(gram)), diagonal)
        assert variance == pytest.approx(spread, rel=1e-9, abs=1e-9)
        assert mean == pytest.approx(np.einsum("nab,nb->na", np.broadcast_to(spread, (n, k, k)), drive), rel=1e-9)
        assert volume == pytest.approx(np.linalg.slogdet(spread)[1], rel=1e-9, abs=1e-9)


def test_normal_posteriors_in_single_precision_and_of_nothing_definite() -> None:
    drive, gram = np.ones((2, 2), np.float32), np.array([[1.0, 0.0, 1.0], [1.0, 0.0, -2.0]], np.float32)
    mean, spread, volume = normal_rows(drive, gram, np.ones((1, 2), np.float32))
    assert mean.dtype == spread.dtype == volume.dtype == np.float32
    assert mean[0] == pytest.approx([0.5, 0.5])
    assert np.isnan(volume[1])
    assert np.isnan(spread[1, 1, 1])


@pytest.mark.parametrize("grams", [1, N_SIDE + 9])
def test_normal_posteriors_of_whole_matrices(grams: int) -> None:
    rng, n, k = np.random.default_rng(1), N_SIDE + 9, 4
    root = rng.normal(size=(grams, k, k + 1))
    gram, diagonal, drive = root @ np.swapaxes(root, 1, 2), rng.gamma(1.0, size=(n, k)) + 0.01, rng.normal(size=(n, k))
    mean, spread, volume = normal_given(drive, gram, diagonal)
    expected = np.linalg.inv(gram + diagonal[:, :, None] * np.eye(k))
    assert spread == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert mean == pytest.approx(np.einsum("nab,nb->na", expected, drive), rel=1e-9, abs=1e-12)
    assert volume is not None
    assert volume == pytest.approx(np.linalg.slogdet(expected)[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_compiled_scales_of_student_variables_equal_the_plain_ones(k: int) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(70, k, k))
    mean, spread = rng.normal(size=(70, k)), root @ np.swapaxes(root, 1, 2)
    tails, shape = rng.gamma(3.0, size=k), rng.gamma(2.0, size=k)
    plain = student_scales_plain(mean, spread, tails, shape)
    for found, expected in zip(student_scales(mean, spread, tails, shape), plain, strict=True):
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("rows", [1, 30])
@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_side_by_side(rows: int, order: str) -> None:
    rng = np.random.default_rng(0)
    first, second = np.array(rng.normal(size=(30, 3)), order=order), rng.normal(size=(rows, 2))
    joined = side_by_side(first, second)
    assert np.array_equal(joined, np.concatenate([first, np.broadcast_to(second, (30, 2))], axis=1))
    assert joined.flags.f_contiguous == (order == "F")
