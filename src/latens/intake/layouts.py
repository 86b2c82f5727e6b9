"""Tables that are not rows by columns: lists of items, edges, and one line per value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from latens.errors import TableRefused
from latens.intake.marks import are_dates
from latens.intake.raw_table import RawTable, Values, level_text
from latens.system.wording import listed

__all__ = [
    "SparseTable",
    "from_edges",
    "from_lists",
    "from_long",
    "from_transactions",
    "likely_layout",
    "looks_transposed",
]

SAMPLE_WORDS = ("sample", "id", "subject", "patient", "cell", "row", "user", "document", "case", "basket", "order")
LIST_WORDS = ("orderid", "transaction", "invoice", "receipt", "customer", "session", "visit", "member")
FEATURE_WORDS = ("feature", "variable", "gene", "item", "term", "word", "key", "column", "marker", "product", "measure")
VALUE_WORDS = ("value", "count", "n", "amount", "rating", "expression", "measurement", "weight", "quantity")
ITEM_WORDS = frozenset({"item", "product", "good", "article"})
HEADING_WORDS = ITEM_WORDS | {*SAMPLE_WORDS, *LIST_WORDS}
BRACED = re.compile(r"\{.*\}|\[.*\]|\(.*\)", re.S)
LEAST_LISTS = 0.2  # share of lists of several items among the different cells of a column of lists
GENE_NAME = re.compile(r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?|\d+(_[sxafri])?_at|cg\d{8}|rs\d{3,}|(hsa|mmu)-(mir|let)-.*", re.I)
SAMPLE_NAME = re.compile(
    r"(TCGA|GSM|SRR|ERR|SAMN|SAMEA|GTEX)[-_A-Z0-9.]*\d.*|(sample|subject|patient|cell|donor|s|p)[-_. ]?\d+", re.I
)
GENES = 0.8  # share of names that look like genes or samples
PAIRS = 0.9  # share of pairs that occur once where they are lists and their items
LEAST_ROWS = 6  # that show how a table lies
SHARED = 0.5  # share of the items of a column that occur in those before it, where columns are places of a list
MANY_SAMPLES = 10  # that each show every feature once: a long table, whatever the names of two of its columns


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Rows of mostly zeros, with names."""

    matrix: csr_array
    names: tuple[str, ...]
    row_names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    format: str = "matrix"  # how the file lays it out
    known: Mapping[str, Values] = field(default_factory=dict)  # what else the file says of the rows
    row_name_column: str | None = None  # the column that names the rows, if one does

    def transposed(self) -> SparseTable:
        rows = self.row_names or tuple(f"x{i}" for i in range(self.matrix.shape[0]))
        return SparseTable(csr_array(self.matrix.T), rows, self.names, (*self.notes, "transposed"), self.format)


def likely_layout(raw: RawTable) -> tuple[str, str] | None:
    """The format, and in words what a line is, of a table that is probably no rows by columns; None of others."""
    if looks_long(raw):
        return "long", f"a long table, one line per value ({', '.join(raw.names)})"
    if looks_like_pairs(raw):
        return "transactions", f"lists of items, one line for each {raw.names[0]} and {raw.names[1]}"
    if looks_like_lists(raw):
        return "transactions", f"lists of items, one in each line, in {listed(raw.names, 3)}"
    return None


def from_transactions(lines: Sequence[Sequence[str]]) -> SparseTable:
    """Lists of items as rows of ones.

    >>> table = from_transactions([["milk", "bread"], ["milk"], ["eggs", "milk", "milk"]])
    >>> table.names, table.matrix.toarray().tolist()
    (('milk', 'bread', 'eggs'), [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])

    Lines of a list and one of its items are put together, by the name of the list:

    >>> table = from_transactions([["order", "item"], ["7", "milk"], ["7", "bread"], ["8", "milk"]])
    >>> table.row_names, table.names, table.matrix.toarray().tolist()
    (('7', '8'), ('milk', 'bread'), [[1.0, 1.0], [1.0, 0.0]])
    """
    names, lists = _named_lists(lines)
    at: dict[str, int] = {}
    rows, columns = [], []
    for i, items in enumerate(lists):
        for item in dict.fromkeys(items):
            rows.append(i)
            columns.append(at.setdefault(item, len(at)))
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(lists), len(at)))
    named_by = None if names is None else lines[0][0]
    note = f"{len(lists):,} lists, of {len(at):,} different items"
    note += "" if named_by is None else f", by the first column, {named_by!r}"
    return SparseTable(matrix, tuple(at), names, (note,), "transactions", row_name_column=named_by)


def _named_lists(lines: Sequence[Sequence[str]]) -> tuple[tuple[str, ...] | None, list[list[str]]]:
    """Names of the lists, where they have some, and their items: without a header, and without what is no item.

    >>> _named_lists([["basket", "items"], ["1", "{milk,bread}"], ["2", "{milk}"]])
    (('1', '2'), [['milk', 'bread'], ['milk']])
    >>> _named_lists([["Item(s)", "Item 1", "Item 2"], ["2", "milk", "bread"], ["1", "eggs"]])
    (None, [['milk', 'bread'], ['eggs']])
    """
    if (baskets := _by_name_of_list(lines)) is not None:
        return tuple(baskets), list(baskets.values())
    header = lines[0] if _is_header_of_lists(lines) else None
    lists = [list(line) for line in (lines if header is None else lines[1:])]
    names = None
    if header is not None and _count_their_items(lists):
        lists = [line[1:] for line in lists]
    elif header is not None and not _names_items(header[0]) and _are_names_of_lists(lists):
        names, lists = tuple(line[0] for line in lists), [line[1:] for line in lists]
    elif header is not None and _names_lists(header[0]) and len(header) > 2:
        raise TableRefused(
            f"lists of items are read from two columns, such as order and item; this file has {listed(header, 6)}, and "
            f"{header[0]!r} repeats. Keep it and the column of items in a file of their own."
        )
    if all(len(line) <= 1 for line in lists) and _hold_lists([line[0] for line in lists if line]):
        lists = [_items_of(line[0]) if line else [] for line in lists]
    return names, lists


def _is_header_of_lists(lines: Sequence[Sequence[str]]) -> bool:
    """Whether the first line says what the others hold: it has no item of theirs.

    It has words such as item, or 0, 1, 2, ...; or the lines below it begin with names of their own.
    """
    first = list(lines[0])
    if len(lines) < 3 or {*first} & {item for line in lines[1:] for item in line}:
        return False
    counted = len(first) > 1 and first == [str(j) for j in range(len(first))]
    if counted or any(words & HEADING_WORDS for words in map(_singular_words, first)):
        return True
    return len(lines) > LEAST_ROWS and _are_names_of_lists(lines[1:]) and any(len(line) > 1 for line in lines[1:])


def _are_names_of_lists(lists: Sequence[Sequence[str]]) -> bool:
    """Whether the first cells tell all lists apart, and are no items."""
    first = {line[0] for line in lists if line}
    return len(first) == len(lists) and not first & {item for line in lists for item in line[1:]}


def _count_their_items(lists: Sequence[Sequence[str]]) -> bool:
    """Whether the first cell of every list is the number of the others."""
    return all(line[0] == str(len(line) - 1) for line in lists if line)


def _names_lists(heading: str) -> bool:
    return bool(_singular_words(heading) & {*SAMPLE_WORDS, *LIST_WORDS})


def _names_items(heading: str) -> bool:
    return bool(_singular_words(heading) & ITEM_WORDS)


def _singular_words(heading: str) -> set[str]:
    """The words of a heading, without the s of many: Item(s) and items are item.

    >>> sorted(_singular_words("Item(s)")), sorted(_singular_words("InvoiceNo"))
    (['item'], ['invoice', 'no'])
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading).lower()
    return {word.removesuffix("s") for word in re.split(r"[^a-z]+", words)} - {""}


def _hold_lists(cells: Sequence[str]) -> bool:
    """Whether cells are lists of items: all within braces or brackets, or of items that return in other company.

    >>> _hold_lists(["{milk,bread}", "{eggs}"]), _hold_lists(["milk;bread", "bread;eggs", "milk;eggs", "milk", "eggs"])
    (True, True)
    >>> _hold_lists(["milk;bread", "bread;eggs", "milk;eggs", "milk", "eggs"] * 20)
    True
    >>> _hold_lists(["Oslo, Norway", "Rome, Italy", "Lima, Peru"]), _hold_lists(["SME", "Retail", "SME"])
    (False, False)
    """
    if all(BRACED.fullmatch(cell) for cell in cells):
        return bool(cells)
    lists = {tuple(sorted(_items_of(cell))) for cell in cells}  # a list that is repeated says no more
    several = [items for items in lists if len(items) > 1]
    returns = Counter(item for items in several for item in items)
    varied = len(set(map(len, lists))) > 1  # a name and a first name are always two
    return varied and len(several) >= LEAST_LISTS * len(lists) and 2 * len(returns) <= returns.total()


def _items_of(cell: str) -> list[str]:
    """The items of a list that is written in one cell.

    >>> _items_of("{milk, bread}"), _items_of("['milk', 'bread']"), _items_of("TV;radio")
    (['milk', 'bread'], ['milk', 'bread'], ['TV', 'radio'])
    """
    inside = cell[1:-1] if BRACED.fullmatch(cell) else cell
    separator = next((mark for mark in (";", "|", ",") if mark in inside), ",")
    return [item for each in inside.split(separator) if (item := each.strip().strip("'\"").strip())]


def _by_name_of_list(lines: Sequence[Sequence[str]]) -> dict[str, list[str]] | None:
    """Items by the first of two columns, which names the list; None where lines are lists of their own.

    It does under a header that calls it an order, id or the like, and, whatever the header, where it repeats, no item
    is in it, and hardly any line occurs twice.

    >>> _by_name_of_list([["film", "genre"], *([f"{i // 2}", f"genre {i % 3}"] for i in range(8))])["1"]
    ['genre 2', 'genre 0']
    """
    if len(lines) < 3 or any(len(line) != 2 for line in lines):
        return None
    body = lines[1:]
    first, second = ({line[i] for line in body} for i in (0, 1))
    if first & second or len(first) == len(body):
        return None  # both are items, or no list has a second one
    if not _names_lists(lines[0][0]):
        other_header = not {*lines[0]} & (first | second) and len(body) >= LEAST_ROWS
        if not other_header or len(set(map(tuple, body))) <= PAIRS * len(body):
            return None
    baskets: dict[str, list[str]] = {}
    for name, item in body:
        baskets.setdefault(name, []).append(item)
    return baskets


def from_lists(raw: RawTable) -> SparseTable:
    """Lists of items from columns: a list and one of its items, a list and all of them, or a column for each item.

    Raises
    ------
    TableRefused
        If the table is none of that kind.
    """
    pairs = _whole_lines(raw)
    if _by_name_of_list(pairs) is not None:
        return from_transactions(pairs)
    if not looks_like_lists(raw):
        raise TableRefused(
            "lists of items are read from text files, from two columns, such as order and item, or from columns of "
            f"items alone; this table has {', '.join(map(repr, raw.names[:6]))}. Keep the columns of these in a file "
            "of their own."
        )
    return from_transactions(_lines(raw))


def looks_like_lists(raw: RawTable) -> bool:
    """Whether a row is a list of items: in columns that are filled from the left, or in one cell beside its name."""
    if raw.n_rows < LEAST_ROWS:
        return False
    lines = _lines(raw)
    names = len(raw.names) > 1 and (_names_lists(raw.names[0]) or _count_their_items(lines[1:]))
    if len(raw.names) == 1 + names and raw.values[-1].dtype == object:
        return (not names or _are_names_of_lists(lines[1:])) and _hold_lists([line[-1] for line in lines[1:] if line])
    columns = raw.values[names:]
    if len(columns) < 3 or any(values.dtype != object for values in columns):
        return False
    seen = np.array([[value is not None for value in values] for values in columns])
    if seen.all() or np.any(seen[1:] & ~seen[:-1]):
        return False  # a hole before an item
    own = [{value for value in values if value is not None} for values in columns]
    earlier = accumulate(own[:-1], lambda one, other: one | other)
    return all(len(later & before) > SHARED * len(later) for before, later in zip(earlier, own[1:], strict=True))


def looks_like_pairs(raw: RawTable) -> bool:
    """Whether a table has one line for each item of a list, such as an order."""
    if len(raw.names) != 2 or raw.n_rows < LEAST_ROWS:
        return False
    words = set(re.split(r"[^a-z]+", raw.names[1].lower()))
    if raw.values[1].dtype.kind == "f" and not words & set(FEATURE_WORDS):
        return False  # a measurement that was repeated
    lines = _whole_lines(raw)
    baskets = _by_name_of_list(lines) if _names_lists(raw.names[0]) else None  # else it may be a table of two levels
    n = len(lines) - 1
    return baskets is not None and len({line[1] for line in lines[1:]}) < n and len(set(map(tuple, lines))) > PAIRS * n


def _whole_lines(raw: RawTable) -> list[list[str]]:
    """Names of columns and the rows below them that miss nothing, as text."""
    return [line for line in _lines(raw) if len(line) == len(raw.names)]


def _lines(raw: RawTable) -> list[list[str]]:
    """Names of columns and what is seen in the rows below them, as text."""
    columns = [_labels(values) for values in raw.values]
    rows = ([value for value in row if value is not None] for row in zip(*columns, strict=True))
    return [list(raw.names), *rows]


def from_edges(raw: RawTable) -> SparseTable:
    """Pairs, perhaps with a weight, as a matrix: a row for each source, a column for each target."""
    if len(raw.names) not in (2, 3):
        raise TableRefused(
            f"an edge list has two columns, source and target, and perhaps a weight; this file has {len(raw.names)}."
        )
    source, target = _labels(raw.values[0]), _labels(raw.values[1])
    weight = raw.values[2] if len(raw.names) == 3 else np.ones(len(source))
    if weight.dtype.kind != "f":
        raise TableRefused(f"the third column of an edge list is a weight; {raw.names[2]!r} holds text.")
    known = [i for i in range(len(source)) if source[i] is not None and target[i] is not None]
    rows, columns = _numbered(source[i] for i in known), _numbered(target[i] for i in known)
    places = [rows[source[i]] for i in known], [columns[target[i]] for i in known]
    matrix = csr_array((np.nan_to_num(weight[known], nan=1.0), places), shape=(len(rows), len(columns)))
    return SparseTable(matrix, tuple(map(str, columns)), tuple(map(str, rows)), (f"{len(known):,} edges",), "edges")


def from_long(raw: RawTable) -> dict[str, RawTable]:
    """One line per value as one table per view: columns sample, feature and value, and perhaps view.

    Raises
    ------
    TableRefused
        If these columns cannot be recognised, or a sample has two values of a feature.
    """
    sample, feature, value, view = _long_columns(raw)
    parts = _labels(raw.values[view]) if view is not None else np.full(raw.n_rows, "x", dtype=object)
    out = {}
    for name in dict.fromkeys(part for part in parts if part is not None):
        at = np.flatnonzero(parts == name)
        out[name] = _pivot(raw, at, sample, feature, value)
    return out


def looks_long(raw: RawTable) -> bool:
    """Whether a table has one line per sample and feature."""
    if len(raw.names) not in (3, 4) or raw.n_rows < 6:
        return False
    try:
        sample, feature, value, view = _long_columns(raw)
    except TableRefused:
        return False
    named = sum(any(word in raw.names[j].lower() for word in words)
                for j, words in ((sample, SAMPLE_WORDS), (feature, FEATURE_WORDS), (value, VALUE_WORDS)))  # fmt: skip
    keys = list(zip(*(_labels(raw.values[j]) for j in (sample, feature, view) if j is not None), strict=True))
    n_samples, n_features = (len({key[i] for key in keys}) for i in (0, 1))
    crossed = len(set(keys)) == len(keys) and n_samples * n_features <= 4 * len(keys)
    several = min(n_samples, n_features) >= 2 and n_samples < len(keys) and n_features < len(keys)
    whole = len(keys) == n_samples * n_features and n_samples >= max(MANY_SAMPLES, n_features)
    if raw.values[feature].dtype == object and raw.values[value].dtype.kind == "f":
        if whole:
            return several  # every pair of a sample and a name once, with its number: no table of samples has that
        if _holds_dates(raw.values[sample]) and n_samples >= max(MANY_SAMPLES, n_features):
            return crossed and several  # so has a table of what was measured on each day, but for some days
    return crossed and several and named >= (1 if whole else 2)  # every pair once says more than a name


def looks_transposed(names: Sequence[str], rows: Sequence[str] | None) -> bool:
    """Whether rows carry names of genes, or columns those of samples while rows are many more."""
    if not rows or len(names) < 2 or len(rows) < 4:
        return False

    def share(pattern: re.Pattern[str], given: Sequence[str]) -> float:
        return sum(pattern.fullmatch(name) is not None for name in given[:1000]) / len(given[:1000])

    if share(GENE_NAME, rows) >= GENES:
        return share(GENE_NAME, names) < GENES
    return len(rows) >= 5 * len(names) and share(SAMPLE_NAME, names) >= GENES and share(SAMPLE_NAME, rows) < 0.2


def _long_columns(raw: RawTable) -> tuple[int, int, int, int | None]:
    """Where sample, feature, value and view stand: by name, else by what the columns hold."""
    lower = [name.strip().lower() for name in raw.names]
    numbers = [j for j, values in enumerate(raw.values) if values.dtype.kind == "f"]
    found: dict[str, int] = {}
    for part, words in (("sample", SAMPLE_WORDS), ("feature", FEATURE_WORDS), ("value", VALUE_WORDS)):
        for word in words:
            hits = [j for j, name in enumerate(lower) if word in re.split(r"[^a-z]+", name) and j not in found.values()]
            if hits and part not in found and (part != "value" or hits[0] in numbers):
                found[part] = hits[0]
    view = next((j for j, name in enumerate(lower) if name in ("view", "modality", "assay")), None)
    left = [j for j in range(len(raw.names)) if j not in found.values() and j != view]
    if "value" not in found and (candidates := [j for j in left if j in numbers]):
        found["value"] = candidates[-1]
        left.remove(candidates[-1])
    dates = [j for j in left if _holds_dates(raw.values[j])]
    if "sample" not in found and len(dates) == 1 and len(left) > 1:
        found["sample"] = dates[0]
        left.remove(dates[0])
    for part in ("sample", "feature"):
        if part not in found and left:
            found[part] = left.pop(0)
    if len(found) < 3 or len(set(found.values())) < 3:
        raise TableRefused(
            f"a long table has the columns sample, feature and value (and perhaps view); this one has "
            f"{', '.join(map(repr, raw.names[:6]))}. Rename them."
        )
    return found["sample"], found["feature"], found["value"], view


def _holds_dates(values: Values) -> bool:
    return values.dtype.kind == "M" or (
        values.dtype == object and are_dates({str(value) for value in values if value is not None})
    )


def _pivot(raw: RawTable, at: NDArray[Any], sample: int, feature: int, value: int) -> RawTable:
    samples, features = _labels(raw.values[sample])[at], _labels(raw.values[feature])[at]
    values = raw.values[value][at]
    rows, columns = _numbered(samples), _numbered(features)
    dtype: Any = np.float64 if values.dtype.kind == "f" else object
    matrix = np.full((len(rows), len(columns)), np.nan if dtype is np.float64 else None, dtype=dtype)
    where = [rows[name] * len(columns) + columns[other] for name, other in zip(samples, features, strict=True)]
    if len(set(where)) < len(where):
        often = Counter(where)
        twice = next(i for i in range(len(where)) if often[where[i]] > 1)
        raise TableRefused(
            f"sample {samples[twice]!r} has more than one value of {features[twice]!r}; a long table has one line for "
            "each pair. Keep one of them, or their mean."
        )
    matrix.ravel()[where] = values
    return RawTable(tuple(map(str, columns)), tuple(matrix.T), row_names=tuple(map(str, rows)), notes=("long table",))


def _labels(values: Values) -> NDArray[Any]:
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = None if value is None or value != value else level_text(value)
    return out


def _numbered(labels: Any) -> Mapping[Any, int]:
    return {label: i for i, label in enumerate(dict.fromkeys(labels))}
