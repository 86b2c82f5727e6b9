"""One array as the bytes of an npy file, written out here so that they are the same under every NumPy.

A reader that knows dtype and shape from the header knows every byte before the numbers, so nothing has to be parsed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["DTYPES", "dtype_name", "layout_of", "little_endian", "npy_prefix", "npy_size", "raw", "with_layout"]

# Numbers and truth values only: objects would need pickle, and structures could hold objects.
DTYPES = {
    name: np.dtype(name)
    for name in ("|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
}

Numbers = np.ndarray[Any, np.dtype[Any]]


def dtype_name(array: Numbers) -> str | None:
    """The name of the array's dtype in a file, or None for one that files do not hold.

    Examples
    --------
    >>> dtype_name(np.zeros(3, ">f4")), dtype_name(np.zeros(3, complex))
    ('<f4', None)
    """
    name = array.dtype.newbyteorder("<").str
    return name if name in DTYPES else None


def npy_prefix(dtype: str, shape: Sequence[int]) -> bytes:
    """What precedes the numbers in an npy file of format 1.0."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    start = b"\x93NUMPY\x01\x00"
    # numbers begin at a multiple of 64 bytes, so that the file can be mapped
    padding = -(len(start) + 2 + len(text) + 1) % 64
    body = text.encode("ascii") + b" " * padding + b"\n"
    return start + len(body).to_bytes(2, "little") + body


def npy_size(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of the whole npy file, in integers that cannot overflow.

    Examples
    --------
    >>> npy_size("<f8", [10])
    208
    """
    return len(npy_prefix(dtype, shape)) + math.prod(shape) * DTYPES[dtype].itemsize


def little_endian(array: Numbers) -> Numbers:
    """The same numbers in C order and little-endian; no copy where they are so already."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def raw(array: Numbers) -> memoryview:
    """The bytes of a C-ordered array, shared with it."""
    return array.reshape(-1).view(np.uint8).data


def layout_of(array: Numbers) -> list[int]:
    """Axes from the slowest to the fastest in memory.

    Sums and products round differently along different layouts, so a model that is to answer with the same bits
    must get its arrays back as they lay.

    Examples
    --------
    >>> layout_of(np.zeros((2, 3))), layout_of(np.zeros((2, 3)).T)
    ([0, 1], [1, 0])
    """
    axes = range(array.ndim)
    return list(axes) if array.flags.c_contiguous else sorted(axes, key=lambda axis: -abs(array.strides[axis]))


def with_layout(array: Numbers, layout: Sequence[int]) -> Numbers:
    """The same C-ordered numbers with their axes laid out as `layout_of` says."""
    if list(layout) == sorted(layout):
        return array
    return np.ascontiguousarray(array.transpose(layout)).transpose(np.argsort(layout))
