"""Scales of Student-t variables: compiled for NumPy and on a GPU, else plain array operations."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.transfer import is_on_gpu

__all__ = ["student_scales", "student_scales_plain"]


def student_scales(mean: Array, spread: Array, tails: Array, shape: Array) -> tuple[Array, Array, Array]:
    """(n, K) each, of q(u) = Gamma(shape, rate), rate = (tails + E[z^2]) / 2: the rate, E[u] and the log of the rate.

    mean (n, K) and spread (n, K, K) are those of z; tails and shape (K,).
    """
    if is_on_gpu(mean):
        from latens.array.kernels.row_posteriors.student_triton import student_on_gpu

        if student_on_gpu is not None and mean.shape[0] and mean.shape[1]:
            there: tuple[Array, Array, Array] = student_on_gpu(mean, spread, tails, shape)
            return there
    if not isinstance(mean, np.ndarray):
        return student_scales_plain(mean, spread, tails, shape)
    from latens.array.kernels.row_posteriors.student_numba import student_columns

    found = tuple(np.empty((mean.shape[1], len(mean)), mean.dtype) for _ in range(3))
    student_columns(np.ascontiguousarray(mean.T), np.ascontiguousarray(spread.transpose(1, 2, 0)), tails, shape, *found)
    rate, expected, log_rate = (part.T for part in found)
    return rate, expected, log_rate


def student_scales_plain(mean: Array, spread: Array, tails: Array, shape: Array) -> tuple[Array, Array, Array]:
    xp = array_namespace(mean)
    rate = 0.5 * (tails + mean**2 + xp.linalg.diagonal(spread))
    return rate, shape / rate, xp.log(rate)
