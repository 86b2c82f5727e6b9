"""The kind of each column by what it holds, and whether it is kept: the rules of the intake, in their order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.errors import MissingCodes, MixedNumbers, TableRefused, warn
from latens.intake.columns import AS_ASKED, COVARIATE, KEPT, Column, times
from latens.intake.kind_guess import COUNT_REACH, MOST_LEVELS, count_kind, how_rows_are_numbered, too_many_levels
from latens.intake.marks import NONE_WORDS, TRUE_WORDS, are_dates, plain_number
from latens.intake.missing_codes import may_hold_codes, missing_codes
from latens.intake.numbers.cell import number_in
from latens.intake.numbers.column import NumbersInText, read_numbers
from latens.intake.numbers.format import ColumnFormat
from latens.intake.raw_table import RawTable, Values, level_text
from latens.intake.text_files.dialect import NAMELESS
from latens.system.wording import listed

__all__ = [
    "Choices",
    "counts_together",
    "dates_as_names",
    "tell_codes",
    "tell_several_ways",
    "treat",
    "word_among_numbers",
]

Floats = NDArray[np.float64]

ROLES = ("index_col", "target", "weights", "groups", "exposure")  # choices that name one column
ALL = "all"
NOT_MODELLED = "dates are not modelled"
# what arrays of times are: kind, role and note
TIMES = {"M": ("date", "dropped", NOT_MODELLED), "m": ("duration", "dropped", "durations are not modelled")}
MOST_WORDS, MOST_WORDED = 5, 0.5  # words among numbers that may stand for missing, and the share of such cells
MOST_RECOGNISED = 20  # of a category that is recognised
MOST_TOLD = 4  # levels of a category that are named in its note
MOST_DISTINCT = 0.5  # share of distinct texts among numbers written in several ways that may be levels
MOST_SHOWN = 10_000  # distinct texts of a column that are looked at for how its numbers are written
LARGEST_STEP = 10  # whole numbers that span no more are a scale
SEVERAL_WAYS = "numbers written in several ways"  # how the note of a column begins that is not read as numbers for it
ASSUMED = re.compile(r"('[^']*' read as \S+, as the file has decimal commas); for (\S+ write [^;]*)")
KEEPS_CODES = " (--missing none keeps it)"
CODE_NOTE = re.compile(rf"([^\s;]+) taken as missing, (once|[\d,]+ times){re.escape(KEEPS_CODES)}")
LEAST_TWO = 10  # values with fractions that show that there are only two
LONGEST_NAME = 40  # letters of a text that names a row
LEAST_COUNTER = 5  # rows that show that numbers count the rows
YEAR_FIRST = re.compile(r"\d{4}-\d{2}-\d{2}")
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|index|rowid|row|nr|no)($|[^a-z])|^$")


@dataclass(frozen=True)
class Choices:
    """What the caller decided about columns; the rest is decided by what they hold."""

    index_col: str | None = None
    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    target: str | None = None
    weights: str | None = None
    groups: str | None = None
    exposure: str | None = None
    missing: tuple[float, ...] | None = None  # None looks for codes; () takes numbers as they are
    log1p: tuple[str, ...] = ()
    covariates: tuple[str, ...] = ()

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that are no columns, with the nearest that are."""
        for name in self._named():
            if name not in names:
                raise TableRefused(f"there is no column {name!r}; {_nearest(name, names)}")

    def of_view(self, view: str, names: Sequence[str]) -> Choices:
        """What of this is about one of several tables: names of its columns, alone or after its own, 'view: column'.

        >>> Choices(drop=("age", "rna: tp53", "mut: tp53"), log1p=("rna",)).of_view("rna", ("tp53", "age"))
        Choices(...drop=('age', 'tp53'), ...log1p=('all',), covariates=())
        """
        known = {name: name for name in names} | {f"{view}: {name}": name for name in names}

        def own(given: Sequence[str]) -> tuple[str, ...]:
            return tuple(known[name] for name in given if name in known)

        def role(given: str | None) -> str | None:
            return None if given is None else known.get(given)

        return Choices(
            role(self.index_col), None if self.columns is None else own(self.columns), own(self.drop),
            own(self.category), role(self.target), role(self.weights), role(self.groups), role(self.exposure),
            self.missing, tuple(known.get(name, ALL) for name in self.log1p if name in known or name in (ALL, view)),
            own(self.covariates),
        )  # fmt: skip

    def role_of(self, name: str) -> str | None:
        """The role that a column was given, such as "weights"; None where it was given none."""
        if name in self.covariates:
            return COVARIATE
        return next((role for role in ROLES if role != "index_col" and getattr(self, role) == name), None)

    def with_roles(self, like: Any, names: Collection[str]) -> Choices:
        """The roles of columns of a table that was read, where none are given and these `names` have them."""
        own = {role: like.name_of_role(role) for role in ROLES if getattr(self, role) is None and role != "index_col"}
        found: dict[str, Any] = {role: name for role, name in own.items() if name in names}
        covariates = self.covariates or tuple(like.name_of_role(COVARIATE) or ())
        return replace(self, **found, covariates=tuple(name for name in covariates if name in names or self.covariates))

    def check_views(self, own: Mapping[str, Choices], names: Mapping[str, Sequence[str]]) -> None:
        """Refuse names that are of no column of several tables."""
        known = {name for each in names.values() for name in each}
        known |= {f"{view}: {name}" for view, each in names.items() for name in each}
        for name in self._named() if own else ():
            if name not in known and not (name in own and name in self.log1p):
                every = [
                    *(names if name in self.log1p else ()),
                    *(column for each in names.values() for column in each),
                ]
                raise TableRefused(f"there is no column {name!r} in {listed(names)}; {_nearest(name, every)}")

    def _named(self) -> list[str]:
        given = [*(self.columns or ()), *self.drop, *self.category, *self.covariates]
        given += [name for name in self.log1p if name != ALL]
        return given + [name for name in (getattr(self, role) for role in ROLES) if name is not None]


def treat(raw: RawTable, choices: Choices) -> tuple[tuple[Column, ...], tuple[Values, ...]]:
    """Every column with its kind and role, and its values with codes for missing taken out and numbers read.

    Returns
    -------
    columns : tuple of Column
        One for each column of the table, in its order.
    values : tuple of arrays
        Numbers, or text with None.
    """
    choices.check(raw.names)
    columns: list[Column | None] = [None] * len(raw.names)
    values: list[Values] = list(raw.values)
    for j, name in enumerate(raw.names):
        if (sort := raw.values[j].dtype.kind) in TIMES:
            columns[j] = Column(name, *TIMES[sort], int(np.isnat(raw.values[j]).sum()))
        elif raw.values[j].dtype == object:
            columns[j], values[j] = _text_column(raw, j, name in choices.category)
    numeric = [j for j, column in enumerate(columns) if column is None or column.kind == "number"]
    for j, column, cleaned in _number_columns(raw, numeric, columns, values, choices):
        columns[j], values[j] = column, cleaned
    done = [_chosen(column, choices) for column in columns if column is not None]
    return tuple(_with_row_names(done, raw, choices)), tuple(values)


def _chosen(column: Column, choices: Choices) -> Column:
    """The caller's word about a column goes before any rule."""
    if (role := choices.role_of(column.name)) is not None:
        return _with_role(column, role)
    if column.name in choices.drop:
        return replace(column, role="dropped", note=AS_ASKED)
    if choices.columns is not None and column.name not in (*choices.columns, choices.index_col):
        return replace(column, role="dropped", note="not among those asked for")
    if (column.name in choices.log1p or ALL in choices.log1p) and column.kind in ("number", "count", "scale"):
        return replace(column, log1p=True, kind="number", note="; ".join(filter(None, [column.note, "log(1 + value)"])))
    return column


def _with_role(column: Column, role: str) -> Column:
    """A column that is no measurement: its labels are what they are, and none of two counts as 1."""
    if column.kind == "binary":
        column = replace(column, kind="category", note=f"2 levels: {', '.join(column.levels)}")
    return replace(column, role=role, note=column.note if column.is_kept else "")


def _with_row_names(columns: list[Column], raw: RawTable, choices: Choices) -> list[Column]:
    """One column names the rows: the caller's, the file's, or the first that tells apart all rows.

    A counter whose heading is empty is no key of anybody's: short texts, different in every row, say more than it.
    """
    wanted = choices.index_col or raw.row_name_column
    if wanted is None and raw.row_names is None:
        able = [column for column in columns if column.kind in ("counter", "id") and column.role == "dropped"]
        free = [column for column in able if column.note not in ("as asked", "not among those asked for")]
        whole = [column for column in free if column.n_missing == 0]
        if whole and whole[0].kind == "counter" and whole[0].name == NAMELESS:
            whole = [*(column for column in whole if column.kind == "id" and _are_names(raw, column.name)), *whole]
        wanted = whole[0].name if whole else None
    return [
        replace(column, role="row names", note=_names_note(column)) if column.name == wanted else column
        for column in columns
    ]


def tell_several_ways(columns: Sequence[Column]) -> None:
    """Warn of columns whose numbers may be others, or that are left out or levels, for how numbers are written."""
    for column in columns:
        if (assumed := ASSUMED.search(column.note)) and column.role != "dropped":
            warn(
                MixedNumbers(
                    f"column {column.name!r} holds points before three digits, which may be thousands or decimals: "
                    f"{assumed[1]}.",
                    f"For {assumed[2]}.",
                )
            )
        _, found, said = column.note.partition(f"{SEVERAL_WAYS}, ")
        if not found:
            continue
        seen, _, remedy = said.partition("; --")[0].rpartition(": ")
        consequence = "they are taken as levels" if column.is_kept else "the column is left out"
        levels = "" if column.is_kept else f"; to have levels, latens.read(..., category=[{column.name!r}])"
        warn(
            MixedNumbers(
                f"column {column.name!r} holds numbers that are written in several ways, {seen}: {consequence}.",
                f"To have numbers, {remedy}{levels}.",
            )
        )


def tell_codes(columns: Sequence[Column], remedy: str) -> None:
    """Warn of numbers that nobody named and that are taken as missing; the remedy keeps them."""
    coded = [
        f"{column.name!r} ({', '.join(f'{code} {times}' for code, times in found)})"
        for column in columns
        if column.is_kept and (found := CODE_NOTE.findall(column.note))
    ]
    if coded:
        warn(
            MissingCodes(
                f"numbers far from all others that are repeated are taken as missing, in {listed(coded, 8, str)}.",
                f"If they are measurements, {remedy}.",
            )
        )


def counts_together(columns: Sequence[Column], values: Sequence[Values]) -> tuple[Column, ...]:
    """The columns of a table; where all of its numbers count something and some show it, all are counts.

    Those that show it have zeros, a tail and a variance of about the mean. Common things are never 0, and a table of
    counts would be cut into two.
    """
    numbers = [j for j, column in enumerate(columns) if column.is_kept and column.kind in ("number", "scale", "count")]
    if not any(columns[j].kind == "count" for j in numbers) or any(columns[j].log1p for j in numbers):
        return tuple(columns)
    facts = _Facts.of(np.column_stack([values[j] for j in numbers]))
    if not _are_counts(facts):
        return tuple(columns)
    return tuple(
        replace(column, kind="count", note="" if column.kind == "scale" else column.note) if j in numbers else column
        for j, column in enumerate(columns)
    )


def dates_as_names(columns: Sequence[Column], raw: RawTable) -> tuple[Column, ...]:
    """The columns of a file; dates name its rows where they are in order, and nothing else names them."""
    named = raw.row_names is not None or any(column.role == "row names" for column in columns)
    for j, column in enumerate(() if named else columns):
        if column.note == NOT_MODELLED and column.n_missing == 0 and _are_in_order(raw.values[j]):
            dates = replace(column, role="row names", note="dates in order, different in every row")
            return (*columns[:j], dates, *columns[j + 1 :])
    return tuple(columns)


def _are_in_order(values: Values) -> bool:
    """Whether dates, or texts that begin with the year, follow one another up or down."""
    if values.dtype == object and not all(YEAR_FIRST.match(str(value)) for value in values):
        return False
    pairs = list(pairwise(values))
    return all(first < second for first, second in pairs) or all(first > second for first, second in pairs)


def _are_names(raw: RawTable, name: str) -> bool:
    """Whether a column holds words short enough to stand for a row."""
    values = raw.values[raw.names.index(name)]
    return values.dtype == object and max(len(str(value)) for value in values) <= LONGEST_NAME


def _names_note(column: Column) -> str:
    return {"counter": "counts the rows", "id": "different in every row"}.get(column.kind, "as asked")


def _text_column(raw: RawTable, j: int, as_category: bool) -> tuple[Column, Values]:
    """What a column of text is; one of numbers in disguise comes back as numbers."""
    name, values = raw.names[j], raw.values[j]
    counts = Counter(value for value in values if value is not None)
    if as_category and counts:
        return _category(name, counts, len(values) - sum(counts.values()), raw.levels.get(name)), values
    n_seen = sum(counts.values())
    n_missing = len(values) - n_seen
    if not n_seen:
        return Column(name, "empty", "dropped", "no value at all", n_missing), values
    found = None if name in raw.levels else read_numbers(counts, raw.decimal)
    if found is not None and not found.doubt:
        read = np.array([np.nan if value is None else found.numbers.get(value, np.nan) for value in values])
        n_missing = int(np.isnan(read).sum())
        if len(found.numbers) == 2 and not all(plain_number(text) is not None for text in found.numbers):
            low, high = sorted(found.numbers, key=lambda text: found.numbers[text])  # two levels, as they are written
            return _two_levels(name, (low, high), n_missing), np.where(np.isnan(read), np.array(None), values)
        return _disguised_numbers(name, counts, found, n_missing), read
    if len(counts) == 1:
        return Column(name, "constant", "dropped", f"always {next(iter(counts))!r}", n_missing), values
    if are_dates(counts):
        return Column(name, "date", "dropped", NOT_MODELLED, n_missing), values
    several = "" if found is None else f"{SEVERAL_WAYS}, {found.doubt}"
    if several and (len(counts) > MOST_RECOGNISED or MOST_DISTINCT * n_seen < len(counts)):
        return Column(name, "text", "dropped", f"{several}; --category {_quoted(name)} keeps it", n_missing), values
    if name not in raw.levels and len(counts) == len(values) >= 3:
        return Column(name, "id", "dropped", "text, different in every row", n_missing), values
    folded = _fold_case(counts)
    if len(folded) == 1:
        return Column(name, "constant", "dropped", f"always {next(iter(counts))!r}", n_missing), values
    if len(folded) <= MOST_RECOGNISED or name in raw.levels:
        column = (
            _two_levels(name, _in_order(folded, raw.levels.get(name)), n_missing)
            if len(folded) == 2
            else _category(name, folded, n_missing, raw.levels.get(name))
        )
        return replace(column, note="; ".join(filter(None, [column.note, several]))), values
    keeps = f"--category {_quoted(name)} keeps it"
    note, word = f"text with {len(folded):,} levels", word_among_numbers(values)
    if word is not None:
        note = f"numbers, and {word!r} {times(counts[word])}; --missing {_quoted(word)} takes that as missing"
    return Column(name, "text", "dropped", f"{note}{'; ' if word is None else ', '}{keeps}", n_missing), values


def word_among_numbers(values: Values) -> str | None:
    """The most frequent word of a column that holds numbers beside a few words; None of any other column.

    >>> word_among_numbers(np.array(["31", "refused", "45", "27", "60", None], dtype=object))
    'refused'
    """
    counts = Counter(str(value) for value in values if value is not None)
    words = [text for text in counts if number_in(text) is None]
    n_words = sum(counts[text] for text in words)
    if not 0 < len(words) <= MOST_WORDS or n_words > MOST_WORDED * sum(counts.values()):
        return None
    return max(words, key=lambda text: counts[text])


def _disguised_numbers(name: str, counts: Counter[str], found: NumbersInText, n_missing: int) -> Column:
    """A column of numbers with currencies, thousands, percents or a unit, or with a few words among them."""
    strange = [text for text in counts if text not in found.numbers and text not in NONE_WORDS]
    words = sorted(strange, key=lambda text: -counts[text])
    reading = found.reading
    shown = list(islice(found.numbers, MOST_SHOWN))
    notes = [*reading.words(shown), *([found.assumed] if found.assumed else [])]
    if words:
        of = f" in {reading.mark}" if reading.mark else ""
        n_words = sum(counts[word] for word in words)
        notes.append(f"{n_words} value(s) that are no numbers{of} taken as missing, such as {words[0][:20]!r}")
    written = ColumnFormat.of(shown, reading).examples
    return Column(
        name, "number", KEPT, "; ".join(notes), n_missing, decimal=reading.decimal, unit=reading.unit, written=written
    )


def _fold_case(counts: Counter[str]) -> Counter[str]:
    """Levels that differ by case alone counted as one, under the form that is most frequent."""
    groups: dict[str, Counter[str]] = {}
    for text, count in counts.items():
        groups.setdefault(text.casefold(), Counter())[text] += count
    return Counter({forms.most_common(1)[0][0]: sum(forms.values()) for forms in groups.values()})


def _two_levels(name: str, levels: Sequence[str], n_missing: int) -> Column:
    zero, one = levels
    if zero.casefold() in TRUE_WORDS and one.casefold() not in TRUE_WORDS:
        zero, one = one, zero
    note = "" if (zero, one) == ("0", "1") else f"1 = {one}, 0 = {zero}"
    return Column(name, "binary", note=note, n_missing=n_missing, levels=(zero, one))


def _in_order(levels: Collection[str], declared: tuple[str, ...] | None) -> list[str]:
    """As the type of a column has them, or by the alphabet."""
    return [level for level in declared or sorted(levels) if level in levels]


def _levels_in_short(levels: Sequence[str]) -> str:
    """The first few levels; of numbers also a few words among them, for which they are levels and no numbers.

    >>> _levels_in_short(["1", "2", "3", "4", "5", "refused"]), _levels_in_short(["a", "b", "c", "d", "e"])
    ('1, 2, 3, ..., refused', 'a, b, c, d, ...')
    """
    levels = [" ".join(level.split()) for level in levels]
    if len(levels) <= MOST_TOLD:
        return ", ".join(levels)
    words = [level for level in levels if number_in(level) is None][: MOST_TOLD - 1]
    first = [level for level in levels if level not in words][: MOST_TOLD - len(words)]
    if any(number_in(level) is None for level in first):
        return f"{', '.join(levels[:MOST_TOLD])}, ..."
    return ", ".join([*first, "...", *words])


def _category(name: str, counts: Counter[str], n_missing: int, declared: tuple[str, ...] | None) -> Column:
    levels = declared or tuple(sorted(counts, key=_natural))
    if len(levels) > MOST_LEVELS:
        left_out = f"or leave the column out (--drop {_quoted(name)}, drop=[{name!r}] of latens.read)"
        raise TableRefused(f"column {name!r} is to be a category but {too_many_levels(left_out)}")
    if len(levels) < 2:
        return Column(name, "constant", "dropped", f"always {next(iter(counts), '')!r}", n_missing)
    if len(levels) == 2:
        return _two_levels(name, levels, n_missing)
    return Column(
        name, "category", note=f"{len(levels)} levels: {_levels_in_short(levels)}", n_missing=n_missing, levels=levels
    )


def _number_columns(
    raw: RawTable, numeric: Sequence[int], columns: Sequence[Column | None], values: Sequence[Values], choices: Choices
) -> list[tuple[int, Column, Values]]:
    """Columns of numbers, looked at all at once where that is possible."""
    if not numeric:
        return []
    matrix = np.column_stack([values[j] for j in numeric])
    infinite = np.isinf(matrix)
    matrix[infinite] = np.nan
    codes = _codes(matrix, choices)
    for at, found in codes.items():
        matrix[np.isin(matrix[:, at], list(found)), at] = np.nan
    facts = _Facts.of(matrix)
    out = []
    for at, j in enumerate(numeric):
        before = columns[j] or Column(raw.names[j], "number")
        unit = raw.units.get(before.name, before.unit)
        notes = [before.note, f"unit: {unit}" if unit != before.unit else ""]
        keeps = KEEPS_CODES if choices.missing is None else ""
        notes += [f"{value:g} taken as missing, {times(count)}{keeps}" for value, count in codes.get(at, {}).items()]
        notes += [f"{infinite[:, at].sum()} infinite value(s) taken as missing"] if infinite[:, at].any() else []
        as_category = before.name in choices.category
        role = None if as_category else choices.role_of(before.name)
        column = (
            _number_column(before.name, facts, at, matrix[:, at], as_category, bool(unit))
            if role is None
            else _number_aside(before.name, role, matrix[:, at], int(facts.n_missing[at]))
        )
        note = "; ".join(filter(None, [*notes, column.note]))
        own = choices.missing or tuple(codes.get(at, ()))
        column = replace(column, note=note, decimal=before.decimal, unit=before.unit, written=before.written, codes=own)
        out.append((j, column, matrix[:, at]))
    return out


def _codes(matrix: Floats, choices: Choices) -> dict[int, dict[float, int]]:
    if choices.missing is not None:
        counts = {at: {code: int((matrix[:, at] == code).sum()) for code in choices.missing}
                 for at in range(matrix.shape[1])}  # fmt: skip
        return {at: found for at, each in counts.items() if (found := {code: n for code, n in each.items() if n})}
    able = np.flatnonzero(may_hold_codes(matrix)) if len(matrix) else ()
    return {int(at): found for at in able if (found := missing_codes(matrix[:, at]))}


@dataclass(frozen=True)
class _Facts:
    """What can be said of many columns of numbers at once."""

    n_rows: int
    n_missing: NDArray[np.int64]
    low: Floats
    high: Floats
    whole: NDArray[np.bool_]
    two: NDArray[np.bool_]  # only two values
    counter: NDArray[np.bool_]  # one more in each row
    zeros: NDArray[np.bool_]
    mean: Floats
    variance: Floats
    third_moment: Floats  # about the mean

    @classmethod
    def of(cls, matrix: Floats) -> _Facts:
        hole = np.isnan(matrix)
        seen = np.maximum((~hole).sum(axis=0), 1)
        with np.errstate(all="ignore"):
            low, high = np.fmin.reduce(matrix), np.fmax.reduce(matrix)
            whole = (hole | (matrix == np.floor(matrix))).all(axis=0)
            two = (hole | (matrix == low) | (matrix == high)).all(axis=0)
            counter = (np.diff(matrix, axis=0) == 1).all(axis=0) if len(matrix) > 1 else np.zeros(len(low), dtype=bool)
            mean = np.nansum(matrix, axis=0) / seen
            centred = np.where(hole, 0.0, matrix - mean)
            variance = (centred**2).sum(axis=0) / seen
            third_moment = (centred**3).sum(axis=0) / seen
        return cls(
            len(matrix), hole.sum(axis=0), low, high, whole, two, counter, (matrix == 0).any(axis=0), mean, variance,
            third_moment,
        )  # fmt: skip


def _number_column(name: str, facts: _Facts, at: int, values: Floats, as_category: bool, has_unit: bool) -> Column:
    low, high, n_missing = float(facts.low[at]), float(facts.high[at]), int(facts.n_missing[at])
    if n_missing == facts.n_rows:
        return Column(name, "empty", "dropped", "no value at all", n_missing)
    if as_category:
        texts = Counter(level_text(value) for value in values if value == value)
        return _category(name, texts, n_missing, None)
    if low == high:
        return Column(name, "constant", "dropped", f"always {low:g}", n_missing)
    if facts.counter[at] and _counts_rows(name, low, facts.n_rows):
        return Column(name, "counter", "dropped", "counts the rows", n_missing)
    if facts.two[at] and (facts.whole[at] or facts.n_rows - n_missing >= LEAST_TWO):
        note = "" if (low, high) == (0, 1) else f"{high:g} counts as 1, {low:g} as 0"
        return Column(name, "binary", note=note, n_missing=n_missing, levels=(level_text(low), level_text(high)))
    if facts.whole[at]:
        if ID_NAME.search(_words(name)) and n_missing == 0 and len(np.unique(values)) == len(values) >= LEAST_COUNTER:
            return Column(name, "id", "dropped", "whole numbers, different in every row", n_missing)
        if not has_unit and (how := how_rows_are_numbered(values)):
            return Column(name, "number", note=f"may number the rows: {how}; --drop {_quoted(name)} leaves it out")
        if _is_count(facts, at):
            return Column(name, "count", n_missing=n_missing)
        if high - low <= LARGEST_STEP and low >= 0:
            return Column(
                name, "scale", note=f"whole numbers from {low:g} to {high:g}, taken as a number", n_missing=n_missing
            )
    return Column(name, "number", n_missing=n_missing)


def _number_aside(name: str, role: str, values: Floats, n_missing: int) -> Column:
    """Numbers with a role, which are no measurements: weights of 1 and 2 are not yes/no."""
    if n_missing == len(values):
        return Column(name, "empty", "dropped", "no value at all", n_missing)
    if role != "groups":
        return Column(name, "number", n_missing=n_missing)
    n_groups = len(np.unique(values[~np.isnan(values)]))
    return Column(name, "category", note=f"{n_groups} group{'s' if n_groups > 1 else ''}", n_missing=n_missing)


def _counts_rows(name: str, first: float, n_rows: int) -> bool:
    named = bool(ID_NAME.search(_words(name)))
    return named or (first in (0, 1) and n_rows >= LEAST_COUNTER)


def _is_count(facts: _Facts, at: int) -> bool:
    """Zeros, a tail to the right, and a variance of about the mean: small whole numbers alone are no counts."""
    if facts.low[at] < 0 or not facts.zeros[at]:
        return False
    return count_kind(float(facts.mean[at]), float(facts.variance[at]), float(facts.third_moment[at])) == "poisson"


def _are_counts(facts: _Facts) -> bool:
    """Whether columns are all whole numbers from 0 with the tails of counts, and most show zeros or reach far."""
    moments = zip(facts.mean.tolist(), facts.variance.tolist(), facts.third_moment.tolist(), strict=True)
    tailed = np.array([count_kind(*each) is not None for each in moments])
    far = (facts.low > 0) & (facts.high >= COUNT_REACH * facts.low)
    most = np.mean(far | (tailed & facts.zeros)) > 0.5
    return bool(most and ((facts.low >= 0) & facts.whole & (tailed | far)).all())


def _words(name: str) -> str:
    """A name in small letters, its words apart: PassengerId -> passenger_id.

    >>> _words("PassengerId"), _words("ID"), _words("patient.id")
    ('passenger_id', 'id', 'patient.id')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _natural(text: str) -> tuple[Any, ...]:
    """Levels that are numbers in the order of numbers, before those that are not."""
    number = number_in(text)
    return (0, number, text) if number is not None else (1, 0.0, text)


def _nearest(name: str, names: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(names), n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {listed(names, 8)}."


def _quoted(name: str) -> str:
    return f"'{name}'" if re.search(r"[^\w.=-]", name) else name
