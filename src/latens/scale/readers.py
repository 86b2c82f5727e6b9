"""Which reader reads a source: by what it is, by where its type is from, by the ending of its path.

Apart from `scan`, so that an estimator, which has to know a scan when it is given one, loads no reader for it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latens.scale.annotated import anndata_reader
from latens.scale.arrays import ArrayReader, hdf5_reader, npy_reader, zarr_reader
from latens.scale.blocks import Reader
from latens.scale.csv_files import csv_reader
from latens.scale.iterators import IteratorReader, is_data_loader, loader_reader
from latens.scale.lazy_frames import is_lazy_frame, lazy_frame_reader
from latens.scale.parquet import parquet_reader

__all__ = ["reader_of"]


def reader_of(source: Any) -> Reader:
    """What reads its blocks; refuses what is in memory as a frame already, and what nothing here can read."""
    if is_data_loader(source):
        return loader_reader(source)
    if is_lazy_frame(source):
        return lazy_frame_reader(source)
    if callable(source) and not hasattr(source, "shape"):
        return IteratorReader(source)
    home = type(source).__module__.partition(".")[0]
    if hasattr(source, "column_names") or (hasattr(source, "columns") and home in ("pandas", "polars")):
        raise TypeError(
            f"a {type(source).__name__} is in memory already: give it to fit as it is; what is scanned is a path, a "
            "pattern of paths, a pyarrow dataset, a LazyFrame, or a function that returns an iterator."
        )
    by_home: dict[str, Callable[[Any], Reader]] = {
        "pyarrow": parquet_reader,
        "zarr": zarr_reader,
        "h5py": hdf5_reader,
        "anndata": anndata_reader,
    }
    if home in by_home:
        return by_home[home](source)
    if isinstance(source, np.memmap) and source.filename is not None:
        return npy_reader(source.filename) if str(source.filename).endswith(".npy") else _in_memory(source)
    if isinstance(source, np.ndarray):
        return _in_memory(source)
    if isinstance(source, str | os.PathLike):
        return _path_reader(str(source))
    if isinstance(source, Sequence) and source and all(isinstance(one, str | os.PathLike) for one in source):
        return parquet_reader([str(one) for one in source])
    raise TypeError(
        f"a {type(source).__name__} cannot be scanned; give a path, a pattern of paths, a pyarrow dataset, a "
        "LazyFrame, a zarr or HDF5 array, a backed AnnData, a DataLoader, or a function that returns an iterator."
    )


def _path_reader(path: str) -> Reader:
    ending = Path(path.partition("::")[0]).suffix.lower()
    by_ending: dict[str, Callable[[Any], Reader]] = {
        ".npy": npy_reader,
        ".zarr": zarr_reader,
        ".h5": hdf5_reader,
        ".hdf5": hdf5_reader,
        ".h5ad": anndata_reader,
        ".parquet": parquet_reader,
        ".pq": parquet_reader,
    }
    if "://" in path and ending in (".csv", ".tsv", ".txt", ".npy", ".h5", ".hdf5", ".h5ad"):
        raise ValueError(
            f"{path!r}: of object storage Parquet and zarr are read, and {ending} is not; store it as Parquet, or "
            "fetch the file."
        )
    if ending == ".npz":
        raise ValueError(f"{path!r} is an archive, of which no block can be read alone; store the array by np.save.")
    if ending in (".csv", ".tsv", ".txt") and glob.has_magic(path) and not Path(path).exists():
        raise ValueError(
            f"{path!r}: patterns name Parquet files, and a CSV file is scanned alone; store the files as Parquet, or "
            "give a function that reads them one after another: latens.scan(lambda: map(pandas.read_csv, files))."
        )
    if ending in by_ending:
        return by_ending[ending](path)
    if Path(path).is_dir() or "://" in path:
        return parquet_reader(path)
    return csv_reader(path)


def _in_memory(values: Any) -> Reader:
    dtype = values.dtype if values.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return ArrayReader(values, (int(values.shape[0]), int(values.shape[1])), dtype)
