"""Scales of Student-t variables: compiled for NumPy and on a GPU, else plain array operations."""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.array.packed_symmetric import moment_pairs, square
from latens.array.row_matrices import normal_given, side_by_side
from latens.array.transfer import is_on_gpu

__all__ = ["student_moments", "student_moments_plain", "student_scales", "student_scales_plain"]


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


def student_moments(drive: Array, gram: Array, was: Array, tails: Array, shape: Array) -> tuple[Array, ...]:
    """Of one step of Student-t sources, q(z) normal of precision gram + diag(was) and times that drive its mean.

    drive and was (n, K), gram (1, K (K + 1) / 2) packed, tails and shape (K,). Returns E[u] and 1, (n, K + 1); E[z] and
    1, (n, K + 1); expected products of pairs of these, (n, (K + 1) (K + 2) / 2); logarithms of the rates of q(u) and of
    the determinant of the covariance, (n, K + 1).
    """
    if is_on_gpu(drive):
        from latens.array.kernels.row_posteriors.student_triton import MOST_INVERTED, moments_on_gpu

        if moments_on_gpu is not None and drive.shape[0] and drive.shape[1] <= MOST_INVERTED:
            there: tuple[Array, ...] = moments_on_gpu(drive, gram, was, tails, shape)
            return there
    return student_moments_plain(drive, gram, was, tails, shape)


def student_moments_plain(drive: Array, gram: Array, was: Array, tails: Array, shape: Array) -> tuple[Array, ...]:
    xp, k = array_namespace(drive), drive.shape[1]
    mean, spread, volume = normal_given(drive, square(gram, k), was)
    volume = xp.linalg.slogdet(spread)[1] if volume is None else volume
    _, quiet, log_rate = student_scales(mean, spread, tails, shape)
    ones = xp.ones_like(drive[:1, :1])
    full = side_by_side(mean, ones)
    return side_by_side(quiet, ones), full, moment_pairs(full, spread), side_by_side(log_rate, volume[:, None])
