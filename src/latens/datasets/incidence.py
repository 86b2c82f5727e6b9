"""Files that say which thing goes with which: edge lists, and transactions with their items.

Both become a sparse matrix of ones that models of binary rows take as it is. Lines that begin with # or % are
comments, empty lines are skipped, a name that ends in .gz is unpacked. Fields are separated by tabs, commas or
semicolons, whichever the first line has, else by white space.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

__all__ = ["read_edges", "read_transactions"]

Read = tuple[csr_array, tuple[str, ...], tuple[str, ...]]
COMMENTS = ("#", "%")
SEPARATORS = ("\t", ",", ";")


def read_edges(path: str | os.PathLike[str], *, header: bool = False) -> Read:
    """Read an edge list: each line names a row and a column that go together, such as a paper and an author it cites.

    Parameters
    ----------
    path : path-like
        A text file; further fields of a line, such as weights or dates, are ignored, and an edge given twice is one.
    header : bool, default=False
        Whether the first line that is no comment names the fields.

    Returns
    -------
    X : csr_array of shape (N, D)
        1.0 for every edge.
    rows, columns : tuple of str
        Names in the order in which they first occur.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cites.txt"
    ...     _ = path.write_text("# paper author\\np1 Pearl\\np1 Jordan\\np2 Vapnik\\n")
    ...     X, papers, authors = read_edges(path)
    >>> X.toarray().tolist(), authors
    ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], ('Pearl', 'Jordan', 'Vapnik'))
    """
    pairs = []
    for number, fields in _lines(path, header=header):
        if len(fields) < 2 or not fields[0] or not fields[1]:
            raise ValueError(
                f"line {number} of {os.fspath(path)} is {' '.join(fields)!r}; expected two names, a row and a column, "
                "separated by white space, tab, comma or semicolon."
            )
        pairs.append((fields[0], fields[1]))
    rows = {name: i for i, name in enumerate(dict.fromkeys(row for row, _ in pairs))}
    columns = {name: j for j, name in enumerate(dict.fromkeys(column for _, column in pairs))}
    return _ones([(rows[row], columns[column]) for row, column in pairs], rows, columns, path)


def read_transactions(path: str | os.PathLike[str], *, header: bool = False) -> Read:
    """Read transactions: each line lists the items of one row, such as the products of a basket.

    Parameters
    ----------
    path : path-like
        A text file.
    header : bool, default=False
        Whether the first line that is no comment is a heading.

    Returns
    -------
    X : csr_array of shape (N, D)
        1.0 for every item of a row, however often it is listed.
    rows, columns : tuple of str
        The numbers of the lines, and the items in the order in which they first occur.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "baskets.csv"
    ...     _ = path.write_text("bread,butter\\nbeer\\nbutter,beer,butter\\n")
    ...     X, _, items = read_transactions(path)
    >>> X.toarray().tolist(), items
    ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]], ('bread', 'butter', 'beer'))
    """
    lines = [(str(number), [field for field in fields if field]) for number, fields in _lines(path, header=header)]
    rows = {name: i for i, (name, _) in enumerate(lines)}
    columns = {name: j for j, name in enumerate(dict.fromkeys(item for _, items in lines for item in items))}
    return _ones([(rows[row], columns[item]) for row, items in lines for item in items], rows, columns, path)


def _ones(
    pairs: list[tuple[int, int]], rows: dict[str, int], columns: dict[str, int], path: str | os.PathLike[str]
) -> Read:
    if not pairs:
        raise ValueError(f"{os.fspath(path)} holds no line but comments and empty ones; expected names.")
    row, column = np.array(pairs).T
    found = csr_array((np.ones(len(pairs)), (row, column)), shape=(len(rows), len(columns)))
    found.sum_duplicates()
    found.data[:] = 1.0
    return found, tuple(rows), tuple(columns)


def _lines(path: str | os.PathLike[str], *, header: bool) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that has any, with its number."""
    place = Path(path)
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {place}; give a text file of names.")
    opened = gzip.open if place.suffix == ".gz" else open
    separator: str | None = None
    first = True
    with opened(place, "rt", encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip("\r\n ")
            if not text.strip() or text.lstrip().startswith(COMMENTS):
                continue
            if first:
                separator = next((one for one in SEPARATORS if one in text), None)
                first = False
                if header:
                    continue
            yield number, [field.strip() for field in text.split(separator)]
