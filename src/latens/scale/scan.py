"""`latens.scan`: data that stay where they are, as something every `fit` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import Rows, Source
from latens.inference.sweep import serial_sweep
from latens.scale.blocks import Block, Reader
from latens.scale.joblib_blocks import active_sweep
from latens.system.wording import listed

__all__ = ["Known", "Scan", "as_rows", "scan"]


@dataclass(frozen=True, eq=False)
class Scan:
    """Rows in files or behind iterators, and what their columns are for. Made by `latens.scan`."""

    reader: Reader
    handles: tuple[Any, ...]
    columns: tuple[Any, ...]  # of measurements, by name, or by number where there are no names
    target: Any = None
    weights: Any = None
    groups: Any = None
    exposure: Any = None
    row_names: Any = None
    covariates: tuple[Any, ...] = ()

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the measurements, None where the columns have none."""
        return None if self.reader.names is None else tuple(map(str, self.columns))

    @property
    def n_blocks(self) -> int:
        return len(self.handles)

    def block(self, number: int, *others: Any) -> Block:
        """The measurements of one block, and further columns."""
        return self.reader.read(self.handles[number], self.columns, others)

    def __iter__(self) -> Iterator[Any]:
        """Measurements (n, D), block by block."""
        return (self.numbers(number) for number in range(self.n_blocks))

    def __getitem__(self, number: int) -> Any:
        """The same of one block; the last one is -1."""
        return self.numbers(number)

    def numbers(self, number: int) -> Any:
        """The measurements (n, D) of one block."""
        return self.block(number).numbers

    def column(self, number: int, name: Any) -> Any:
        """(n,), a column of one block that is no measurement."""
        return self.reader.read(self.handles[number], self.columns[:1], (name,)).others[str(name)]

    def known(self, number: int) -> dict[str, Any]:
        """What methods of a model take beside the measurements of a block, by name."""
        return {} if self.exposure is None else {"exposure": self.column(number, self.exposure)}

    def known_covariates(self, number: int) -> dict[str, Any]:
        """The covariates (n,) of one block, by name."""
        others = self.reader.read(self.handles[number], self.columns[:1], self.covariates).others
        return {str(name): others[str(name)] for name in self.covariates}

    def names_of_rows(self, number: int) -> Any:
        """(n,), what the rows of a block are called; None where no column says it."""
        return None if self.row_names is None else self.column(number, self.row_names)

    def identity(self, number: int) -> Any:
        """What tells a block from another in its place: when its file was last changed, else its numbers."""
        stamps = getattr(self.reader, "stamps", ()) or getattr(self.reader, "stamp", None)
        return [self.columns, self.row_names, self.n_blocks, stamps or self.numbers(number)]

    def source(self, *known: Known) -> Source:
        """The same for the engine: rows with their weights and what else is known of them, missing entries found."""
        remote_sweep = active_sweep() if self.reader.concurrent else None
        return Source(
            handles=self.handles,
            load=LoadBlock(self.reader, self.columns, self.weights, known),
            n_columns=len(self.columns),
            dtype=self.reader.dtype,
            sweep=remote_sweep or serial_sweep,
            feature_names=self.feature_names,
            concurrent=self.reader.concurrent,
            remote=remote_sweep is not None,
        )

    def __repr__(self) -> str:
        parts = {"target": self.target, "weights": self.weights, "groups": self.groups, "exposure": self.exposure,
                 "covariates": list(self.covariates) or None}  # fmt: skip
        given = "".join(f", {name}={value!r}" for name, value in parts.items() if value is not None)
        return f"Scan({self.n_blocks} blocks of {len(self.columns)} columns{given})"


@dataclass(frozen=True)
class Known:
    """Columns that tell something of the rows that is given and not modelled."""

    name: str  # what rows call it
    columns: tuple[Any, ...]
    read: Callable[..., Floats]  # the values (n,) of each column, and the rows they belong to


@dataclass(frozen=True)
class LoadBlock:
    """handle -> Rows, wherever it is called."""

    reader: Reader
    columns: tuple[Any, ...]
    weights: Any = None
    known: tuple[Known, ...] = ()

    def __call__(self, handle: Any) -> Rows:
        others = () if self.weights is None else (self.weights,)
        extra = (column for one in self.known for column in one.columns)
        block = self.reader.read(handle, self.columns, (*others, *extra))
        rows = as_rows(block.numbers, None if self.weights is None else block.others[str(self.weights)])
        if not self.known:
            return rows
        aux = {one.name: one.read(*(block.others[str(column)] for column in one.columns), rows) for one in self.known}
        return replace(rows, aux=aux)


def as_rows(x: Any, weight: Any = None) -> Rows:
    """An array with NaN as rows; a row without any value counts nothing."""
    known = None if weight is None else _checked(np.asarray(weight, dtype=np.float64))
    if np.isfinite(x.sum()):  # one pass, and nothing of the size of x, where nothing is missing
        return Rows(x, None, None if known is None else known.astype(x.dtype))
    hole = np.isnan(x)
    if not hole.any():
        return Rows(x, None, None if known is None else known.astype(x.dtype))
    shown = ~hole.all(axis=1)
    if known is not None or not shown.all():
        known = np.where(shown, 1.0 if known is None else known, 0.0).astype(x.dtype)
    return Rows(np.where(hole, np.zeros((), x.dtype), x), ~hole, known)


def _checked(weight: Floats) -> Floats:
    if not np.isfinite(weight).all() or weight.min(initial=0.0) < 0:
        raise ValueError("the column of weights holds negative or missing values; give each row a weight of 0 or more.")
    return weight


def scan(
    source: Any,
    *,
    columns: Sequence[Any] | None = None,
    target: Any = None,
    weights: Any = None,
    groups: Any = None,
    exposure: Any = None,
    row_names: Any = None,
    covariates: Any = None,
    block_rows: int | None = None,
) -> Scan:
    """Describe data without loading them into memory.

    Parameters
    ----------
    source : path, object or function
        CSV or TSV; Parquet (a file, a pattern such as ``part-*.parquet``, a folder with hive partitions, an address of
        object storage, a `pyarrow.dataset`, a LazyFrame of polars); npy or a memory map; zarr; HDF5 ("file.h5::name");
        h5ad or a backed AnnData; a DataLoader of torch; or a function that returns an iterator of arrays, a new one
        at every call.
    columns : sequence, optional
        Columns that are measurements, by name, or by number if the data have no names. None: all columns without
        another role.
    target, weights, groups, exposure, row_names : column, optional
        The column that a regression predicts; how often each row counts; the group of each row; the exposure of its
        counts; the names of rows.
    covariates : column or sequence of columns, optional
        Known properties of the rows besides their measurements, numbers or labels, for `MultiViewFactorAnalysis`.
    block_rows : int, optional
        Number of rows in a block. By default the rows that the format stores together, or about 8 MB.

    Returns
    -------
    Scan
        Accepted by every `fit`, `partial_fit`, `transform`, `score` and `predict`; a dict of scans gives views.

    Examples
    --------
    >>> import latens, numpy as np
    >>> blocks = [np.ones((3, 2)), np.zeros((2, 2))]
    >>> latens.scan(lambda: iter(blocks))
    Scan(2 blocks of 2 columns)
    """
    if block_rows is not None and (isinstance(block_rows, bool) or int(block_rows) != block_rows or block_rows < 1):
        raise ValueError(f"block_rows={block_rows!r} is no number of rows; give a whole number of at least 1.")
    from latens.scale.readers import reader_of

    reader = reader_of(source)
    parts = {"target": target, "weights": weights, "groups": groups, "exposure": exposure, "row_names": row_names}
    given = {name: column for name, column in parts.items() if column is not None}
    known: Sequence[Any] = range(reader.n_columns) if reader.names is None else reader.names
    notes = getattr(reader, "notes", ())  # columns of `.obs` of AnnData
    beside = _listed_columns(covariates)
    for name, column in [*given.items(), *(("covariates", column) for column in beside)]:
        if column not in known and column not in notes:
            raise ValueError(f"{name}={column!r} is no column of the data; they have {listed(known, 8)}.")
    if columns is None:
        columns = [column for column in known if column not in (*given.values(), *beside)]
    absent = [column for column in columns if column not in known]
    if absent or not len(columns):
        raise ValueError(f"columns={list(columns)!r}: {listed(absent, 8) or 'none'} of the data's {listed(known, 8)}.")
    handles = tuple(reader.handles(block_rows))
    if not handles:
        raise ValueError(f"{source!r} holds no rows.")
    return Scan(reader, handles, tuple(columns), **given, covariates=beside)


def _listed_columns(columns: Any) -> tuple[Any, ...]:
    """One column, or several."""
    if columns is None:
        return ()
    return (columns,) if isinstance(columns, str | int | np.integer) else tuple(columns)
