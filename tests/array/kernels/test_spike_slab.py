"""Sweeps of sparse coefficients and sums of their products: compiled, plain and by definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import entr

from latens.array.kernels.spike_slab import Spikes, sweep_spikes, sweep_spikes_plain
from latens.array.kernels.spike_slab_numba import N_SIDE, coefficient_pairs, moment_pairs, subtract_listed
from latens.array.packed_symmetric import square, upper

Problem = tuple[np.ndarray, ...]


def problem(n: int, k: int, *, shared: bool, own_prior: bool = False) -> Problem:
    """Drive, packed Gram, scale, precision, log odds and a start; the last coefficient is always on."""
    rng = np.random.default_rng(n + k)
    root = rng.normal(size=(1 if shared else n, k, k + 2))
    rows = n if own_prior else 1
    odds = rng.normal(size=(rows, k))
    odds[:, -1] = np.inf
    return (
        3 * rng.normal(size=(n, k)),
        np.asarray(upper(root @ np.swapaxes(root, 1, 2))),
        rng.gamma(1.0, size=n),
        rng.gamma(1.0, size=(rows, k)) + 0.1,
        odds,
        rng.normal(size=(n, k)),
    )


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "one per row"])
@pytest.mark.parametrize("own_prior", [True, False], ids=["own priors", "one prior"])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 3), (N_SIDE + 5, 6)])
def test_compiled_and_plain_sweeps_agree(n: int, k: int, shared: bool, own_prior: bool) -> None:
    given = problem(n, k, shared=shared, own_prior=own_prior)
    before = [part.copy() for part in given]
    compiled, plain = sweep_spikes(*given), sweep_spikes_plain(*given)
    for name, found, expected in zip(Spikes._fields, compiled, plain, strict=True):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12), name
    assert all(np.array_equal(now, then) for now, then in zip(given, before, strict=True))


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "one per row"])
def test_what_a_sweep_tells_of_itself(shared: bool) -> None:
    drive, gram, *rest = problem(150, 4, shared=shared)
    found = sweep_spikes(drive, gram, *rest)
    on, slab, variance = found.on, found.slab, found.variance
    assert found.mean == pytest.approx(on * slab)
    second = found.mean[:, :, None] * found.mean[:, None, :]
    second[:, range(4), range(4)] = on * (slab**2 + variance)
    forms = np.sum(np.broadcast_to(square(gram, 4), second.shape) * second, axis=(1, 2))
    assert found.gain == pytest.approx(np.sum(drive * found.mean, axis=1) - 0.5 * forms, rel=1e-9, abs=1e-10)
    assert found.used == pytest.approx(on.sum(axis=0))
    assert found.entropy == pytest.approx(np.sum(entr(on) + entr(1 - on) + 0.5 * on * np.log(variance), axis=0))


def test_odds_beyond_all_numbers_switch_for_good() -> None:
    drive, gram, scale, precision, odds, start = problem(20, 3, shared=True)
    odds = odds + np.array([[-1e4, 1e4, 0.0]])
    found = sweep_spikes(drive, gram, scale, precision, odds, start)
    assert found.on[:, 0] == pytest.approx(0, abs=1e-300)
    assert np.array_equal(found.on[:, 1:], np.ones((20, 2)))
    assert np.isfinite(found.entropy).all()


@pytest.mark.parametrize("times", [30, 300, 3000])
def test_coefficients_that_are_all_but_certain(times: float) -> None:
    """Chances of which some are too small to be told from 0 or 1, or to be multiplied by each other."""
    drive, *rest = problem(200, 4, shared=True)
    given = (times * drive, *rest)
    found, plain = sweep_spikes(*given), sweep_spikes_plain(*given)
    for name in Spikes._fields:
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-9, abs=1e-12), name


def test_single_precision_sweeps_stay_single_and_come_close() -> None:
    given = problem(40, 4, shared=False)
    single = sweep_spikes(*(part.astype(np.float32) for part in given))
    for name, found, exact in zip(Spikes._fields, single, sweep_spikes(*given), strict=True):
        assert found.dtype == np.float32, name
        assert found == pytest.approx(exact, rel=1e-3, abs=1e-4), name


@pytest.mark.parametrize("p", [1, 8, 21])
@pytest.mark.parametrize("v", [1, 3])
def test_what_is_listed_is_subtracted(p: int, v: int) -> None:
    rng = np.random.default_rng(p)
    mask = rng.random((43, 30)) < 0.4
    mask[3], mask[4] = True, False
    lists, values, there = csr_array(mask), rng.normal(size=(p, 30)), (rng.random((v, 43)) < 0.8).astype(float)
    whole, out = rng.normal(size=(v, p)), np.empty((p, 43))
    subtract_listed(lists.indptr, lists.indices, values, whole, there, out)
    assert out == pytest.approx(whole.T @ there - values @ mask.T, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("own", [True, False], ids=["one per row", "shared"])
def test_products_of_regressors(own: bool) -> None:
    rng = np.random.default_rng(0)
    mean, root = rng.normal(size=(5, 9)), rng.normal(size=(9 if own else 1, 3, 4))
    spread = root @ np.swapaxes(root, 1, 2)
    out = np.empty((15, 9))
    moment_pairs(mean, np.ascontiguousarray(spread.transpose(1, 2, 0)), out)
    full = np.einsum("an,bn->nab", mean, mean)
    full[:, :3, :3] += spread
    assert np.allclose(out.T, upper(full), rtol=1e-12, atol=1e-14)


def test_products_of_independent_coefficients() -> None:
    rng = np.random.default_rng(0)
    mean, second = rng.normal(size=(4, 9)), rng.gamma(1.0, size=(4, 9))
    out = np.empty((10, 9))
    coefficient_pairs(mean, second, out)
    full = np.einsum("an,bn->nab", mean, mean)
    full[:, range(4), range(4)] = second.T
    assert np.allclose(out.T, upper(full), rtol=1e-12, atol=1e-14)
