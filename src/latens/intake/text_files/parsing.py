"""Text files as raw tables: pandas parses, the dialect says how; a plain file of numbers needs no pandas."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from latens.errors import TableRefused
from latens.intake.marks import is_missing_mark, plain_number
from latens.intake.raw_table import RawTable
from latens.intake.text_files.dialect import DAMAGED, Dialect, open_bytes, sniff
from latens.system.optional_imports import require

__all__ = ["read_lines", "read_text"]


def read_text(
    path: Path, separator: str | None = None, fitted: Mapping[str, Collection[str]] | None = None
) -> RawTable:
    """A table from a text file: CSV and its relatives.

    `fitted` are the levels of a fit by column: text that is one of them is no mark of a missing value.

    Raises
    ------
    TableRefused
        If its lines do not agree on a number of fields.
    """
    dialect = sniff(path, separator)
    if dialect.names is None:
        raise TableRefused(
            f"the lines of {path.name} have different numbers of fields. If each line is a list of items, type "
            "--format transactions (format='transactions' in Python); else name the separator: --sep."
        )
    try:
        frame = _parse(path, dialect, fitted or {})
    except ImportError:
        return _own_reader(path, dialect)
    except DAMAGED as error:
        raise TableRefused(f"{path.name} cannot be unpacked ({error}); is it complete?") from error
    if not len(frame):
        raise TableRefused(f"{path.name} has a header and no rows; give rows below it.")
    raw = RawTable.of_frame(frame, fitted)
    return RawTable(
        raw.names, raw.values, raw.levels, None, raw.names[0] if dialect.row_names else None, dialect.decimal,
        dialect.units, dialect.notes,
    )  # fmt: skip


def read_lines(path: Path, separator: str | None = None) -> tuple[list[list[str]], Dialect]:
    """Every line as its list of items."""
    dialect = sniff(path, separator)
    with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, errors="replace", newline="") as file:
        for _ in range(dialect.skip if dialect.names is None else 0):
            file.readline()
        if dialect.separator is None:
            rows = [line.split() for line in file]
        else:
            rows = list(csv.reader(file, delimiter=dialect.separator, skipinitialspace=True))
    return [[cell.strip() for cell in row if cell.strip()] for row in rows if row], dialect


def _parse(path: Path, dialect: Dialect, fitted: Mapping[str, Collection[str]]) -> Any:
    """The rows of a file as a pandas frame: numbers where a whole column is, else text."""
    pandas = require("pandas", "table")
    names = dialect.names or ()
    for encoding in (dialect.encoding, "cp1252"):
        try:
            with (
                io.TextIOWrapper(
                    open_bytes(path),
                    encoding=encoding,
                    errors="strict" if encoding == dialect.encoding != "cp1252" else "replace",
                    newline="",
                ) as file,
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("error", pandas.errors.ParserWarning)
                for _ in range(dialect.skip):
                    file.readline()
                frame = pandas.read_csv(file, **dialect.parser_options(fitted))
            return frame.iloc[:, : len(names)]
        except UnicodeDecodeError:
            continue
        except pandas.errors.EmptyDataError:
            return pandas.DataFrame(columns=list(names))
        except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
            raise TableRefused(_ragged(path, dialect, str(error))) from error
    raise TableRefused(f"{path.name} is no text in utf-8 or cp1252.")


def _ragged(path: Path, dialect: Dialect, error: str) -> str:
    """Which line has too many fields, or what the parser said."""
    width = len(dialect.names or ()) + dialect.trailing
    with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, errors="replace", newline="") as file:
        for _ in range(dialect.skip):
            file.readline()
        if dialect.separator is not None:
            reader = csv.reader(file, delimiter=dialect.separator, skipinitialspace=True)
            for row in reader:
                if len(row) > width:
                    return (
                        f"line {dialect.skip + reader.line_num} of {path.name} has {len(row)} fields, the others "
                        f"{width}: {', '.join(row)[:60]!r}. Mend that line, or put quotes around values that hold the "
                        "separator."
                    )
    opened = re.search(r"EOF inside string starting at row (\d+)", error)
    if opened is not None:
        return (
            f"a quote that is opened about line {dialect.skip + int(opened[1]) + 1} of {path.name} is never closed. "
            "Close it, or take it out."
        )
    return f"{path.name} cannot be read as a table ({error.splitlines()[0]}); try --sep."


def _own_reader(path: Path, dialect: Dialect) -> RawTable:
    """A file of numbers with a header, without pandas."""
    names = dialect.names or ()
    with io.TextIOWrapper(open_bytes(path), encoding=dialect.encoding, errors="replace", newline="") as file:
        for _ in range(dialect.skip):
            file.readline()
        lines = (line.split() for line in file) if dialect.separator is None else None
        rows = [row for row in lines or csv.reader(file, delimiter=dialect.separator or ",") if row]
    matrix = np.full((len(rows), len(names)), np.nan)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row[: len(names)]):
            if is_missing_mark(cell):
                continue
            number = plain_number(cell, dialect.decimal)
            if number is None or j in dialect.text_columns:
                raise TableRefused(
                    f"column {names[j]!r} of {path.name} holds text, such as {cell.strip()[:40]!r}; reading it needs "
                    "pandas: pip install 'latens[table]'"
                )
            matrix[i, j] = number
    if not len(matrix):
        raise TableRefused(f"{path.name} has a header and no rows; give rows below it.")
    return RawTable(
        names, tuple(matrix.T), row_name_column=names[0] if dialect.row_names else None, decimal=dialect.decimal,
        units=dialect.units, notes=dialect.notes,
    )  # fmt: skip
