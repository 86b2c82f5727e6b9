"""Compiled sweeps of sparse regressions, and the sums of products that they are about.

Arrays are (what, rows): the numbers of many rows for one coefficient or one product lie together, and loops over some
rows at once are vectorised. Serial, and without the GIL, like all kernels; scratch is in double precision.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, FARTHEST, log_beyond_one, log_normal, shrunk

__all__ = ["N_SIDE", "coefficient_pairs", "moment_pairs", "spike_evidence", "spike_sweep", "subtract_listed"]

N_SIDE = 128  # rows side by side in a sweep
LINE = 8  # numbers in a line of cache
N_SUMS = 8  # rows summed before they are written out


@nb.njit(**COMPILED)
def _lay(values, start, out):
    """Entries from `start` on into `out`, of numbers for each row or of one for all."""
    if values.shape[0] == 1:
        out[:] = values[0]
    else:
        out[:] = values[start : start + len(out)]


@nb.njit(**COMPILED)
def _carry(gram, places, a, start, change, left):
    """What is left of the drive once coefficient a has changed."""
    for b in range(left.shape[0]):
        row, there = left[b], gram[places[a, b]]
        if there.shape[0] == 1:
            for i in range(len(change)):
                row[i] -= there[0] * change[i]
        else:
            own = there[start : start + len(change)]
            for i in range(len(change)):
                row[i] -= own[i] * change[i]


@nb.njit(**COMPILED)
def spike_sweep(drive, gram, places, scale, precision, bias, was, on, slab, variance, mean, gain, sums, n_side):
    """One pass of coordinate ascent over K coefficients, in all of n rows, from where they `was` to what it finds.

    drive, was, on, slab, variance, mean (K, n); gram (P, 1 or n) packed, as `places` says; scale (1 or n,);
    precision (K, 1 or n) and bias, the log odds with half the logarithm of the precision. A row's objective is
    scale (drive'w - w' gram w / 2); into `gain` goes its expectation, unscaled. Into `sums` (2, K): sums over rows of
    how far coefficients are on, and of the entropy of that and E[s] log variance / 2.
    """
    k, n = on.shape
    left, now = np.empty((k, n_side)), np.empty((k, n_side))
    used, entropy = np.zeros((k, n_side)), np.zeros((k, n_side))
    tau, prior, odds = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    stiff, change, lost = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    log_width, logit, power = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    up, at, width = np.empty(n_side), np.empty(n_side), np.empty(n_side)
    for start in range(0, n, n_side):
        m = min(n_side, n - start)
        stop = start + m
        _lay(scale, start, tau[:m])
        lost[:] = 0.0
        for a in range(k):
            left[a, :m] = drive[a, start:stop]
            now[a, :m] = was[a, start:stop]
        for a in range(k):
            _carry(gram, places, a, start, now[a, :m], left)
        for a in range(k):
            _lay(gram[places[a, a]], start, stiff[:m])
            _lay(precision[a], start, prior[:m])
            _lay(bias[a], start, odds[:m])
            own, rest, summed, spread = now[a], left[a], used[a], entropy[a]
            for i in range(m):
                pull = tau[i] * (rest[i] + stiff[i] * own[i])
                width[i] = 1.0 / (tau[i] * stiff[i] + prior[i])
                at[i] = pull * width[i]
                change[i] = pull * at[i]
            for i in range(m):
                log_width[i] = log_normal(width[i])
                logit[i] = odds[i] + 0.5 * (log_width[i] + change[i])
            for i in range(m):
                power[i] = shrunk(abs(logit[i]))[0]
            for i in range(m):
                low = power[i] / (1.0 + power[i])
                up[i] = low if logit[i] < 0 else 1.0 - low
                spread[i] += log_beyond_one(power[i]) + low * min(abs(logit[i]), FARTHEST) + 0.5 * up[i] * log_width[i]
            for i in range(m):
                new = up[i] * at[i]
                change[i] = new - own[i]
                own[i] = new
                lost[i] += stiff[i] * (up[i] * (at[i] * at[i] + width[i]) - new * new)
                summed[i] += up[i]
            on[a, start:stop] = up[:m]
            slab[a, start:stop] = at[:m]
            variance[a, start:stop] = width[:m]
            mean[a, start:stop] = own[:m]
            _carry(gram, places, a, start, change[:m], left)  # drive - gram w stays current: a sweep costs K^2
        for a in range(k):
            own, rest = now[a], left[a]
            at[:m] = drive[a, start:stop]
            for i in range(m):
                lost[i] -= own[i] * (at[i] + rest[i])
        for i in range(m):
            gain[start + i] = -0.5 * lost[i]
    for a in range(k):
        sums[0, a] = used[a].sum()
        sums[1, a] = entropy[a].sum()


@nb.njit(**COMPILED)
def subtract_listed(bounds, listed, values, whole, there, out):
    """out (P, n): in each column `whole` (P,) if it is `there`, less the columns of `values` listed for it (CSR)."""
    p, n_values = values.shape
    wide = (p + LINE - 1) // LINE * LINE
    raw = np.empty(n_values * wide + LINE)
    skip = (-(raw.ctypes.data // 8)) % LINE  # rows begin with a line of cache: what is read most is not read twice
    table = raw[skip : skip + n_values * wide].reshape((n_values, wide))
    table[:, p:] = 0.0
    for a in range(p):
        row = values[a]
        for j in range(n_values):
            table[j, a] = row[j]
    sums = np.empty((N_SUMS, wide))
    for start in range(0, out.shape[1], N_SUMS):
        stop = min(start + N_SUMS, out.shape[1])
        for i in range(start, stop):
            into = sums[i - start]
            into[:] = 0.0
            at, end = bounds[i], bounds[i + 1]
            while at + 4 <= end:  # four at a time: the sum is what is read and written most
                a, b, c, d = table[listed[at]], table[listed[at + 1]], table[listed[at + 2]], table[listed[at + 3]]
                for j in range(wide):
                    into[j] += (a[j] + b[j]) + (c[j] + d[j])
                at += 4
            while at < end:
                a = table[listed[at]]
                for j in range(wide):
                    into[j] += a[j]
                at += 1
        for a in range(p):
            for i in range(start, stop):
                out[a, i] = whole[a] * there[i] - sums[i - start, a]


@nb.njit(**COMPILED)
def moment_pairs(mean, spread, out):
    """E[x_a x_b], a <= b, of columns with that mean; their first entries have a covariance (K, K, 1 or n)."""
    width, k = mean.shape[0], spread.shape[0]
    at = 0
    for a in range(width):
        left = mean[a]
        for b in range(a, width):
            right, into = mean[b], out[at]
            for i in range(len(into)):
                into[i] = left[i] * right[i]
            if b < k:
                both = spread[a, b]
                if both.shape[0] == 1:
                    for i in range(len(into)):
                        into[i] += both[0]
                else:
                    for i in range(len(into)):
                        into[i] += both[i]
            at += 1


@nb.njit(**COMPILED)
def coefficient_pairs(mean, square, out):
    """The same of independent coefficients (K, D) with those second moments."""
    at = 0
    for a in range(mean.shape[0]):
        out[at] = square[a]
        left = mean[a]
        for b in range(a + 1, mean.shape[0]):
            at += 1
            right, into = mean[b], out[at]
            for i in range(len(into)):
                into[i] = left[i] * right[i]
        at += 1


@nb.njit(**COMPILED)
def spike_evidence(at, variance, ends, width, odds, by_place, by_width, by_odds):
    """sum log[(1 - share) Normal(at | 0, v) + share Normal(at | 0, v + width)] without log 2 pi / 2; its slopes.

    at and by_place (K, D), variance v (D,); the columns of block m end at ends[m], width and log odds of shares
    (M, K) are those of a block. Slopes are by `at`, log width and log odds.
    """
    total, start = 0.0, 0
    for m in range(len(ends)):
        for k in range(at.shape[0]):
            slab, chance = width[m, k], odds[m, k]
            small, _ = shrunk(abs(chance))
            none = max(chance, 0.0) + log_beyond_one(small)  # log(1 + e^chance)
            share = 1.0 / (1.0 + small) if chance > 0 else small / (1.0 + small)
            place, slope, value, wider, more = at[k], by_place[k], 0.0, 0.0, 0.0
            for d in range(start, ends[m]):
                v = variance[d]
                narrow, wide = 1.0 / v, 1.0 / (v + slab)
                square = place[d] * place[d]
                gap = chance + 0.5 * (square * (narrow - wide) + log_normal(v * wide))
                rest, _ = shrunk(abs(gap))
                inside = (1.0 if gap > 0 else rest) / (1.0 + rest)
                value += max(gap, 0.0) + log_beyond_one(rest) - 0.5 * (square * narrow + log_normal(v))
                slope[d] = -place[d] * (narrow + inside * (wide - narrow))
                wider += inside * (square * wide - 1.0) * wide
                more += inside
            n = ends[m] - start
            total += value - n * none
            by_width[m, k], by_odds[m, k] = 0.5 * slab * wider, more - n * share
        start = ends[m]
    return total
