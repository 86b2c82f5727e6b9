"""Cells as people write them: marks of missing values, and numbers with thousands, currencies and percents."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "MISSING_MARKS",
    "NONE_WORDS",
    "has_decimal_commas",
    "is_absent",
    "is_missing_mark",
    "number_in",
    "number_style",
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
MISSING_MARKS = tuple(
    dict.fromkeys(["", *(form for mark in _MARKS for form in (mark, mark.lower(), mark.upper())), "?", "-", "--", "."])
)
NONE_WORDS = (
    "None",
    "none",
    "NONE",
)  # missing among numbers; among words mostly a level of its own, such as no airbags
_MARK_SET = frozenset((*MISSING_MARKS, *NONE_WORDS))
_CURRENCIES = "$€£¥₹"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GROUPED = {
    ".": re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?"),
    ",": re.compile(r"[+-]?\d{1,3}([.' \u00a0\u202f]\d{3})+(,\d+)?"),
}
_WITH_COMMA = re.compile(r"[+-]?(\d{1,18})(?:,(\d{1,18}))?")
_MOST_CHOICES = 20  # answers that a question offers, of which a cell may list two
_INFINITE = {"inf", "+inf", "-inf", "infinity", "-infinity", "+infinity"}


def is_missing_mark(cell: str) -> bool:
    """Whether a cell says that there is no value.

    >>> [is_missing_mark(cell) for cell in ("", " ? ", "n/a", "0")]
    [True, True, True, False]
    """
    return cell.strip() in _MARK_SET


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


def number_in(cell: str, decimal: str = ".") -> float | None:
    """The number that a cell means, whatever thousands, currency or percent it wears; None if it means none.

    >>> number_in("$1,234.50"), number_in("12 %"), number_in("1.234,5", ","), number_in("(3)"), number_in("3 kg")
    (1234.5, 12.0, 1234.5, -3.0, None)
    """
    number = plain_number(cell, decimal)
    if number is not None:
        return number
    text = cell.strip().replace("\u2212", "-")
    negative = text.startswith("(") and text.endswith(")")
    text = text[1:-1] if negative else text
    text = text.strip(_CURRENCIES + " \u00a0").removesuffix("%").strip()
    if text[:1] in "+-" and text[1:2] and text[1:2] in _CURRENCIES:
        text = text[0] + text[1:].lstrip(_CURRENCIES)
    if _GROUPED[decimal].fullmatch(text):
        text = re.sub(r"[' \u00a0\u202f]", "", text).replace("," if decimal == "." else ".", "")
    number = plain_number(text, decimal)
    return -number if number is not None and negative else number


def number_style(cells: Iterable[str], decimal: str = ".") -> str:
    """In a word or two, what stood around the numbers of a column."""
    text, mark = "\n".join(cells), "," if decimal == "." else "."
    parts = [f"currency {sign}" for sign in _CURRENCIES if sign in text]
    parts += ["percent"] if "%" in text else []
    parts += ["thousands marked"] if re.search(rf"\d[{mark}' \u00a0\u202f]\d{{3}}", text) and not parts else []
    return ", ".join(parts) or ("decimal comma" if decimal == "," else "text")


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether all cells of a column are numbers of which a comma marks the fraction, and can be nothing else.

    Commas before three digits each may mark thousands; two small whole numbers, the second larger, may be two answers.

    >>> has_decimal_commas(["1,71", "12,5", "3"]), has_decimal_commas(["1,234", "5,678"]), has_decimal_commas(["1,3"])
    (True, False, False)
    """
    parts = [_WITH_COMMA.fullmatch(cell.strip()) for cell in cells if cell not in NONE_WORDS]
    if not all(parts):
        return False
    pairs = [(part[1], part[2]) for part in parts if part is not None and part[2] is not None]
    thousands = all(len(fraction) == 3 and len(whole) <= 3 and whole[0] != "0" for whole, fraction in pairs)
    answers = all(int(whole) < int(fraction) <= _MOST_CHOICES and fraction[0] != "0" for whole, fraction in pairs)
    return not thousands and not answers
