"""CSV and its relatives in blocks: where rows begin is found once, quotes respected; blocks are parsed when read."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from latens.intake.text_files.dialect import Dialect, sniff
from latens.scale.blocks import Block, Stamp, as_numbers
from latens.system.optional_imports import require

__all__ = ["CsvReader", "csv_reader", "row_starts"]

BLOCK_BYTES = 2**23  # of text, where the caller does not say how many rows a block has
CHUNK = 2**24
QUOTE, NEWLINE = ord('"'), ord("\n")


@dataclass(frozen=True)
class CsvReader:
    path: str
    dialect: Dialect
    stamp: Stamp
    first: int  # byte at which the rows begin
    concurrent: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return self.dialect.names or ()

    @property
    def n_columns(self) -> int:
        return len(self.names)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def handles(self, block_rows: int | None) -> Sequence[tuple[int, int]]:
        """(first byte, byte after the last) of each block."""
        cuts, waiting = [self.first], 0
        for start in row_starts(self.path, self.first):
            waiting += 1
            if (waiting >= block_rows) if block_rows else (start - cuts[-1] >= BLOCK_BYTES):
                cuts.append(start)
                waiting = 0
        if cuts[-1] < self.stamp.size:
            cuts.append(self.stamp.size)
        return list(pairwise(cuts))

    def read(self, handle: tuple[int, int], numbers: Sequence[str], others: Sequence[str]) -> Block:
        """The lines between two places of the file, in bytes; these columns as numbers, others as they are."""
        self.stamp.check()
        pandas, (start, stop) = require("pandas", "table"), handle
        with open(self.path, "rb") as file:
            file.seek(start)
            text = file.read(stop - start)
        wanted = list(dict.fromkeys([*numbers, *others]))
        options = self.dialect.parser_options()
        options["dtype"] = {name: kind for name, kind in options["dtype"].items() if name not in numbers}
        self._refuse_longer(text)
        try:
            frame = pandas.read_csv(io.BytesIO(text), usecols=wanted, encoding=self.dialect.encoding, **options)
        except pandas.errors.EmptyDataError:  # blank lines at the end
            frame = pandas.DataFrame({name: np.zeros(0) for name in wanted})
        except pandas.errors.ParserError as error:
            raise ValueError(
                f"a block of {self.path!r} (bytes {start} to {stop}) has lines of another number of fields than the "
                f"header's {self.n_columns}: {error}. Mend that line, or put quotes around values with separators."
            ) from error
        read = {name: frame[name].to_numpy() for name in wanted}
        return Block(
            as_numbers({name: read[name] for name in numbers}, self.path), {name: read[name] for name in others}
        )

    def _refuse_longer(self, text: bytes) -> None:
        """Fields beyond the header's would be left out without a word; of lines with quotes only the parser knows."""
        separator = (self.dialect.separator or "").encode()
        if len(separator) != 1 or QUOTE in text:
            return
        letters = np.frombuffer(text, dtype=np.uint8)
        ends = np.append(np.flatnonzero(letters == NEWLINE), len(letters))
        n_separators = np.append(0, np.cumsum(letters == ord(separator)))
        most = self.n_columns - 1
        for number in np.flatnonzero(np.diff(n_separators[ends], prepend=0) > most):
            line = text[ends[number - 1] + 1 if number else 0 : ends[number]]
            if self.dialect.comment:
                line = line.partition(self.dialect.comment.encode())[0]
            if line.rstrip(b"\r " + separator).count(separator) > most:
                raise ValueError(
                    f"a line of {self.path!r} has more fields than the header's {self.n_columns}: "
                    f"{line[:80].decode(self.dialect.encoding, 'replace').strip()!r}. Mend it, or put quotes around "
                    "values with separators."
                )


def csv_reader(path: str) -> CsvReader:
    """Sniff the dialect of a text file, as `latens.read` does, and find its first row."""
    stamp, file = Stamp.of(path), Path(path)
    if file.suffix.lower() in (".gz", ".bz2", ".xz", ".zip"):
        raise ValueError(
            f"{path!r} is compressed, so no block of it can be read alone; unpack it, or store it as Parquet."
        )
    dialect = sniff(file)
    if dialect.names is None or not dialect.names:
        raise ValueError(f"the lines of {path!r} do not agree on a number of fields, so it has no columns to scan.")
    if dialect.encoding.startswith("utf-16"):
        raise ValueError(f"{path!r} is written in utf-16; store it as utf-8 or as Parquet to scan it in blocks.")
    starts = row_starts(path, 0)
    first = 0
    for _ in range(dialect.skip):
        first = next(starts, stamp.size)
    return CsvReader(str(path), dialect, stamp, first)


def row_starts(path: str, first: int) -> Iterator[int]:
    """Bytes at which a row ends and the next may begin, from `first` on; newlines within quotes end nothing.

    Memory does not grow with the file.
    """
    at, open_quote = first, 0
    with open(path, "rb") as file:
        file.seek(first)
        while chunk := file.read(CHUNK):
            letters = np.frombuffer(chunk, dtype=np.uint8)
            ends = letters == NEWLINE
            quotes = letters == QUOTE
            if open_quote or quotes.any():
                inside = (np.cumsum(quotes) + open_quote) % 2
                ends &= inside == 0
                open_quote = int(inside[-1])
            yield from (np.flatnonzero(ends) + at + 1).tolist()
            at += len(chunk)
