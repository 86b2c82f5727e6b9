"""The noisy-OR on rows: over their ones for NumPy and CSR rows and on a GPU, the plain array form for everything else.

    log p(row, s) = log sum_c e^(profile_c + odds_c's)                            which causes are on together
                  + sum_{j seen} (dark_0j + sum_k s_k dark_kj)                    as if every column were dark
                  + sum_{j: x = 1} log(e^a_j - 1),   a = theta_0 + sum_k s_k theta_k

for s in {0, 1}^K. With known probabilities dark = log(1 - p) = -theta; with expected logarithms the two differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.kernels.noisy_or.states_triton import OnesOnGpu, count_on_gpu, improve_on_gpu, share_on_gpu
from latens.array.kernels.on_off.sweeps import best_flips, distinct
from latens.array.special import expit, logsumexp
from latens.array.states import all_states, unpack
from latens.array.transfer import column_sums, host, is_on_gpu, is_sparse, like

__all__ = [
    "Effects",
    "Ones",
    "OnesOnGpu",
    "Shares",
    "improve",
    "meets_gpu",
    "meets_kernels",
    "score_all",
    "score_kept",
    "share_all",
    "share_kept",
    "sum_states",
]

MOST_WORK = 2**23  # additions for which a row's chance is summed over all states: some milliseconds
PLAIN_FLOATS = (
    2**27
)  # numbers of the levels (n, C, D) that the plain form holds at once, with a few arrays of that size
Ones = tuple[Index, Index]  # CSR bounds and columns of a batch's ones; meets only NumPy and CSR rows
FEWEST_TO_COMPILE = 2**14  # chances of ones from which on a compiled pass over them is worth its loading
MOST_STATES_ON_GPU = 64  # that a program of Triton holds


@dataclass(frozen=True)
class Effects:
    """The global unknowns as the score of a state takes them; float64 on the host."""

    profile: Floats  # (P,), log w_c + sum_k log(1 - pi_ck)
    odds: Floats  # (P, K), logit pi
    theta: Floats  # (K, D)
    leak: Floats  # (D,), theta_0
    dark: Floats  # (K, D), log(1 - p)
    dark_leak: Floats  # (D,)

    @cached_property
    def flash(self) -> Floats:
        """(K, D), 1 - e^-theta."""
        return -np.expm1(-self.theta)

    @cached_property
    def by_column(self) -> Floats:
        """(D, K), theta, the causes of a column side by side."""
        return np.ascontiguousarray(self.theta.T)

    @cached_property
    def first(self) -> Floats:
        """(D,), the same of the leak."""
        return -np.expm1(-self.leak)

    @cached_property
    def growth(self) -> Floats:
        """(P, K), e^odds."""
        return np.exp(np.clip(self.odds, -700.0, 700.0))

    def profile_logits(self, bits: Floats) -> Floats:
        """(C, P), of states (C, K)."""
        return self.profile + bits @ self.odds.T

    @cached_property
    def by_states(self) -> tuple[Floats, Floats]:
        """(C, D) each, of all 2^K states: the chance of a one, and what it adds to the score of a row."""
        bits = all_states(len(self.theta))
        if len(bits) * len(self.leak) < FEWEST_TO_COMPILE:
            levels = np.maximum(self.leak + bits @ self.theta, np.finfo(float).tiny)
            lit = -np.expm1(-levels)
            return lit, levels + np.log(lit)
        from latens.array.kernels.noisy_or.states_numba import light_states

        lit, log_odds = np.empty((2, len(bits), len(self.leak)))
        light_states(np.ascontiguousarray(self.theta), self.leak, lit, log_odds)
        return lit, log_odds


@dataclass(frozen=True)
class Shares:
    """Expected counts over a batch."""

    used: Floats  # (P,), rows per profile
    on: Floats  # (P, K), rows per profile and cause that is on
    caused: Floats  # (K, D), ones that a cause brought about
    leaked: Floats  # (D,)

    def __add__(self, other: Shares) -> Shares:
        return Shares(
            self.used + other.used, self.on + other.on, self.caused + other.caused, self.leaked + other.leaked
        )


def score_all(effects: Effects, x: Array, mask: Array) -> Array:
    """(n, 2^K), log joint of each row with every state."""
    bits = all_states(len(effects.theta))
    prior = logsumexp(effects.profile_logits(bits))[:, 0]
    dark = (mask @ like(effects.dark.T, mask)) @ like(bits.T, mask) + (mask @ like(effects.dark_leak, mask))[:, None]
    return x @ like(effects.by_states[1].T, x) + (dark + like(prior, x))


def score_kept(effects: Effects, x: Array, mask: Array, ones: Ones | OnesOnGpu | None, words: Array) -> Array:
    """(n, C), the same with kept states; -inf where a state already stands earlier in its row."""
    if ones is None:
        bits = unpack(words, len(effects.theta), x)
        return distinct(words, _score_plain(effects, x, mask, bits))
    return improve(effects, x, mask, ones, words, 1, 0)[1]


def sum_states(effects: Effects, x: Array, mask: Array, ones: Ones, most: int = MOST_WORK) -> Floats:
    """(n,), log chance of each row summed over all states; -inf for those that need more than so many additions.

    Effects are of points.
    """
    from latens.array.kernels.noisy_or.states_numba import cover_ones

    indptr, indices, first, flash, theta, cost, _, _ = _arguments(effects, mask, ones)
    on = np.ascontiguousarray(expit(effects.odds).T)
    weight = np.exp(effects.profile + np.logaddexp(0.0, effects.odds).sum(axis=1))
    rows = cover_ones(indptr, indices, first, flash, theta, cost, weight, on, most)
    return np.asarray(rows + _base(effects, x, mask))


def improve(
    effects: Effects, x: Array, mask: Array, ones: Ones | OnesOnGpu | None, words: Array, n_parents: int, n_rounds: int
) -> tuple[Array, Array]:
    """The best distinct states among `words` (n, C) and single flips of each row's best few, with their scores."""
    if isinstance(ones, OnesOnGpu):
        numbers = (like(part, x) for part in (effects.theta.T, effects.leak))
        dark = mask @ like(effects.dark.T, x)
        prior = (like(part, x) for part in (effects.profile, effects.odds))
        words, score = improve_on_gpu(ones, *numbers, dark, *prior, words, n_parents, n_rounds)
        return words, score + (mask @ like(effects.dark_leak, x))[:, None]
    if ones is None:
        score = score_kept(effects, x, mask, ones, words)
        for _ in range(n_rounds):
            words, score = best_flips(
                words, score, lambda bits: _score_plain(effects, x, mask, bits), len(effects.theta), n_parents
            )
        return words, score
    from latens.array.kernels.noisy_or.states_numba import improve_words

    words = np.array(words, order="C")
    score = np.empty(words.shape)
    arguments = _arguments(effects, mask, ones)
    improve_words(*arguments, np.ascontiguousarray(effects.growth), words, score, n_parents, n_rounds)
    return words, (score + _base(effects, x, mask)[:, None]).astype(mask.dtype, copy=False)


def share_all(effects: Effects, x: Array, mass: Array) -> Shares:
    """Who caused the ones, mass (n, 2^K) being each row's chances of the states times its weight."""
    k = len(effects.theta)
    bits = all_states(k)
    together = host(mass.T @ x) / effects.by_states[0]  # (C, D)
    per_state = column_sums(mass)
    logits = effects.profile_logits(bits)
    part = np.exp(logits - logsumexp(logits)) * per_state[:, None]  # (C, P)
    return Shares(
        used=part.sum(axis=0),
        on=part.T @ bits,
        caused=(bits.T @ together) * effects.flash,
        leaked=together.sum(axis=0) * effects.first,
    )


def share_kept(effects: Effects, x: Array, ones: Ones | OnesOnGpu | None, words: Array, mass: Array) -> Shares:
    """The same over kept states (n, C)."""
    (k, d), n_profiles = effects.theta.shape, len(effects.profile)
    if isinstance(ones, OnesOnGpu):
        caused, leaked = share_on_gpu(ones, like(effects.theta.T, x), like(effects.leak, x), words, mass)
        if n_profiles == 1:
            used, on = column_sums(mass).sum(keepdims=True), host(count_on_gpu(words, mass, k))[None]
        else:
            used, on = _share_profiles(effects, unpack(words, k, x), mass)
        return Shares(used, on, host(caused).T * effects.flash, host(leaked) * effects.first)
    if ones is not None:
        from latens.array.kernels.noisy_or.states_numba import share_ones

        shares = Shares(np.zeros(n_profiles), np.zeros((k, n_profiles)), np.zeros((k, d)), np.zeros(d))
        mass = np.ascontiguousarray(mass, dtype=np.float64)
        flash, odds = np.ascontiguousarray(effects.flash), np.ascontiguousarray(effects.odds.T)
        common = (*ones, effects.first, flash, effects.profile, odds)
        share_ones(*common, words, mass, shares.caused, shares.leaked, shares.on, shares.used)
        return replace(shares, on=shares.on.T)
    parts = [
        _share_plain(effects, x[at, :], words[at, :], mass[at, :]) for at in _slices(x.shape[0], words.shape[1], d)
    ]
    return reduce(add, parts)


def _share_plain(effects: Effects, x: Array, words: Array, mass: Array) -> Shares:
    xp, bits = array_namespace(x), unpack(words, len(effects.theta), x)
    lit = -xp.expm1(-_levels_plain(effects, x, bits))
    ratio = mass[:, :, None] * x[:, None, :] / lit  # (n, C, D)
    flat_bits, flat_ratio = (xp.reshape(y, (-1, y.shape[2])) for y in (bits, ratio))
    used, on = _share_profiles(effects, bits, mass)
    caused, leaked = host(flat_bits.T @ flat_ratio), column_sums(flat_ratio)
    return Shares(used, on, caused * effects.flash, leaked * effects.first)


def _share_profiles(effects: Effects, bits: Array, mass: Array) -> tuple[Floats, Floats]:
    """(P,) and (P, K): rows per profile, and those in which each cause is on, of states (n, C, K)."""
    xp = array_namespace(bits)
    if len(effects.profile) == 1:
        return np.asarray(column_sums(mass)).sum(keepdims=True), column_sums(xp.sum(bits * mass[:, :, None], axis=1))[
            None
        ]
    logits = bits @ like(effects.odds.T, bits) + like(effects.profile, bits)
    part = xp.exp(logits - logsumexp(logits)) * mass[:, :, None]  # (n, C, P)
    flat_bits, flat_part = (xp.reshape(y, (-1, y.shape[2])) for y in (bits, part))
    return column_sums(flat_part), host(flat_part.T @ flat_bits)


def _slices(n: int, n_states: int, n_columns: int) -> list[slice]:
    """Rows of which the plain form can hold the levels (n, C, D): with all of them a device would run out of memory."""
    size = max(1, PLAIN_FLOATS // max(n_states * n_columns, 1))
    return [slice(at, min(at + size, n)) for at in range(0, n, size)] or [slice(0, 0)]


def _score_plain(effects: Effects, x: Array, mask: Array, bits: Array) -> Array:
    """(n, C), of states (n, C, K)."""
    parts = _slices(x.shape[0], bits.shape[1], x.shape[1])
    if len(parts) == 1:
        return _score_slice(effects, x, mask, bits)
    seen = [mask if mask.shape[0] == 1 else mask[at, :] for at in parts]
    scores = [_score_slice(effects, x[at, :], own, bits[at, ...]) for at, own in zip(parts, seen, strict=True)]
    return array_namespace(x).concat(scores, axis=0)


def _score_slice(effects: Effects, x: Array, mask: Array, bits: Array) -> Array:
    xp = array_namespace(x)
    a = _levels_plain(effects, x, bits)
    lit = xp.sum(x[:, None, :] * (a + xp.log(-xp.expm1(-a))), axis=2)
    dark = mask @ like(effects.dark_leak, x)
    dark = dark[:, None] + xp.sum(bits * (mask @ like(effects.dark.T, x))[:, None, :], axis=2)
    logits = bits @ like(effects.odds.T, x) + like(effects.profile, x)
    return lit + dark + logsumexp(logits)[:, :, 0]


def _levels_plain(effects: Effects, x: Array, bits: Array) -> Array:
    """(n, C, D)."""
    xp = array_namespace(x)
    a = bits @ like(effects.theta, x) + like(effects.leak, x)
    return xp.maximum(a, like(float(xp.finfo(x.dtype).smallest_normal), x))


def _arguments(effects: Effects, mask: Array, ones: Ones) -> Any:
    """What all compiled kernels of states take first: a row's ones, what each cause adds, and what is paid for it.

    Matrices have one layout: for each other one kernels would be compiled once more.
    """
    cost = np.ascontiguousarray(-(np.asarray(mask, dtype=np.float64) @ effects.dark.T))
    return (
        *ones,
        effects.first,
        np.ascontiguousarray(effects.flash),
        effects.by_column,
        cost,
        effects.profile,
        np.ascontiguousarray(effects.odds.T),
    )


def _base(effects: Effects, x: Array, mask: Array) -> Floats:
    """(n,), what no state can avoid: the silence of the leak where a row is dark."""
    return np.asarray(x @ effects.leak + mask @ effects.dark_leak, dtype=np.float64)


def meets_kernels(x: Array) -> bool:
    """Whether the compiled form serves these rows."""
    return is_sparse(x) or is_numpy_array(x)


def meets_gpu(x: Array, n_states: int) -> bool:
    """Whether Triton serves these rows, with so many states listed for each."""
    return improve_on_gpu is not None and is_on_gpu(x) and n_states <= MOST_STATES_ON_GPU
