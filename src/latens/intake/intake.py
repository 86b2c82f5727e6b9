"""`latens.read`: a file as rows that models take, and what was done with each of its columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from latens.errors import TableRefused
from latens.intake.columns import AS_ASKED, COVARIATE, Column, counted_kinds, plural, read_as_sheet, times
from latens.intake.encoding import Encoded, Encoding, texts_of_numbers, unique_names
from latens.intake.layouts import SparseTable, likely_layout, looks_transposed
from latens.intake.missing_codes import NamedMissing
from latens.intake.parts import Part, encodings_of
from latens.intake.raw_table import RawTable, Values, level_text
from latens.intake.sources import laid_out, load_tables
from latens.intake.treatment import Choices, counts_together, dates_as_names, tell_codes, tell_several_ways, treat
from latens.system.optional_imports import require
from latens.system.summary_table import Table
from latens.system.wording import listed

__all__ = ["Intake", "Part", "encode_like", "join_views", "read"]


@dataclass(frozen=True, eq=False)
class Intake:
    """What was read from a file, or from several that are views of the same rows.

    Attributes
    ----------
    frame : DataFrame
        The columns that were kept, cleaned, with the names of the rows.
    columns : Table
        A row for each column of the file: its kind, what was done with it, and why.
    notes : tuple of str
        What was found out about the file as a whole.
    """

    source: str
    parts: Mapping[str, Part]

    @property
    def n_rows(self) -> int:
        """Rows of the table; where there are several, those that any of them names, or of the longest."""
        names = [part.table.row_names for part in self.parts.values()]
        if len(names) > 1 and None not in names:
            return len({name for each in names for name in each or ()})
        return max(_n_rows(part.table) for part in self.parts.values())

    @property
    def columns(self) -> Table:
        several = len(self.parts) > 1
        heads = (*(("view",) if several else ()), "column", "kind", "treatment", "missing", "note")
        rows = [
            (*((view,) if several else ()), each.name, each.taken_as, each.role, each.n_missing, each.note)
            for view, part in self.parts.items()
            for each in part.columns
        ]
        return Table(heads, tuple(rows))

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(note for part in self.parts.values() for note in part.table.notes), *self._absent_rows())

    def _absent_rows(self) -> list[str]:
        """A word about tables of the same rows that lack some of them."""
        rows = {view: part.table.row_names for view, part in self.parts.items()}
        counts = {view: len(names) for view, names in rows.items() if names is not None}
        few = {view: count for view, count in counts.items() if len(counts) == len(rows) and count < self.n_rows}
        lacking = [f"{view} lacks {self.n_rows - count:,}" for view, count in few.items()]
        return [f"of {self.n_rows:,} rows by name, {', '.join(lacking)}: missing there"] if lacking else []

    @property
    def frame(self) -> Any:
        """The kept columns as a pandas frame; with several tables, two-level columns (view, column)."""
        pandas = require("pandas", "table")
        frames = {view: part.frame(pandas) for view, part in self.parts.items()}
        return next(iter(frames.values())) if len(frames) == 1 else pandas.concat(frames, axis=1)

    @property
    def encodings(self) -> dict[str, Encoding]:
        """By table, what later files are read with."""
        return {view: part.encoding for view, part in self.parts.items()}

    def encoded(self) -> Encoded:
        """All kept columns as numbers, with their names."""
        if len(self.parts) > 1:
            raise TableRefused(f"{self.source} holds several tables ({', '.join(self.parts)}); take views() of it.")
        return next(iter(self.parts.values())).encoded()

    def matrix(self) -> Any:
        """(n, D) numbers, NaN where missing: a column for each level of a category. Sparse where the file is."""
        return self.encoded().matrix

    def views(self) -> dict[str, Any]:
        """Frames by kind of column (numbers, counts, yes_no, categories), or those of the file where it has several."""
        return join_views({view: part.encoded() for view, part in self.parts.items()})

    def encode(self, table: Any) -> Encoded:
        """The rows of another table, such as a raw data frame, read as this one was."""
        if len(self.parts) > 1:
            raise TableRefused("several tables were read; encode each by its own encoding: .encodings[view].")
        return next(iter(self.parts.values())).encoding.encode(table)

    def like(self, model: Any) -> Intake:
        """The same rows with the columns of a fitted model, also those that say nothing here and were dropped.

        A column of the fit may be constant, empty or different in every one of a few new rows. Several tables are as
        they are.
        """
        try:
            encodings = encodings_of(model)
        except TableRefused:  # columns have no names
            return self
        label, part = next(iter(self.parts.items()))
        if len(self.parts) > 1 or len(encodings) > 1 or isinstance(part.table, SparseTable):
            return self
        (encoding,) = encodings.values()
        wanted, names = {column.name for column in encoding.columns}, {column.name for column in part.columns}
        if not any(column.name in wanted and column.role in ("dropped", "row names") for column in part.columns):
            return self
        if (wanted - names) & set(part.encoding.names):
            return self  # it was fitted to columns of levels as numbers
        return Intake(self.source, {label: Part.like(part.table, encoding, Choices().with_roles(self, names))})

    def aside(self, role: str) -> Values | None:
        """The column with a role: "target", "weights", "groups" or "exposure"; None where none was named."""
        found = [values for part in self.parts.values() if (values := part.aside(role)) is not None]
        return found[0] if found else None

    def name_of_role(self, role: str) -> str | list[str] | None:
        """What the column with a role is called, or the columns of covariates; None where none was named."""
        names = [column.name for part in self.parts.values() for column in part.columns if column.role == role]
        return None if not names else names if role == COVARIATE else names[0]

    def numbers_aside(self, role: str, called: str = "") -> Any:
        """The column with a role as numbers, one for each row, as `fit` takes weights, exposures and targets.

        Parameters
        ----------
        role : {"target", "weights", "exposure"}
        called : str
            What the role is called in an error; the role otherwise.

        Returns
        -------
        array, Series or None
            By the names of the rows where several tables name theirs; None where no column was named.

        Raises
        ------
        TableRefused
            If the column holds text, or weights or exposures lack a value. A target may.
        """
        for part in self.parts.values():
            values, names = part.aside(role), part.table.row_names
            if values is not None:
                break
        else:
            return None
        of = f"the column {self.name_of_role(role)!r} of {called or role}"
        if values.dtype.kind != "f":
            shown = listed(dict.fromkeys(str(value) for value in values if value is not None), 3)
            raise TableRefused(
                f"{of} holds no numbers"
                + (f" but text, such as {shown}; give each value its number in the file first." if shown else ".")
            )
        n_missing = int((values != values).sum())
        if n_missing and role != "target":
            raise TableRefused(
                f"{of} is empty in {n_missing:,} of {len(values):,} rows; fill it in, or leave out those rows."
            )
        by_name = len(self.parts) > 1 and names is not None
        return require("pandas", "table").Series(values, index=list(names or ())) if by_name else values

    def groups(self) -> Any:
        """Labels of the rows from the column of groups, as `fit(..., groups=)` takes them.

        Returns
        -------
        list of str, Series or None
            By the names of the rows where they have names; None where no column was named.
        """
        for part in self.parts.values():
            values, names = part.aside("groups"), part.table.row_names
            if values is not None:
                break
        else:
            return None
        labels = [None if value is None or value != value else level_text(value) for value in values]
        return labels if names is None else require("pandas", "table").Series(labels, index=list(names))

    def covariates(self) -> dict[str, Values]:
        """The columns that were named as covariates, as `fit(..., covariates=)` takes them."""
        found = {}
        for part in self.parts.values():
            for name, values in part.covariates().items():
                by_name = len(self.parts) > 1 and part.table.row_names is not None
                found[name] = (
                    require("pandas", "table").Series(values, index=list(part.table.row_names or ()))
                    if by_name
                    else values
                )
        return found

    def known(self) -> Any:
        """What is known of the rows beside what was kept, as `latens.report(..., metadata=)` takes it.

        Returns
        -------
        DataFrame or None
            The columns that were left out by name (`drop=`), and `.obs` of AnnData and MuData; None where there are
            neither.
        """
        frames = []
        for part in self.parts.values():
            if columns := part.known():
                pandas = require("pandas", "table")
                frames.append(pandas.DataFrame(columns, index=part.table.row_names))
        if not frames:
            return None
        first, *others = frames
        for other in others:
            first = first.combine_first(other)
        return first

    def sentence(self) -> str:
        """Rows, columns by kind, and what was dropped, in a line."""
        lines = [counted_kinds(part.columns) for part in self.parts.values()]
        if len(lines) > 1:
            lines = [f"{view}: {line}" for view, line in zip(self.parts, lines, strict=True)]
        return f"{self.n_rows:,} {plural('row', self.n_rows)}; {'; '.join(lines)}"

    def n_missing(self) -> dict[str, int]:
        """Rows without a value, by the columns that were kept."""
        return {
            column.name if len(self.parts) == 1 else f"{view}: {column.name}": column.n_missing
            for view, part in self.parts.items()
            for column in part.columns
            if column.is_kept
        }

    def treated(self) -> list[tuple[str, str]]:
        """(column, what was done) for every column about which there is something to say."""
        return [
            (column.name if len(self.parts) == 1 else f"{view}: {column.name}", reason)
            for view, part in self.parts.items()
            for column in part.columns
            if (reason := _treatment_of(column))
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.sentence()}\n{self.columns}"

    __repr__ = __str__


def read(
    source: Any,
    *,
    format: str | None = None,
    sep: str | None = None,
    index_col: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    target: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    exposure: str | None = None,
    covariates: Sequence[str] = (),
    missing: str | float | Sequence[str | float] = "auto",
    log1p: Sequence[str] = (),
    transpose: bool = False,
    sheet: str | int | None = None,
    like: Any = None,
) -> Intake:
    """Read a file into rows for models, and report what was done with each column.

    Text files may have any separator, encoding, decimal mark, header or marks of missing values. The kind of each
    column is found from its values: numbers, scales, counts, yes/no and categories are kept; constant columns, dates,
    row counters and text that differs in every row are dropped. Every dropped column is reported.

    Parameters
    ----------
    source : path, data frame, or dict of them
        CSV, TSV, Parquet, Excel, npy, npz, h5ad, h5mu or mtx. A dict holds views of the same rows.
    format : {"matrix", "transactions", "long", "edges"}, optional
        Rows by columns; lists of items, in a line or cell each, in a column for each item, or in a line for each list
        and item; a line for each value (sample, feature, value, perhaps view); or pairs. None detects the format.
    sep : str, optional
        The separator of a text file, if it cannot be detected.
    index_col : str, optional
        The column that names the rows.
    columns, drop, category : sequence of str
        Columns to keep, and no others; to leave out; to treat as categories in any case: a box that is ticked or empty
        as yes/no.
    target, weights, groups, exposure : str, optional
        Columns that are not features. `fit` and other methods use these columns of the table, and refuse those that the
        model does not support. A target is for regressions; other models leave it out. The method `aside` returns
        these columns.
    covariates : sequence of str
        Known properties of the rows that are not features, such as batch or age: used likewise, and returned by
        `covariates`.
    missing : "auto", "none", or words and numbers
        Marks of missing values besides empty cells and the usual marks, such as ["refused", -999]. "auto" also detects
        numbers (a repeated extreme that is far from the other values); "none", or a given number, switches this off.
        Case is ignored in words.
    log1p : sequence of str
        Columns to be replaced by log(1 + value); "all" for every column of numbers.
    transpose : bool
        Whether features are in rows.
    sheet : str or int, optional
        The sheet of an Excel file; the first otherwise.
    like : fitted model, or what was read before, optional
        For new rows of a model: the columns are those of its fit and are read in the same way, whatever their values
        are, even with a single row. Columns with a role are named as usual; by default those of the table that was
        read, if the file has them.

    Returns
    -------
    Intake
        With `.frame`, `.columns` (the treatment), `.matrix()`, `.views()` and `.encode(new)`.

    Raises
    ------
    TableRefused
        If the file cannot be read as rows of samples; the message says what to type.

    Examples
    --------
    >>> import pathlib, tempfile, latens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "people.csv"
    ...     _ = path.write_text("age,weight,height\\n31,70.5,1.7\\n45,81,1.8\\n27,NA,1.6\\n")
    ...     table = latens.read(path)
    >>> print(table.columns)
    column  kind    treatment  missing  note
    age     number  kept       0
    weight  number  kept       1
    height  number  kept       0
    """
    named = NamedMissing.of(missing)
    choices = Choices(
        index_col, None if columns is None else tuple(columns), tuple(drop), tuple(category), target, weights, groups,
        exposure, named.codes, tuple(log1p), tuple(covariates),
    )  # fmt: skip
    if like is not None:
        asked = {"format": format, "columns": columns, "drop": drop, "category": category, "log1p": log1p,
                 "transpose": transpose}  # fmt: skip
        return _read_like(source, like, choices, named, sep, sheet, [name for name, value in asked.items() if value])
    several = isinstance(source, Mapping)
    given: Mapping[str, Any] = source if several else {"": source}
    tables: dict[str, RawTable | SparseTable] = {}
    files: dict[str, str] = {}
    for view, one in given.items():
        found = _tables(one, format, sep, sheet)
        labels = [view if several and len(found) == 1 else f"{view} {name}".strip() for name in found]
        tables |= zip(labels, found.values(), strict=True)
        files |= dict.fromkeys(labels, _label(one))
    if transpose:
        tables = {label: table.transposed() for label, table in tables.items()}
    own = {label: choices.of_view(label, table.names) for label, table in tables.items()} if len(tables) > 1 else {}
    choices.check_views(own, {label: table.names for label, table in tables.items()})
    parts = {
        label: _part(table, own.get(label, choices), named.words, format, transpose, files[label], len(tables) > 1)
        for label, table in _noting_unfound(tables, named.words).items()
    }
    return Intake(", ".join(_label(one) for one in given.values()), parts)


def encode_like(
    source: Any,
    encodings: Mapping[str, Encoding],
    *,
    sep: str | None = None,
    sheet: str | int | None = None,
    missing: str | float | Sequence[str | float] = (),
) -> dict[str, Encoded]:
    """New rows of a file, data frame, or dict of them by view, read with the encodings of a fit.

    `missing` names words and numbers that stand for missing besides those of the fit.

    Raises
    ------
    TableRefused
        If there is a view that the fit did not have, or nothing of what it had.
    """
    found = _tables_like(source, encodings, sep, sheet)
    return {
        label: encodings[label].also_missing(NamedMissing.of(missing)).encode(found[label], is_new=True)
        for label in found
    }


def _tables_like(
    source: Any, encodings: Mapping[str, Encoding], sep: str | None, sheet: str | int | None
) -> dict[str, RawTable | SparseTable]:
    """The tables of new rows, by the names that the fit had for them, lying as they did there."""
    given: Mapping[str, Any] = source if isinstance(source, Mapping) else {"": source}
    first = next(iter(encodings.values()))
    out: dict[str, RawTable | SparseTable] = {}
    for view, one in given.items():
        own = encodings.values() if len(given) == 1 else [encodings[view]] if view in encodings else []
        levels = {column.name: column.levels for encoding in own for column in encoding.columns}
        tables = _tables(one, _layout(one, first.format), sep, sheet, levels)
        for name, table in tables.items():
            label = view if view and len(tables) == 1 else f"{view} {name}".strip()
            label = next(iter(encodings)) if len(encodings) == len(given) == len(tables) == 1 else label
            if label not in encodings:
                raise TableRefused(
                    f"the model has no view {label!r}; it has {', '.join(map(repr, encodings))}: --view NAME=FILE."
                )
            out[label] = table.transposed() if encodings[label].transpose else table
    return out


def _read_like(
    source: Any,
    like: Any,
    choices: Choices,
    named: NamedMissing,
    sep: str | None,
    sheet: str | int | None,
    asked: Sequence[str],
) -> Intake:
    """New rows with the columns of a fit; `asked` are other arguments about columns, of which there is no choice."""
    if asked:
        raise TableRefused(f"like= reads the columns of a fit as they were read there; leave {asked[0]}= out.")
    encodings = encodings_of(like)
    tables = _tables_like(source, encodings, sep, sheet)
    if isinstance(like, Intake):
        choices = choices.with_roles(like, {name for table in tables.values() for name in table.names})
    several = len(tables) > 1
    parts = {
        label: Part.like(
            table, encodings[label].also_missing(named), choices.of_view(label, table.names) if several else choices
        )
        for label, table in tables.items()
    }
    return Intake(", ".join(map(_label, source.values() if isinstance(source, Mapping) else [source])), parts)


def _layout(source: Any, format: str) -> str:
    """How new rows lie: as those of the fit, but a frame may have been laid out already."""
    if not hasattr(source, "columns"):
        return format
    found = likely_layout(RawTable.of_frame(source))
    return format if found is not None and found[0] == format else "matrix"


def join_views(encoded: Mapping[str, Encoded], encodings: Mapping[str, Encoding] | None = None) -> dict[str, Any]:
    """Frames by view; a table of several kinds of columns is cut by kind. `encodings` are those of the fit."""
    out: dict[str, Any] = {}
    for view, table in encoded.items():
        by_kind = table.views()
        if len(encodings or encoded) == 1:
            return by_kind
        if len(by_kind) == 1:
            out[view] = next(iter(by_kind.values()))
        else:
            out |= {f"{view} {kind}": frame for kind, frame in by_kind.items()}
    return out


def _tables(
    source: Any,
    format: str | None,
    sep: str | None,
    sheet: str | int | None,
    fitted: Mapping[str, Collection[str]] | None = None,
) -> Mapping[str, Any]:
    if isinstance(source, str | os.PathLike):
        return load_tables(Path(source).expanduser(), format, sep, sheet, fitted)
    if hasattr(source, "columns"):
        return laid_out({"x": RawTable.of_frame(source, fitted).with_codes_as_levels(source)}, format)
    raise TableRefused(f"a {type(source).__name__} cannot be read; give the path of a file, or a data frame.")


def _part(
    table: RawTable | SparseTable,
    choices: Choices,
    missing_words: tuple[str, ...],
    format: str | None,
    transpose: bool,
    label: str,
    among_others: bool,
) -> Part:
    if isinstance(table, SparseTable):
        return _sparse_part(table, choices, format, transpose, label, among_others)
    table, missing_counts = table.without(missing_words)
    if table.n_rows < 2 and choices.columns != ():
        raise TableRefused(
            f"{label} has {table.n_rows} row; columns can be distinguished from two rows on. A row for a fitted model: "
            "latens.read(path, like=model)."
        )
    if format is None and (found := likely_layout(table)) is not None:
        layout, words = found
        raise TableRefused(
            f"{label} looks like {words}: type --format {layout} (format={layout!r} in Python), or --format matrix if "
            "each line is a sample."
        )
    columns, values = treat(table, choices)
    tell_several_ways(columns)
    tell_codes(columns, "latens.read(..., missing='none') keeps them, and missing=[...] names others")
    columns, values = read_as_sheet(columns, values, choices.category)
    columns = dates_as_names(columns, table)
    columns = counts_together(columns, values) if among_others else columns
    columns = tuple(_with_taken(column, missing_counts.get(column.name, {})) for column in columns)
    names = next((column.name for column in columns if column.role == "row names"), None)
    rows = table.row_names if names is None else unique_names(values[table.names.index(names)])
    if format is None and not transpose:
        _refuse_transposed(label, [column.name for column in columns if column.is_kept], rows)
    used_columns = tuple(column for column in columns if column.is_kept)
    encoding = Encoding(used_columns, names, format or "matrix", transpose, missing_words)
    texts = texts_of_numbers(used_columns, dict(zip(table.names, table.values, strict=True)))
    return Part(columns, replace(table, values=values, row_names=rows), encoding, texts)


def _sparse_part(
    table: SparseTable, choices: Choices, format: str | None, transpose: bool, label: str, among_others: bool
) -> Part:
    if choices.index_col is not None and choices.index_col == table.row_name_column:
        choices = replace(choices, index_col=None)  # it names the rows already
    choices.check(table.names)
    if format is None and not transpose:
        _refuse_transposed(label, table.names, table.row_names)
    csc = table.matrix.tocsc()
    kinds = []
    for j, name in enumerate(table.names):
        data = csc.data[csc.indptr[j] : csc.indptr[j + 1]]
        out = name in choices.drop or (choices.columns is not None and name not in choices.columns)
        if out or not len(data):
            kinds.append(Column(name, "constant", "dropped", AS_ASKED if out else "always 0"))
        elif np.all(data == 1):
            kinds.append(Column(name, "binary", levels=("0", "1")))
        else:
            whole = bool(np.all(data == np.floor(data)) and np.all(data > 0))
            kinds.append(Column(name, "count" if whole else "number", log1p=bool({name, "all"} & set(choices.log1p))))
    used_columns = tuple(column for column in kinds if column.is_kept)
    if among_others and {column.kind for column in used_columns} == {
        "binary",
        "count",
    }:  # of rare things there is one at most
        kinds = [replace(each, kind="count", levels=()) if each.kind == "binary" else each for each in kinds]
        used_columns = tuple(column for column in kinds if column.is_kept)
    left_out = tuple(column.name for column in kinds if not column.is_kept)
    return Part(tuple(kinds), table, Encoding(used_columns, None, format or table.format, transpose, left_out=left_out))


def _refuse_transposed(label: str, names: Sequence[str], rows: Sequence[str] | None) -> None:
    if looks_transposed(names, rows):
        raise TableRefused(
            f"{label} looks like features x samples: its rows are called {_few(rows or ())}, its columns "
            f"{_few(names)}. Type --transpose (transpose=True in Python), or --format matrix if rows are samples."
        )


def _with_taken(column: Column, counts: Mapping[str, int]) -> Column:
    """The column with a word about the words in it that stand for missing."""
    notes = [f"{word} taken as missing, {times(count)}" for word, count in counts.items()]
    return replace(column, note="; ".join(filter(None, [column.note, *notes])))


def _noting_unfound(tables: dict[str, RawTable | SparseTable], words: Sequence[str]) -> Any:
    """The tables, the first with a note on words for missing that no cell holds: they may be misspelt."""
    unfound = [
        word for word in words if not any(table.holds(word) for table in tables.values() if isinstance(table, RawTable))
    ]
    if not unfound:
        return tables
    label, first = next(iter(tables.items()))
    note = f"no cell is {' or '.join(map(repr, unfound))}, given as a word for missing: is it spelt so in the file?"
    return {**tables, label: replace(first, notes=(*first.notes, note))}


def _treatment_of(column: Column) -> str:
    if column.is_kept:
        return column.note
    return f"{column.role}: {column.note}" if column.note else column.role


def _n_rows(table: RawTable | SparseTable) -> int:
    return table.n_rows if isinstance(table, RawTable) else int(table.matrix.shape[0])


def _label(source: Any) -> str:
    return Path(source).name if isinstance(source, str | os.PathLike) else f"this {type(source).__name__}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, list(names)[:3])) + (", ..." if len(names) > 3 else "")
