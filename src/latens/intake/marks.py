"""Cells as people write them: marks of missing values, and numbers with thousands, currencies and percents."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "MISSING_MARKS",
    "NONE_WORDS",
    "NumberFormat",
    "are_dates",
    "has_decimal_commas",
    "is_absent",
    "is_missing_mark",
    "number_in",
    "number_style",
    "plain_number",
    "units_in",
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
_CORE = {  # digits with the marks among them, without what stands around
    ".": re.compile(r"\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?(?!\d)|\d*\.?\d+"),
    ",": re.compile(r"\d{1,3}([.' \u00a0\u202f]\d{3})+(,\d+)?(?!\d)|\d*,?\d+"),
}
_WITH_COMMA = re.compile(r"[+-]?(\d{1,18})(?:,(\d{1,18}))?")
_WITH_UNIT = re.compile(r"[+\u2212-]?\d[\d.,' \u00a0\u202f]*?\s*([^\W\d_][^\s\d]{0,9}|[°µ][^\s\d]{0,9})")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( \d{1,2}:\d{2}.*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}\.?[ -]\d{2,4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_ENOUGH_DATES = 0.9  # share of the texts of a column
_MOST_CHOICES = 20  # answers that a question offers, of which a cell may list two
_INFINITE = {"inf", "+inf", "-inf", "infinity", "-infinity", "+infinity"}


def is_missing_mark(cell: str) -> bool:
    """Whether a cell says that there is no value.

    >>> [is_missing_mark(cell) for cell in ("", " ? ", "n/a", "0")]
    [True, True, True, False]
    """
    return cell.strip() in _MARK_SET


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


def number_in(cell: str, decimal: str = ".", unit: str = "") -> float | None:
    """The number that a cell means, whatever thousands, currency or percent it wears; None if it means none.

    `unit` may stand behind it, and no other.

    >>> number_in("$1,234.50"), number_in("12 %"), number_in("1.234,5", ","), number_in("(3)"), number_in("3 kg")
    (1234.5, 12.0, 1234.5, -3.0, None)
    >>> number_in("1,003 kg", unit="kg"), number_in("3", unit="kg"), number_in("3 t", unit="kg")
    (1003.0, 3.0, None)
    """
    number = plain_number(cell, decimal)
    if number is not None:
        return number
    text = cell.strip().replace("\u2212", "-")
    text = text.removesuffix(unit).strip()
    negative = text.startswith("(") and text.endswith(")")
    text = text[1:-1] if negative else text
    text = text.strip(_CURRENCIES + " \u00a0").removesuffix("%").strip()
    if text[:1] in "+-" and text[1:2] and text[1:2] in _CURRENCIES:
        text = text[0] + text[1:].lstrip(_CURRENCIES)
    if _GROUPED[decimal].fullmatch(text):
        text = re.sub(r"[' \u00a0\u202f]", "", text).replace("," if decimal == "." else ".", "")
    number = plain_number(text, decimal)
    return -number if number is not None and negative else number


def units_in(counts: Mapping[str, int]) -> Counter[str]:
    """How often each unit stands behind the numbers of a column, from the cells and how often each occurs.

    >>> units_in({"3 kg": 2, "4kg": 1, "1 t": 1, "none": 5})
    Counter({'kg': 3, 't': 1})
    """
    found: Counter[str] = Counter()
    for cell, count in counts.items():
        if (match := _WITH_UNIT.fullmatch(cell.strip())) is not None:
            found[match[1]] += count
    return found


def number_style(cells: Iterable[str], decimal: str = ".") -> str:
    """In a word or two, what stood around the numbers of a column."""
    text, mark = "\n".join(cells), "," if decimal == "." else "."
    parts = [f"currency {sign}" for sign in _CURRENCIES if sign in text]
    parts += ["percent"] if "%" in text else []
    parts += ["thousands marked"] if re.search(rf"\d[{mark}' \u00a0\u202f]\d{{3}}", text) and not parts else []
    return ", ".join(parts) or ("decimal comma" if decimal == "," else "text")


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written, for others that are to stand among them.

    Examples
    --------
    >>> NumberFormat.of(["$3,750.00", "-$12.50"]).write(-1234.567)
    '-$1,234.57'
    >>> NumberFormat.of(["12 %", "8 %"]).write(9.7), NumberFormat.of(["1.234,5", "7"], ",").write(2000.25)
    ('10 %', '2.000,2')
    >>> NumberFormat.of(["(30)", "1400"]).write(-1250.0), NumberFormat.of(["3e5"]).write(0.25)
    ('(1250)', '0.25')
    """

    before: str = ""  # a currency
    after: str = ""  # percent or a unit, with the blank before it
    decimal: str = "."
    thousands: str = ""
    digits: int | None = None  # behind the decimal mark; None: as many as it takes
    minus: str = "-"  # "(" where negative numbers stand in brackets
    minus_first: bool = True  # before the currency

    @classmethod
    def of(cls, cells: Iterable[str], decimal: str = ".", unit: str = "") -> NumberFormat:
        """The format of the numbers among some cells: what most have around them, and the most digits."""
        texts = [cell.strip() for cell in cells if number_in(cell, decimal, unit) is not None]
        found = [(text, match) for text in texts if (match := _CORE[decimal].search(text)) is not None]
        if not found:
            return cls(after=f" {unit}" if unit else "", decimal=decimal)
        befores = [text[: match.start()].strip("()+-\u2212 ") for text, match in found]
        afters = [text[match.end() :].rstrip(")") for text, match in found]
        cores = [match[0] for _, match in found]
        signed = [text for text, _ in found if text[0] in "(-\u2212"]
        inside = any(re.search(rf"[{_CURRENCIES}]\s*[-\u2212]", text) for text, _ in found)
        grouping = Counter(
            mark for core in cores for mark in re.findall(r"[,.' \u00a0\u202f]", core) if mark != decimal
        )
        powers = any(re.match(r"[eE][+-]?\d", after) for after in afters)
        return cls(
            before=_commonest(befores),
            after="" if powers else _commonest(afters),
            decimal=decimal,
            thousands=_commonest(grouping.elements()),
            digits=None if powers else max(len(core.partition(decimal)[2]) for core in cores),
            minus=_commonest([text[0] for text in signed]) or "-",
            minus_first=not inside,
        )

    def write(self, number: float) -> str:
        """A number as the column has them."""
        size = abs(number)
        text = repr(float(size)) if self.digits is None else f"{size:,.{self.digits}f}"
        text = text.translate({ord(","): self.thousands, ord("."): self.decimal})
        negative = number < 0 and any(digit in "123456789" for digit in text)
        if negative and self.minus == "(":
            return f"({self.before}{text}{self.after})"
        sign = self.minus if negative else ""
        return (
            f"{sign}{self.before}{text}{self.after}" if self.minus_first else f"{self.before}{sign}{text}{self.after}"
        )


def _commonest(texts: Iterable[str]) -> str:
    counts = Counter(texts)
    return counts.most_common(1)[0][0] if counts else ""


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
