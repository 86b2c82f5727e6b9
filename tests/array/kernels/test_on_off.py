"""Compiled sweeps against their plain array forms, and both against enumeration."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from latens.array.kernels.on_off.sweeps import flips, flips_plain, score_states, switches, switches_plain
from latens.array.kernels.on_off.sweeps_numba import expit_lanes
from latens.array.states import all_states, pack, unpack
from latens.array.transfer import host

LIBRARIES = ["array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


def problem(seed: int, n: int, k: int, *, shared: bool, strength: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A drive and a Gram such as real rows give."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(1 if shared else n, k, 5)) * strength
    gram = w @ np.swapaxes(w, 1, 2)
    drive = rng.normal(size=(n, k)) * 2 * strength + 0.3 * np.trace(gram, axis1=1, axis2=2)[:, None] / k
    return drive, gram


@pytest.fixture(params=[True, False], ids=["shared gram", "gram per row"])
def shared(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("k", [1, 2, 7, 30])
@pytest.mark.parametrize("n_sweeps", [1, 2, 20])
def test_compiled_switches_equal_the_plain_form(shared: bool, k: int, n_sweeps: int) -> None:
    drive, gram = problem(k, 50, k, shared=shared)
    start = np.random.default_rng(1).random((50, k))
    one = switches(drive, gram, start, n_sweeps, 0.0)
    two = switches_plain(drive, gram, start, n_sweeps, 0.0)
    assert one == pytest.approx(two, abs=1e-11)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_rows_freeze_by_the_same_rule_in_both_forms(shared: bool, tol: float) -> None:
    """A row rests after the first sweep in which it moves less than `tol`, while its neighbours go on."""
    drive, gram = problem(3, 200, 6, shared=shared)
    start = np.random.default_rng(2).random((200, 6))
    one, two = (form(drive, gram, start, 30, tol) for form in (switches, switches_plain))
    assert one == pytest.approx(two, abs=1e-11)
    stopped_after = [
        np.max(np.abs(one - switches_plain(drive, gram, start, n_sweeps, 0.0)), axis=1) < 1e-11
        for n_sweeps in range(1, 30)
    ]
    assert len({int(np.argmax(row)) for row in np.transpose(stopped_after)}) > 1  # some rested while others went on


def test_a_row_does_not_depend_on_its_neighbours(shared: bool) -> None:
    drive, gram = problem(4, 40, 5, shared=shared)
    start = np.random.default_rng(3).random((40, 5))
    whole = switches(drive, gram, start, 30, 1e-2)
    for rows in (slice(0, 1), slice(7, 19)):
        part = switches(drive[rows], gram if shared else gram[rows], start[rows], 30, 1e-2)
        assert np.array_equal(part, whole[rows])


def test_switches_leave_their_arguments_alone(shared: bool) -> None:
    drive, gram = problem(5, 20, 4, shared=shared)
    start = np.full((20, 4), 0.5)
    before = drive.copy(), gram.copy(), start.copy()
    switches(drive, gram, start, 5, 0.0)
    switches_plain(drive, gram, start, 5, 0.0)
    for given, copy in zip((drive, gram, start), before, strict=True):
        assert np.array_equal(given, copy)


def test_switches_take_arrays_in_any_memory_order(shared: bool) -> None:
    drive, gram = problem(6, 20, 4, shared=shared)
    start = np.random.default_rng(4).random((20, 4))
    plain = switches(drive, gram, start, 5, 0.0)
    turned = switches(np.asfortranarray(drive), np.asfortranarray(gram), np.asfortranarray(start), 5, 0.0)
    assert np.array_equal(plain, turned)
    strided = switches(np.repeat(drive, 2, axis=1)[:, ::2], gram, start, 5, 0.0)
    assert np.array_equal(plain, strided)


def test_settled_switches_solve_the_mean_field_equations(shared: bool) -> None:
    drive, gram = problem(7, 30, 5, shared=shared)
    on = switches(drive, gram, np.full((30, 5), 0.5), 2000, 0.0)
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    others = np.einsum("nj,njk->nk", on, np.broadcast_to(gram, (30, 5, 5))) - on * diagonal
    assert on == pytest.approx(expit(drive - others), abs=1e-9)


@pytest.mark.parametrize("size", [1e3, 1e300])
def test_extreme_drives_saturate_without_warnings(size: float) -> None:
    drive = np.array([[size, -size]])
    for form in (switches, switches_plain):
        assert np.array_equal(form(drive, np.eye(2)[None], np.full((1, 2), 0.5), 3, 0.0), [[1.0, 0.0]])


def test_the_vectorised_logistic_function_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-707, 707, 4001), rng.normal(size=4000), [0.0, -0.0, 1e-300, 709, -709, 1e9, -1e9]])
    out = np.empty(len(x))
    expit_lanes(x, out)
    assert out == pytest.approx(np.where(x < -708, 0.0, expit(x)), rel=1e-15, abs=0)
    bad = np.array([np.nan, 1.0])
    expit_lanes(bad, out[:2])
    assert np.isnan(out[0])
    assert out[1] == pytest.approx(expit(1.0))


def test_single_precision_switches_stay_single_and_come_close(shared: bool) -> None:
    drive, gram = problem(8, 30, 5, shared=shared)
    start = np.full((30, 5), 0.5)
    double = switches(drive, gram, start, 10, 0.0)
    single = switches(*(a.astype(np.float32) for a in (drive, gram, start)), 10, 0.0)
    assert single.dtype == np.float32
    assert single == pytest.approx(double, abs=1e-3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_libraries_switch_alike(shared: bool, library: str) -> None:
    xp = importlib.import_module(library)
    drive, gram = problem(9, 40, 5, shared=shared)
    start = np.random.default_rng(5).random((40, 5))
    ours = switches(drive, gram, start, 12, 1e-2)
    theirs = switches(xp.asarray(drive), xp.asarray(gram), xp.asarray(start), 12, 1e-2)
    assert host(theirs) == pytest.approx(ours, abs=1e-11)


def by_hand(bits: np.ndarray, drive: np.ndarray, gram: np.ndarray) -> float:
    k = len(bits)
    pairs = sum(gram[i, j] * bits[i] * bits[j] for i in range(k) for j in range(k) if i != j)
    return float(drive @ bits - 0.5 * pairs)


def test_scores_of_states_are_their_definition(shared: bool) -> None:
    drive, gram = problem(10, 6, 4, shared=shared)
    table = all_states(4)
    for bits in (table[None], np.broadcast_to(table, (6, *table.shape)).copy()):
        scores = score_states(bits, drive, gram)
        for n in range(6):
            expected = [by_hand(state, drive[n], gram[0 if shared else n]) for state in table]
            assert scores[n] == pytest.approx(expected, rel=1e-11, abs=1e-11)


def normal_form(words: Any, scores: Any) -> list[dict[int, float]]:
    """Each row's states with their scores, the order of slots forgotten, empty slots dropped."""
    rows = zip(np.asarray(host(words), np.int64), host(scores), strict=True)
    return [{int(w): float(s) for w, s in zip(*row, strict=True) if s > -np.inf} for row in rows]


def assert_alike(one: list[dict[int, float]], two: list[dict[int, float]]) -> None:
    for a, b in zip(one, two, strict=True):
        assert a == pytest.approx(b, rel=1e-10, abs=1e-10)


def random_words(rng: np.random.Generator, n: int, c: int, k: int) -> np.ndarray:
    """Distinct words in every row."""
    return np.array([rng.choice(2**k, c, replace=False) for _ in range(n)], np.int64)


@pytest.mark.parametrize(("c", "n_parents"), [(1, 1), (3, 1), (5, 4), (12, 4), (5, 9)])
def test_compiled_flips_equal_the_plain_form(shared: bool, c: int, n_parents: int) -> None:
    drive, gram = problem(11, 60, 6, shared=shared)
    words = random_words(np.random.default_rng(6), 60, c, 6)
    score = score_states(unpack(words, 6, drive), drive, gram)
    compiled = flips(words, drive, gram, n_parents)
    assert_alike(normal_form(*compiled), normal_form(*flips_plain(words, score, drive, gram, n_parents)))


def test_flips_with_empty_slots_equal_the_plain_form(shared: bool) -> None:
    """Every slot starts with the same word, as a truncated posterior does."""
    drive, gram = problem(12, 60, 6, shared=shared)
    words = np.repeat(np.random.default_rng(7).integers(64, size=(60, 1)), 9, axis=1)
    words_, compiled = flips(words, drive, gram, 4)
    score = score_states(unpack(words, 6, drive), drive, gram)
    score[:, 1:] = -np.inf
    assert_alike(normal_form(words_, compiled), normal_form(*flips_plain(words, score, drive, gram, 4)))
    assert [len(row) for row in normal_form(words_, compiled)] == [7] * 60  # the word and its six flips


def test_flips_keep_the_best_of_all_that_were_seen(shared: bool) -> None:
    drive, gram = problem(13, 40, 5, shared=shared)
    words = random_words(np.random.default_rng(8), 40, 4, 5)
    states, score = flips(words, drive, gram, 4)
    for n in range(40):
        own = gram[0 if shared else n]
        value = {w: by_hand(all_states(5)[w], drive[n], own) for w in range(32)}
        seen = set(words[n].tolist()) | {int(w) ^ (1 << a) for w in words[n] for a in range(5)}
        best = sorted((value[w] for w in seen), reverse=True)[:4]
        assert len(set(states[n].tolist())) == 4  # a state counted twice would break the bound
        assert sorted(score[n], reverse=True) == pytest.approx(best, rel=1e-10)
        assert score[n] == pytest.approx([value[w] for w in states[n].tolist()], rel=1e-10, abs=1e-10)


def test_flips_never_drop_a_better_state(shared: bool) -> None:
    from scipy.special import logsumexp

    drive, gram = problem(14, 50, 10, shared=shared)
    words = random_words(np.random.default_rng(9), 50, 6, 10)
    mass = []
    for _ in range(6):
        words, score = flips(words, drive, gram, 3)
        mass.append(logsumexp(score, axis=1))
    assert np.all(np.diff(mass, axis=0) >= -1e-10)
    assert np.all(mass[-1] > mass[0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_libraries_flip_alike(shared: bool, library: str) -> None:
    xp = importlib.import_module(library)
    drive, gram = problem(15, 40, 6, shared=shared)
    words = random_words(np.random.default_rng(10), 40, 5, 6)
    theirs = flips(xp.asarray(words), xp.asarray(drive), xp.asarray(gram), 3)
    assert_alike(normal_form(*flips(words, drive, gram, 3)), normal_form(*theirs))


def test_single_precision_flips_come_close(shared: bool) -> None:
    drive, gram = problem(16, 40, 6, shared=shared)
    words = random_words(np.random.default_rng(11), 40, 5, 6)
    _, double = flips(words, drive, gram, 3)
    _, single = flips(words, drive.astype(np.float32), gram.astype(np.float32), 3)
    assert single.dtype == np.float32
    assert np.sort(single, axis=1) == pytest.approx(np.sort(double, axis=1), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("k", [1, 3, 31, 33, 62])
def test_words_hold_every_bit(k: int) -> None:
    bits = (np.random.default_rng(k).random((20, 3, k)) < 0.5).astype(float)
    words = pack(bits)
    assert words.dtype == np.int64
    assert np.all(words >= 0)
    assert np.array_equal(unpack(words, k, bits), bits)


@pytest.mark.parametrize("library", LIBRARIES)
def test_words_of_other_libraries_are_the_same(library: str) -> None:
    xp = importlib.import_module(library)
    bits = (np.random.default_rng(0).random((5, 3, 40)) < 0.5).astype(float)
    words = pack(xp.asarray(bits))
    assert np.array_equal(np.asarray(words), pack(bits))
    assert np.array_equal(np.asarray(unpack(words, 40, xp.asarray(bits))), bits)


def test_the_table_of_states_lists_each_once_in_the_order_of_its_word() -> None:
    table = all_states(5)
    assert table.shape == (32, 5)
    assert np.array_equal(pack(table[None])[0], np.arange(32))
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1.0


@pytest.mark.gpu
@pytest.mark.parametrize("k", [1, 7, 30, 64])
@pytest.mark.parametrize(("n_sweeps", "tol"), [(1, 0.0), (12, 0.0), (30, 1e-2)])
def test_switches_on_a_gpu_equal_the_plain_form(shared: bool, k: int, n_sweeps: int, tol: float) -> None:
    torch = importlib.import_module("torch")
    drive, gram = (torch.tensor(part, device="cuda") for part in problem(k, 70, k, shared=shared))
    start = torch.tensor(np.random.default_rng(1).random((70, k)), device="cuda")
    fast, plain = switches(drive, gram, start, n_sweeps, tol), switches_plain(drive, gram, start, n_sweeps, tol)
    assert fast.device.type == "cuda"
    assert host(fast) == pytest.approx(host(plain), abs=1e-10)
