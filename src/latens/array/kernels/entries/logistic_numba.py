"""The same compiled, a row in several short loops, which the compiler vectorises."""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, log_beyond_one, log_normal, log_one_more, shrunk

__all__ = ["average_logistic", "lose_counts", "lose_logistic"]


@nb.njit(**COMPILED)
def average_logistic(mean, variance, places, weights, chance, spread):
    n, d = mean.shape
    sd, at, first, second = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for i in range(n):
        middle, wide, chances, spreads = mean[i], variance[i], chance[i], spread[i]
        for j in range(d):
            sd[j] = np.sqrt(wide[j])
            at[j] = middle[j]
            first[j] = 0.0
            second[j] = 0.0
        for m in range(len(places)):
            place, weight = places[m], weights[m]
            for j in range(d):
                eta = at[j] + place * sd[j]
                power = shrunk(abs(eta))[0]
                share = 1.0 / (1.0 + power)
                first[j] += weight * (share if eta > 0 else power * share)
                second[j] += weight * (power * share * share)
        for j in range(d):
            chances[j] = first[j]
            spreads[j] = second[j]


@nb.njit(**COMPILED)
def lose_logistic(y, eta, out):
    n, d = eta.shape
    at = np.empty(d)
    for i in range(n):
        yes, place, lost = y[i], eta[i], out[i]
        for j in range(d):
            at[j] = place[j] - 2.0 * yes[j] * place[j]
        for j in range(d):
            lost[j] = 2.0 * (max(at[j], 0.0) + log_beyond_one(shrunk(abs(at[j]))[0]))


@nb.njit(**COMPILED)
def lose_counts(y, log_level, size, gamma, out):
    n, d = y.shape
    count, place, level, ratio = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for i in range(n):
        counts, places, lost = y[i], log_level[i], out[i]
        for j in range(d):
            count[j] = counts[j]
            place[j] = places[j]
        for j in range(d):
            power = shrunk(abs(place[j]))[0]
            level[j] = 1.0 / power if place[j] > 0 else power
        for j in range(d):
            ratio[j] = count[j] * (log_normal(max(count[j], 1.0)) - place[j])
        for j in range(d):
            trials = count[j] + size[j]
            beyond = level[j] - count[j]
            negative = trials * log_one_more(beyond / trials)
            lost[j] = 2.0 * (ratio[j] + (negative if gamma[j] > 0 else beyond))
