"""Compiled algebra of many small matrices, most of them positive definite, one after another while each is in cache.

Scratch is in double precision whatever the rows are in. Serial, and without the GIL, like all kernels.
"""

# mypy: allow-untyped-defs
# Numba infers the types of compiled functions from what they are called with.

from __future__ import annotations

import numba as nb
import numpy as np

from latens.array.kernels.fastmath_numba import COMPILED, SUMS, copy, fill, log_normal

__all__ = [
    "N_SIDE",
    "factor_of",
    "inverse_of_square",
    "invert_definite",
    "invert_rows",
    "log_determinant_rows",
    "log_volume",
    "normal_columns",
    "packed_times",
    "side_columns",
    "subtract_products",
    "subtract_side_products",
    "volume_alone",
]

N_SIDE = 128  # rows side by side where numbers of many rows lie together
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


@nb.njit(cache=True, nogil=True)
def _factor(low):
    """Cholesky factor in the lower triangle, in place; False where the matrix is not definite."""
    k = low.shape[0]
    for j in range(k):
        total = low[j, j]
        for m in range(j):
            total -= low[j, m] * low[j, m]
        if not total > 0:
            return False
        low[j, j] = np.sqrt(total)
        for i in range(j + 1, k):
            total = low[i, j]
            for m in range(j):
                total -= low[i, m] * low[j, m]
            low[i, j] = total / low[j, j]
    return True


@nb.njit(cache=True, nogil=True)
def factor_of(matrix, low):
    """The same of a matrix, into `low`."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            low[i, j] = matrix[i, j]
    return _factor(low)


@nb.njit(cache=True, nogil=True)
def log_volume(low):
    """Log determinant of the matrix whose Cholesky factor that is."""
    total = 0.0
    for i in range(low.shape[0]):
        total += 2.0 * np.log(low[i, i])
    return total


@nb.njit(**SUMS)
def volume_alone(low):
    """Log determinant of the matrix in the lower triangle, of which nothing else is left; NaN if not definite."""
    k, volume = low.shape[0], 0.0
    for j in range(k):
        own = low[j]
        pivot = own[j]
        for m in range(j):
            pivot -= own[m] * own[m]
        if not pivot > 0:
            return np.nan
        volume += log_normal(pivot)
        times = 1.0 / np.sqrt(pivot)
        for i in range(j + 1, k):
            other = low[i]
            total = other[j]
            for m in range(j):
                total -= other[m] * own[m]
            other[j] = total * times
    return volume


@nb.njit(cache=True, nogil=True)
def _inverse_of_factor(low, out):
    """The inverse of the matrix whose Cholesky factor that is, both triangles; the factor is overwritten."""
    k = low.shape[0]
    for j in range(k):  # the factor's inverse, in place
        low[j, j] = 1.0 / low[j, j]
        for i in range(j + 1, k):
            total = 0.0
            for m in range(j, i):
                total += low[i, m] * low[m, j]
            low[i, j] = -total / low[i, i]
    for i in range(k):
        for j in range(i + 1):
            total = 0.0
            for m in range(i, k):
                total += low[m, i] * low[m, j]
            out[i, j] = total
            out[j, i] = total


@nb.njit(cache=True, nogil=True)
def invert_definite(matrices, out, volume):
    """Inverses into `out`, log determinants into `volume` as `log_determinant_rows` finds them; NaN if not definite."""
    n, k, _ = matrices.shape
    low = np.empty((k, k), np.float64)
    for r in range(n):
        if not factor_of(matrices[r], low):
            volume[r] = np.nan
            continue
        volume[r] = log_volume(low)
        _inverse_of_factor(low, out[r])


@nb.njit(cache=True, nogil=True)
def invert_rows(gram, diagonal, out):
    """(gram + diag(diagonal_n))^-1 of every row into `out`; gram has a leading axis of 1 or n. NaN if not definite."""
    n, k = diagonal.shape
    last = gram.shape[0] - 1
    low = np.empty((k, k), np.float64)
    for r in range(n):
        own = gram[min(r, last)]
        for i in range(k):
            for j in range(i + 1):
                low[i, j] = own[i, j]
            low[i, i] += diagonal[r, i]
        if not _factor(low):
            out[r] = np.nan
            continue
        _inverse_of_factor(low, out[r])


@nb.njit(cache=True, nogil=True)
def log_determinant_rows(matrices, out):
    """log|matrix| of every row into `out`; NaN if not definite."""
    n, k, _ = matrices.shape
    low = np.empty((k, k), np.float64)
    for r in range(n):
        out[r] = log_volume(low) if factor_of(matrices[r], low) else np.nan


@nb.njit(**COMPILED)
def side_columns(first, second, out):
    """Rows of first (K, n) and of second (G, 1 or n), one number for all columns or one each, into `out` (K + G, n)."""
    k = first.shape[0]
    for a in range(k):
        copy(first[a], out[a])
    for b in range(second.shape[0]):
        if second.shape[1] == 1:
            fill(second[b, 0], out[k + b])
        else:
            copy(second[b], out[k + b])


@nb.njit(**COMPILED)
def subtract_side_products(total, a, b, first, last):
    """total (side,) less the products of some rows of a and b, four at a time: the total is what is read most."""
    c = first
    while c + 4 <= last:
        a0, a1, a2, a3 = a[c], a[c + 1], a[c + 2], a[c + 3]
        b0, b1, b2, b3 = b[c], b[c + 1], b[c + 2], b[c + 3]
        for r in range(len(total)):
            total[r] -= (a0[r] * b0[r] + a1[r] * b1[r]) + (a2[r] * b2[r] + a3[r] * b3[r])
        c += 4
    while c < last:
        a0, b0 = a[c], b[c]
        for r in range(len(total)):
            total[r] -= a0[r] * b0[r]
        c += 1


@nb.njit(**COMPILED)
def normal_columns(drive, gram, diagonal, mean, spread, volume, n_side):
    """Inverses of gram + diag(diagonal) into `spread`, their log determinants, and their products with the drive.

    drive, mean (K, n); gram (P, 1 or m) packed, diagonal (K, 1 or m), spread (K, K, m), volume (m,), m being 1 or n.
    What is not definite becomes NaN.
    """
    k, n = drive.shape
    m = len(volume)
    both = np.empty((k, k, n_side))  # the Cholesky factor, below the diagonal, and its inverse, turned, from there on
    total = np.empty(n_side)
    for start in range(0, m, n_side):
        side = min(n_side, m - start)
        stop = start + side
        at = 0
        for j in range(k):
            for i in range(j, k):
                if gram.shape[1] == 1:
                    fill(gram[at, 0], both[i, j, :side])
                else:
                    copy(gram[at, start:], both[i, j, :side])
                at += 1
            own = both[j, j]
            if diagonal.shape[1] == 1:
                for r in range(side):
                    own[r] += diagonal[j, 0]
            else:
                more = diagonal[j, start:]
                for r in range(side):
                    own[r] += more[r]
        fill(0.0, total)
        for j in range(k):
            for i in range(j, k):
                subtract_side_products(both[i, j, :side], both[i], both[j], 0, j)
            own = both[j, j]
            for r in range(side):
                pivot = own[r]
                total[r] -= log_normal(pivot) if pivot > 0 else np.nan
                own[r] = 1.0 / np.sqrt(pivot) if pivot > 0 else np.nan
            for i in range(j + 1, k):
                other = both[i, j]
                for r in range(side):
                    other[r] *= own[r]
        copy(total, volume[start:stop])
        for j in range(k):
            for i in range(j + 1, k):
                fill(0.0, total[:side])
                subtract_side_products(total[:side], both[i], both[j], j, i)
                other, own = both[j, i], both[i, i]
                for r in range(side):
                    other[r] = total[r] * own[r]
        for i in range(k):
            for j in range(i + 1):
                fill(0.0, total[:side])
                subtract_side_products(total[:side], both[i], both[j], i, k)
                for r in range(side):
                    total[r] = -total[r]
                copy(total, spread[i, j, start:stop])
                copy(total, spread[j, i, start:stop])
    for i in range(k):
        into = mean[i]
        fill(0.0, into)
        for j in range(k):
            pulled, one = drive[j], spread[i, j]
            if m == 1:
                for r in range(n):
                    into[r] += one[0] * pulled[r]
            else:
                for r in range(n):
                    into[r] += one[r] * pulled[r]


@nb.njit(**COMPILED)
def packed_times(products, places, x, out):
    """out (W, n): in each of n rows a packed symmetric matrix, products (P, n), times a vector x (W, n)."""
    out[:] = 0.0
    for a in range(len(x)):
        into = out[a]
        for b in range(len(x)):
            matrix, vector = products[places[a, b]], x[b]
            for i in range(len(into)):
                into[i] += matrix[i] * vector[i]


@nb.njit(**COMPILED)
def _add_products(heavy, row, variance, into):
    """heavy E[zz'] of one row of independent codes onto the lower triangle of `into`."""
    for a in range(len(row)):
        own, below = heavy * row[a], into[a]
        for b in range(a + 1):
            below[b] += own * row[b]
        below[a] += heavy * variance[a]


@nb.njit(**COMPILED)
def subtract_products(bounds, listed, codes, variance, weight, whole, out):
    """out (D, W, W): `whole` (W, W) less weighted E[zz'] of the rows listed for each (CSR), of independent codes.

    codes and variance (n, W). Where most rows are listed, the others are added instead: of none, exactly nothing.
    """
    n, width = codes.shape
    for d in range(len(out)):
        into, at, end = out[d], bounds[d], bounds[d + 1]
        if 2 * (end - at) <= n:
            for a in range(width):
                copy(whole[a], into[a])
            for place in range(at, end):
                i = listed[place]
                _add_products(-weight[i], codes[i], variance[i], into)
        else:
            for a in range(width):
                fill(0.0, into[a])
            for i in range(n):
                if at < end and listed[at] == i:
                    at += 1
                else:
                    _add_products(weight[i], codes[i], variance[i], into)
        for a in range(width):
            for b in range(a):
                into[b, a] = into[a, b]


@nb.njit(**COMPILED)
def inverse_of_square(matrix, out):
    """The inverse (K, K) into `out`; log |det| and its sign, minus infinity and 0 where there is no inverse."""
    k, rest, volume, sign = matrix.shape[0], matrix.copy(), 0.0, 1.0
    for i in range(k):
        fill(0.0, out[i])
        out[i, i] = 1.0
    for a in range(k):
        pivot = a
        for i in range(a + 1, k):
            if abs(rest[i, a]) > abs(rest[pivot, a]):
                pivot = i
        size = rest[pivot, a]
        if not abs(size) > SMALLEST_NORMAL:
            return -np.inf, 0.0
        sign = sign if (size > 0) == (pivot == a) else -sign
        volume += np.log(abs(size))
        for j in range(k):
            rest[a, j], rest[pivot, j] = rest[pivot, j], rest[a, j]
            out[a, j], out[pivot, j] = out[pivot, j], out[a, j]
        times = 1.0 / size
        for j in range(k):
            rest[a, j] *= times
            out[a, j] *= times
        for i in range(k):
            if i != a:
                factor = rest[i, a]
                for j in range(k):
                    rest[i, j] -= factor * rest[a, j]
                    out[i, j] -= factor * out[a, j]
    return volume, sign
