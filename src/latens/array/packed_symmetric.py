"""Products of pairs of columns, each pair once: quadratic forms of rows as one matrix product.

x'M x = sum_{a <= b} packed(M)_ab x_a x_b
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.transfer import is_on_gpu, namespace, take

__all__ = [
    "are_too_many_pairs",
    "diagonal_places",
    "moment_pairs",
    "multiplicity",
    "of_pairs",
    "packed",
    "pair_places",
    "square",
    "times_vectors",
    "unpacked",
    "upper",
    "upper_indices",
    "with_pairs",
    "with_squares",
]


MOST_PAIRS = 2**17  # of the columns of one row, whose products are made


def are_too_many_pairs(d: int) -> bool:
    """Whether d columns have so many pairs that a few rows of their products would fill the memory."""
    return d * (d + 1) > 2 * MOST_PAIRS


def with_pairs(x: Array) -> Array:
    """(n, D + D (D + 1) / 2), each row followed by its products x_a x_b, a <= b."""
    if is_numpy_array(x):
        from latens.array.kernels.on_off.sweeps_numba import pair_rows

        n, d = x.shape
        out = np.empty((n, d + d * (d + 1) // 2), dtype=x.dtype)
        pair_rows(np.ascontiguousarray(x), out)
        return out
    if is_on_gpu(x):
        from latens.array.kernels.row_matrices_triton import pairs_on_gpu

        if pairs_on_gpu is not None and x.shape[0]:
            return pairs_on_gpu(x)
    return with_pairs_plain(x)


def with_squares(x: Array) -> Array:
    """(n, 2 D), each row followed by its squares; x is a tensor of torch on a GPU."""
    from latens.array.kernels.row_matrices_triton import squares_on_gpu

    if squares_on_gpu is not None and x.shape[0]:
        return squares_on_gpu(x)
    return array_namespace(x).concat([x, x**2], axis=1)


def with_pairs_plain(x: Array) -> Array:
    d = x.shape[1]
    return array_namespace(x).concat([x, *(x[:, a : a + 1] * x[:, a:] for a in range(d))], axis=1)


def moment_pairs(mean: Array, spread: Array, products: tuple[Array, Array] | None = None) -> Array:
    """(n, W (W + 1) / 2), E[z_a z_b] for a <= b of means (n, W), of which the first K vary by spread (1 or n, K, K).

    With `products`, these vary by spread + left right', both (n, K, L).
    """
    n, width = mean.shape
    if is_numpy_array(mean):
        from latens.array.kernels.spike_slab_numba import add_products
        from latens.array.kernels.spike_slab_numba import moment_pairs as moments

        out = np.empty((width * (width + 1) // 2, n), mean.dtype)
        moments(np.ascontiguousarray(mean.T), np.ascontiguousarray(spread.transpose(1, 2, 0)), out)
        if products is not None:
            left, right = (np.ascontiguousarray(part.transpose(1, 2, 0)) for part in products)
            add_products(left, right, width, out)
        return out.T
    if products is not None:
        spread = spread + products[0] @ array_namespace(mean).matrix_transpose(products[1])
    if is_on_gpu(mean):
        from latens.array.kernels.row_matrices_triton import moments_on_gpu

        if moments_on_gpu is not None and n and width:
            return moments_on_gpu(mean, spread)
    return moment_pairs_plain(mean, spread)


def moment_pairs_plain(mean: Array, spread: Array) -> Array:
    xp, width, k = array_namespace(mean), mean.shape[1], spread.shape[-1]
    pairs = with_pairs_plain(mean)[:, width:]
    flat = xp.zeros((width - k, k), dtype=pairs.dtype, device=device(pairs))
    side = xp.broadcast_to(flat[None, :, :], (spread.shape[0], width - k, k))
    tall = xp.concat([spread, side], axis=1)
    wide = xp.zeros((tall.shape[0], width, width - k), dtype=pairs.dtype, device=device(pairs))
    return pairs + upper(xp.concat([tall, wide], axis=2))


def packed(matrices: Floats) -> Floats:
    """(K, D (D + 1) / 2), what the products are multiplied by in x'M x; matrices are symmetric."""
    return np.asarray(upper(matrices) * multiplicity(matrices.shape[-1]))


@lru_cache(maxsize=64)
def multiplicity(d: int) -> Floats:
    """(D (D + 1) / 2,), how often each pair stands in a symmetric matrix."""
    rows, columns = upper_indices(d)
    return np.where(rows == columns, 1.0, 2.0)


def unpacked(sums: Floats, d: int) -> Floats:
    """(K, D, D), sums of xx' from sums of the products (K, D (D + 1) / 2)."""
    return np.take(sums, pair_places(d), axis=1)


def times_vectors(products: Floats, vectors: Floats) -> Floats:
    """(n, W), row by row the symmetric matrix of these products (1 or n, W (W + 1) / 2) times a vector (n, W)."""
    width = vectors.shape[1]
    if len(products) == 1:
        return np.asarray(vectors @ unpacked(products, width)[0])
    from latens.array.kernels.row_matrices_numba import packed_times

    out = np.empty((width, len(vectors)))
    packed_times(np.ascontiguousarray(products.T), pair_places(width), np.ascontiguousarray(vectors.T), out)
    return out.T


def upper_indices(d: int) -> tuple[Index, Index]:
    """Rows and columns of the pairs a <= b, in the order of the products; kept where they are not too many."""
    return _new_upper_indices(d) if are_too_many_pairs(d) else _upper_indices(d)


def _new_upper_indices(d: int) -> tuple[Index, Index]:
    rows, columns = np.triu_indices(d)
    return rows, columns


_upper_indices = lru_cache(maxsize=64)(_new_upper_indices)


@lru_cache(maxsize=64)
def pair_places(d: int) -> Index:
    """(D, D), where each pair of columns stands among the products."""
    rows, columns = upper_indices(d)
    places = np.empty((d, d), dtype=np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return places


@lru_cache(maxsize=64)
def diagonal_places(d: int) -> Index:
    """(D,), where the squares stand among the products."""
    return np.diagonal(pair_places(d))


@lru_cache(maxsize=64)
def _flat_places(d: int) -> Index:
    """(D (D + 1) / 2,), where the pairs stand in a matrix, row after row."""
    rows, columns = upper_indices(d)
    return rows * d + columns


def upper(matrices: Array) -> Array:
    """(n, D (D + 1) / 2), entries (a, b) with a <= b of symmetric matrices, in the order of the products."""
    n, d, _ = matrices.shape
    if n == 1 and isinstance(matrices, np.ndarray):
        return matrices.reshape(-1)[_flat_places(d)][None]
    return take(namespace(matrices).reshape(matrices, (n, d * d)), _flat_places(d), axis=1)


def of_pairs(products: Array, places: Index) -> Array:
    """(n, ...), those of the products (n, P) that stand there; numbers of many rows lie together."""
    if isinstance(products, np.ndarray) and len(products) == 1:  # at once: other threads are not even asked
        return products[0][places][None]
    return take(products.T, places).T


def square(products: Array, d: int) -> Array:
    """(n, D, D), the symmetric matrices whose `upper` that is."""
    return array_namespace(products).reshape(take(products, pair_places(d).ravel(), axis=1), (products.shape[0], d, d))
