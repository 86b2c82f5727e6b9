"""Cells as people write them: marks of missing values, dates, and numbers without anything around them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

__all__ = [
    "FALSE_WORDS",
    "MISSING_MARKS",
    "NONE_WORDS",
    "TRUE_WORDS",
    "are_codes",
    "are_dates",
    "are_truths",
    "is_absent",
    "is_missing_mark",
    "plain_number",
]

_MARKS = (
    "NA",
    "N/A",
    "NaN",
    "null",
    "#N/A",
    "#NA",
    "nil",
    "<NA>",
    "NaT",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NULL!",
)
_SIGNS = ("?", "-", "--", ".")
MISSING_MARKS = tuple(
    dict.fromkeys(["", *(form for mark in _MARKS for form in (mark, mark.lower(), mark.upper())), *_SIGNS])
)
MOST_CODES = 20  # distinct whole numbers, written as text without anything around them, that may be names of levels
NONE_WORDS = (
    "None",
    "none",
    "NONE",
)  # missing among numbers; among words mostly a level of its own, such as no airbags
TRUE_WORDS = frozenset({"yes", "y", "true", "t", "1", "on", "present", "positive", "pos", "+", "ja", "oui", "si", "x"})
FALSE_WORDS = frozenset({"no", "n", "false", "f", "0", "off", "absent", "negative", "neg", "nein", "non"})
_MARK_SET = frozenset((*MISSING_MARKS, *NONE_WORDS))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( \d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}\.?[ -]\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_ENOUGH_DATES = 0.9  # share of the texts of a column
_INFINITE = {"inf", "+inf", "-inf", "infinity", "-infinity", "+infinity"}


def are_truths(levels: Sequence[str]) -> bool:
    """Whether two levels, in their order, are words for no and for yes.

    >>> are_truths(("no", "yes")), are_truths(("False", "True")), are_truths(("0", "1")), are_truths(("no", "maybe"))
    (True, True, True, False)
    """
    return len(levels) == 2 and levels[0].casefold() in FALSE_WORDS and levels[1].casefold() in TRUE_WORDS


def is_missing_mark(cell: str) -> bool:
    """Whether a cell says that there is no value.

    >>> [is_missing_mark(cell) for cell in ("", " ? ", "n/a", "0")]
    [True, True, True, False]
    """
    return cell.strip() in _MARK_SET


def are_codes(cells: Collection[str]) -> bool:
    """Whether these distinct cells are a few whole numbers without anything around them, such as numbers of batches.

    >>> are_codes(["1", "2", "3"]), are_codes(["1.0", "2.0", "4.0"]), are_codes(["1.5", "2", "3"])
    (True, True, False)
    """
    return 2 < len(cells) <= MOST_CODES and all(cell.removesuffix(".0").isdigit() for cell in cells)


def are_dates(cells: Collection[str]) -> bool:
    """Whether nearly all of these cells are dates or times of day.

    >>> are_dates(["2024-03-01", "1 Apr 2024"]), are_dates(["12:30"]), are_dates(["2024", "March"]), are_dates([])
    (True, True, False, False)
    """
    return bool(cells) and sum(_DATE.fullmatch(cell) is not None for cell in cells) >= _ENOUGH_DATES * len(cells)


def is_absent(value: Any) -> bool:
    """Whether a value of a frame is none: None, NaN, NaT, or the NA of pandas, which answers no comparison.

    >>> [is_absent(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return str(value) == "<NA>"


def plain_number(cell: str, decimal: str = ".") -> float | None:
    """A number without any adornment, or None.

    >>> plain_number("1,5", ","), plain_number("1e3"), plain_number("1,5")
    (1.5, 1000.0, None)
    """
    cell = cell.strip()
    if decimal == ",":
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    if _NUMBER.fullmatch(cell):
        return float(cell)
    return math.nan if cell.lower() in _INFINITE else None
