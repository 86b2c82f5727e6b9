"""Compiled parabolas that touch log-likelihoods from below, entry by entry, in one pass and without temporaries.

All in double precision whatever the rows are in, and a row in several short loops, which the compiler vectorises better
than a long one. Counts may be some columns of a wider table; a row of them is copied, for only what is known to lie
together is vectorised. Serial, and without the GIL, like all kernels.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, log_beyond_one, log_normal, shrunk
from latens.array.kernels.quadratic_bounds import MOST_BENT

__all__ = ["sum_steps", "touch_logistic", "touch_rare_counts", "touch_softplus", "touch_steps"]

N_FACTORS = 512  # numbers up to 2 whose product is still in range
LEAST_ETA = -40.0  # below it log softplus(eta) is eta to the last digit


@nb.njit(**COMPILED)
def touch_logistic(squares, seen, weight, precision, levels):
    """Of y eta - log(1 + e^eta) where E[eta^2] is `squares`; constants are added up, times their rows' weights.

    squares, precision (n, D), which may be the same; seen (1 or n, D); weight (n,), or (0,) for ones; levels (D,). What
    was not seen is 0.
    """
    n, d = squares.shape
    keep, xi, power = np.empty(d), np.empty(d), np.empty(d)
    curve, product = np.empty(d), np.ones(d)
    for i in range(n):
        there, times = seen[min(i, len(seen) - 1)], weight[i] if len(weight) else 1.0
        square, bent = squares[i], precision[i]
        for j in range(d):
            keep[j] = 1.0 if there[j] else 0.0
            xi[j] = np.sqrt(abs(square[j]) + 1e-12)  # rounding may leave a square just below 0; any xi bounds
        for j in range(d):
            power[j], loss = shrunk(xi[j])
            curve[j] = loss / ((1.0 + power[j]) * (2.0 * xi[j]))
        for j in range(d):
            levels[j] += times * keep[j] * (0.5 * xi[j] * (curve[j] * xi[j] - 1.0))
            bent[j] = keep[j] * curve[j]
        if len(weight):
            for j in range(d):
                levels[j] -= times * keep[j] * log_beyond_one(power[j])
            continue
        for j in range(d):
            product[j] *= 1.0 + keep[j] * power[j]  # one logarithm for many rows
        if i % N_FACTORS == N_FACTORS - 1 or i == n - 1:
            for j in range(d):
                levels[j] -= log_normal(product[j])
                product[j] = 1.0


@nb.njit(**COMPILED)
def touch_softplus(y, eta, seen, weight, response, levels):
    """Of y log softplus(eta) - softplus(eta) at `eta`, with curvature 1/4 + .17 y; response (n, D) may be eta."""
    n, d = eta.shape
    value, keep, at = np.empty(d), np.empty(d), np.empty(d)
    power, rate, log_rate = np.empty(d), np.empty(d), np.empty(d)
    for i in range(n):
        there, times = seen[min(i, len(seen) - 1)], weight[i] if len(weight) else 1.0
        place, pulled = eta[i], response[i]
        for j in range(d):
            value[j] = y[i, j]
        for j in range(d):
            keep[j] = 1.0 if there[j] else 0.0
            at[j] = place[j]
            power[j] = shrunk(abs(at[j]))[0]
        for j in range(d):
            rate[j] = max(at[j], 0.0) + log_beyond_one(power[j])
        for j in range(d):
            log_rate[j] = at[j] if at[j] < LEAST_ETA else log_normal(rate[j])
        for j in range(d):
            slope = (power[j] if at[j] < 0 else 1.0) * (rate[j] - value[j]) / ((1.0 + power[j]) * rate[j])
            bend = (0.25 + 0.17 * value[j]) * at[j]
            pulled[j] = keep[j] * (bend - slope)
            constant = value[j] * log_rate[j] - rate[j] + at[j] * (slope - 0.5 * bend)
            levels[j] += times * keep[j] * constant


@nb.njit(**COMPILED)
def touch_rare_counts(y, mean, squares, size, seen, weight, precision, sums):
    """Of -(y + size) log(1 + e^eta) where eta has this mean and E[eta^2] is `squares`; precision is for a weight of 1.

    y, mean, squares, precision (n, D), of which the last two may be the same; size (D,); sums (4, D): of constants, of
    y times constants, and of slope and bend by log size, along which e^eta size stays as it is.
    """
    n, d = squares.shape
    value, keep, xi, at = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    power, curve, high = np.empty(d), np.empty(d), np.empty(d)
    for i in range(n):
        there, times = seen[min(i, len(seen) - 1)], weight[i] if len(weight) else 1.0
        square, bent, middle = squares[i], precision[i], mean[i]
        for j in range(d):
            value[j] = y[i, j]
        for j in range(d):
            keep[j] = times if there[j] else 0.0
            at[j] = middle[j]
            xi[j] = np.sqrt(abs(square[j]) + 1e-12)
        for j in range(d):
            power[j], loss = shrunk(xi[j])
            curve[j] = loss / ((1.0 + power[j]) * (2.0 * xi[j]))
        for j in range(d):
            high[j] = 0.5 * xi[j] + log_beyond_one(power[j])
        for j in range(d):
            t, m, x, r, b = curve[j], at[j], xi[j] * xi[j], size[j], value[j] + size[j]
            constant = keep[j] * (0.5 * t * x - high[j])
            sums[0, j] += constant
            sums[1, j] += value[j] * constant
            lost = r * (0.5 * m + high[j])
            sums[2, j] += keep[j] * (0.5 * (r - value[j]) - lost + b * t * m)
            sums[3, j] += keep[j] * (r - lost + 2.0 * r * t * m - b * (t - m * m * (t * t + (t - 0.25) / x)))
        for j in range(d):
            bent[j] = curve[j] if there[j] else 0.0


@nb.njit(**COMPILED)
def touch_steps(
    level, mean, squares, cuts, top, widths, middles, seen, weight, below, above, centre, response, sums, centred
):
    """Of log(sigmoid(eta - low) - sigmoid(eta - high)), low and high being the cuts below and above an entry's level.

    level, mean, squares (n, D); cuts (D, C - 1); top (D,), the last level; widths (D, C), log(1 - e^-gap) of levels
    between two cuts; middles (D, C, 5), of the parabola about their middle, whose second is 0 where there is none.
    below, above, centre (n, D): precisions of the two parts that cuts make, or of the one about the middle; sums
    (2, D): of constants, and of what they are without the cuts; centred (D, C, 2): entries with the latter, and what
    half the gap is multiplied by in them.
    """
    n, d = mean.shape
    keep, at, spare = np.empty(d), np.empty(d), np.empty(d)
    width, gap, pulled = np.empty(d), np.empty(d), np.empty(d)
    has, cut, xi = np.empty((2, d)), np.empty((2, d)), np.empty((2, d))
    power, curve, high = np.empty((2, d)), np.empty((2, d)), np.empty((2, d))
    middle, wide, height, slope, fade = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    far, fall, bend, mass, use, lean = np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for i in range(n):
        there, times = seen[min(i, len(seen) - 1)], weight[i] if len(weight) else 1.0
        for j in range(d):
            keep[j] = 1.0 if there[j] else 0.0
            at[j] = mean[i, j]
            spare[j] = max(squares[i, j] - at[j] * at[j], 0.0) + 1e-12  # rounding may leave less than 0; any xi bounds
        for j in range(d):
            c = int(level[i, j])
            has[0, j] = 1.0 if c > 0 else 0.0
            has[1, j] = 1.0 if c < top[j] else 0.0
            cut[0, j] = cuts[j, max(c - 1, 0)]
            cut[1, j] = cuts[j, min(c, len(cuts[j]) - 1)]
            about = middles[j, c]
            middle[j], wide[j], height[j], slope[j], fade[j] = about[0], about[1], about[2], about[3], about[4]
            width[j] = widths[j, c]
        for side in range(2):
            own, place, drop, bent, lost = xi[side], cut[side], power[side], curve[side], high[side]
            for j in range(d):
                own[j] = np.sqrt(spare[j] + (at[j] - place[j]) * (at[j] - place[j]))
            for j in range(d):
                drop[j], less = shrunk(own[j])
                bent[j] = less / ((1.0 + drop[j]) * (2.0 * own[j]))
            for j in range(d):
                lost[j] = 0.5 * own[j] + log_beyond_one(drop[j])
        for j in range(d):
            far[j] = np.sqrt(spare[j] + (at[j] - middle[j]) * (at[j] - middle[j]))
        for j in range(d):
            fall[j], less = shrunk(far[j])
            mass[j] = 1.0 + fall[j] * (2.0 * wide[j] + fall[j])
            bend[j] = less * (1.0 + fall[j]) / (far[j] * mass[j])
        for j in range(d):
            height[j] -= far[j] + log_normal(mass[j])
            gap[j] = 0.5 * (cut[1, j] - cut[0, j])
            higher = height[j] > gap[j] - high[0, j] - high[1, j]
            use[j] = keep[j] if higher and wide[j] > 0 else 0.0
        for j in range(d):
            whole = height[j] + 0.5 * bend[j] * far[j] * far[j]
            bend[j] *= use[j]
            lean[j] = slope[j] - fade[j] * fall[j] / mass[j]
            sums[0, j] += times * (keep[j] * width[j] + use[j] * whole - 0.5 * bend[j] * middle[j] * middle[j])
            sums[1, j] += times * use[j] * (whole - gap[j] * (lean[j] + 0.5 * MOST_BENT * gap[j]))
            pulled[j] = bend[j] * middle[j]
        for side in range(2):
            own, place, bent, lost, parts, turn = xi[side], cut[side], curve[side], high[side], has[side], 0.5 - side
            for j in range(d):
                part = (keep[j] - use[j]) * parts[j]
                free = times * part * (0.5 * bent[j] * own[j] * own[j] - lost[j])
                bent[j] *= part
                sums[1, j] += free
                sums[0, j] += free - times * place[j] * (turn * part + 0.5 * bent[j] * place[j])
                pulled[j] += turn * part + bent[j] * place[j]
        for j in range(d):
            below[i, j], above[i, j], centre[i, j], response[i, j] = curve[0, j], curve[1, j], bend[j], pulled[j]
            if use[j] > 0:
                own = centred[j, int(level[i, j])]
                own[0] += times
                own[1] += times * (lean[j] + MOST_BENT * gap[j])


@nb.njit(**COMPILED)
def sum_steps(level, below, above, centre, regressors, out):
    """Precisions of the parts that touch each cut, and of those about the middle of levels between two, times
    regressors (n, R), added to out (D, 2 C - 3, R): cuts first."""
    n, d = below.shape
    n_cuts = (out.shape[1] + 1) // 2
    for i in range(n):
        row = regressors[i]
        for j in range(d):
            c = int(level[i, j])
            if below[i, j] > 0:
                own, t = out[j, c - 1], below[i, j]
                for r in range(len(row)):
                    own[r] += t * row[r]
            if above[i, j] > 0:
                own, t = out[j, c], above[i, j]
                for r in range(len(row)):
                    own[r] += t * row[r]
            if centre[i, j] > 0:
                own, t = out[j, n_cuts + c - 1], centre[i, j]
                for r in range(len(row)):
                    own[r] += t * row[r]
