"""All 2^K states of each row, compiled for NumPy arrays: their chances, and the moments of codes without them.

Scores of states that share their lower codes are sums of the same terms, so that a table of all is built by doubling:
two additions a state, whatever K is, also where every row has a Gram of its own. Moments come from folding the table
again, one code after the other.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, SUMS, copy, shrunk

__all__ = ["NUMBERS_BETWEEN_SUMS", "chance_rows", "moment_rows", "scratch", "second_rows"]

N_TOGETHER = 16  # states whose exponentials are taken together, or not at all
MOST_NATS_BELOW = 45.0  # nats below the best state of a row: together such states are less than rounding
NUMBERS_BETWEEN_SUMS = 64  # numbers between arrays that are summed together


@nb.njit(**COMPILED)
def scratch(size):
    """Three arrays of that size and one of sums of N_TOGETHER, always as far apart.

    A compiled sum goes one by one, and is rounded otherwise, where two arrays happen to lie closer than it is wide.
    """
    room = np.empty((4, size + NUMBERS_BETWEEN_SUMS))
    return room[0], room[1], room[2], room[3]


@nb.njit(**COMPILED)
def _score(drive, gram, score, field):
    """The log chance of each state up to a constant, into `score`."""
    score[0] = 0.0
    size = 1
    for k in range(len(drive)):
        # what code k adds to each state of the codes before it
        field[0] = drive[k]
        half = 1
        for j in range(k):
            pair = gram[j, k]
            for s in range(half):
                field[half + s] = field[s] - pair
            half *= 2
        for s in range(size):
            score[size + s] = score[s] + field[s]
        size *= 2


@nb.njit(**COMPILED)
def _highest(score, size, tops):
    """The highest score, and that of each N_TOGETHER states into `tops`: four at a time, as no compiler does itself."""
    top = score[0]
    for s in range(size % N_TOGETHER):
        top = max(top, score[s])
    for at in range(size // N_TOGETHER):
        first = at * N_TOGETHER
        a, b, c, d = score[first], score[first + 1], score[first + 2], score[first + 3]
        for s in range(first + 4, first + N_TOGETHER, 4):
            a = max(a, score[s])
            b = max(b, score[s + 1])
            c = max(c, score[s + 2])
            d = max(d, score[s + 3])
        tops[at] = max(max(a, b), max(c, d))
        top = max(top, tops[at])
    return top


@nb.njit(**SUMS)
def _weigh(score, weight, size, tops):
    """exp(score) over that of the highest into `weight`; their sum, and that of each times how far below it is."""
    top = _highest(score, size, tops)
    total, fallen = 0.0, 0.0
    for s in range(size % N_TOGETHER):
        weight[s] = shrunk(top - score[s])[0]
        total += weight[s]
        fallen += weight[s] * (top - score[s])
    for at in range(size // N_TOGETHER):
        first = at * N_TOGETHER
        if tops[at] > top - MOST_NATS_BELOW:
            for s in range(first, first + N_TOGETHER):
                grown = shrunk(top - score[s])[0]
                weight[s] = grown
                total += grown
                fallen += grown * (top - score[s])
        else:
            for s in range(first, first + N_TOGETHER):
                weight[s] = 0.0
    return total, fallen


@nb.njit(**SUMS)
def _fold(weight, size, spare, second):
    """Sums of weights with codes j and k on into `second`, (K, K); spoils the weights."""
    k, half = len(second), size
    while k:
        k -= 1
        half //= 2
        total = 0.0
        for s in range(half):
            spare[s] = weight[half + s]
            total += spare[s]
        second[k, k] = total
        for s in range(half):
            weight[s] += weight[half + s]
        j, part = k, half
        while j:
            j -= 1
            part //= 2
            both = 0.0
            for s in range(part):
                both += spare[part + s]
            second[j, k] = second[k, j] = both
            for s in range(part):
                spare[s] += spare[part + s]


@nb.njit(**COMPILED)
def chance_rows(drive, gram, chance, entropy):
    """Chances of all states (n, 2^K) and their entropies (n,), from drives (n, K) and Grams (1 or n, K, K)."""
    n, k = drive.shape
    size, last = 1 << k, gram.shape[0] - 1
    score, field, weight, tops = scratch(size)
    for i in range(n):
        _score(drive[i], gram[min(i, last)], score, field)
        total, fallen = _weigh(score, weight, size, tops)
        for s in range(size):
            chance[i, s] = weight[s] / total
        entropy[i] = np.log(total) + fallen / total


@nb.njit(**COMPILED)
def moment_rows(drive, gram, mean, second, entropy):
    """E[z] (n, K), E[z z'] (n, K, K) and entropies (n,) of the same."""
    n, k = drive.shape
    size, last = 1 << k, gram.shape[0] - 1
    score, field, weight, tops = scratch(size)
    sums = np.empty((k, k))
    for i in range(n):
        _score(drive[i], gram[min(i, last)], score, field)
        total, fallen = _weigh(score, weight, size, tops)
        _fold(weight, size, field, sums)
        for a in range(k):
            mean[i, a] = sums[a, a] / total
            for b in range(k):
                second[i, a, b] = sums[a, b] / total
        entropy[i] = np.log(total) + fallen / total


@nb.njit(**COMPILED)
def second_rows(chance, second):
    """E[z z'] (n, K, K) of chances (n, 2^K) that are given."""
    n, size = chance.shape
    _, spare, weight, _ = scratch(size)
    sums = np.empty(second.shape[1:])
    for i in range(n):
        for s in range(size):
            weight[s] = chance[i, s]
        _fold(weight, size, spare, sums)
        for a in range(len(sums)):
            copy(sums[a], second[i, a])
