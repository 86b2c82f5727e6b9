"""How a text file is written: encoding, comments, separator, header, decimal mark, units. Read off its first lines."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, cast

from latens.errors import TableRefused
from latens.intake.marks import MISSING_MARKS, is_missing_mark
from latens.intake.numbers.cell import NumberCell, number_in
from latens.intake.numbers.column import shown_decimal

__all__ = ["DAMAGED", "NAMELESS", "Dialect", "open_bytes", "sniff"]

HEAD_LINES, HEAD_BYTES, LEAST_LINES = 500, 2**20, 6
HEAD_CELLS = 200_000  # cells looked at for header, units and decimal mark
DAMAGED = (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, lzma.LZMAError)  # what unpacking may raise
NAMELESS = "row"  # what a first column is called whose heading is empty
SEPARATORS = (",", "\t", ";", "|")
COMMENTS = ("#", "%", "//", "!")
MOST_LEVELS, LEAST_TIMES = 20, 5  # of phrases that are levels of a single column, and how often one occurs on average
AGREEMENT = 0.9  # share of lines with the same number of fields
YEARS = frozenset(map(float, range(1800, 2101)))  # that head columns of a table of years


@dataclass(frozen=True)
class Dialect:
    """What the first lines of a file say about the rest.

    `names` is None where lines have no agreed number of fields: then each line is a list of items.
    """

    encoding: str
    separator: str | None  # None: runs of blanks
    names: tuple[str, ...] | None
    skip: int  # lines before the first row of data
    decimal: str = "."
    comment: str | None = None  # lines that begin with it, among the rows too
    row_names: bool = False  # the header leaves out the name of the first column, as R writes tables
    trailing: bool = False  # each line ends with a separator
    text_columns: tuple[int, ...] = ()  # numbers with leading zeros, which are codes
    units: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def parser_options(self, fitted: Mapping[str, Collection[str]] | None = None) -> dict[str, Any]:
        """How pandas reads the rows: what `read_csv` takes beside the file and its encoding.

        `fitted` are the levels of a fit by column, of which none is a mark of a missing value.
        """
        names, fitted = self.names or (), fitted or {}
        marks: Any = list(MISSING_MARKS)
        if any(mark in own for own in fitted.values() for mark in marks):
            marks = {name: [mark for mark in marks if mark not in fitted.get(name, ())] for name in names}
        return {
            "sep": r"\s+" if self.separator is None else self.separator,
            "header": None,
            "names": [*names, *([" "] if self.trailing else [])],
            "index_col": False,
            "decimal": self.decimal,
            "na_values": marks,
            "keep_default_na": False,
            "comment": self.comment,
            "skipinitialspace": True,
            "low_memory": False,
            "dtype": {names[j]: str for j in self.text_columns},
        }


def open_bytes(path: Path) -> IO[bytes]:
    """A file as bytes, whichever way it was compressed."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix in (".xz", ".lzma"):
        return lzma.open(path, "rb")
    if suffix == ".zip":
        archive = zipfile.ZipFile(path)
        members = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
        if len(members) != 1:
            raise TableRefused(f"{path.name} holds {len(members)} files; unpack it and name one of them.")
        return archive.open(members[0])
    return open(path, "rb")


def sniff(path: Path, separator: str | None = None) -> Dialect:
    """Read the dialect off the first lines of a file.

    Raises
    ------
    TableRefused
        If the file is empty or is no text.
    """
    try:
        with open_bytes(path) as file:
            head = _head(file)
            whole = not file.read(1)
    except (OSError, *DAMAGED) as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
            raise
        raise TableRefused(f"{path.name} cannot be unpacked ({error}); is it complete?") from error
    if not head.strip():
        raise TableRefused(f"{path.name} is empty; give a file with a header and rows.")
    encoding = _encoding(head, path.name)
    text = head.decode(encoding, errors="replace").lstrip("\ufeff")
    if not text.strip():
        raise TableRefused(f"{path.name} is empty; give a file with a header and rows.")
    lines = text.splitlines()
    return _dialect(lines if whole or len(lines) < 2 else lines[:-1], encoding, separator)


def _head(file: IO[bytes]) -> bytes:
    """The first lines: many short ones or a few long ones."""
    parts: list[bytes] = []
    size = 0
    while len(parts) < HEAD_LINES and (size < HEAD_BYTES or len(parts) < LEAST_LINES):
        line = file.readline(2**24)
        if not line:
            break
        parts.append(line)
        size += len(line)
    return b"".join(parts)


def _encoding(head: bytes, name: str) -> str:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return encoding
    zeros = head[:4000].count(b"\0")
    if zeros > len(head[:4000]) // 4:
        return "utf-16-le" if head[1::2][:200].count(b"\0") > head[::2][:200].count(b"\0") else "utf-16-be"
    if zeros:
        raise TableRefused(f"{name} is no text; read are CSV, TSV, Parquet, Excel, npy, npz, h5ad, h5mu and mtx.")
    try:
        head.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        return "utf-8" if error.start > len(head) - 4 else "cp1252"


def _dialect(lines: Sequence[str], encoding: str, separator: str | None) -> Dialect:
    skip, lead, notes = _leading_comments(lines)
    body = lines[skip:]
    comment = _comment_among(body, lead)
    body = [line for line in body if not (comment and line.startswith(comment))]
    full = [line for line in body if line.strip()]
    if not full:
        return Dialect(encoding, ",", (), skip, notes=tuple(notes))
    separator, width = _separator(full, separator)
    if width is None:
        return Dialect(encoding, separator, None, skip, comment=comment, notes=tuple(notes))
    rows = list(_split(full[: max(LEAST_LINES, HEAD_CELLS // width)], separator))
    titles = _title_rows(rows, width)
    if titles:
        notes.append(f"{titles} title line(s) skipped")
    seen = 0
    for line in body:  # blank and title lines before the header
        if line.strip():
            if seen == titles:
                break
            seen += 1
        skip += 1
    return _with_header(
        rows[titles:],
        Dialect(encoding, separator, (), skip, comment=comment),
        lead,
        notes,
        _is_quoted(full[titles:], separator),
    )


def _leading_comments(lines: Sequence[str]) -> tuple[int, str | None, list[str]]:
    """How many lines of comment the file begins with, the last of them without its mark, and what to say."""
    mark = next((mark for mark in COMMENTS if lines[0].startswith(mark)), None)
    if mark is None:
        return 0, None, []
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(mark)), len(lines))
    comments = [line for line in lines[:count] if line.startswith(mark)]
    return count, comments[-1].lstrip(mark).strip(), [f"{len(comments)} line(s) of comment skipped"]


def _comment_among(body: Sequence[str], lead: str | None) -> str | None:
    """The mark of comments between rows, if no value holds that letter."""
    inside = [line for line in body if "#" in line]
    return "#" if inside and all(line.startswith("#") and line.count("#") == 1 for line in inside) else None


def _separator(lines: Sequence[str], given: str | None) -> tuple[str | None, int | None]:
    """The separator and the number of fields most lines agree on; None for the number where they do not agree."""
    if given is not None:
        given = {"tab": "\t", "\\t": "\t", "space": None, " ": None, "whitespace": None}.get(given, given)
        counts = _field_counts(lines, given)
        return given, Counter(counts).most_common(1)[0][0]
    quoted = any('"' in line for line in lines)
    found: list[tuple[float, int, int, str | None, int]] = []
    for rank, separator in enumerate((*SEPARATORS, None)):
        if separator is None and found:
            break  # blanks are tried only where nothing else agrees
        if separator is not None and separator not in lines[-1] + lines[0]:
            continue
        counts = _field_counts(lines, separator, quoted)
        width, times = Counter(counts).most_common(1)[0]
        share = times / len(counts)
        if width >= 2 and share >= AGREEMENT:
            found.append((_share_of_numbers(lines, separator, width), width, -rank, separator, width))
    if found:
        _, width, _, separator, _ = max(found)
        return separator, width
    commas = _field_counts(lines, ",", quoted)
    if max(commas) == 1 and (max(_field_counts(lines, None)) == 1 or _are_levels(lines[1:])):
        return ",", 1
    listed = next((each for each in SEPARATORS if any(each in line for line in lines)), None)
    counts = _field_counts(lines, listed, quoted)
    width, times = Counter(counts).most_common(1)[0]
    ragged = sum(count <= width for count in counts) / len(counts)
    return (listed, width) if width >= 2 and times / len(counts) >= 0.7 and ragged >= AGREEMENT else (listed, None)


def _are_levels(lines: Sequence[str]) -> bool:
    """Whether lines are a few phrases that recur: levels of one column, not items between blanks.

    >>> _are_levels(["key account", "retail", "key account", "retail"] * 5), _are_levels(["milk bread", "milk", "eggs"])
    (True, False)
    """
    distinct = set(lines)
    no_others = not any(mark in line for line in distinct for mark in SEPARATORS)
    return no_others and len(distinct) <= MOST_LEVELS and len(lines) >= LEAST_TIMES * len(distinct)


def _field_counts(lines: Sequence[str], separator: str | None, quoted: bool = True) -> list[int]:
    if separator is not None and not quoted:
        return [line.count(separator) + 1 for line in lines]
    return [len(row) for row in _split(lines, separator)]


def _split(lines: Sequence[str], separator: str | None) -> Iterable[list[str]]:
    if separator is None:
        return ([cell.strip('"') for cell in line.split()] for line in lines)
    return csv.reader((line + "\n" for line in lines), delimiter=separator, skipinitialspace=True)


def _share_of_numbers(lines: Sequence[str], separator: str | None, width: int) -> float:
    rows = list(_split(lines[1 : 2 + max(LEAST_LINES, 5000 // width)], separator))
    cells = [cell for row in rows for cell in row]
    good = sum(number_in(cell, ".") is not None or number_in(cell, ",") is not None for cell in cells)
    return round(good / max(len(cells), 1), 1)


def _title_rows(rows: Sequence[list[str]], width: int) -> int:
    """Lines above the header that hold less than half of its fields."""
    # a header may leave out the name of its first column
    filled = [sum(bool(cell.strip()) for cell in row) + (row[:1] == [""] and any(row)) for row in rows]
    if width < 2 or len(rows) < 3:
        return 0
    first = next((i for i, count in enumerate(filled) if count >= max(2, (width + 1) // 2)), 0)
    return first if first < min(len(rows) - 1, 20) else 0


def _with_header(
    rows: list[list[str]], dialect: Dialect, lead: str | None, notes: list[str], quoted_header: bool
) -> Dialect:
    width = Counter(map(len, rows[1:] or rows)).most_common(1)[0][0]
    trailing = width > 1 and all(len(row) < width or not row[-1].strip() for row in rows[: len(rows)])
    trailing = trailing and len(rows[0]) in (width, width - 1)
    width -= trailing
    decimal = _decimal(rows[1:], dialect.separator)
    skip, header = dialect.skip, None
    if (
        lead is not None
        and len(lead_cells := next(iter(_split([lead], dialect.separator)))) == width
        and not any(number_in(cell, decimal) is not None for cell in lead_cells)
        and any(number_in(cell, decimal) is not None for cell in rows[0])
    ):
        header = lead_cells
        notes.append("the last line of comment is taken as the header")
    elif quoted_header or _is_header(rows, decimal, width):
        header, rows, skip = rows[0], rows[1:], skip + 1
        if (names_below := _names_in_two_lines(header, rows, decimal)) is not None:
            header, rows, skip = names_below, rows[1:], skip + 1
            notes.append("the first two lines are taken as the header")
    if header is not None and not trailing:
        width = max(width, len(header))  # names of columns that no row fills
    row_names = header is not None and not trailing and len(header) == width - 1
    if row_names and header is not None:
        header = ["", *header]
    names = [f"x{j}" for j in range(width)] if header is None else [*header[:width], *[""] * (width - len(header))]
    if header is None:
        notes.append("no header: columns are called x0, x1, ...")
    unique, renamed = _unique(_unquoted([name.strip() for name in names]))
    notes += [f"{renamed} repeated or empty column name(s) made unique"] if renamed else []
    units: dict[str, str] = {}
    if header is not None and _is_units(rows, decimal):
        units = {name: cell.strip() for name, cell in zip(unique, rows[0], strict=False) if cell.strip()}
        rows, skip = rows[1:], skip + 1
        notes.append("the line below the header is taken as units")
    notes = [*_written(dialect, decimal), *notes]
    return Dialect(
        dialect.encoding, dialect.separator, tuple(unique), skip, decimal, dialect.comment, row_names, trailing,
        _codes(rows, width), units, tuple(notes),
    )  # fmt: skip


def _written(dialect: Dialect, decimal: str) -> list[str]:
    names = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar", None: "blanks"}
    notes = []
    if dialect.separator != ",":
        notes.append(f"separator: {names.get(dialect.separator, repr(dialect.separator))}")
    if decimal == ",":
        notes.append("decimal comma")
    if not dialect.encoding.startswith("utf-8"):
        notes.append(f"encoding: {dialect.encoding}")
    return notes


def _decimal(rows: Sequence[list[str]], separator: str | None) -> str:
    """The decimal mark of a table: that of its plain numbers, or, where these show none, of those with a unit.

    A point before three digits, as in 1.234, may be of thousands: it counts where other cells of its column show that
    it is not.
    """
    if separator == "," or not any("," in cell for row in rows for cell in row):
        return "."
    by_column: list[dict[str, list[NumberCell]]] = [{} for _ in range(max(map(len, rows), default=0))]
    for row in rows:
        for cell, column in zip(row, by_column, strict=False):
            if ("." in cell or "," in cell) and (found := NumberCell.of(cell)) is not None:
                column.setdefault("plain" if not (found.after or found.currency) else "of a unit", []).append(found)
    for sort in ("plain", "of a unit"):
        commas = points = 0
        for column in by_column:
            cores = [cell.core for cell in column.get(sort, ()) if cell.core.count(".") < 2 > cell.core.count(",")]
            last = Counter("," if core.rfind(",") > core.rfind(".") else "." for core in cores)
            shown = {shown_decimal(core) for core in cores}
            commas += last[","] if "," in shown else 0
            points += last["."] if "." in shown else 0
        if commas or points:
            return "," if commas > points else "."
    return "."


def _is_quoted(lines: Sequence[str], separator: str | None) -> bool:
    """Whether the first line has quotes around all its fields, and the second has not: names, even where numbers."""
    if len(lines) < 2 or separator is None:
        return False
    first, second = ([cell.strip() for cell in line.split(separator)] for line in lines[:2])
    return all(cell[:1] == cell[-1:] == '"' for cell in first) and not all(cell[:1] == '"' for cell in second)


def _is_header(rows: Sequence[list[str]], decimal: str, width: int) -> bool:
    """A line without numbers, or with text above columns of numbers, or the numbers 0, 1, 2, ..."""
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    numbers = [number_in(cell, decimal) for cell in first]
    if all(number is None for number in numbers):
        return any(cell and not is_missing_mark(cell) for cell in first)
    if not rest:
        return False
    counted = [number for number in numbers if number is not None]
    if len(counted) >= max(3, width - 1) and counted in ([float(j) for j in range(len(counted))],
                                                        [float(j + 1) for j in range(len(counted))]):  # fmt: skip
        return first.count("") + len(counted) >= len(first) or numbers[0] is None
    if len(counted) < width and all(number in YEARS for number in counted) and len(set(counted)) == len(counted):
        return True
    above = [j for j, number in enumerate(numbers) if number is None and first[j] and not is_missing_mark(first[j])]
    shift = max(0, width - len(first))
    return any(_is_column_of_numbers(rest, j + shift, decimal) for j in above)


def _is_column_of_numbers(rows: Sequence[list[str]], at: int, decimal: str) -> bool:
    cells = [row[at].strip() for row in rows if at < len(row) and not is_missing_mark(row[at])]
    return len(cells) > 1 and sum(number_in(cell, decimal) is not None for cell in cells) >= AGREEMENT * len(cells)


def _names_in_two_lines(header: Sequence[str], rows: Sequence[list[str]], decimal: str) -> list[str] | None:
    """Names of columns from groups of them and the line below; None where the header has no gaps or repeats.

    >>> table = [["Age", "Net", "Gross"], ["31", "2.5", "3"], ["45", "4", "4.5"], ["27", "1.5", "2"]]
    >>> _names_in_two_lines(["Person", "Pay", ""], table, ".")
    ['Age', 'Net', 'Gross']
    >>> _names_in_two_lines(["", "Pay", "", "Tax"], [["town", "mean", "sd", "mean"], *[list("x123")] * 3], ".")
    ['town', 'Pay mean', 'sd', 'Tax mean']
    """
    upper = [cell.strip() for cell in header]
    if len(rows) < 3 or len(rows[0]) != len(upper) or ("" not in upper[1:] and len(set(upper)) == len(upper)):
        return None
    lower = [cell.strip() for cell in rows[0]]
    numbers = [j for j in range(len(lower)) if _is_column_of_numbers(rows[1:], j, decimal)]
    if not numbers or not all(lower[j] and number_in(lower[j], decimal) is None for j in numbers):
        return None
    names = [below or above for above, below in zip(upper, lower, strict=True)]
    if len(set(names)) < len(names):
        groups: list[str] = list(accumulate(upper, _last_filled))
        names = [
            f"{group} {name}" if names.count(name) > 1 else name for group, name in zip(groups, names, strict=True)
        ]
    return names if all(names) and len(set(names)) == len(names) else None


def _last_filled(before: str, own: str) -> str:
    """The name of a group over a cell that leaves it out, as merged cells do."""
    return own or before


def _is_units(rows: Sequence[list[str]], decimal: str) -> bool:
    """Whether the first row has text, and no number, above columns of numbers."""
    if len(rows) < 3 or any(number_in(cell, decimal) is not None for cell in rows[0]):
        return False
    marked = [j for j, cell in enumerate(rows[0]) if not is_missing_mark(cell)]
    above = [j for j in marked if len(rows[0][j]) <= 15 and _is_column_of_numbers(rows[1:], j, decimal)]
    return bool(above) and 2 * len(above) >= len(marked)


def _codes(rows: Sequence[list[str]], width: int) -> tuple[int, ...]:
    """Columns whose digits begin with 0, such as postal codes: as numbers they would lose it."""
    leading = re.compile(r"0\d+")
    found = {j for row in rows for j, cell in enumerate(row[:width]) if cell[:1] == "0" and leading.fullmatch(cell)}
    return tuple(sorted(found))


def _unquoted(names: list[str]) -> list[str]:
    """Names without single quotes, where every one has them: to readers of CSV they are letters like others.

    >>> _unquoted(["'age'", "'sex'"]), _unquoted(["'t Hooft", "age"])
    (['age', 'sex'], ["'t Hooft", 'age'])
    """
    quoted = all(len(name) > 2 and name[0] == name[-1] == "'" for name in names)
    return [name[1:-1] for name in names] if quoted else names


def _unique(names: list[str]) -> tuple[list[str], int]:
    """Names made unique: a second "a" becomes "a (2)"; an empty one says where it stands."""
    names_used: set[str] = set()
    out, renamed = [], 0
    for j, name in enumerate(names):
        base = fresh = name or (NAMELESS if j == 0 else f"column {j + 1}")
        times = 1
        while fresh in names_used:
            times += 1
            fresh = f"{base} ({times})"
        renamed += bool(fresh != name and not (j == 0 and not name))
        names_used.add(fresh)
        out.append(fresh)
    return out, renamed
