"""Entries whose scales are not known, in many clusters at once: compiled for NumPy, else plain array operations.

At each of G degrees of freedom a cluster has a squared distance of its own from an entry x_nd,

    w_nkdg = base_kdg + precision_kdg (x_nd - mean_kdg)^2

of which densities ask the logarithm, and the sums of clusters the reciprocal, which is how much the entry counts.
Shapes of clusters are (K, D, G).
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats
from latens.array.kernels.row_posteriors.by_column import by_column, whole
from latens.array.transfer import host, like

__all__ = ["distance_logs", "distance_logs_plain", "distance_sums", "distance_sums_plain"]


def distance_logs(x: Array, seen: Array, mean: Floats, precision: Floats, base: Floats, times: Floats) -> Array:
    """(n, K), sum_dg seen_nd times_kdg log w_nkdg; `seen` are numbers (1 or n, D)."""
    if not is_numpy_array(x):
        return distance_logs_plain(x, seen, mean, precision, base, times)
    from latens.array.kernels.row_posteriors.scale_mixtures_numba import add_logs

    total = np.zeros((len(mean), len(x)))
    add_logs(*by_column(x, seen), *whole(mean, precision, base, times), total)
    return np.asarray(total.T, dtype=x.dtype)


def distance_logs_plain(x: Array, seen: Array, mean: Floats, precision: Floats, base: Floats, times: Floats) -> Array:
    total = array_namespace(x).zeros_like(x[:, :1])
    for d in range(x.shape[1]):
        own = np.flatnonzero(np.any(times[:, d] != 0, axis=0))
        logs = array_namespace(x).log(_distances(x[:, d], *(each[:, d][:, own] for each in (mean, precision, base))))
        logs *= like(times[:, d][:, own, None], x)
        total = total + seen[:, d : d + 1] * array_namespace(x).sum(logs, axis=1).T
    return total


def distance_sums(x: Array, seen: Array, weighted: Array, mean: Floats, precision: Floats, base: Floats) -> Floats:
    """(4, K, D, G), sums over rows of x / w, 1 / w, x^2 / w and log w, weighted by memberships (n, K)."""
    if not is_numpy_array(x):
        return distance_sums_plain(x, seen, weighted, mean, precision, base)
    from latens.array.kernels.row_posteriors.scale_mixtures_numba import add_sums

    sums = np.zeros((4, *mean.shape))
    add_sums(*by_column(x, seen), *whole(weighted.T, mean, precision, base), sums)
    return sums


def distance_sums_plain(
    x: Array, seen: Array, weighted: Array, mean: Floats, precision: Floats, base: Floats
) -> Floats:
    xp, sums = array_namespace(x), np.empty((4, *mean.shape))
    for d in range(x.shape[1]):
        shown, y = (weighted * seen[:, d : d + 1]).T[:, None, :], x[:, d]
        w = _distances(y, mean[:, d], precision[:, d], base[:, d])
        sums[3, :, d] = host(xp.sum(shown * xp.log(w), axis=2))
        of_rows = (shown / w) @ xp.stack([y, xp.ones_like(y), y**2], axis=1)  # (K, G, 3)
        sums[:3, :, d] = np.moveaxis(host(of_rows), 2, 0)
    return sums


def _distances(column: Array, mean: Floats, precision: Floats, base: Floats) -> Array:
    """(K, g, n), base + precision (x - mean)^2: rows come last, and one array is written over, since memory is slow."""
    gap = column - like(mean[:, :, None], column)
    gap *= gap
    gap *= like(precision[:, :, None], column)
    gap += like(base[:, :, None], column)
    return gap
