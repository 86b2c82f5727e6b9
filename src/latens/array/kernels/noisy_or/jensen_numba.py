"""Compiled kernels of Jensen's bound of the noisy-OR: for every one of a row, weights over its possible causes.

    f(t) = log(1 - e^-t),   worth(r) = sum_k on_k r_k (f(leak + rate_k / r_k) - f(leak)),   sum_k r_k = 1

Beyond t = 38 a chance is 1 to the last digit, and where rate_k / r_k is lost beside the leak it is that of the leak:
neither its exponential nor its logarithm is taken then. Most causes have the least weight for most ones and are only
looked at to see whether it would grow. A row's ones come as CSR bounds and columns; `rate` is (D, K) and `leak` (D,).
Serial, without the GIL.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import copy

__all__ = ["LEAST_WEIGHT", "count_lit", "weigh_ones"]

LEAST_WEIGHT = 1e-12  # weight of a cause for a one; exact zeros could never grow again
RATE_OF_CERTAIN = 38.0  # from here on 1 - e^-t is 1 to rounding
LEAST_CHANCE = 1e-13  # a cause that is on with less chance than this has no part in a row
FLOOR = 1.001 * LEAST_WEIGHT
LEAST_GAIN = 1e-12  # nats: a step of the weights that brings less ends them


@nb.njit(cache=True, nogil=True)
def _log_lit(t):
    """1 - e^-t and its logarithm."""
    if t > RATE_OF_CERTAIN:
        return 1.0, 0.0
    lit = -np.expm1(-t) if t < 0.5 else 1.0 - np.exp(-t)
    return lit, np.log(max(lit, 1e-300))


@nb.njit(cache=True, nogil=True)
def _leaks(leak):
    """The same of the leak of every column."""
    firsts, bases = np.empty(len(leak)), np.empty(len(leak))
    for j in range(len(leak)):
        firsts[j], bases[j] = _log_lit(max(leak[j], 1e-300))
    return firsts, bases


@nb.njit(cache=True, nogil=True)
def _above(values, floor, who):
    """Where values exceed the floor; into `who`, and how many."""
    count = 0
    for b in range(len(values)):
        if values[b] > floor:
            who[count] = b
            count += 1
    return count


@nb.njit(cache=True, nogil=True)
def _worth(who, on, rate, leak, first, base, weight, lit, gain):
    """Of one one; fills the chances `lit` and what weight brings, `gain`, of its causes `who`."""
    worth = 0.0
    for b in who:
        t = leak + rate[b] / weight[b]
        if t > RATE_OF_CERTAIN:
            lit[b], gain[b] = 1.0, -base
        elif t == leak:
            lit[b], gain[b] = first, 0.0
        else:
            lit[b], level = _log_lit(t)
            gain[b] = level - base
        worth += on[b] * weight[b] * gain[b]
    return worth


@nb.njit(cache=True, nogil=True)
def _step(old, on, rate, leak, base, weight, lit, gain, bold, new, who):
    """r_k d worth / d r_k, normalised, into `new`; those of more than the least weight, `old` so far, into `who`.

    A bold step goes twice as far: r_k times the square of the slope.
    """
    size, k = 0.0, len(on)
    for b in old:
        slope = gain[b] - rate[b] / weight[b] * (1.0 - lit[b]) / lit[b]
        new[b] = weight[b] * max(on[b] * slope, 0.0)
        size += new[b]
    if not size > 0.0:
        return 0
    if bold:
        square = 0.0
        for b in old:
            new[b] *= new[b] / weight[b]
            square += new[b]
        for b in old:
            new[b] *= size / square
    whole, spare, count = 0.0, 1.0, 0
    most, least = -base, size * LEAST_WEIGHT * leak  # a slope is below -base and below rate / (LEAST_WEIGHT leak)
    for b in range(k):
        value = LEAST_WEIGHT
        if weight[b] > FLOOR:
            value = new[b] / size
        elif on[b] * most > size and on[b] * rate[b] > least:
            chance, level = _log_lit(leak + rate[b] / LEAST_WEIGHT)
            value = LEAST_WEIGHT * on[b] * (level - base - rate[b] / LEAST_WEIGHT * (1.0 - chance) / chance) / size
        if value > FLOOR:
            new[b] = value
            whole += value
            who[count] = b
            count += 1
        else:
            new[b] = LEAST_WEIGHT
            spare -= LEAST_WEIGHT
    for t in range(count):
        new[who[t]] *= spare / whole
    return count


@nb.njit(cache=True, nogil=True)
def weigh_ones(indptr, indices, rate, leak, drive, on, weight, n_sweeps, n_steps):
    """Weights of all ones, then causes, in turn; on (n, K) and weight (ones, K) in place.

    Steps of the weights go up a concave function, and each is kept only where it does not fall; they are bold until one
    of them has. What weights of the least size bring, 1e-11 nats, is not counted.
    """
    n, k = on.shape
    firsts, bases = _leaks(leak)
    lit, gain, new, new_lit, new_gain = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    field, some, others = np.empty(k), np.empty(k, np.int64), np.empty(k, np.int64)
    for i in range(n):
        for _ in range(n_sweeps):
            copy(drive[i], field)
            for at in range(indptr[i], indptr[i + 1]):
                j, old = indices[at], weight[at]
                mine, first, base = rate[j], firsts[j], bases[j]
                who = some[: _above(old, FLOOR, some)]
                worth = _worth(who, on[i], mine, leak[j], first, base, old, lit, gain)
                bold = True
                for _ in range(n_steps):
                    heavy = others[: _step(who, on[i], mine, leak[j], base, old, lit, gain, bold, new, others)]
                    if not len(heavy):
                        break
                    new_worth = _worth(heavy, on[i], mine, leak[j], first, base, new, new_lit, new_gain)
                    if not new_worth >= worth:
                        if not bold:
                            break  # the next step would be the same
                        bold = False
                        continue
                    copy(new, old)
                    who = some[: len(heavy)]
                    for t in range(len(heavy)):
                        b = heavy[t]
                        who[t], lit[b], gain[b] = b, new_lit[b], new_gain[b]
                    if new_worth - worth < LEAST_GAIN:
                        break
                    worth = new_worth
                for b in range(k):
                    field[b] += mine[b]
                for b in who:
                    field[b] += old[b] * gain[b]
            for b in range(k):
                grown = np.exp(-abs(field[b]))
                on[i, b] = 1.0 / (1.0 + grown) if field[b] >= 0 else grown / (1.0 + grown)


@nb.njit(cache=True, nogil=True)
def count_lit(indptr, indices, rate, leak, on, weight, times, caused, leaked, level):
    """Add expected counts of ones by cause (D, K) and by leak (D,), a row counting `times`; set each row's `level`.

    That is sum_{x = 1} [ f(leak) + leak + sum_k r_k on_k (f(z_k) + z_k - f(leak) - leak) ], z = leak + rate / r.
    """
    n, k = on.shape
    firsts, bases = _leaks(leak)
    awake = np.empty(k, np.int64)
    for i in range(n):
        level[i] = 0.0
        who = awake[: _above(on[i], LEAST_CHANCE, awake)]
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            first, base, part = firsts[j], bases[j], 1.0 / firsts[j]
            level[i] += base + leak[j]
            for b in who:
                share, chance = weight[at, b], on[i, b]
                more = rate[j, b] / share
                lit, log_lit = _log_lit(leak[j] + more)
                level[i] += share * chance * (log_lit - base + more)
                caused[j, b] += times[i] * chance * rate[j, b] / lit
                part += share * chance * (1.0 / lit - 1.0 / first)
            leaked[j] += times[i] * leak[j] * part
