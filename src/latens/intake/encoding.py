"""How the columns of a table become numbers: learnt once, kept with the model, applied to every later table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from latens.errors import AbsentColumns, TableRefused, UnseenLevels, warn
from latens.intake.columns import KEPT, Column
from latens.intake.layouts import SparseTable
from latens.intake.marks import FALSE_WORDS, NONE_WORDS, TRUE_WORDS, are_truths
from latens.intake.missing_codes import NamedMissing
from latens.intake.numbers.cell import number_in
from latens.intake.numbers.column import Reading
from latens.intake.numbers.later import format_of_later, read_later
from latens.intake.raw_table import RawTable, Values, as_read, level_text, was_read
from latens.system.optional_imports import require
from latens.system.wording import listed

__all__ = [
    "VIEWS",
    "VIEW_LIKELIHOODS",
    "Encoded",
    "Encoding",
    "encodings_from_text",
    "encodings_to_text",
    "texts_of_numbers",
    "unique_names",
]

Floats = NDArray[np.float64]
NUMBERED = ((), ("0", "1"), ("0.0", "1.0"))  # levels of yes/no columns that are the numbers they become
VERSION = 1
ENTRIES = {"version", "row_names", "format", "transpose", "columns"}
# entries of files of tables that have such words or columns
MISSING, LEFT_OUT = "missing", "left_out"
# Views by kind of column: those of one likelihood together.
VIEW_LIKELIHOODS = {"numbers": "gaussian", "counts": "poisson", "yes_no": "bernoulli", "categories": "bernoulli"}
VIEWS = {"numbers": ("number", "scale"), "counts": ("count",), "yes_no": ("binary",), "categories": ("category",)}


@dataclass(frozen=True, eq=False)
class Encoded:
    """Rows as numbers: a column each for numbers, counts and yes/no, one for each level of a category."""

    matrix: Any  # (n, D), NaN where missing; CSR where the table is sparse
    columns: tuple[Column, ...]  # those that were kept
    row_names: tuple[str, ...] | None
    unused: Mapping[str, Values] = field(default_factory=dict)  # columns of the table that were not kept
    texts: Mapping[str, Values] = field(default_factory=dict)  # cells of columns whose numbers are written as text
    # of columns with levels that the fit did not have: in which rows (n,), and all cells (n,)
    unseen: Mapping[str, tuple[NDArray[np.bool_], Values]] = field(default_factory=dict)
    decimal: str = "."  # of the table's plain numbers, where it is text
    row_heading: str = ""  # of the column that names the rows

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    def frame(self) -> Any:
        """The matrix as a pandas frame with its names; an array where there is no pandas, or CSR rows as they are."""
        return _framed(self.matrix, self.names, self.row_names)

    def dense(self) -> Encoded:
        """The same rows with their zeros, for models that take no sparse rows: as frames they have names."""
        return replace(self, matrix=self.matrix.toarray()) if hasattr(self.matrix, "toarray") else self

    def decode(self, matrix: Floats) -> dict[str, Any]:
        """Numbers like those of `matrix` back as the table's own columns: levels for yes/no and categories."""
        out: dict[str, Any] = {}
        start = 0
        for column in self.columns:
            block = np.asarray(matrix)[:, start : start + len(column.encoded_names)]
            start += len(column.encoded_names)
            out[column.name] = _decoded(column, block)
        return out

    @property
    def has_words(self) -> bool:
        """Whether columns hold levels that have names: categories, or yes/no that is not written as 0 and 1."""
        return not issparse(self.matrix) and any(
            column.kind == "category" or (column.kind == "binary" and tuple(column.levels) not in NUMBERED)
            for column in self.columns
        )

    def written(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Columns in which nothing is missing, by name: those of numbers in text as the cells of the table are written.

        Cells that the table shows are as they were, also levels that the fit did not have.
        """
        out, start = self.with_unseen(columns), 0
        for column in self.columns:
            place, start = start, start + len(column.encoded_names)
            if column.name in self.texts and len(out.get(column.name, ())) == len(self.texts[column.name]):
                cells = self.texts[column.name]
                shown = [cell for cell in cells if cell is not None]
                form = format_of_later(shown, column.written, column.reading, column.is_written)
                out[column.name] = np.array(
                    [
                        (None if number != number else form.write(number)) if is_missing else cell
                        for cell, number, is_missing in zip(
                            cells, out[column.name], np.isnan(self.matrix[:, place]), strict=True
                        )
                    ],
                    dtype=object,
                )
        return out

    def with_unseen(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Columns by name, with the levels of the table that the fit did not have, which it took as missing."""
        out = dict(columns)
        for name, (at, cells) in self.unseen.items():
            own = np.asarray(out.get(name, ()))
            if len(own) != len(at):
                continue
            if cells.dtype == object and own.dtype.kind == "f":  # 0 and 1 beside text are text, too
                own = np.array([None if number != number else level_text(number) for number in own], dtype=object)
            out[name] = np.where(at, cells, own)
        return out

    def leveled_frame(self) -> Any:
        """The columns of the table in a pandas frame: numbers as in `matrix`, yes/no and categories by their levels."""
        pandas, decoded, start = require("pandas", "table"), self.decode(self.matrix), 0
        for column in self.columns:
            if column.kind not in ("binary", "category"):
                decoded[column.name] = np.asarray(self.matrix)[:, start]
            elif column.kind == "category":  # levels that look like numbers would else be read as such
                decoded[column.name] = pandas.Categorical(decoded[column.name], categories=list(column.levels))
            start += len(column.encoded_names)
        return as_read(pandas.DataFrame(decoded, index=None if self.row_names is None else list(self.row_names)))

    def cleaned_frame(self) -> Any:
        """The same with numbers as they are in the table, where `matrix` has logarithms."""
        frame, start = self.leveled_frame(), 0
        for column in self.columns:
            if column.log1p:
                frame[column.name] = np.expm1(np.asarray(self.matrix)[:, start])
            start += len(column.encoded_names)
        return frame

    def views(self) -> dict[str, Any]:
        """Views by kind of column, those that there are: numbers, counts, yes_no, categories; with their zeros."""
        names, matrix = self.names, self.dense().matrix
        return {
            view: _framed(matrix[:, at], [names[j] for j in at], self.row_names)
            for view, at in self.places_by_view().items()
        }

    def places_by_view(self) -> dict[str, list[int]]:
        """Where the columns of each of these views stand in the matrix."""
        kind_of = [column.kind for column in self.columns for _ in column.encoded_names]
        places = {view: [j for j, kind in enumerate(kind_of) if kind in kinds] for view, kinds in VIEWS.items()}
        return {view: at for view, at in places.items() if at}


@dataclass(frozen=True)
class Encoding:
    """The kept columns of a table with what is needed to read others like it.

    >>> encoding = Encoding((Column("smokes", "binary", levels=("no", "yes")), Column("age", "number")))
    >>> raw = RawTable(("age", "smokes"), (np.array([40.0, 50.0]), np.array(["yes", None], dtype=object)))
    >>> encoding.encode(raw).matrix
    array([[ 1., 40.],
           [nan, 50.]])
    """

    columns: tuple[Column, ...]
    row_name_column: str | None = None
    format: str = "matrix"
    transpose: bool = False
    missing_words: tuple[str, ...] = ()  # cells of text that stand for missing
    left_out: tuple[str, ...] = ()  # columns of a sparse table that the fit saw and did not take

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    def encode(self, table: Any, *, is_new: bool | None = None) -> Encoded:
        """Rows of a table with the same columns, in any order, as numbers.

        A column that is absent is missing in every row, and so is a level that was not there before; both are counted
        in a warning. Columns beyond those of the fit are left alone.

        Parameters
        ----------
        table : RawTable, or data frame of pandas or polars
        is_new : bool, optional
            Whether numbers may be written in another way than at the fit; None: in frames that `latens.read` did not
            make.

        Raises
        ------
        TableRefused
            If not one of the columns is there.
        """
        if isinstance(table, SparseTable):
            return self._encode_sparse(table)
        raw = table if isinstance(table, RawTable) else self.columns_as_read(table)
        raw, _ = raw.without(self.missing_words)
        place = self._places(raw)
        if is_new or (is_new is None and not isinstance(table, RawTable) and not was_read(table)):
            self._tell_fractions(raw, place)
        blocks = [self._block(column, raw, place.get(column.name)) for column in self.columns]
        matrix = np.concatenate(blocks, axis=1) if blocks else np.empty((raw.n_rows, 0))
        texts = texts_of_numbers(self.columns, {name: raw.values[at] for name, at in place.items()})
        unseen = {
            column.name: cells
            for column, block in zip(self.columns, blocks, strict=True)
            if column.name in place and (cells := _unseen(column, raw.values[place[column.name]], block)) is not None
        }
        heading = self.row_name_column if self.row_name_column in raw.names else None
        return Encoded(
            matrix, self.columns, self._row_names(raw), self._unused(raw, place), texts, unseen, raw.decimal,
            row_heading=heading or "",
        )  # fmt: skip

    def columns_as_read(self, frame: Any) -> RawTable:
        """The columns of a data frame of new rows, in which a level of the fit is one, were it called NA."""
        return RawTable.of_frame(frame, {column.name: column.levels for column in self.columns})

    def as_in(self, file: Encoding) -> Encoding:
        """The encoding of a frame that was read from a file, with what is known of the cells of that file.

        Those are marks, units and codes for missing; and how the file lies.
        """
        known = {column.name: column for column in file.columns}
        columns = tuple(
            replace(
                column,
                codes=of.codes,
                decimal=of.decimal,
                unit=of.unit,
                written=of.written,
                note=of.note,
                n_missing=of.n_missing,
                blank=of.blank,
            )
            if (of := known.get(column.name)) is not None
            else column
            for column in self.columns
        )
        return replace(file, columns=columns)

    def cleaned(self, table: RawTable) -> tuple[tuple[Column, ...], dict[str, Values], tuple[str, ...] | None]:
        """The columns of the fit with their values in another table, as that has them; and the names of its rows.

        Numbers are read, and codes for missing taken out. Levels that the fit did not have count as missing, and stay.
        """
        plain = replace(self, columns=tuple(replace(column, log1p=False) for column in self.columns))
        encoded = plain.encode(table)
        values = encoded.decode(encoded.matrix)
        columns = tuple(
            replace(column, n_missing=sum(value is None or value != value for value in values[column.name]))
            for column in self.columns
        )
        return columns, encoded.with_unseen(values), encoded.row_names

    def also_missing(self, named: NamedMissing) -> Encoding:
        """The encoding that takes these words and numbers as missing besides those of the fit."""
        if not named.words:
            return self
        columns = tuple(
            replace(column, codes=tuple(dict.fromkeys((*column.codes, *(named.codes or ())))))
            for column in self.columns
        )
        words = tuple(dict.fromkeys((*self.missing_words, *named.words)))
        return replace(self, columns=columns, missing_words=words)

    def _encode_sparse(self, table: SparseTable) -> Encoded:
        """Rows of mostly zeros: a column that is absent is 0, one that is new is left out and counted."""
        at = {name: j for j, name in enumerate(table.names)}
        known = [(i, at[column.name]) for i, column in enumerate(self.columns) if column.name in at]
        if not known:
            raise TableRefused(
                f"none of the {len(self.columns)} columns of the model is in this table: it wants "
                f"{listed([column.name for column in self.columns])}, and there are {listed(table.names)}."
            )
        self._count_new(at)
        chosen = csr_array(
            (np.ones(len(known)), ([j for _, j in known], [i for i, _ in known])),
            shape=(len(table.names), len(self.columns)),
        )
        matrix = csr_array(table.matrix @ chosen)
        logs = np.array([column.log1p for column in self.columns])
        if logs.any():
            at_log = logs[matrix.indices]
            matrix.data[at_log] = np.log1p(matrix.data[at_log])
        return Encoded(matrix, self.columns, table.row_names)

    def _count_new(self, names: Iterable[str]) -> None:
        known = {*(column.name for column in self.columns), *self.left_out}
        new = [name for name in names if name not in known]
        if new:
            word = {"transactions": "item", "edges": "end of an edge", "long": "feature"}.get(self.format, "column")
            warn(
                UnseenLevels(
                    f"{len(new)} {word}(s) of this table were not there at the fit and are left out: {listed(new)}."
                )
            )

    def _places(self, raw: RawTable) -> dict[str, int]:
        exact = {name: j for j, name in enumerate(raw.names)}
        loose = {name.strip().casefold(): j for j, name in enumerate(raw.names)}
        found = {
            column.name: at
            for column in self.columns
            if (at := exact.get(column.name, loose.get(column.name.strip().casefold()))) is not None
        }
        absent = [column.name for column in self.columns if column.name not in found]
        if absent and not found:
            raise TableRefused(
                f"none of the {len(self.columns)} columns of the model is in this table: it wants "
                f"{listed([column.name for column in self.columns])}, and there are {listed(raw.names)}."
            )
        if absent:
            warn(
                AbsentColumns(
                    f"{len(absent)} column(s) of the model are not in this table and are taken as missing: "
                    f"{listed(absent)}.",
                    "Give them, with their names of the fit, if they were measured.",
                )
            )
        return found

    def _tell_fractions(self, raw: RawTable, place: Mapping[str, int]) -> None:
        """Warn of numbers up to 1 in columns that the fit had in percent: they may be shares of 1."""
        for column in self.columns:
            values = raw.values[place[column.name]] if column.name in place else np.zeros(0)
            if values.dtype.kind != "f" or column.reading.mark != "%" or column.kind == "binary":
                continue
            largest = float(np.nanmax(np.abs(values), initial=0.0))
            if 0 < largest <= 1:
                warn(
                    UnseenLevels(
                        f"column {column.name!r} was in percent at the fit and holds numbers up to {largest:.3g} here: "
                        "they are taken as percent.",
                        "If they are shares of 1, multiply them by 100.",
                    )
                )

    def _block(self, column: Column, raw: RawTable, at: int | None) -> Floats:
        """(n, 1) numbers, or (n, L) with a column for each level."""
        if at is None:
            return np.full((raw.n_rows, len(column.encoded_names)), np.nan)
        values = raw.values[at]
        if column.kind in ("binary", "category"):
            number = _level_numbers(column, values)
            if column.kind == "binary":
                return number[:, None]
            hot: Floats = (number[:, None] == np.arange(len(column.levels))).astype(np.float64)
            hot[np.isnan(number)] = np.nan
            return hot
        return _numbers(column, values, raw.decimal)[:, None]

    def _unused(self, raw: RawTable, place: Mapping[str, int]) -> dict[str, Values]:
        """Columns of a table that are none of the fit's and do not name its rows, as they are."""
        used_places = {*place.values(), *(j for j, name in enumerate(raw.names) if name == self.row_name_column)}
        return {
            name: values
            for j, (name, values) in enumerate(zip(raw.names, raw.values, strict=True))
            if j not in used_places
        }

    def _row_names(self, raw: RawTable) -> tuple[str, ...] | None:
        if self.row_name_column in raw.names:
            return unique_names(raw.values[raw.names.index(self.row_name_column)])
        return raw.row_names

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the file of a model."""
        return {
            "version": VERSION,
            "row_names": self.row_name_column,
            "format": self.format,
            "transpose": self.transpose,
            "columns": [column.to_json() for column in self.columns],
            **({MISSING: list(self.missing_words)} if self.missing_words else {}),
            **({LEFT_OUT: list(self.left_out)} if self.left_out else {}),
        }

    @classmethod
    def from_json(cls, content: Any) -> Encoding:
        """The encoding that plain data describe.

        Raises
        ------
        ValueError
            If they describe none.
        """
        if not isinstance(content, Mapping) or set(content) - {MISSING, LEFT_OUT} != ENTRIES:
            raise ValueError(f"its encoding of columns is not given by {', '.join(sorted(ENTRIES))}")
        if content["version"] != VERSION or not isinstance(content["columns"], list):
            raise ValueError(f"its encoding of columns has version {str(content['version'])[:20]}; expected {VERSION}")
        if not isinstance(content["row_names"], str | None):
            raise ValueError("its encoding names no column of row names")
        if not isinstance(content["format"], str) or type(content["transpose"]) is not bool:
            raise ValueError("its encoding of columns does not say how they lie")
        words, left_out = content.get(MISSING, []), content.get(LEFT_OUT, [])
        if not _are_words(words):
            raise ValueError("its encoding of columns names no words for missing values")
        if not _are_words(left_out):
            raise ValueError("its encoding does not name the columns that were left out")
        columns = tuple(map(Column.from_json, content["columns"]))
        if any(column.role != KEPT for column in columns) or len({column.name for column in columns}) < len(columns):
            raise ValueError("its encoding lists a column twice, or one that was not kept")
        return cls(
            columns, content["row_names"], content["format"], content["transpose"], tuple(words), tuple(left_out)
        )


def _are_words(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(word, str) for word in content)


def encodings_to_text(encodings: Mapping[str, Encoding]) -> str:
    """Encodings by table as JSON, for the file of a model."""
    return json.dumps({view: encoding.to_json() for view, encoding in encodings.items()})


def encodings_from_text(text: str) -> dict[str, Encoding]:
    """The encodings that `encodings_to_text` wrote.

    Raises
    ------
    ValueError
        If the text holds none.
    """
    content = json.loads(text)
    if not isinstance(content, dict) or not content:
        raise ValueError("its encoding of columns names no table")
    return {view: Encoding.from_json(each) for view, each in content.items()}


def _level_numbers(column: Column, values: Values) -> Floats:
    """(n,) the number of each row's level, NaN where it is missing or was never seen."""
    at = {level.casefold(): float(i) for i, level in enumerate(column.levels)}
    at |= {level: float(i) for i, level in enumerate(column.levels)}
    if are_truths(column.levels):  # True or 1 says what "yes" said at the fit
        at = dict.fromkeys(FALSE_WORDS, 0.0) | dict.fromkeys(TRUE_WORDS, 1.0) | at
    texts = list(_level_texts(column, values))
    reading = column.reading if column.is_written else None
    found = np.array([np.nan if text is None else _level_number(text, at, reading) for text in texts])
    strange = [text for text, number in zip(texts, found, strict=True) if text is not None and np.isnan(number)]
    if strange:
        warn(
            UnseenLevels(
                f"column {column.name!r} holds {len(strange)} value(s) that were not there at the fit, taken as "
                f"missing: {listed(list(dict.fromkeys(strange)))}; known are {listed(column.levels)}.",
                "Correct their spelling, or fit again with rows that have them.",
            )
        )
    return found


def _unseen(column: Column, values: Values, block: Floats) -> tuple[NDArray[np.bool_], Values] | None:
    """Which cells of a column hold a level that the fit did not have, and all cells; None where there are none."""
    hole = np.isnan(block[:, 0])
    if column.kind not in ("binary", "category") or not hole.any():
        return None
    hole[hole] = [text is not None for text in _level_texts(column, values[hole])]
    cells = np.array([level_text(value) for value in values], object) if values.dtype.kind in "Mm" else values
    return (hole, cells) if hole.any() else None


def _level_number(text: str, at: Mapping[str, float], reading: Reading | None) -> float:
    """The number of a level, whatever its case, and as a number where levels are: "1.50" is "1.5"."""
    if (found := at.get(text, at.get(text.casefold()))) is not None:
        return found
    number = number_in(text) if reading is None else reading.number(text)
    return np.nan if number is None else at.get(level_text(number), np.nan)


def _level_texts(column: Column, values: Values) -> Iterator[str | None]:
    codes = set(column.codes)
    for value in values:
        missing = value is None or value != value or (isinstance(value, float) and value in codes)
        text = "" if missing else level_text(value)
        is_level = not missing and (text not in NONE_WORDS or text in column.levels)
        yield text if is_level else column.blank or None


def _numbers(column: Column, values: Values, decimal: str) -> Floats:
    if values.dtype.kind in "Mm":
        held = "dates" if values.dtype.kind == "M" else "durations"
        raise TableRefused(f"column {column.name!r} holds {held} here and was numbers at the fit; give numbers.")
    if values.dtype == object:
        reading = column.reading
        known = replace(reading, decimal=decimal) if decimal == "," else reading
        numbers, doubts = read_later(values, known, column.is_written)
        for message, remedy in doubts:
            warn(UnseenLevels(f"column {column.name!r} {message}", remedy))
    else:
        numbers = values.astype(np.float64)
    if column.codes:
        numbers[np.isin(numbers, column.codes)] = np.nan
    numbers[np.isinf(numbers)] = np.nan
    if column.log1p:
        if np.nanmin(numbers, initial=0.0) < 0:
            raise TableRefused(f"column {column.name!r} has negative values, so log(1 + value) cannot be taken of it.")
        numbers = np.log1p(numbers)
    return numbers


def _decoded(column: Column, block: Floats) -> Any:
    """One column from its numbers; the most probable level where numbers are probabilities."""
    if column.kind not in ("binary", "category"):
        return np.expm1(block[:, 0]) if column.log1p else block[:, 0]
    missing = np.asarray(np.isnan(block).any(axis=1))
    level = np.where(missing, 0, block.argmax(axis=1) if column.kind == "category" else block[:, 0] > 0.5)
    if column.kind == "binary" and column.levels == ("0", "1"):
        return np.where(missing, np.nan, level)
    return np.array(
        [
            None if is_missing else column.levels[int(at)]
            for is_missing, at in zip(missing.tolist(), level, strict=True)
        ],
        object,
    )


def texts_of_numbers(columns: Iterable[Column], values: Mapping[str, Values]) -> dict[str, Values]:
    """Cells of those columns of numbers that are text in a table."""
    numbers = [column.name for column in columns if column.kind not in ("binary", "category")]
    return {name: values[name] for name in numbers if name in values and values[name].dtype == object}


def unique_names(values: Values) -> tuple[str, ...]:
    """Names of rows: text, made unique by a number where rows share one."""
    counts: dict[str, int] = {}
    out = []
    for i, value in enumerate(values):
        text = f"row {i}" if value is None or value != value else level_text(value)
        counts[text] = counts.get(text, 0) + 1
        out.append(text if counts[text] == 1 else f"{text} ({counts[text]})")
    return tuple(out)


def _framed(matrix: Any, names: Sequence[str], rows: Sequence[str] | None) -> Any:
    if issparse(matrix):
        return matrix
    try:
        pandas = require("pandas", "table")
    except ImportError:
        return matrix
    return pandas.DataFrame(matrix, columns=list(names), index=None if rows is None else list(rows))
