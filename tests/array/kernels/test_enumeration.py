"""Compiled tables of all states against the plain array form, and their moments against sums over the table."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest

from latens.array.kernels.on_off.enumeration import second_moments, state_chances, switch_moments
from latens.array.kernels.on_off.enumeration_numba import NUMBERS_BETWEEN_SUMS, scratch
from latens.array.states import all_states
from latens.array.transfer import host

SIZES = [0, 1, 2, 3, 4, 5, 7]


def problem(seed: int, n: int, k: int, *, shared: bool, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """A drive and a Gram such as real rows give."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(1 if shared else n, k, 5)) * strength
    gram = w @ np.swapaxes(w, 1, 2)
    return rng.normal(size=(n, k)) * 2 * strength + 0.5 * np.diagonal(gram, axis1=1, axis2=2), gram


@pytest.fixture(params=[True, False], ids=["shared gram", "gram per row"])
def shared(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("k", SIZES)
def test_compiled_chances_equal_the_plain_form(k: int, strength: float, shared: bool) -> None:
    drive, gram = problem(k, 30, k, shared=shared, strength=strength)
    chance, entropy = state_chances(drive, gram)
    plain = state_chances(array_api_strict.asarray(drive), array_api_strict.asarray(gram))
    assert chance == pytest.approx(host(plain[0]), abs=1e-9)
    assert entropy == pytest.approx(host(plain[1]), abs=1e-8)
    assert chance.sum(axis=1) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("k", SIZES)
def test_moments_are_sums_over_the_table(k: int, strength: float, shared: bool) -> None:
    drive, gram = problem(k, 30, k, shared=shared, strength=strength)
    chance, entropy = state_chances(drive, gram)
    mean, second, same = switch_moments(drive, gram)
    states = all_states(k)
    expected = np.einsum("ns,sj,sk->njk", chance, states, states)
    assert mean == pytest.approx(chance @ states, abs=1e-13)
    assert second == pytest.approx(expected, abs=1e-13)
    assert second_moments(chance, k) == pytest.approx(expected, abs=1e-13)
    assert host(second_moments(array_api_strict.asarray(chance), k)) == pytest.approx(expected, abs=1e-13)
    assert same == pytest.approx(entropy, abs=1e-12)


def test_a_row_does_not_depend_on_its_neighbours(shared: bool) -> None:
    drive, gram = problem(1, 9, 6, shared=shared, strength=1.0)
    whole = switch_moments(drive, gram)
    for i in range(9):
        alone = switch_moments(drive[i : i + 1], gram if shared else gram[i : i + 1])
        assert all(np.array_equal(a[i], b[0]) for a, b in zip(whole, alone, strict=True))


def test_single_precision_stays_what_it_is() -> None:
    drive, gram = (part.astype(np.float32) for part in problem(2, 20, 5, shared=True, strength=1.0))
    assert {part.dtype for part in (*state_chances(drive, gram), *switch_moments(drive, gram))} == {np.dtype("float32")}
    double = switch_moments(drive.astype(float), gram.astype(float))
    assert switch_moments(drive, gram)[1] == pytest.approx(double[1], abs=1e-6)


@pytest.mark.parametrize("k", [1, 4, 10])
def test_scratch_always_lies_as_far_apart(k: int) -> None:
    """Closer than a compiled sum is wide, arrays are summed one by one, to other bits: it depended on free memory."""
    for _ in range(3):
        at = [part.ctypes.data for part in scratch(2**k)]
        assert set(np.diff(at)) == {8 * (2**k + NUMBERS_BETWEEN_SUMS)}
