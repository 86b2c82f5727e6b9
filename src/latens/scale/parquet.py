"""Parquet: files, patterns of names, folders with hive partitions, object storage, and datasets of pyarrow."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from latens.scale.blocks import Block, Stamp, as_numbers
from latens.system.optional_imports import require

__all__ = ["ParquetReader", "parquet_reader"]


@dataclass(frozen=True)
class ParquetReader:
    """Row groups of the files of a dataset; a row group is the least that can be read of a file."""

    dataset: Any  # pyarrow.dataset.Dataset
    stamps: tuple[Stamp, ...]  # of the files, in the order of the fragments; empty for a dataset that has none
    system: Any = None  # pyarrow.fs.FileSystem that the files are in; None: that of the machine
    concurrent: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.dataset.schema.names)

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        arrow = require("pyarrow", "table")
        return np.dtype(np.float32 if set(self.dataset.schema.types) == {arrow.float32()} else np.float64)

    def handles(self, block_rows: int | None) -> Sequence[Any]:
        """(number of the file, row group, first row within it, last row), row groups cut at `block_rows` rows."""
        found = []
        for number, fragment in enumerate(self.dataset.get_fragments()):
            fragment.ensure_complete_metadata()
            for part in fragment.row_groups:
                step = part.num_rows if block_rows is None else block_rows
                starts = range(0, part.num_rows, max(step, 1))
                found += [(fragment, number, part.id, at, min(at + step, part.num_rows)) for at in starts]
        return found

    def read(self, handle: Any, numbers: Sequence[str], others: Sequence[str]) -> Block:
        fragment, number, group, start, stop = handle
        if self.stamps:
            self.stamps[number].check(self.system)
        part = fragment.subset(row_group_ids=[group])
        table = part.to_table(columns=[*numbers, *others], schema=self.dataset.schema).slice(start, stop - start)
        read = {name: table.column(name).to_numpy() for name in table.column_names}
        where = self.stamps[number].path if self.stamps else str(fragment.path)
        return Block(as_numbers({name: read[name] for name in numbers}, where), {name: read[name] for name in others})


def parquet_reader(source: Any) -> ParquetReader:
    """A path, pattern, folder or address of object storage, or a dataset of pyarrow that exists already.

    Raises
    ------
    FileNotFoundError
        If nothing answers to the name or the pattern.
    ValueError
        For an address of a kind that pyarrow does not know.
    """
    datasets = require("pyarrow.dataset", "table")
    if isinstance(source, datasets.Dataset):
        system = getattr(source, "filesystem", None)
        return ParquetReader(source, tuple(Stamp.of(path, system) for path in getattr(source, "files", ())), system)
    if isinstance(source, Sequence) and not isinstance(source, str):
        system, paths = None, [str(path) for path in source]
    elif "://" in str(source):
        system, paths = _stored(str(source))
    else:
        system, paths = None, [str(source)] if Path(source).exists() else sorted(glob.glob(str(source)))
    if not paths:
        raise FileNotFoundError(f"no file matches {str(source)!r}; check the name or the pattern.")
    given = paths[0] if len(paths) == 1 else paths
    try:
        dataset = datasets.dataset(given, filesystem=system, format="parquet", partitioning="hive")
    except require("pyarrow", "table").ArrowInvalid as error:
        raise ValueError(
            f"{str(source)!r} holds files that are no Parquet; name those that are, by a pattern such as "
            f"part-*.parquet: {error}"
        ) from error
    return ParquetReader(dataset, tuple(Stamp.of(path, system) for path in dataset.files), system)


def _stored(address: str) -> tuple[Any, list[str]]:
    """The file system that an address of object storage belongs to, and the names in it that it stands for."""
    files = require("pyarrow.fs", "table")
    folder, _, pattern = address.rpartition("/")
    if not any(mark in pattern for mark in "*?["):
        folder, pattern = address, ""
    try:
        system, path = files.FileSystem.from_uri(folder)
    except ValueError as error:
        raise ValueError(
            f"{address!r} is no address that pyarrow reads ({error}); give s3://, gs://, abfs:// or hdfs://, another "
            "store by fsspec as fsspec+name://, or a pyarrow.dataset with a file system of its own."
        ) from error
    if not pattern:
        return system, [path] if system.get_file_info(path).type != files.FileType.NotFound else []
    inside = system.get_file_info(files.FileSelector(path, allow_not_found=True))
    return system, sorted(one.path for one in inside if one.is_file and fnmatchcase(one.base_name, pattern))
