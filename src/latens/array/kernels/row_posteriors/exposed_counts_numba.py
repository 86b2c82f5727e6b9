"""What clusters expect of counts with exposures, compiled: no array of all rows, clusters and sizes is made.

Arrays of rows are (what, rows): the numbers of many rows lie together.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, SUMS, fill, log_normal

__all__ = ["add_count_logs", "add_count_sums"]


@nb.njit(**COMPILED)
def add_count_logs(x, exposure, rate, size, times, total):
    """Onto total (K, n), sum_dg times_dg (x_dn + size_g) log(size_g + s_dn rate_kdg), where s_dn is above 0."""
    n, logs = x.shape[1], np.empty(x.shape[1])
    for k in range(rate.shape[0]):
        into = total[k]
        for d in range(x.shape[0]):
            row, s = x[d], exposure[d]
            fill(0.0, logs)
            for g in range(len(size)):
                factor, r, mean = times[d, g], size[g], rate[k, d, g]
                if factor == 0.0:
                    continue
                for i in range(n):
                    logs[i] += factor * (row[i] + r) * log_normal(r + s[i] * mean)
            for i in range(n):
                into[i] += logs[i] if s[i] > 0.0 else 0.0


@nb.njit(**SUMS)
def add_count_sums(x, exposure, weighted, rate, size, sums):
    """Onto sums (2, K, D, G), those over rows of s (x + size) / c and (x + size) log c, c as above, weighted (K, n)."""
    n, counted = x.shape[1], np.empty(x.shape[1])
    for k in range(rate.shape[0]):
        own = weighted[k]
        for d in range(x.shape[0]):
            row, s = x[d], exposure[d]
            for i in range(n):
                counted[i] = own[i] if s[i] > 0.0 else 0.0
            for g in range(len(size)):
                r, mean = size[g], rate[k, d, g]
                mass, logs = 0.0, 0.0
                for i in range(n):
                    c = r + s[i] * mean
                    share = counted[i] * (row[i] + r)
                    mass += share * s[i] / c
                    logs += share * log_normal(c)
                sums[0, k, d, g] += mass
                sums[1, k, d, g] += logs
