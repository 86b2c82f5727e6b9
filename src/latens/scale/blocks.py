"""What every format answers: which columns there are, and the numbers of one block of rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from latens.array import Floats

__all__ = ["Block", "Reader", "Stamp", "as_numbers", "row_ranges"]


@dataclass(frozen=True)
class Block:
    """Some consecutive rows: the columns that are measurements, and others by name."""

    numbers: Any  # (n, D), float32 or float64, or CSR; NaN is missing
    others: Mapping[str, Any] = field(default_factory=dict)  # name -> (n,)


class Reader(Protocol):
    """One format. A frozen dataclass that can be sent to another process, unless `concurrent` is False."""

    @property
    def names(self) -> tuple[str, ...] | None: ...  # of all columns; None: they have none

    @property
    def n_columns(self) -> int: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def concurrent(self) -> bool: ...  # whether blocks may be read in any order, several at once

    def handles(self, block_rows: int | None) -> Sequence[Any]: ...

    def read(
        self, handle: Any, numbers: Sequence[Any], others: Sequence[Any]
    ) -> Block: ...  # columns by name or number


@dataclass(frozen=True)
class Stamp:
    """Size and time of a file when it was first looked at; a file that has changed since is refused.

    Of object storage the file system of pyarrow is asked, which is given each time: a stamp is data alone.
    """

    path: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str | os.PathLike[str], system: Any = None) -> Stamp:
        """Raises FileNotFoundError with the path, if there is no such file."""
        found = _size_and_time(str(path), system)
        if found is None:
            raise FileNotFoundError(
                f"there is no file {str(path)!r}; check the name, or the folder it is looked for in."
            )
        return cls(str(path), *found)

    def check(self, system: Any = None) -> None:
        """Refuse a file that is no longer what it was."""
        now = _size_and_time(self.path, system)
        if now is None:
            raise ValueError(f"{self.path!r} was there when it was scanned and is gone; scan what is there now.")
        if now != (self.size, self.time):
            raise ValueError(
                f"{self.path!r} has changed since it was scanned ({self.size} bytes then, {now[0]} now): half of "
                "a fit would be of other rows. Call latens.scan again and fit anew."
            )


def _size_and_time(path: str, system: Any) -> tuple[int, int] | None:
    """Of a file, or of an object in a file system of pyarrow; None where there is none. Some systems tell no time."""
    if system is not None:
        info = system.get_file_info(path)
        return (int(info.size), int(info.mtime_ns or 0)) if info.is_file else None
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def row_ranges(n_rows: int, block_rows: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop).

    Examples
    --------
    >>> row_ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + block_rows, n_rows)) for start in range(0, n_rows, block_rows)]


def as_numbers(columns: Mapping[str, Any], where: str) -> Floats:
    """Columns side by side as floating-point numbers (n, D), whole numbers and yes/no too.

    Raises
    ------
    ValueError
        For a column of text or dates, with its name.
    """
    converted = [_as_number(name, np.asarray(values), where) for name, values in columns.items()]
    single = all(values.dtype == np.float32 for values in converted)
    return np.stack(converted, axis=1, dtype=np.float32 if single else np.float64)


def _as_number(name: str, values: Any, where: str) -> Any:
    if values.dtype.kind == "f":
        return values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
    if values.dtype.kind in "iub":
        return values.astype(np.float64)
    given = [value for value in values.tolist() if value is not None] if values.dtype.kind in "OUSMm" else []
    if values.dtype.kind == "O" and all(isinstance(value, int | float | Decimal) for value in given):
        return np.array([np.nan if value is None else float(value) for value in values.tolist()], dtype=np.float64)
    odd = next((value for value in given if not _reads_as_number(value)), given[0] if given else None)
    among_numbers = " among numbers as text" if given and odd is not given[0] and _reads_as_number(given[0]) else ""
    held = "text" if isinstance(odd, str) else values.dtype.name  # text is kept as objects
    raise ValueError(
        f"column {name!r} of {where} holds {held} such as {odd!r}{among_numbers}, not numbers; name the "
        f"columns to use, columns=[...], store this one as numbers (categories as their codes), or give it a part: "
        f"groups={name!r} or row_names={name!r}."
    )


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
