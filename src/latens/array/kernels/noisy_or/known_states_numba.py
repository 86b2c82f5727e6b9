"""What is found of a state of the noisy-OR once, for all rows of a block that list it.

Most rows list states that others list, too, above all where causes go together: 27,000 states of 1,347 rows of digits
are 224. What profiles say of a state is found when it is first met. What its ones add to a row, in every column, is
worth finding once rows that list it have together about as many ones as there are columns; what they add after a flip
of any cause, some rows later. States that are met seldom give up their places to others.

All is kept in four arrays, which go together from kernel to kernel; a record of them would be counted by the compiler
whenever one is looked at, which takes longer than the look.

    places (places, 2)   a state, and its number in the other arrays
    notes (S, 4)         how often it was met, and flipped; what has been found; its table in `flips`, or -1
    facts (S, ...)       of each column the logarithm of its chance to be lit; log sum over profiles; shares of the
                         profiles; what a flip of each cause adds to the log sum
    flips (T, D, K)      tables of the logarithm of the chance that a column is lit after a flip of each cause

The last of S has nothing: it is for states without a place.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.extending import intrinsic

from latens.array.kernels.fastmath_numba import COMPILED, LARGEST_EXPONENT, log_normal, shrunk

__all__ = [
    "FLIPS",
    "FOUND",
    "LIFTS",
    "NO_STATE",
    "N_MET",
    "N_PLACES",
    "ONES",
    "PROFILES",
    "TABLE",
    "find_flips",
    "find_lifts",
    "find_ones",
    "find_profiles",
    "how_often",
    "is_flipped_often",
    "light",
    "lowest",
    "nothing_known",
    "recall",
]

SET_BITS, WAYS = 10, 4  # of a number made from a state, that tell where it is kept: in one of so many places there
N_PLACES = WAYS << SET_BITS
HASH_FACTOR = 0x9E3779B97F4A7C15  # odd, without a pattern: products with it tell by their first bits what they are of
NO_STATE = -1
NAME, NUMBER = 0, 1  # of places
N_MET, N_FLIPPED, FOUND, TABLE = 0, 1, 2, 3  # of notes
PROFILES, LIFTS, ONES, FLIPS = 1, 2, 4, 8  # bits of what has been found
LEAST_NORMAL = float(np.finfo(np.float64).tiny)
LEAST_LEFT, MOST_LEFT = 1e-6, 1e100  # of a sum over profiles, a cause turned off: beyond, parts may not have been held
FLOATS_OF_FLIPS = 2**19  # that are kept at most of what ones add after flips: they are to stay in cache
TIMES_FOR_FLIPS = 2  # as often as for the ones alone must a state have been flipped until that is found in all columns


def _count_zeros(typing, word):
    """Zeros below the lowest bit that is on, by one instruction."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], context.get_constant(nb.types.boolean, False))

    return nb.types.int64(nb.types.int64), generate


lowest: Any = intrinsic(_count_zeros)  # place of the lowest bit that is on


@nb.njit(**COMPILED)
def nothing_known(n_profiles, k, n_columns):
    """The four arrays, empty. The numbers in use, of states and of tables, are in the last of `notes`."""
    places, notes = np.full((N_PLACES, 2), NO_STATE), np.zeros((N_PLACES + 1, 4), np.int64)
    for at in range(N_PLACES):
        notes[at, TABLE] = -1
    facts = np.empty((N_PLACES + 1, n_columns + 1 + n_profiles + k))
    return places, notes, facts, np.empty((FLOATS_OF_FLIPS // max(k * n_columns, 1), n_columns, k))


@nb.njit(**COMPILED)
def how_often(indptr, n_columns):
    """How often a state must be met until it is worth looking at it in all columns, whichever a row has ones in."""
    return 1 + n_columns * (len(indptr) - 1) // max(indptr[-1] - indptr[0], 1)


@nb.njit(**COMPILED)
def recall(word, places, notes):
    """The number of a state; the last if all places that it may have belong to states that are met more often."""
    home = WAYS * np.int64((np.uint64(word) * np.uint64(HASH_FACTOR)) >> np.uint64(64 - SET_BITS))
    for place in range(home, home + WAYS):
        if places[place, NAME] == word:
            at = places[place, NUMBER]
            notes[at, N_MET] += 1
            return at
        if places[place, NAME] == NO_STATE:
            at = notes[N_PLACES, N_FLIPPED]
            notes[N_PLACES, N_FLIPPED] += 1
            places[place, NAME], places[place, NUMBER], notes[at, N_MET] = word, at, 1
            return at
    for place in range(home, home + WAYS):
        at = places[place, NUMBER]
        notes[at, N_MET] -= 1
        if notes[at, N_MET] <= 0:
            places[place, NAME] = word
            notes[at, N_MET], notes[at, N_FLIPPED], notes[at, FOUND] = 1, 0, 0
            return at
    notes[N_PLACES, FOUND] = 0
    return N_PLACES


@nb.njit(**COMPILED)
def light(word, leaks, lights, lit):
    """Chances that columns, in the order of `lights` (K, any), are lit under a state."""
    for t in range(len(leaks)):
        lit[t] = leaks[t]
    while word:
        b = lowest(word)
        word &= word - 1
        for t in range(len(leaks)):
            lit[t] += (1.0 - lit[t]) * lights[b, t]


@nb.njit(**COMPILED)
def find_ones(at, word, first, flash, lit, notes, facts):
    """What a one in each column adds to the score of a state; `lit` (D,) is a scratch array."""
    notes[at, FOUND] |= ONES
    light(word, first, flash, lit)
    for j in range(len(first)):
        facts[at, j] = log_normal(max(lit[j], LEAST_NORMAL))


@nb.njit(**COMPILED)
def is_flipped_often(at, often, notes, flips):
    """Whether a state, which is to be flipped, is worth a table; it gets one, if there are any left."""
    notes[at, N_FLIPPED] += at < N_PLACES
    if at == N_PLACES or notes[at, N_FLIPPED] < TIMES_FOR_FLIPS * often:
        return False
    if notes[at, TABLE] < 0:
        if notes[N_PLACES, TABLE] == len(flips):
            return False
        notes[at, TABLE] = notes[N_PLACES, TABLE]
        notes[N_PLACES, TABLE] += 1
    return True


@nb.njit(**COMPILED)
def find_flips(at, word, first, flash, by_column, lit, notes, flips):
    """What a one in each column adds after a flip of each cause.

    `by_column` is (D, K), the causes of a column side by side; `lit` (D,) a scratch array.
    """
    notes[at, FOUND] |= FLIPS
    table, n_columns, k = notes[at, TABLE], len(first), by_column.shape[1]
    light(word, first, flash, lit)
    for j in range(n_columns):
        for b in range(k):
            flips[table, j, b] = log_normal(max(lit[j] + (1.0 - lit[j]) * by_column[j, b], LEAST_NORMAL))
    rest = word
    while rest:
        b = lowest(rest)
        rest &= rest - 1
        light(word ^ (np.int64(1) << b), first, flash, lit)
        for j in range(n_columns):
            flips[table, j, b] = log_normal(max(lit[j], LEAST_NORMAL))


@nb.njit(**COMPILED)
def find_profiles(at, word, profile, odds, logits, notes, facts):
    """The log sum over profiles under a state, and the share of each; `logits` (P,) is a scratch array."""
    notes[at, FOUND] |= PROFILES
    _weigh(word, profile, odds, logits)
    top, total = _shares(logits)
    shares = facts.shape[1] - odds.shape[0] - len(profile)
    facts[at, shares - 1] = top + log_normal(total)
    for p in range(len(profile)):
        facts[at, shares + p] = logits[p]


@nb.njit(**COMPILED)
def find_lifts(at, word, profile, growth, odds, logits, notes, facts):
    """What a flip of each cause adds to the log sum, which must have been found."""
    notes[at, FOUND] |= LIFTS
    k, n_profiles = odds.shape
    lifts = facts.shape[1] - k
    shares = lifts - n_profiles
    for b in range(k):
        facts[at, lifts + b] = odds[b, 0] if n_profiles == 1 else 0.0
    if n_profiles > 1:
        for p in range(n_profiles):
            for b in range(k):
                facts[at, lifts + b] += facts[at, shares + p] * growth[p, b]
        for b in range(k):
            facts[at, lifts + b] = log_normal(max(facts[at, lifts + b], LEAST_NORMAL))
    rest = word
    while rest:
        b = lowest(rest)
        rest &= rest - 1
        left = 0.0
        for p in range(n_profiles):
            left += facts[at, shares + p] / growth[p, b]
        if LEAST_LEFT < left < MOST_LEFT:
            facts[at, lifts + b] = log_normal(left)
        else:
            _weigh(word ^ (np.int64(1) << b), profile, odds, logits)
            top, total = _shares(logits)
            facts[at, lifts + b] = top + log_normal(total) - facts[at, shares - 1]


@nb.njit(**COMPILED)
def _weigh(word, profile, odds, logits):
    """The profiles' logits under a state."""
    for p in range(len(profile)):
        logits[p] = profile[p]
    while word:
        b = lowest(word)
        word &= word - 1
        for p in range(len(profile)):
            logits[p] += odds[b, p]


@nb.njit(**COMPILED)
def _shares(logits):
    """Softmax of the logits, in their place; returns the largest logit and the sum of exp(logit - largest)."""
    if len(logits) == 1:
        top, logits[0] = logits[0], 1.0
        return top, 1.0
    top = logits[0]
    for p in range(1, len(logits)):
        top = max(top, logits[p])
    for p in range(len(logits)):
        gap = top - logits[p]
        logits[p] = shrunk(gap)[0] if gap < LARGEST_EXPONENT else 0.0
    total = 0.0
    for p in range(len(logits)):
        total += logits[p]
    for p in range(len(logits)):
        logits[p] /= total
    return top, total
