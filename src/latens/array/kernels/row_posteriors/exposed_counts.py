"""Counts of which more or less was looked at, in many clusters at once: compiled for NumPy, else plain operations.

At each of G sizes a cluster expects something else of an entry x_nd with exposure s_nd,

    c_nkdg = size_g + s_nd rate_kdg

of which densities ask (x + size) log c, and the sums of clusters s (x + size) / c beside it. Rates are (K, D, G).
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats
from latens.array.kernels.row_posteriors.by_column import by_column, whole
from latens.array.transfer import host, like

__all__ = ["count_logs", "count_logs_plain", "count_sums", "count_sums_plain"]


def count_logs(x: Array, exposure: Array, rate: Floats, size: Floats, times: Floats) -> Array:
    """(n, K), sum_dg times_dg (x_nd + size_g) log c_nkdg over entries with exposures (n, D) above 0."""
    if not is_numpy_array(x):
        return count_logs_plain(x, exposure, rate, size, times)
    from latens.array.kernels.row_posteriors.exposed_counts_numba import add_count_logs

    total = np.zeros((len(rate), len(x)))
    add_count_logs(*by_column(x, exposure), *whole(rate, size, times), total)
    return np.asarray(total.T, dtype=x.dtype)


def count_logs_plain(x: Array, exposure: Array, rate: Floats, size: Floats, times: Floats) -> Array:
    xp, total = array_namespace(x), array_namespace(x).zeros_like(x[:, :1])
    for d in range(x.shape[1]):
        y, s = x[:, d : d + 1], exposure[:, d : d + 1]
        shown = xp.astype(s > 0, x.dtype)
        for g in np.flatnonzero(times[d] != 0).tolist():
            r = float(size[g])
            total = total + shown * float(times[d, g]) * (y + r) * xp.log(r + s * like(rate[:, d, g], x))
    return total


def count_sums(x: Array, exposure: Array, weighted: Array, rate: Floats, size: Floats) -> Floats:
    """(2, K, D, G), sums over rows of s (x + size) / c and of (x + size) log c, weighted by memberships (n, K)."""
    if not is_numpy_array(x):
        return count_sums_plain(x, exposure, weighted, rate, size)
    from latens.array.kernels.row_posteriors.exposed_counts_numba import add_count_sums

    sums = np.zeros((2, *rate.shape))
    add_count_sums(*by_column(x, exposure), *whole(weighted.T, rate, size), sums)
    return sums


def count_sums_plain(x: Array, exposure: Array, weighted: Array, rate: Floats, size: Floats) -> Floats:
    xp, sums = array_namespace(x), np.empty((2, *rate.shape))
    for d in range(x.shape[1]):
        y, s = x[:, d : d + 1], exposure[:, d : d + 1]
        shown = weighted * xp.astype(s > 0, x.dtype)
        for g, r in enumerate(size.tolist()):
            c, share = r + s * like(rate[:, d, g], x), shown * (y + r)
            sums[0, :, d, g] = host(xp.sum(share * s / c, axis=0))
            sums[1, :, d, g] = host(xp.sum(share * xp.log(c), axis=0))
    return sums
