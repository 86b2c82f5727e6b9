"""Special functions, transfers and small linear algebra."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.special
from array_api_compat import array_namespace

from latens.array import linalg, special
from latens.array.transfer import column_sums, host, like, total
from latens.system.seeds import generator

LIBRARIES = ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("expit", [-800.0, -40.0, -1.0, 0.0, 1e-9, 3.0, 40.0, 800.0]),
        ("digamma", [1e-3, 0.5, 1.0, 3.3, 1e6]),
        ("gammaln", [1e-3, 0.5, 1.0, 3.3, 1e6]),
    ],
)
def test_special_functions_are_those_of_scipy(library: str, name: str, at: list[float]) -> None:
    x = importlib.import_module(library).asarray(np.array(at))
    value = getattr(special, name)(x)
    assert array_namespace(value) is array_namespace(x)
    assert host(value) == pytest.approx(getattr(scipy.special, name)(np.array(at)), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("library", LIBRARIES)
def test_x_log_x_is_zero_at_zero(library: str) -> None:
    x = importlib.import_module(library).asarray(np.array([0.0, 1e-300, 0.3, 1.0]))
    assert host(special.xlogx(x)) == pytest.approx(scipy.special.xlogy([0, 1e-300, 0.3, 1], [1, 1e-300, 0.3, 1]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_log_of_a_sum_survives_extremes_and_absent_terms(library: str) -> None:
    rows = np.array([[1e4, 1e4, -np.inf], [-1e4, -1e4, -1e4], [0.0, 1.0, 2.0]])
    value = host(special.logsumexp(importlib.import_module(library).asarray(rows)))
    assert value == pytest.approx(scipy.special.logsumexp(rows, axis=1, keepdims=True), rel=1e-14)


@pytest.mark.parametrize("library", LIBRARIES)
def test_entropy_of_a_softmax_needs_no_logarithm_of_chances(library: str) -> None:
    rows = np.array([[3e4, 3e4 - 1.0, -1e30], [-1e4, -1e4, -1e4], [0.0, 1.0, -900.0], [7.0, -1e30, -1e30]])
    chance, entropy = map(host, special.softmax_entropy(importlib.import_module(library).asarray(rows.copy())))
    assert chance == pytest.approx(scipy.special.softmax(rows, axis=1), rel=1e-14, abs=0)
    assert entropy == pytest.approx(scipy.special.entr(chance).sum(axis=1), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_softmax_equals_the_plain_one(dtype: type) -> None:
    rng = np.random.default_rng(0)
    x = (30 * rng.normal(size=(7, 3001))).astype(dtype).T
    x[0], x[1, 1:], x[2] = 5.0, -1e30, [3e4, 3e4 - 1, -3e4, 0, 0, 0, 0]
    share, entropy = special.softmax_entropy(x.copy(order="K"))
    expected = special.softmax_entropy_plain(x.copy(order="K"))
    within = 1e-14 if dtype is np.float64 else 2e-6
    assert share.dtype == entropy.dtype == dtype
    assert share == pytest.approx(expected[0], abs=within)
    assert entropy == pytest.approx(expected[1], abs=within)
    assert share.sum(axis=1) == pytest.approx(1.0, abs=within)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_compiled_softmax_hides_nothing_that_is_no_number(broken: float) -> None:
    x = np.zeros((4, 3000)).T
    x[7, 0], x[9, 3] = broken, broken
    share, entropy = special.softmax_entropy(x)
    assert np.flatnonzero(np.isnan(entropy)).tolist() == [7, 9]
    assert np.flatnonzero(np.isnan(share).any(axis=1)).tolist() == [7, 9]


def test_compiled_entropy_of_switches_equals_the_plain_one() -> None:
    on = np.random.default_rng(0).random((500, 19)) ** 3
    on[0], on[1], on[2, 3], on[3, 4] = 0.0, 1.0, 1e-300, np.nan
    found = special.switch_entropy(on)
    assert found == pytest.approx(
        scipy.special.entr(on).sum(axis=1) + scipy.special.entr(1 - on).sum(axis=1), nan_ok=True
    )
    assert found[:2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_sums_accumulate_in_double_precision(library: str) -> None:
    xp = importlib.import_module(library)
    x = xp.asarray(np.concatenate([[1e8], np.ones(1000)])[:, None].astype(np.float32))
    assert column_sums(x) == pytest.approx([1e8 + 1000], rel=1e-12)
    assert total(x) == pytest.approx(1e8 + 1000, rel=1e-12)
    assert column_sums(x).dtype == np.float64


@pytest.mark.parametrize("library", LIBRARIES)
def test_host_numbers_travel_there_and_back(library: str) -> None:
    xp = importlib.import_module(library)
    x = xp.asarray(np.zeros(2, np.float32))
    there = like(np.array([[1.5, 2.5]]), x)
    assert there.dtype == x.dtype
    assert array_namespace(there) is array_namespace(x)
    assert np.array_equal(host(there), [[1.5, 2.5]])
    assert host(there).dtype == np.float64


@pytest.mark.extras
def test_host_reads_tensors_that_carry_gradients() -> None:
    import torch

    assert host(torch.ones(3, requires_grad=True) * 2) == pytest.approx([2, 2, 2])


@pytest.mark.extras
@pytest.mark.filterwarnings("error")
def test_read_only_tables_may_become_tensors_without_a_warning() -> None:
    import torch

    from latens.array.states import all_states

    assert like(all_states(3), torch.zeros(1, dtype=torch.float64)).shape == (8, 3)


def test_column_algebra_treats_one_matrix_as_one_for_each_column() -> None:
    rng = np.random.default_rng(0)
    root, columns = rng.normal(size=(1, 3, 3)), rng.normal(size=(3, 4))
    one = root @ np.swapaxes(root, 1, 2) + np.eye(3)
    each = np.repeat(one, 4, axis=0)
    for function in (linalg.times_columns, linalg.solve_columns):
        assert function(one, columns) == pytest.approx(function(each, columns), rel=1e-11)
    assert linalg.times_columns(one, linalg.solve_columns(one, columns)) == pytest.approx(columns, rel=1e-10)
    assert linalg.log_determinant(each) == pytest.approx(np.log(np.linalg.det(each)))
    inverted = linalg.inverse(each)
    assert np.array_equal(inverted, np.swapaxes(inverted, 1, 2))
    assert inverted @ each == pytest.approx(np.broadcast_to(np.eye(3), (4, 3, 3)), abs=1e-12)


@pytest.mark.parametrize("d", [1, 3, linalg.LARGEST_COMPILED, linalg.LARGEST_COMPILED + 1])
def test_inverses_come_with_the_volume_that_is_found_without_them(d: int) -> None:
    root = np.random.default_rng(2).normal(size=(4, d, d))
    matrices = root @ np.swapaxes(root, 1, 2) + np.eye(d)
    inverted, volume = linalg.inverse_with_volume(matrices)
    assert np.array_equal(inverted, np.swapaxes(inverted, 1, 2))
    assert inverted == pytest.approx(np.linalg.inv(matrices), rel=1e-9, abs=1e-11)
    assert volume == pytest.approx(np.linalg.slogdet(matrices)[1], rel=1e-11)
    assert np.array_equal(volume, linalg.definite_volume(matrices))


def test_what_is_not_definite_is_left_to_lapack() -> None:
    matrices = np.stack([np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])])
    inverted, volume = linalg.inverse_with_volume(matrices)
    assert inverted @ matrices == pytest.approx(np.broadcast_to(np.eye(2), (2, 2, 2)))
    assert np.array_equal(volume, linalg.definite_volume(matrices))
    assert volume == pytest.approx([0.0, np.log(3)])


def test_pseudo_inverse_ignores_directions_without_mass() -> None:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(2, 4, 2))
    flat = root @ np.swapaxes(root, 1, 2)  # rank 2
    assert linalg.symmetric_pinv(flat) == pytest.approx(np.linalg.pinv(flat, rcond=1e-12), rel=1e-8, abs=1e-10)
    assert np.all(linalg.symmetric_pinv(np.zeros((1, 3, 3))) == 0)


def test_seeds_of_every_kind_give_generators() -> None:
    assert generator(3).random() == generator(np.int64(3)).random() == generator(3.0).random()
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    state = np.random.RandomState(0)
    assert generator(state).random() != generator(state).random()
    assert generator(None).random() != generator(None).random()


@pytest.mark.parametrize("seed", ["a", -1, 2.5, True, [1], np.nan, np.inf])
def test_what_is_no_seed_is_refused_by_name(seed: object) -> None:
    with pytest.raises(ValueError, match=r"random_state=.* is no seed; give a whole number"):
        generator(seed)  # type: ignore[arg-type]
