"""Arrays that are stored whole and read in slices: npy, memory maps, zarr, HDF5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array.transfer import is_sparse
from latens.scale.blocks import Block, Stamp, row_ranges
from latens.system.optional_imports import require

__all__ = ["BLOCK_BYTES", "ArrayReader", "as_floats", "hdf5_reader", "npy_reader", "zarr_reader"]

BLOCK_BYTES = 2**23  # of a block, where the caller does not say how many rows it has


@dataclass(frozen=True)
class ArrayReader:
    """Anything two-dimensional that slices by rows. Opened anew in every process, from what `place` says."""

    place: Any  # (opener's name, path, name inside), or the array itself
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    stamp: Stamp | None = None
    names: tuple[str, ...] | None = None
    concurrent: bool = True

    @property
    def n_columns(self) -> int:
        return self.shape[1]

    def handles(self, block_rows: int | None) -> Sequence[tuple[int, int]]:
        rows = block_rows or max(1, BLOCK_BYTES // max(self.shape[1] * self.dtype.itemsize, 1))
        return row_ranges(self.shape[0], rows)

    def read(self, handle: tuple[int, int], numbers: Sequence[int], others: Sequence[int]) -> Block:
        if self.stamp is not None:
            self.stamp.check()
        values = _opened(self.place)[handle[0] : handle[1]]
        values = values if is_sparse(values) else np.asarray(values)
        entries = {str(column): np.asarray(values[:, column]) for column in others}
        columns = values if list(numbers) == list(range(self.shape[1])) else values[:, list(numbers)]
        return Block(as_floats(columns), entries)


def npy_reader(path: Any) -> ArrayReader:
    """A file of `numpy.save`, never read whole."""
    stamp = Stamp.of(path)
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    return _array_reader(values, ("npy", str(path), ""), str(path), stamp)


def zarr_reader(source: Any) -> ArrayReader:
    """An array of zarr: a path, or the object."""
    zarr = require("zarr", "zarr")
    values = zarr.open_array(str(source), mode="r") if isinstance(source, str) else source
    place = ("zarr", source, "") if isinstance(source, str) else source
    return _array_reader(values, place, str(source), None)


def hdf5_reader(source: Any) -> ArrayReader:
    """ "file.h5::name", or a dataset of h5py; a file with one array of two dimensions needs no name."""
    h5py = require("h5py", "omics")
    if not isinstance(source, str):
        path, name = source.file.filename, source.name
    else:
        path, _, name = source.partition("::")
        Stamp.of(path)
        with h5py.File(path, "r") as file:
            name = name or _only_matrix(file, path)
            if name not in file:
                raise ValueError(f"{path!r} holds no {name!r}; it has {', '.join(sorted(file))}.")
    with h5py.File(path, "r") as file:
        return _array_reader(file[name], ("hdf5", path, name), f"{path}::{name}", Stamp.of(path))


def _array_reader(values: Any, place: Any, where: str, stamp: Stamp | None) -> ArrayReader:
    if not hasattr(values, "shape"):  # a group of HDF5
        raise ValueError(f"{where} is a group and no array; name one of those in it: {', '.join(sorted(values))}.")
    if len(values.shape) != 2:
        raise ValueError(f"{where} has shape {tuple(values.shape)}; expected two dimensions, rows x columns.")
    dtype = np.dtype(values.dtype)
    if dtype.kind not in "fiub":
        raise ValueError(f"{where} holds {dtype.name}, not numbers; store it as float32 or float64.")
    dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return ArrayReader(place, (int(values.shape[0]), int(values.shape[1])), dtype, stamp)


def _opened(place: Any) -> Any:
    if not isinstance(place, tuple):
        return place
    kind, path, name = place
    if kind == "npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if kind == "zarr":
        return require("zarr", "zarr").open_array(path, mode="r")
    return _Hdf5Rows(path, name)


@dataclass(frozen=True)
class _Hdf5Rows:
    """A dataset of HDF5 that is open only while rows are read, so that no handle is shared by threads."""

    path: str
    name: str

    def __getitem__(self, rows: slice) -> Any:
        with require("h5py", "omics").File(self.path, "r") as file:
            return file[self.name][rows]


def _only_matrix(file: Any, path: str) -> str:
    found = [name for name, item in file.items() if len(getattr(item, "shape", ())) == 2]
    if len(found) != 1:
        raise ValueError(
            f"{path!r} holds {len(found)} arrays of two dimensions ({', '.join(found) or 'none'}); "
            f"say which one: scan('{path}::{found[0] if found else 'name'}')."
        )
    return str(found[0])


def as_floats(values: Any) -> Any:
    """Dense, and float32 or float64 as it was stored; other kinds of numbers become float64."""
    if is_sparse(values):
        values = values.toarray()
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
