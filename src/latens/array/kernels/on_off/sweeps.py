"""Sequential sweeps over components: compiled for NumPy arrays, the plain array form for everything else.

log p(z | row) = drive'z - 1/2 sum_{j != k} gram_jk z_j z_k + const          z in {0, 1}^K
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from latens.array import Array
from latens.array.special import expit
from latens.array.states import pack, unpack
from latens.array.transfer import is_on_gpu, like

__all__ = ["best_flips", "distinct", "flips", "pair_costs", "score_states", "switches"]


def switches(drive: Array, gram: Array, on: Array, n_sweeps: int, tol: float) -> Array:
    """(n, K), q(z_k = 1) after at most `n_sweeps` sweeps from `on`; a row that moves less than `tol` rests."""
    if is_numpy_array(drive):
        from latens.array.kernels.on_off.sweeps_numba import N_LANES, switch_rows

        found = np.empty_like(on, order="C")
        drive, gram, on = (np.ascontiguousarray(part) for part in (drive, gram, on))
        switch_rows(drive, gram, on, found, n_sweeps, float(tol), N_LANES)
        return found
    if is_on_gpu(drive):
        from latens.array.kernels.on_off.sweeps_triton import (
            MOST_BYTES_ALIKE,
            MOST_SWITCHED,
            switch_alike_on_gpu,
            switch_on_gpu,
        )

        n, k = drive.shape
        if switch_alike_on_gpu is not None and n and len(gram) == 1 and k * drive.element_size() <= MOST_BYTES_ALIKE:
            there: Array = switch_alike_on_gpu(drive.T, gram, on.T, n_sweeps, tol).T
            return there
        if switch_on_gpu is not None and k <= MOST_SWITCHED:
            on = on.contiguous().clone()
            switch_on_gpu(drive.contiguous(), gram.contiguous(), on, n_sweeps, tol)
            return on
    return switches_plain(drive, gram, on, n_sweeps, tol)


def switches_plain(drive: Array, gram: Array, on: Array, n_sweeps: int, tol: float) -> Array:
    xp = array_namespace(drive)
    cost = xp.linalg.diagonal(gram)
    on = xp.asarray(on, copy=True)
    awake = xp.ones_like(on[:, 0]) > 0
    for _ in range(n_sweeps):
        largest = xp.zeros_like(on[:, 0])
        for k in range(on.shape[1]):
            # explaining away: what the other active causes already account for
            others = xp.sum(on * gram[:, :, k], axis=1) - on[:, k] * cost[:, k]
            value = xp.where(awake, expit(drive[:, k] - others), on[:, k])
            largest = xp.maximum(largest, xp.abs(value - on[:, k]))
            on[:, k] = value
        awake = awake & (largest >= tol)
        if not bool(xp.any(awake)):
            break
    return on


def score_states(bits: Array, drive: Array, gram: Array) -> Array:
    """(n, C), log p(z | row) up to a constant, for states (1 or n, C, K) and drives (n, K)."""
    shared = bits.shape[0] == 1
    score = drive @ bits[0, ...].T if shared else array_namespace(drive).sum(bits * drive[:, None, :], axis=2)
    score -= 0.5 * pair_costs(bits, gram)
    return score


def pair_costs(bits: Array, gram: Array) -> Array:
    """(1 or n, C), sum_{j != k} gram_jk z_j z_k for states (1 or n, C, K)."""
    xp = array_namespace(bits)
    return xp.sum((bits @ gram) * bits, axis=2) - xp.sum(bits * xp.linalg.diagonal(gram)[:, None, :], axis=2)


def flips(words: Array, drive: Array, gram: Array, n_parents: int) -> tuple[Array, Array]:
    """The best distinct states among `words` (n, C) and the single flips of each row's best few, with scores.

    A slot that holds a state twice gets score -inf: counted twice it would break the bound.
    """
    k = drive.shape[1]
    score = distinct(words, score_states(unpack(words, k, drive), drive, gram))
    if is_numpy_array(drive):
        from latens.array.kernels.on_off.sweeps_numba import flip_rows

        words, score = np.array(words, order="C"), np.array(score, order="C")
        flip_rows(np.ascontiguousarray(drive), np.ascontiguousarray(gram), words, score, n_parents)
        return words, score
    return flips_plain(words, score, drive, gram, n_parents)


def flips_plain(words: Array, score: Array, drive: Array, gram: Array, n_parents: int) -> tuple[Array, Array]:
    return best_flips(words, score, lambda bits: score_states(bits, drive, gram), drive.shape[1], n_parents)


def best_flips(
    words: Array, score: Array, rate: Callable[[Array], Array], k: int, n_parents: int
) -> tuple[Array, Array]:
    """For each row, the best C distinct states among `words` (n, C) and their children, with their scores (n, C).

    Children are the `n_parents` best states with one code flipped; `rate` scores states given as bits (n, ., K).
    """
    xp, (n, c) = array_namespace(score), words.shape
    best = xp.argsort(score, axis=1, descending=True, stable=True)[:, : min(n_parents, c)]
    parents = unpack(xp.take_along_axis(words, best, axis=1), k, score)
    children = xp.abs(parents[:, :, None, :] - like(np.eye(k), score))  # (n, P, K, K)
    children = xp.reshape(children, (n, -1, k))
    words = xp.concat([words, pack(children)], axis=1)
    score = distinct(words, xp.concat([score, rate(children)], axis=1))
    keep = xp.argsort(score, axis=1, descending=True, stable=True)[:, :c]
    return xp.take_along_axis(words, keep, axis=1), xp.take_along_axis(score, keep, axis=1)


def distinct(words: Array, score: Array) -> Array:
    """Scores with -inf wherever a state already occurred earlier in its row."""
    xp = array_namespace(score)
    alike = words[:, :, None] == words[:, None, :]
    earlier = xp.asarray(np.tri(words.shape[1], k=-1) > 0, device=device(words))
    return xp.where(xp.any(alike & earlier, axis=2), xp.full_like(score, -xp.inf), score)
