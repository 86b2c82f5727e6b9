"""Kernels in Triton's language against the plain array form of the same, on the same device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.array.kernels.noisy_or.states import Effects, OnesOnGpu, improve, score_kept, share_kept
from latens.array.kernels.on_off.sweeps import switches, switches_plain
from latens.array.kernels.row_posteriors.student import (
    student_moments,
    student_moments_plain,
    student_scales,
    student_scales_plain,
)
from latens.array.packed_symmetric import (
    moment_pairs,
    moment_pairs_plain,
    with_pairs,
    with_pairs_plain,
    with_squares,
)
from latens.array.row_matrices import (
    inverse_and_volume,
    inverse_rows_plain,
    log_determinants,
    normal_rows,
    normal_rows_plain,
)
from latens.array.special import softmax_entropy, switch_entropy
from latens.array.transfer import host, like, products_near

pytestmark = pytest.mark.gpu

N_CAUSES, N_COLUMNS, N_STATES = 13, 70, 20


def tensor(values: Any, dtype: str = "float64") -> Any:
    import torch

    return torch.tensor(values, dtype=getattr(torch, dtype), device="cuda")


@pytest.mark.parametrize("k", [1, 5, 16, 20, 40, 64, 70])
@pytest.mark.parametrize("shared", [True, False], ids=["one gram", "a gram per row"])
def test_inverses_of_rows_and_their_determinants(k: int, shared: bool) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(1 if shared else 300, k, k + 4))
    gram, diagonal = tensor(root @ np.swapaxes(root, 1, 2)), tensor(rng.random((300, k)) + 0.1)
    inverse, volume = inverse_and_volume(gram, diagonal)
    plain = inverse_rows_plain(gram, diagonal)
    assert host(inverse) == pytest.approx(host(plain), abs=1e-10)
    expected = np.linalg.slogdet(host(plain))[1]
    assert host(log_determinants(inverse) if volume is None else volume) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("k", [1, 7, 16, 20, 33])
def test_normal_rows_of_packed_products(k: int) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(301, k, k + 4))
    gram = tensor((root @ np.swapaxes(root, 1, 2))[:, *np.triu_indices(k)])
    drive, diagonal = tensor(rng.normal(size=(301, k))), tensor(rng.random((1, k)) + 0.1)
    for found, plain in zip(normal_rows(drive, gram, diagonal), normal_rows_plain(drive, gram, diagonal), strict=True):
        assert host(found) == pytest.approx(host(plain), abs=1e-9)


@pytest.mark.parametrize("k", [1, 3, 16, 20, 32, 40])
def test_moments_of_student_sources(k: int) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(k, k + 4))
    gram, drive = tensor((root @ root.T)[np.triu_indices(k)][None]), tensor(rng.normal(size=(301, k)))
    was, tails = tensor(rng.uniform(0.5, 2, (301, k))), tensor(rng.uniform(1, 9, k))
    given = drive, gram, was, tails, 0.5 * (tails + 1)
    for found, plain in zip(student_moments(*given), student_moments_plain(*given), strict=True):
        assert host(found) == pytest.approx(host(plain), abs=1e-10)


@pytest.mark.parametrize("shared", [True, False], ids=["one spread", "a spread per row"])
def test_expected_products_of_pairs(shared: bool) -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(1 if shared else 1003, 20, 20))
    mean, spread = tensor(rng.normal(size=(1003, 22))), tensor(root @ np.swapaxes(root, 1, 2))
    # the kernel adds the covariance before it rounds the product
    assert host(moment_pairs(mean, spread)) == pytest.approx(
        host(moment_pairs_plain(mean, spread)), rel=1e-14, abs=1e-13
    )


def test_normal_rows_that_share_their_spread() -> None:
    rng = np.random.default_rng(0)
    gram, diagonal = np.zeros((1, 6)), rng.random((1, 3)) + 0.5
    drive = rng.normal(size=(40, 3))
    mean, spread, volume = normal_rows(tensor(drive), tensor(gram), tensor(diagonal))
    assert spread.shape == (1, 3, 3)
    assert host(mean) == pytest.approx(drive / diagonal, abs=1e-12)
    assert host(volume) == pytest.approx(-np.log(diagonal).sum(), abs=1e-12)


@pytest.mark.parametrize("d", [1, 7, 50])
def test_products_of_columns_are_exact(d: int) -> None:
    x = tensor(np.random.default_rng(d).normal(size=(1003, d)))
    assert np.array_equal(host(with_pairs(x)), host(with_pairs_plain(x)))
    assert np.array_equal(host(with_squares(x)), np.concatenate([host(x), host(x) ** 2], axis=1))


@pytest.mark.parametrize("k", [1, 3, 50, 1024, 1500])
def test_softmax_and_its_entropy(k: int) -> None:
    x = 30 * np.random.default_rng(k).normal(size=(501, k))
    share, entropy = softmax_entropy(tensor(x))
    expected = softmax_entropy(x.copy())
    assert host(share) == pytest.approx(expected[0], abs=1e-13)
    assert host(entropy) == pytest.approx(expected[1], abs=1e-11)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [1, 7, 16, 64, 100])
@pytest.mark.parametrize("turned", [False, True], ids=["row by row", "cause by cause"])
def test_switches_of_rows_that_share_their_gram(k: int, dtype: str, turned: bool) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(1, k, 5))
    gram, start = root @ np.swapaxes(root, 1, 2), rng.random((1003, k))
    drive = 2 * rng.normal(size=(1003, k)) + 0.3 * np.trace(gram[0]) / k
    given = [tensor(part, dtype) for part in (drive, gram, start)]
    if turned:
        given[0], given[2] = (part.T.contiguous().T for part in (given[0], given[2]))
    double = dtype == "float64"
    for n_sweeps, tol in ((3, 0.0), (20, 1e-2)) if double else ((3, 0.0),):  # rounding may let a row rest a sweep later
        found, plain = switches(*given, n_sweeps, tol), switches_plain(drive, gram, start, n_sweeps, tol)
        assert host(found) == pytest.approx(plain, abs=1e-11 if double else 1e-3)
    assert np.array_equal(host(given[2]), host(tensor(start, dtype)))


@pytest.mark.parametrize("turned", [False, True], ids=["row by row", "switch by switch"])
def test_entropy_of_switches(turned: bool) -> None:
    on = np.random.default_rng(0).random((1003, 19)) ** 3
    on[0], on[1], on[2, 3], on[3, 4] = 0.0, 1.0, 1e-300, np.nan
    found = switch_entropy(tensor(on).T.contiguous().T if turned else tensor(on))
    assert host(found) == pytest.approx(switch_entropy(on), abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [1, 5, 16])
def test_scales_of_student_variables(k: int, dtype: str) -> None:
    rng = np.random.default_rng(k)
    root = rng.normal(size=(1003, k, k))
    mean, spread = tensor(rng.normal(size=(1003, k)), dtype), tensor(root @ np.swapaxes(root, 1, 2), dtype)
    tails, shape = tensor(rng.gamma(3.0, size=k), dtype), tensor(rng.gamma(2.0, size=k), dtype)
    plain = student_scales_plain(mean, spread, tails, shape)
    for found, expected in zip(student_scales(mean, spread, tails, shape), plain, strict=True):
        assert host(found) == pytest.approx(host(expected), rel=1e-12 if dtype == "float64" else 1e-5, abs=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_profiles", [1, 3])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_states_of_the_noisy_or(dtype: str, n_profiles: int, holes: bool) -> None:
    """The same states are found and scored alike, whatever their order; and ones are shared out alike."""
    rng = np.random.default_rng(n_profiles)
    effects = Effects(
        profile=np.log(np.full(n_profiles, 1 / n_profiles)) - 1,
        odds=rng.normal(size=(n_profiles, N_CAUSES)) - 1,
        theta=rng.gamma(0.5, size=(N_CAUSES, N_COLUMNS)),
        leak=rng.gamma(0.3, size=N_COLUMNS) + 1e-4,
        dark=-rng.gamma(0.5, size=(N_CAUSES, N_COLUMNS)),
        dark_leak=-rng.gamma(0.1, size=N_COLUMNS),
    )
    seen = (rng.random((400, N_COLUMNS)) < 0.8).astype(float) if holes else np.ones((1, N_COLUMNS))
    x = tensor((rng.random((400, N_COLUMNS)) < 0.3) * seen, dtype)
    mask, words = tensor(seen, dtype), tensor(np.zeros((400, N_STATES)), "int64")
    ones, within = OnesOnGpu.of(x), 1e-10 if dtype == "float64" else 2e-4
    plain = improve(effects, x, mask, None, words, 3, 3)
    found = improve(effects, x, mask, ones, words, 3, 3)
    assert np.sort(host(found[1])) == pytest.approx(np.sort(host(plain[1])), abs=within)
    assert host(score_kept(effects, x, mask, None, found[0])) == pytest.approx(host(found[1]), abs=within)
    mass = softmax_entropy(found[1] + 0.0)[0]
    one, two = (share_kept(effects, x, lists, found[0], mass) for lists in (ones, None))
    for name in ("used", "on", "caused", "leaked"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-10 if dtype == "float64" else 1e-4), name
    if dtype == "float64":
        assert np.array_equal(np.sort(host(found[0])), np.sort(host(plain[0])))


@pytest.mark.parametrize("n_causes", [1, 5, 40, 63])
def test_ones_of_long_columns_are_shared_out_part_by_part(n_causes: int) -> None:
    rng = np.random.default_rng(n_causes)
    effects = Effects(
        profile=np.zeros(1),
        odds=rng.normal(size=(1, n_causes)),
        theta=rng.gamma(0.5, size=(n_causes, 9)),
        leak=rng.gamma(0.3, size=9) + 1e-4,
        dark=-rng.gamma(0.5, size=(n_causes, 9)),
        dark_leak=-rng.gamma(0.1, size=9),
    )
    x = tensor(rng.random((3001, 9)) < np.linspace(0, 1, 9))
    words = tensor(rng.integers(0, 2**n_causes, size=(3001, 7), dtype=np.uint64).astype(np.int64), "int64")
    mass = tensor(rng.random((3001, 7)))
    one, two = (share_kept(effects, x, lists, words, mass) for lists in (OnesOnGpu.of(x), None))
    for name in ("used", "on", "caused", "leaked"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-10), name


def test_rows_without_a_one_and_columns_without_one() -> None:
    x = tensor(np.zeros((5, 4)))
    ones = OnesOnGpu.of(x)
    assert host(ones.row_starts).tolist() == [0] * 6
    assert ones.most_in_a_column == 0


def test_numbers_of_the_host_arrive_whole_while_the_host_goes_on() -> None:
    x = tensor(np.zeros(3), "float32")
    sent = [like(np.full(100_000, float(value)), x) for value in range(50)]
    assert [float(part.min()) for part in sent] == [float(part.max()) for part in sent] == list(range(50))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (700, 7), (5000, 20), (2500, 63)])
def test_codes_of_complete_samples_and_their_products(n: int, k: int) -> None:
    """Sums are as near to those in double precision as single precision allows, and on no side of them."""
    from latens.array.kernels.joint_codes_triton import codes_on_gpu

    rng = np.random.default_rng(n)
    drive, shift = (part.astype(np.float32) for part in (rng.normal(size=(k, n)), rng.normal(size=k)))
    full, chunks = codes_on_gpu(tensor(drive, "float32"), tensor(shift, "float32"))
    z = np.concatenate([(drive - shift[:, None]).T, np.ones((n, 1), np.float32)], axis=1)
    assert np.array_equal(host(full), z.astype(float))
    expected = z.astype(float).T @ z.astype(float)
    found = host(chunks.double().sum(0))
    assert found == pytest.approx(expected, abs=3e-7 * np.linalg.norm(expected))
    # of two chunks a rounding of either is seen; of more they are on no side
    assert np.trace(found) == pytest.approx(np.trace(expected), rel=5e-8 if n > 2000 else float(np.finfo(np.float32).eps))


@pytest.mark.parametrize("columns", [1, 24])
def test_products_of_host_columns_on_a_gpu(columns: int) -> None:
    rng = np.random.default_rng(columns)
    matrix, block = rng.normal(size=(300, 300)), rng.normal(size=(300, columns))
    times = products_near(matrix, tensor(np.zeros(1), "float32"))
    assert times is not None
    assert times(block) == pytest.approx(matrix @ block, abs=1e-11)
    assert times(block[:, 0]) == pytest.approx(matrix @ block[:, 0], abs=1e-11)
    assert products_near(matrix, block) is None
