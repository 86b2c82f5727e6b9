"""Between the host, where posteriors live in float64, and the device and dtype of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from typing import Any

import array_api_compat.numpy
import numpy as np
from array_api_compat import array_namespace, device, is_cupy_array, is_torch_array, to_device
from scipy.sparse import csr_array, issparse

from latens.array import Array, Floats

MOST_LOCKED = 500  # numbers of an answer up to which NumPy's operators do not let other threads go on
LEAST_UNLOCKED = 2**17  # multiplications in which it pays to let them
LEAST_PINNED = 2**15  # numbers that come faster from a GPU through memory which is held in place
LEAST_CHUNK = 512  # rows whose products are added in single precision before double takes over

__all__ = [
    "cast",
    "column_sums",
    "cross_sums",
    "cross_sums_begun",
    "cross_sums_together",
    "detached",
    "host",
    "host_columns",
    "is_on_gpu",
    "is_sparse",
    "like",
    "n_bytes",
    "namespace",
    "of_library",
    "product_sums",
    "products_near",
    "short_indices",
    "take",
    "to_numpy",
    "total",
]


def like(values: Any, x: Array) -> Array:
    """Host numbers as an array of x's library, dtype and device; of NumPy where x is sparse."""
    if isinstance(x, np.ndarray) or is_sparse(x):
        return np.asarray(values, dtype=x.dtype)
    if is_on_gpu(x):
        return _sent(np.asarray(values), x, x.dtype)
    values = np.array(values)  # other libraries may keep the memory, and would write to it
    return array_namespace(x).asarray(values, dtype=x.dtype, device=device(x))


def _sent(values: Any, x: Array, dtype: Any) -> Array:
    """Numbers of NumPy on x's GPU, from memory that the device reads by itself: the host does not wait for it.

    NumPy writes them there. Torch would wake all cores for a few thousand numbers, which takes milliseconds.
    """
    ready = array_namespace(x).empty(values.shape, dtype=dtype, pin_memory=True)
    np.copyto(ready.numpy(), values, casting="unsafe")
    return ready.to(x.device, non_blocking=True)


def host(values: Array) -> Floats:
    """Values as float64 NumPy: the form in which statistics are kept and added."""
    if isinstance(values, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    values = detached(values)
    if is_on_gpu(values) and values.numel() > LEAST_PINNED:
        return np.asarray(_under_way(values)(), dtype=np.float64)
    if is_torch_array(values) or is_cupy_array(values):
        values = to_device(values, "cpu")
    return np.asarray(values, dtype=np.float64)


def _under_way(values: Array) -> Callable[[], Any]:
    """What waits for numbers of a GPU, in memory that the device writes by itself, several times as fast as a copy."""
    torch = import_module("torch")
    ready = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    ready.copy_(values, non_blocking=True)
    done = torch.cuda.Event()
    done.record(torch.cuda.current_stream(values.device))

    def answer() -> Any:
        done.synchronize()
        return ready.numpy()

    return answer


def host_columns(x: Array) -> Floats:
    """The same of a table (n, D) that is looked at column by column: numbers of a column lie together."""
    if is_on_gpu(x):  # which turns it in no time
        return host(x.T.to(array_namespace(x).float64).contiguous()).T
    return np.asfortranarray(host(x))


def products_near(matrix: Floats, x: Array | None) -> Callable[[Floats], Floats] | None:
    """A matrix of the host times columns of the host, made in double precision on x's GPU; None if it is on none."""
    if x is None or not is_on_gpu(x):
        return None
    double = array_namespace(x).float64
    there = _sent(matrix, x, double)
    return lambda columns: host(there @ _sent(columns, x, double))


def to_numpy(values: Array) -> Any:
    """The same numbers of NumPy, in the precision they have."""
    values = detached(values)
    return np.asarray(to_device(values, "cpu") if is_torch_array(values) or is_cupy_array(values) else values)


def of_library(values: Any, x: Array) -> Array:
    """Numbers of NumPy as an array of x's library and device, in the precision they have."""
    return array_namespace(x).asarray(np.array(values), device=device(x))


def detached(x: Array) -> Array:
    """The same numbers without the graph of derivatives that torch may keep with them."""
    return x.detach() if is_torch_array(x) else x


def namespace(x: Array) -> Any:
    """The functions of x's library, found at once for arrays of NumPy: asking may take longer than a small sum does."""
    return array_api_compat.numpy if isinstance(x, np.ndarray) else array_namespace(x)


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix of SciPy, which only some models take."""
    return bool(issparse(x))


def n_bytes(value: Any) -> int:
    """Bytes of the arrays in a value: a record of records, a mapping or a sequence of them, or an array itself."""
    if is_sparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if is_dataclass(value):
        return sum(n_bytes(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, Mapping):
        return sum(map(n_bytes, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(n_bytes, value))
    return int(getattr(value, "nbytes", 0))


def is_on_gpu(x: Any) -> bool:
    """Whether x is a tensor of torch on a GPU, which Triton's kernels take."""
    return bool(getattr(x, "is_cuda", False))


def short_indices(x: Any) -> Any:
    """A CSR array with indices of 32 bits where these suffice, since compiled code of others takes no longer ones."""
    if x.indices.dtype == np.int32 or max(*x.shape, x.nnz) > np.iinfo(np.int32).max:
        return x
    return csr_array((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def cast(values: Array, x: Array) -> Array:
    """An array of x's library in x's dtype."""
    return values if values.dtype == x.dtype else array_namespace(values).astype(values, x.dtype)


def take(x: Array, index: Any, axis: int = 0) -> Array:
    """Entries of x at the host's positions along an axis."""
    if isinstance(x, np.ndarray):  # whose own function copies all of x first, where numbers of a row lie apart
        where: tuple[Any, ...] = (*[slice(None)] * axis, np.asarray(index))
        return x[where]
    xp = array_namespace(x)
    if is_on_gpu(x):
        return x.index_select(axis, _sent(np.asarray(index), x, xp.int64))
    return xp.take(x, xp.asarray(index, device=device(x)), axis=axis)


def column_sums(values: Array) -> Floats:
    """(D,), sums of (n, D) on the host, accumulated in float64 whatever the rows' precision; on a GPU by chunks."""
    return host(_columns(values))


def _columns(values: Array) -> Array:
    """The same where the rows are."""
    if isinstance(values, np.ndarray):
        return np.asarray(values.sum(axis=0, dtype=np.float64))
    xp = array_namespace(values)
    if is_on_gpu(values) and values.dtype == xp.float32:  # which would be copied to float64 first
        whole = values.shape[0] - values.shape[0] % LEAST_CHUNK
        chunks = xp.reshape(values[:whole, :], (whole // LEAST_CHUNK, LEAST_CHUNK, values.shape[1]))
        values = xp.concat([xp.sum(chunks, axis=1), values[whole:, :]], axis=0)
    return xp.sum(values, axis=0, dtype=xp.float64)


def sums_together(*parts: Array) -> list[Floats]:
    """The same of several arrays (n, .); elsewhere than in NumPy at once, since the host waits for each answer."""
    if isinstance(parts[0], np.ndarray):
        return [column_sums(part) for part in parts]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    return np.split(column_sums(array_namespace(*parts).concat(parts, axis=1)), ends)


def cross_sums(a: Array, b: Array) -> Floats:
    """(K, D), sum over rows of a (n, K) times b (n, D), on the host; float64, since residuals are its differences."""
    return host(_cross(a, b))


def cross_sums_together(
    *pairs: tuple[Array, Array], columns: Sequence[Array] = (), chunks: Array | None = None
) -> list[Floats]:
    """The same of several pairs; elsewhere than in NumPy at once, since the host waits for each answer.

    After them come the sums (D,) of each of the `columns` (n, D). With `chunks` (C, K, L), of rows of another library,
    their sum comes last.
    """
    return cross_sums_begun(*pairs, columns=columns, chunks=chunks)()


def cross_sums_begun(
    *pairs: tuple[Array, Array], columns: Sequence[Array] = (), chunks: Array | None = None
) -> Callable[[], list[Floats]]:
    """What gives these sums when it is called; a GPU works on them meanwhile."""
    found = [*(_cross(a, b) for a, b in pairs), *map(_columns, columns)]
    if chunks is not None:
        xp = array_namespace(chunks)
        found.append(xp.sum(chunks, axis=0, dtype=xp.float64))
    if isinstance(found[0], np.ndarray):
        return lambda: found
    xp, shapes = array_namespace(*found), [part.shape for part in found]
    flat = xp.concat([xp.reshape(part, (-1,)) for part in found])
    numbers = _under_way(flat) if is_on_gpu(flat) else partial(host, flat)
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return lambda: [part.reshape(shape) for part, shape in zip(np.split(numbers(), ends), shapes, strict=True)]


def _cross(a: Array, b: Array) -> Array:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _of_rows(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
    xp = array_namespace(a, b)
    if is_torch_array(a) and a.dtype == b.dtype == xp.float32:
        return _sums_by_chunks(a, b)
    return xp.astype(a, xp.float64, copy=False).T @ xp.astype(b, xp.float64, copy=False)


def product_sums(a: Array, b: Array) -> Floats:
    """The same in the precision of the rows where these are of NumPy."""
    if is_sparse(b):
        return host(a.T @ b)
    return host(_of_rows(a, b)) if isinstance(a, np.ndarray) else cross_sums(a, b)


def _of_rows(a: Floats, b: Floats) -> Floats:
    """a.T @ b of NumPy, while which other threads may go on; the operator lets them only where the answer is large."""
    n_sums = a.shape[1] * b.shape[1]
    return np.asarray(np.dot(a.T, b) if n_sums <= MOST_LOCKED and len(a) * n_sums >= LEAST_UNLOCKED else a.T @ b)


def _sums_by_chunks(a: Array, b: Array) -> Array:
    """Products in the precision of the rows, chunk by chunk, and float64 sums of the chunks: rounding averages out.

    Chunks are so long that their sums take no more memory than the rows.
    """
    xp, (n, k), d = array_namespace(a), a.shape, b.shape[1]
    size = max(LEAST_CHUNK, k * d // max(k + d, 1))
    whole = n - n % size
    chunks = (xp.reshape(part[:whole, :], (n // size, size, part.shape[1])) for part in (a, b))
    left, right = chunks
    total = xp.sum(xp.matrix_transpose(left) @ right, axis=0, dtype=xp.float64)
    return total + xp.astype(a[whole:, :].T @ b[whole:, :], xp.float64)


def total(values: Array) -> float:
    """The sum of all entries as a Python number, accumulated in float64."""
    if isinstance(values, np.ndarray):
        return float(values.sum(dtype=np.float64))
    xp = array_namespace(values)
    return float(xp.sum(values, dtype=xp.float64))
