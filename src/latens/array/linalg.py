"""Linear algebra on the host for stacks of K x K matrices that all columns, or each column, own.

A leading axis of length 1 stands for every column of data: precisions that no hole has
distinguished are stored once, and broadcast.
"""

from __future__ import annotations

from functools import lru_cache
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
LARGEST_COPIED = 256  # rows of a matrix, beyond which one alone is inverted where it stands, too


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
    elif len(matrices) > 1 or matrices.shape[-1] > LARGEST_COPIED:
        inverted, volume = np.empty(matrices.shape), np.empty(len(matrices))
        if all(_invert_definite(*each) for each in zip(matrices, inverted, volume[:, None], strict=True)):
            return inverted, volume
    return inverse(matrices), log_determinant(matrices)


def _invert_definite(matrix: Floats, inverted: Floats, volume: Floats) -> bool:
    """The same of one matrix, by its Cholesky factor, into the other two; False where it is not definite."""
    factor, failed = dpotrf(matrix, lower=1, clean=0)
    if not failed:
        volume[0] = _volume(factor)
        below, _ = dpotri(factor, lower=1, overwrite_c=1)
        np.copyto(inverted, below)
        np.copyto(inverted, below.T, where=_above_diagonal(len(below)))
    return not failed


@lru_cache(maxsize=8)
def _above_diagonal(d: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((d, d), dtype=bool), 1)


def _volume(factor: Floats) -> float:
    return float(2 * np.sum(np.log(np.diagonal(factor))))


def definite_volume(matrices: Floats) -> Floats:
    """Log determinants alone, to the last bit those of `inverse_with_volume`."""
    if matrices.shape[-1] <= LARGEST_COMPILED:
        from latens.array.kernels.row_matrices_numba import log_determinant_rows

        volume = np.empty(len(matrices))
        log_determinant_rows(np.ascontiguousarray(matrices), volume)
        if np.isfinite(volume).all():
            return volume
    elif len(matrices) > 1 or matrices.shape[-1] > LARGEST_COPIED:
        found = [(_volume(factor), failed) for factor, failed in (dpotrf(each, lower=1, clean=0) for each in matrices)]
        if not any(failed for _, failed in found):
            return np.array([volume for volume, _ in found])
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
