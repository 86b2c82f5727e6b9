"""Distances of entries from clusters, compiled: no array of all rows, clusters and degrees of freedom is made.

Arrays of rows are (what, rows): the numbers of many rows lie together.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, SUMS, fill, log_normal

__all__ = ["add_logs", "add_sums"]


@nb.njit(**COMPILED)
def add_logs(x, seen, mean, precision, base, times, total):
    """Onto total (K, n), sum_dg seen_dn times_kdg log(base_kdg + precision_kdg (x_dn - mean_kdg)^2)."""
    n, logs = x.shape[1], np.empty(x.shape[1])
    for k in range(mean.shape[0]):
        into = total[k]
        for d in range(x.shape[0]):
            row, shown = x[d], seen[d]
            fill(0.0, logs)
            for g in range(mean.shape[2]):
                middle, sharp, level, factor = mean[k, d, g], precision[k, d, g], base[k, d, g], times[k, d, g]
                if factor == 0.0:
                    continue
                for i in range(n):
                    gap = row[i] - middle
                    logs[i] += factor * log_normal(level + sharp * gap * gap)
            for i in range(n):
                into[i] += shown[i] * logs[i]


@nb.njit(**SUMS)
def add_sums(x, seen, weighted, mean, precision, base, sums):
    """Onto sums (4, K, D, G), those over rows of x / w, 1 / w, x^2 / w and log w, w as above, weighted (K, n)."""
    n, counted = x.shape[1], np.empty(x.shape[1])
    for k in range(mean.shape[0]):
        own = weighted[k]
        for d in range(x.shape[0]):
            row, shown = x[d], seen[d]
            for i in range(n):
                counted[i] = own[i] * shown[i]
            for g in range(mean.shape[2]):
                middle, sharp, level = mean[k, d, g], precision[k, d, g], base[k, d, g]
                first, mass, second, logs = 0.0, 0.0, 0.0, 0.0
                for i in range(n):
                    gap = row[i] - middle
                    w = level + sharp * gap * gap
                    share = counted[i] / w
                    mass += share
                    first += share * row[i]
                    second += share * row[i] * row[i]
                    logs += counted[i] * log_normal(w)
                sums[0, k, d, g] += first
                sums[1, k, d, g] += mass
                sums[2, k, d, g] += second
                sums[3, k, d, g] += logs
