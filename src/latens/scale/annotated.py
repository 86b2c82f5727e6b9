"""AnnData on disk: rows of `.X`, and what `.obs` knows of them, a block at a time.

Of an h5ad file nothing is held but the names of its columns: the names of four million rows alone are half a gigabyte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from latens.array.transfer import is_sparse
from latens.scale.arrays import BLOCK_BYTES, as_floats
from latens.scale.blocks import Block, Reader, Stamp, row_ranges
from latens.system.optional_imports import require

__all__ = ["AnnDataReader", "H5adReader", "anndata_reader"]


@dataclass(frozen=True)
class AnnDataReader:
    """Rows of `.X` of an AnnData that the caller has opened; sparse rows stay sparse until a block is read."""

    data: Any  # anndata.AnnData, backed
    concurrent: bool = False  # one file handle of HDF5

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.data.var_names))

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(map(str, self.data.obs))

    @property
    def n_columns(self) -> int:
        return int(self.data.n_vars)

    @property
    def dtype(self) -> np.dtype[Any]:
        return _float(self.data.X.dtype)

    def handles(self, block_rows: int | None) -> Sequence[tuple[int, int]]:
        return _ranges(int(self.data.n_obs), self.n_columns, block_rows)

    def read(self, handle: tuple[int, int], numbers: Sequence[str], others: Sequence[str]) -> Block:
        start, stop = handle
        values = _rows(getattr(self.data.X, "group", self.data.X), start, stop, self.n_columns)
        notes = self.data.obs.iloc[start:stop]
        return Block(_chosen(values, self.names, numbers), {name: notes[name].to_numpy() for name in others})


@dataclass(frozen=True)
class H5adReader:
    """An h5ad file that is open only while rows are read, so that threads and other processes read it too."""

    stamp: Stamp
    n_rows: int
    names: tuple[str, ...]
    notes: tuple[str, ...]
    dtype: np.dtype[Any]
    concurrent: bool = True

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def handles(self, block_rows: int | None) -> Sequence[tuple[int, int]]:
        return _ranges(self.n_rows, self.n_columns, block_rows)

    def read(self, handle: tuple[int, int], numbers: Sequence[str], others: Sequence[str]) -> Block:
        self.stamp.check()
        start, stop = handle
        with require("h5py", "omics").File(self.stamp.path, "r") as file:
            values = _rows(file["X"], start, stop, self.n_columns)
            notes = {name: _note(file["obs"][name], start, stop) for name in others}
        return Block(_chosen(values, self.names, numbers), notes)


def anndata_reader(source: Any) -> Reader:
    """A backed AnnData, or the path of an h5ad file."""
    if not isinstance(source, str):
        return AnnDataReader(source)
    stamp = Stamp.of(source)
    with require("h5py", "omics").File(source, "r") as file:
        indexed = all("_index" in getattr(file.get(part), "attrs", ()) for part in ("obs", "var"))
        if indexed and "encoding-type" in getattr(file.get("X"), "attrs", ()):
            return _h5ad_reader(file, stamp)
    return AnnDataReader(require("anndata", "omics").read_h5ad(source, backed="r"))  # of an older layout


def _h5ad_reader(file: Any, stamp: Stamp) -> H5adReader:
    x, obs, var = file["X"], file["obs"], file["var"]
    names = tuple(map(str, _plain(var[var.attrs["_index"]], slice(None))))
    n_rows = int(x.attrs["shape"][0] if _holds(x, "indptr") else x.shape[0])
    dtype = _float(x["data"].dtype if _holds(x, "indptr") else x.dtype)
    return H5adReader(stamp, n_rows, names, tuple(map(str, obs.attrs["column-order"])), dtype)


def _holds(stored: Any, name: str) -> bool:
    """Whether it is a group of HDF5 with such a member; arrays have none."""
    return name in getattr(stored, "keys", tuple)()


def _ranges(n_rows: int, n_columns: int, block_rows: int | None) -> Sequence[tuple[int, int]]:
    return row_ranges(n_rows, block_rows or max(1, BLOCK_BYTES // max(8 * n_columns, 1)))


def _float(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype) if np.dtype(dtype) in (np.float32, np.float64) else np.dtype(np.float64)


def _chosen(values: Any, names: tuple[str, ...], numbers: Sequence[str]) -> Any:
    if tuple(numbers) != names:
        at = {name: column for column, name in enumerate(names)}
        values = values[:, [at[name] for name in numbers]]
    return as_floats(values)


def _rows(stored: Any, start: int, stop: int, n_columns: int) -> Any:
    """Rows of a matrix in HDF5, dense or as AnnData lays out sparse ones, without touching the others."""
    if not _holds(stored, "indptr"):
        values = stored[start:stop]
        return values if is_sparse(values) else np.asarray(values)
    if not str(stored.attrs.get("encoding-type", "csr_matrix")).startswith("csr"):
        raise ValueError("the matrix is stored by column (CSC), so rows cannot be read alone; write it as CSR.")
    bounds = stored["indptr"][start : stop + 1]
    part = slice(int(bounds[0]), int(bounds[-1]))
    rows = csr_array(
        (stored["data"][part], stored["indices"][part], bounds - bounds[0]), shape=(stop - start, n_columns)
    )
    return rows.toarray()


def _note(stored: Any, start: int, stop: int) -> Any:
    """A column of `.obs`: plain, categories with their codes, or values with a mask of those that are missing."""
    if _holds(stored, "codes"):
        codes, levels = stored["codes"][start:stop], _plain(stored["categories"], slice(None))
        return np.where(codes >= 0, levels[np.maximum(codes, 0)].astype(object), None)
    if _holds(stored, "mask"):
        values, missing = _plain(stored["values"], slice(start, stop)), stored["mask"][start:stop]
        return np.where(missing, np.nan if values.dtype.kind in "iuf" else None, values)
    return _plain(stored, slice(start, stop))


def _plain(stored: Any, rows: slice) -> Any:
    if _holds(stored, "values"):  # strings of newer files that may be missing
        return _plain(stored["values"], rows)
    return stored.asstr()[rows] if stored.dtype.kind in "OS" else stored[rows]
