"""A small positive definite matrix for every row: compiled for NumPy and on a GPU, else the library's own algebra."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from latens.array import Array
from latens.array.packed_symmetric import square, upper
from latens.array.transfer import is_on_gpu, like

__all__ = [
    "inverse_and_volume",
    "inverse_rows",
    "inverse_rows_plain",
    "log_determinants",
    "normal_given",
    "normal_rows",
    "normal_rows_plain",
    "plus_products",
    "side_by_side",
    "times_kinds",
    "times_rows",
    "with_ones",
]


def inverse_rows(gram: Array, diagonal: Array) -> Array:
    """(n, K, K), inverses of gram (1 or n, K, K) + diag(diagonal_n), symmetric."""
    if is_numpy_array(diagonal):
        from latens.array.kernels.row_matrices_numba import invert_rows

        out = np.empty((*diagonal.shape, diagonal.shape[1]), diagonal.dtype)
        invert_rows(np.ascontiguousarray(gram), np.ascontiguousarray(diagonal), out)
        return out
    if (invert := _on_gpu(diagonal)) is not None:
        return invert(gram, diagonal)[0]
    return inverse_rows_plain(gram, diagonal)


def inverse_and_volume(gram: Array, diagonal: Array) -> tuple[Array, Array | None]:
    """The same and, where it comes with them at no cost, their log determinants (n,)."""
    if (invert := _on_gpu(diagonal)) is not None:
        return invert(gram, diagonal)[:2]
    return inverse_rows(gram, diagonal), None


def inverse_rows_plain(gram: Array, diagonal: Array) -> Array:
    xp = array_namespace(diagonal)
    inverse = xp.linalg.inv(gram + diagonal[:, :, None] * like(np.eye(diagonal.shape[1]), diagonal))
    return 0.5 * (inverse + xp.matrix_transpose(inverse))


def times_rows(matrices: Array, vectors: Array) -> Array:
    """(n, A), matrices (1 or n, A, B) times vectors (n, B)."""
    if matrices.shape[0] == 1:
        return vectors @ matrices[0, :, :].T
    return (matrices @ vectors[:, :, None])[:, :, 0]


def plus_products(matrices: Array, left: Array, right: Array) -> Array:
    """(n, A, B), matrices + left @ right', of left (n, A, L) and right (n, B, L); numbers of many rows lie together."""
    if not is_numpy_array(matrices) or not left.shape[2]:
        return matrices + left @ array_namespace(matrices).matrix_transpose(right)
    base, across = matrices.transpose(1, 2, 0), np.ascontiguousarray(right.transpose(2, 1, 0))
    out = np.empty(base.shape, matrices.dtype)
    for a in range(len(out)):  # what one takes stays in the cache
        np.multiply(left[:, a, 0], across[0], out=out[a])
        for one in range(1, len(across)):
            out[a] += left[:, a, one] * across[one]
        out[a] += base[a]
    return out.transpose(2, 0, 1)


def side_by_side(first: Array, second: Array) -> Array:
    """(n, K + G), columns of first (n, K) and of second (1 or n, G); numbers of many rows lie together if they did."""
    n, k = first.shape
    if isinstance(first, np.ndarray) and first.T.flags.c_contiguous:
        from latens.array.kernels.row_matrices_numba import side_columns

        out = np.empty((k + second.shape[1], n), first.dtype)
        side_columns(first.T, np.ascontiguousarray(second.T), out)
        return out.T
    xp = array_namespace(first)
    return xp.concat([first, xp.broadcast_to(second, (n, second.shape[1]))], axis=1)


def with_ones(codes: Array, intercept: bool) -> Array:
    """(n, K'), codes and a column of ones for the intercept."""
    if not intercept:
        return codes
    xp = array_namespace(codes)
    ones = xp.ones((1, 1), dtype=codes.dtype, device=device(codes))  # like no code: there may be none
    return side_by_side(codes, ones)


def times_kinds(matrices: Array, vectors: Array, kind: Array) -> Array:
    """(n, A), row by row the product with the matrix of its kind: matrices (kinds, A, B), vectors (n, B)."""
    out = np.empty((len(vectors), matrices.shape[1]), vectors.dtype, order="F")
    for number, matrix in enumerate(matrices):
        rows = np.flatnonzero(kind == number)
        out[rows] = vectors[rows] @ matrix.T
    return out


def log_determinants(matrices: Array) -> Array:
    """(n,), log|matrix| of positive definite (n, K, K)."""
    if is_numpy_array(matrices):
        from latens.array.kernels.row_matrices_numba import log_determinant_rows

        out = np.empty(len(matrices), matrices.dtype)
        log_determinant_rows(np.ascontiguousarray(matrices), out)
        return out
    if (invert := _on_gpu(matrices)) is not None:
        return -invert(matrices, array_namespace(matrices).zeros_like(matrices[:1, :, 0]))[1]
    return array_namespace(matrices).linalg.slogdet(matrices)[1]


def normal_rows(drive: Array, gram: Array, diagonal: Array) -> tuple[Array, Array, Array]:
    """Of exp(drive'z - z' (gram + diag(diagonal)) z / 2): mean (n, K), covariance and its log determinant.

    drive (n, K); gram (1 or n, K (K + 1) / 2), packed; diagonal (1 or n, K). Where both are of one row, so are the
    covariance (1 or n, K, K) and its determinant (1 or n,). Compiled, numbers of many rows lie together.
    """
    if (invert := _on_gpu(drive)) is not None:
        if max(gram.shape[0], diagonal.shape[0]) == 1:  # one matrix for all
            spread, volume, _ = invert(gram, diagonal)
            return times_rows(spread, drive), spread, volume
        spread, volume, mean = invert(gram, diagonal, drive)
        return mean, spread, volume
    if not is_numpy_array(drive):
        return normal_rows_plain(drive, gram, diagonal)
    from latens.array.kernels.row_matrices_numba import N_SIDE, normal_columns

    (n, k), rows = drive.shape, max(len(gram), len(diagonal))
    spread, volume = np.empty((k, k, rows), drive.dtype), np.empty(rows, drive.dtype)
    mean = np.empty((k, n), drive.dtype)
    problem = (np.ascontiguousarray(part.T) for part in (drive, gram))
    added = np.require(diagonal.T, requirements=["C", "W"])  # for a broadcast one the loop would be compiled once more
    normal_columns(*problem, added, mean, spread, volume, N_SIDE)
    return mean.T, spread.transpose(2, 0, 1), volume


def normal_given(drive: Array, gram: Array, diagonal: Array) -> tuple[Array, Array, Array | None]:
    """The same of gram (1 or n, K, K) that is not packed, and diagonal (n, K); no determinants where they cost more."""
    if is_numpy_array(drive):
        return normal_rows(drive, upper(gram), diagonal)
    if (invert := _on_gpu(drive)) is not None and diagonal.shape[0] > 1:
        inverse, volume, mean = invert(gram, diagonal, drive)
        return mean, inverse, volume
    inverse, volume = inverse_and_volume(gram, diagonal)
    return times_rows(inverse, drive), inverse, volume


def normal_rows_plain(drive: Array, gram: Array, diagonal: Array) -> tuple[Array, Array, Array]:
    xp, k = array_namespace(drive), drive.shape[1]
    wide = xp.broadcast_to(diagonal, (max(gram.shape[0], diagonal.shape[0]), k))
    spread = inverse_rows_plain(square(gram, k), wide)
    return times_rows(spread, drive), spread, xp.linalg.slogdet(spread)[1]


def _on_gpu(x: Array) -> Callable[..., tuple[Array, Array, Array]] | None:
    """What inverts matrices of rows like x (n, ..., K) on a GPU, with log determinants; None for other rows.

    Given a drive (n, K) too, it multiplies by it.
    """
    from latens.array.kernels.row_matrices_triton import MOST_INVERTED, inverse_on_gpu

    served = is_on_gpu(x) and 0 < x.shape[-1] <= MOST_INVERTED and x.shape[0]
    found: Callable[..., tuple[Array, Array, Array]] | None = inverse_on_gpu if served else None
    return found
