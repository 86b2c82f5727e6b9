"""Some rows of a stream, in data units: each row seen so far is as likely to be among them as any other.

With a window each of the last so many rows is, and those before are gone.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from latens.array import Floats, Index
from latens.array.fields import record, sized
from latens.array.transfer import host, is_sparse
from latens.core import Rows
from latens.estimators.rows.sampling import chosen_rows, stacked

__all__ = ["Reservoir", "capacity_for"]

LEAST_ROWS, ROWS_PER_PARAMETER = 2000, 10  # a fit to so many is about a twentieth of a nat a row from one to all
MOST_BYTES = 2**28  # of dense rows; wide tables have fewer of them
FEWEST_ROWS = 200  # however wide
ROOM = 0.9  # of the capacity, for a share of a window: how many rows that is, is chance


def capacity_for(n_parameters: int, n_columns: int) -> int:
    """Rows to keep for a model of so many parameters.

    >>> capacity_for(300, 20), capacity_for(10**6, 20_000)
    (3000, 1677)
    """
    most = max(FEWEST_ROWS, MOST_BYTES // (8 * n_columns))
    return min(max(LEAST_ROWS, ROWS_PER_PARAMETER * n_parameters), most)


@record(eq=False)
class Reservoir:
    """Rows with the lowest of random keys, in the order in which they came, with their own weights.

    Rows are dense or, for binary rows that came as CSR, given by the columns of their ones.
    """

    seed: int  # of the keys
    capacity: int
    n_columns: int
    n_rows: int  # seen so far, here or not
    n: float  # what those count; with a window, what those in it do
    keys: Floats = sized("rows")
    values: Floats | None = sized("rows d", default=None)
    seen: NDArray[np.bool_] | None = sized("rows d", default=None)
    weight: Floats | None = sized("rows", default=None)  # None: every row counts once
    starts: Index | None = sized("rows+1", default=None)  # of each row, in `ones`
    ones: Index | None = sized("ones", default=None)  # columns
    # what else is known of the rows
    aux: dict[str, Floats] = field(default_factory=dict, metadata={"shape": "rows;rows columns"})
    window: int | None = None  # rows after which one is gone; None: never
    numbers: Index | None = sized("rows", default=None)  # of rows within the stream, where there is a window

    @classmethod
    def empty(cls, seed: int, capacity: int, n_columns: int, window: int | None = None) -> Reservoir:
        numbers = None if window is None else np.zeros(0, dtype=np.intp)
        return cls(seed, capacity, n_columns, 0, 0.0, np.zeros(0), window=window, numbers=numbers)

    def add(self, rows: Rows) -> Reservoir:
        """With one more batch."""
        keys = np.random.default_rng([self.seed, self.n_rows]).random(len(rows))
        both = np.concatenate([self.keys, keys])
        counted = replace(self, n_rows=self.n_rows + len(rows), n=self.n + rows.n)
        held, numbers = len(self.keys), None
        chosen = np.arange(len(both))
        if self.numbers is not None:
            numbers = np.concatenate([self.numbers, self.n_rows + np.arange(len(rows))])
            chosen = chosen[counted._stays(numbers, both)]
        if len(chosen) > self.capacity:
            chosen = np.sort(chosen[np.argpartition(both[chosen], self.capacity)[: self.capacity]])
        if numbers is None and len(chosen) == held and (not held or chosen[-1] < held):
            return counted
        new = _rows_at(rows, chosen[chosen >= held] - held)
        sample = _joined(_rows_at(self.rows, chosen[chosen < held]), new) if held else new
        added = replace(counted, keys=both[chosen], **_fields_of(sample))
        if numbers is None:
            return added
        return replace(added, numbers=numbers[chosen], n=sample.n * added.n_within / len(sample))

    def _stays(self, numbers: Index, keys: Floats) -> NDArray[np.bool_]:
        """Which rows are within the window, and in the share of it that there is room for."""
        if self.window is None or self.n_rows <= self.window:
            return np.ones(len(keys), dtype=bool)
        share = 1.0 if self.window <= self.capacity else ROOM * self.capacity / self.window
        return np.asarray((numbers >= self.n_rows - self.window) & (keys < share))

    @property
    def n_within(self) -> int:
        """Rows that those here stand for: all of the stream, or of the window."""
        return self.n_rows if self.window is None else min(self.n_rows, self.window)

    @property
    def rows(self) -> Rows:
        if self.starts is not None and self.ones is not None:
            shape = (len(self.keys), self.n_columns)
            places = self.ones.astype(np.int32), self.starts.astype(np.int32)  # what scikit-learn takes
            x = csr_array((np.ones(len(self.ones)), *places), shape=shape)
            return Rows(x, None, self.weight, self.aux)
        values = np.zeros((0, self.n_columns)) if self.values is None else self.values
        return Rows(values, self.seen, self.weight, self.aux)

    @property
    def is_whole(self) -> bool:
        """Whether every row of the stream, or of its window, is here."""
        return self.n_within == len(self.keys)

    @property
    def each(self) -> float:
        """How many rows of the stream a row here stands for."""
        return 1.0 if self.is_whole else self.n / self.rows.n

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        parts = (
            self.keys,
            self.values,
            self.seen,
            self.weight,
            self.starts,
            self.ones,
            self.numbers,
            *self.aux.values(),
        )
        return sum(part.nbytes for part in parts if part is not None)


def _rows_at(rows: Rows, which: Index) -> Rows:
    """These rows on the host, with their weights."""
    weight = None if rows.weight is None else host(rows.weight)[which]
    part = replace(chosen_rows(rows, which), weight=weight)
    if is_sparse(part.x):
        x = csr_array(part.x)
        x.eliminate_zeros()
        return replace(part, x=x)
    return part


def _joined(first: Rows, second: Rows) -> Rows:
    plain = first.weight is None and second.weight is None
    if is_sparse(first.x) and is_sparse(second.x):
        below = stacked([replace(part, x=np.zeros((len(part), 0))) for part in (first, second)])
        both = replace(below, x=csr_array(vstack([first.x, second.x])))
    else:
        both = stacked([_dense(first), _dense(second)])
    return replace(both, weight=None) if plain else both


def _dense(rows: Rows) -> Rows:
    return replace(rows, x=rows.x.toarray()) if is_sparse(rows.x) else rows


def _fields_of(rows: Rows) -> dict[str, Any]:
    """The fields that hold these rows."""
    parts = {"values": rows.x, "seen": rows.seen, "weight": rows.weight, "aux": dict(rows.aux)}
    if not is_sparse(rows.x):
        return parts | {"starts": None, "ones": None}
    return parts | {"values": None, "starts": rows.x.indptr.astype(np.intp), "ones": rows.x.indices.astype(np.intp)}
