"""Linear algebra on the host for stacks of K x K matrices that all columns, or each column, own.

A leading axis of length 1 stands for every column of data: precisions that no hole has
distinguished are stored once, and broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from latens.array import Floats

__all__ = [
    "cholesky",
    "definite_volume",
    "inverse",
    "inverse_with_volume",
    "log_determinant",
    "solve_columns",
    "symmetric_pinv",
    "times_columns",
]


LARGEST_COMPILED = 32  # rows of a matrix, beyond which LAPACK's blocks are quicker than plain loops


def inverse(matrices: Floats) -> Floats:
    """Inverse of positive definite matrices, exactly symmetric."""
    inverted = _float64(np.linalg.inv(matrices))
    return 0.5 * (inverted + np.swapaxes(inverted, -1, -2))


def inverse_with_volume(matrices: Floats) -> tuple[Floats, Floats]:
    """The same, and log determinants; small matrices are done at once, by one function of compiled loops."""
    if matrices.shape[-1] <= LARGEST_COMPILED:
        from latens.array.kernels.row_matrices_numba import invert_definite

        inverted, volume = np.empty(matrices.shape), np.empty(len(matrices))
        invert_definite(np.ascontiguousarray(matrices), inverted, volume)
        if np.isfinite(volume).all():
            return inverted, volume
    elif len(matrices) > 1 and (factors := _factors(matrices)) is not None:
        volume = _volumes(factors)
        below = np.tril(np.stack([dpotri(factor, lower=1)[0] for factor in factors]))
        diagonal = np.einsum("dkk->dk", below)[:, :, None] * np.eye(below.shape[-1])
        return below + np.swapaxes(below, -1, -2) - diagonal, volume
    return inverse(matrices), log_determinant(matrices)


def _factors(matrices: Floats) -> list[Floats] | None:
    """Lower Cholesky factors, by which inverses take half the time; None where a matrix is not definite."""
    found = [dpotrf(matrix, lower=1, clean=0) for matrix in matrices]
    return None if any(failed for _, failed in found) else [factor for factor, _ in found]


def _volumes(factors: list[Floats]) -> Floats:
    return np.array([2 * np.sum(np.log(np.diagonal(factor))) for factor in factors])


def definite_volume(matrices: Floats) -> Floats:
    """Log determinants alone, to the last bit those of `inverse_with_volume`."""
    if matrices.shape[-1] <= LARGEST_COMPILED:
        from latens.array.kernels.row_matrices_numba import log_determinant_rows

        volume = np.empty(len(matrices))
        log_determinant_rows(np.ascontiguousarray(matrices), volume)
        if np.isfinite(volume).all():
            return volume
    elif len(matrices) > 1 and (factors := _factors(matrices)) is not None:
        return _volumes(factors)
    return log_determinant(matrices)


def cholesky(matrices: Floats) -> Floats:
    return _float64(np.linalg.cholesky(matrices))


def log_determinant(matrices: Floats) -> Floats:
    return np.asarray(np.linalg.slogdet(matrices)[1])


def times_columns(matrices: Floats, columns: Floats) -> Floats:
    """(1 or D, K, K) times (K, D), column by column."""
    if len(matrices) == 1:
        return _float64(matrices[0] @ columns)
    return _float64(np.einsum("dij,jd->id", matrices, columns))


def solve_columns(matrices: Floats, columns: Floats) -> Floats:
    """The columns (K, D) that (1 or D, K, K) matrices turn into the given ones."""
    if len(matrices) == 1:
        return _float64(np.linalg.solve(matrices[0], columns))
    return _float64(np.linalg.solve(matrices, columns.T[:, :, None])[:, :, 0].T)


def symmetric_pinv(matrices: Floats) -> Floats:
    """Pseudo-inverse of positive semi-definite matrices: directions nobody used get 0, not noise."""
    values, vectors = np.linalg.eigh(matrices)
    floor = values[..., -1:] * 1e-10  # below it a sum of products is rounding
    keep = values > np.maximum(floor, np.finfo(float).tiny)
    inverted = np.where(keep, 1 / np.where(keep, values, 1.0), 0.0)
    return _float64((vectors * inverted[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _float64(x: NDArray[Any]) -> Floats:
    """Tells the type checker what NumPy's annotations leave open."""
    return np.asarray(x, dtype=np.float64)
