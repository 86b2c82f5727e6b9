"""What each column of a table is, and what is done with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.errors import RowOfSums, warn
from latens.intake.kind_guess import ends_with_its_sum
from latens.intake.numbers.column import Reading
from latens.intake.raw_table import level_text
from latens.system.wording import listed

__all__ = [
    "AS_ASKED",
    "KEPT",
    "KINDS",
    "Column",
    "counted_kinds",
    "plural",
    "read_as_sheet",
    "times",
]

KEPT = "kept"
UNTICKED = "no"  # what an empty cell is called where the others are ticks
AS_ASKED = "as asked"  # why a column was dropped that was named
COVARIATE = "covariate"
TEXTS = ("levels", "written", "categories")  # of a column, tuples of text
# Kinds of columns that models take, with their plural in a sentence.
KINDS = {
    "number": "numbers",
    "scale": "scales",
    "count": "counts",
    "binary": "yes/no",
    "category": "categories",
}


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Parameters
    ----------
    name : str
    kind : str
        number, scale (few whole numbers), count, binary or category; of columns that are not kept also constant,
        empty, counter, id, date, duration or text.
    role : str
        kept, dropped, row names, target, weights or groups.
    note : str
        What was done with it, in words.
    n_missing : int
        Rows without a value, codes for missing included.
    levels : tuple of str
        Of a category, or (what is 0, what is 1) of a binary column.
    codes : tuple of float
        Numbers that stand for missing.
    decimal : str
        The decimal mark of numbers that were written as text.
    log1p : bool
        Whether log(1 + value) is taken.
    unit : str
        What stands behind its numbers in the cells.
    written : tuple of str
        Of numbers that were written as text: a number as its cells have it, and another for each multiplier such as k.
    type : str
        Of a column of a data frame: the library and the type, such as "pandas int64".
    categories : tuple of str
        Those of its type, in their order, where it has some.
    blank : str
        The level that an empty cell stands for, where it is none that is missing: a box that was not ticked.
    """

    name: str
    kind: str
    role: str = KEPT
    note: str = ""
    n_missing: int = 0
    levels: tuple[str, ...] = ()
    codes: tuple[float, ...] = ()
    decimal: str = "."
    log1p: bool = False
    unit: str = ""
    written: tuple[str, ...] = ()
    type: str = ""
    categories: tuple[str, ...] = ()
    blank: str = ""

    @property
    def reading(self) -> Reading:
        """How its cells of text are read as numbers."""
        if self.written:
            return Reading.like(self.written, self.decimal)
        return Reading(self.decimal, self.unit)

    @property
    def is_written(self) -> bool:
        """Whether its cells are known to have been text, and what their numbers are of."""
        return bool(self.written or self.unit)

    @property
    def is_kept(self) -> bool:
        return self.role == KEPT

    @property
    def taken_as(self) -> str:
        """Its kind as it is said: steps of a scale are fitted as the numbers they are, unless they are made levels."""
        return "number" if self.kind == "scale" else self.kind

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the columns of numbers that it becomes.

        >>> Column("species", "category", levels=("Adelie", "Gentoo")).encoded_names
        ('species = Adelie', 'species = Gentoo')
        """
        if self.kind == "category":
            return tuple(f"{self.name} = {level}" for level in self.levels)
        return (self.name,)

    def to_json(self) -> dict[str, Any]:
        """Plain data; what has its default value is left out."""
        defaults = {each.name: each.default for each in fields(self)}
        found = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    @classmethod
    def from_json(cls, content: Any) -> Column:
        """The column that plain data describe.

        Raises
        ------
        ValueError
            If they describe none.
        """
        expected: dict[str, type] = {
            "name": str, "kind": str, "role": str, "note": str, "n_missing": int, "levels": list, "codes": list,
            "decimal": str, "log1p": bool, "unit": str, "written": list, "type": str, "categories": list,
            "blank": str,
        }  # fmt: skip
        if not isinstance(content, Mapping) or not {"name", "kind"} <= set(content) <= set(expected):
            raise ValueError(f"{str(content)[:80]!r} describes no column")
        for name, value in content.items():
            if type(value) is not expected[name]:
                raise ValueError(f"{name} of a column is {str(value)[:80]!r}, expected {expected[name].__name__}")
        if not all(isinstance(level, str) for name in TEXTS for level in content.get(name, ())):
            raise ValueError("a level is no text")
        if not all(type(code) in (int, float) for code in content.get("codes", ())):
            raise ValueError("a code for missing is no number")
        if content.get("role", KEPT) == KEPT and content["kind"] not in KINDS:
            raise ValueError(f"no kind of column is called {content['kind'][:40]!r}")
        if content.get("decimal", ".") not in (".", ","):
            raise ValueError(f"no decimal mark is {content['decimal'][:40]!r}")
        if content["kind"] == "binary" and content.get("role", KEPT) == KEPT and len(content.get("levels", ())) != 2:
            raise ValueError("a binary column has two levels")
        more: dict[str, Any] = {
            name: tuple(map(float if name == "codes" else str, content[name]))
            for name in (*TEXTS, "codes")
            if name in content
        }
        return cls(**{**content, **more})


def read_as_sheet(
    columns: Sequence[Column], values: Sequence[NDArray[Any]], category: Collection[str]
) -> tuple[tuple[Column, ...], tuple[NDArray[Any], ...]]:
    """Columns and values with what people do in sheets: sums below a table, ticks in it, and how often a row occurs."""
    _tell_sums(columns, values)
    columns, values = _ticks_as_levels(columns, values, category)
    return _with_hint_at_frequencies(columns, values), values


def _ticks_as_levels(
    columns: Sequence[Column], values: Sequence[NDArray[Any]], category: Collection[str]
) -> tuple[tuple[Column, ...], tuple[NDArray[Any], ...]]:
    """Boxes that were ticked or left empty as yes/no: columns of one value and holes, that two share or that are named.

    A value of its own may be a constant of which a few are missing: of that the note says what to type. So may a
    number other than 1.
    """
    marks = {
        j: next(level_text(value) for value in values[j] if value is not None and value == value)
        for j, column in enumerate(columns)
        if column.kind == "constant" and column.n_missing and column.note.startswith("always")
    }
    marks = {j: mark for j, mark in marks.items() if values[j].dtype == object or mark == "1"}
    times_of_mark, columns, values = Counter(marks.values()), list(columns), list(values)
    for j, mark in marks.items():
        name = columns[j].name
        if times_of_mark[mark] < 2 and name not in category:
            note = f"{columns[j].note}, or empty; --category {quote(name)} takes empty cells as {UNTICKED}"
            columns[j] = replace(columns[j], note=note)
            continue
        note = f"1 = {mark}, 0 = an empty cell"
        columns[j] = Column(name, "binary", note=note, levels=(UNTICKED, mark), blank=UNTICKED)
        values[j] = np.array([UNTICKED if value is None or value != value else mark for value in values[j]], object)
    return tuple(columns), tuple(values)


def _with_hint_at_frequencies(columns: Sequence[Column], values: Sequence[NDArray[Any]]) -> tuple[Column, ...]:
    """The columns, with a word about the only one of numbers where it may say how often a row occurs.

    So lies a table of counts: whole numbers beside levels, of which every combination stands once.
    """
    used_columns = [j for j, column in enumerate(columns) if column.is_kept]
    numbers = [j for j in used_columns if columns[j].kind in ("number", "scale", "count")]
    if len(numbers) != 1 or len(used_columns) < 3 or any(column.role == "weights" for column in columns):
        return tuple(columns)
    (at,) = numbers
    found = values[at]
    if not (np.all(found >= 0) and np.all(found == np.floor(found))):  # NaN is neither
        return tuple(columns)
    levels = list(zip(*(map(str, values[j]) for j in used_columns if j != at), strict=True))
    if len(set(levels)) < len(levels):
        return tuple(columns)
    hint = f"may say how often a row occurs, as all others differ; if so, --weights {quote(columns[at].name)}"
    with_hint = replace(columns[at], note="; ".join(filter(None, [columns[at].note, hint])))
    return (*columns[:at], with_hint, *columns[at + 1 :])


def _tell_sums(columns: Sequence[Column], values: Sequence[NDArray[Any]]) -> None:
    """Warn of a last row that is the sum of the others in most columns of numbers, and in two at least."""
    numbers = [
        each
        for column, each in zip(columns, values, strict=True)
        if column.is_kept and each.dtype.kind == "f" and each[-1] == each[-1]
    ]
    sums = sum(map(ends_with_its_sum, numbers))
    if sums >= max(2, len(numbers) / 2):
        warn(
            RowOfSums(
                f"the last row is the sum of the others in {sums} of {len(numbers)} columns of numbers: it would be "
                "learnt from as a row like them.",
                "Take it out of the table.",
            )
        )


def counted_kinds(columns: tuple[Column, ...]) -> str:
    """Columns in a sentence.

    >>> counted_kinds((Column("a", "number"), Column("b", "binary"), Column("c", "id", "dropped")))
    '3 columns: 1 number, 1 yes/no; dropped 1: c'
    >>> counted_kinds((Column("a", "number"), Column("answer", "scale")))
    '2 columns: 2 numbers'
    """
    parts = []
    for kind, several in KINDS.items():
        count = sum(column.taken_as == kind and column.is_kept for column in columns)
        if count:
            parts.append(f"{count:,} {several if count > 1 else {'binary': 'yes/no'}.get(kind, kind)}")
    text = f"{len(columns):,} {plural('column', len(columns))}: {', '.join(parts) or 'none kept'}"
    for role in ("row names", "target", "weights", "groups", "exposure", COVARIATE):
        text += "".join(f"; {role}: {column.name}" for column in columns if column.role == role)
    dropped = [column.name for column in columns if column.role == "dropped"]
    if dropped:
        text += f"; dropped {len(dropped):,}: {listed(dropped, form=str)}"
    return text


def times(count: int) -> str:
    """How often something occurs."""
    return "once" if count == 1 else f"{count:,} times"


def plural(noun: str, count: int) -> str:
    """The noun for so many things."""
    return noun if count == 1 else f"{noun}s"
