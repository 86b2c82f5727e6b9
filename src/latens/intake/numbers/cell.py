"""One number as people write it: its digits, and the sign, currency, percent, unit or thousands around them."""

from __future__ import annotations

import re
from typing import NamedTuple

from latens.intake.marks import plain_number

__all__ = ["CURRENCY", "PERCENTS", "NumberCell", "number_in"]

# signs of currencies, perhaps after letters (US$), and the codes that are met most
CURRENCY = (
    r"(?:[A-Z]{0,2}[$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u17db\u20a0-\u20c0]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR"
    r"|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|SGD|THB|TRY|USD|ZAR)"
)
PERCENTS = ("%", "\u2030")
_BLANKS = " \u00a0\u202f"
_CORE = rf"\d{{1,3}}(?:[.,'\u2019{_BLANKS}]\d{{3}})+(?:[.,]\d+)?|\d+[.,]?\d*|[.,]\d+"
_UNIT = r"(?:[^\W\d_]|[\u00b0\u00b5])[^\s\d]{0,9}"
_CELL = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[+-]?)\s*(?P<core>{_CORE})(?P<power>[eE][+-]?\d+)?"
    rf"(?P<gap>\s*)(?P<after>[%\u2030]|(?:[^\W\d_]{{1,8}}\.?\s*)?{CURRENCY}(?:/[^\s\d]{{1,9}})?|{_UNIT})?"
)
_PLAIN = re.compile(r"([+-]?)(\d+(?:[.,]\d+)?)")
_IN_BRACKETS = re.compile(r"([^()\d]*)\(([^()]*\d[^()]*)\)([^()\d]*)")
_WITH_CURRENCY = re.compile(rf"(.*?)\s*({CURRENCY}(?:/\S+)?)")
_GROUPED = {
    ".": re.compile(rf"\d{{1,3}}([,'\u2019{_BLANKS}]\d{{3}})+(\.\d+)?"),
    ",": re.compile(rf"\d{{1,3}}([.'\u2019{_BLANKS}]\d{{3}})+(,\d+)?"),
}
# Powers of ten that words behind a number multiply it by, in small letters; and letters that may as well be a unit
# (kelvin, mol per litre, bytes, metres), of which the other cells of a column decide, or a currency.
_POWERS = {
    **dict.fromkeys(("k", "tsd", "thousand"), 3),
    **dict.fromkeys(("mio", "mln", "mn", "million", "millions"), 6),
    **dict.fromkeys(("bn", "mrd", "billion", "billions"), 9),
}
_LETTERS = {"K": 3, "M": 6, "B": 9}
_OF_MONEY = {**_LETTERS, "m": 6, "T": 12}


class NumberCell(NamedTuple):
    """A number as a cell writes it.

    Examples
    --------
    >>> cell = NumberCell.of("-$1,234.50")
    >>> cell.currency, cell.value("."), NumberCell.of("3 kg").after, NumberCell.of("about 3")
    ('$', -1234.5, 'kg', None)
    """

    core: str  # digits with the marks among them
    power: str  # such as e+03
    negative: bool
    currency: str
    after: str  # percent, a unit or a multiplier
    attached: bool  # without a blank before that

    @classmethod
    def of(cls, text: str) -> NumberCell | None:
        """The number in a cell; None where it holds none, or more than one."""
        if (plain := _PLAIN.fullmatch(text)) is not None:  # most cells, and quicker
            return cls(plain[2], "", plain[1] == "-", "", "", attached=True)
        text = text.strip().replace("\u2212", "-")
        inside = _IN_BRACKETS.fullmatch(text) if "(" in text else None
        found = _CELL.fullmatch(text if inside is None else "".join(inside.groups()).strip())
        if found is None:
            return None
        sign, before, inner, core, power, gap, after = found.groups()
        if (sign and inner) or (inside is not None and (sign or inner)):
            return None
        currency, after = before or "", after or ""
        if after and (money := _WITH_CURRENCY.fullmatch(after)) is not None:
            if currency:
                return None
            after, currency = money.groups()
        return cls(core, power or "", "-" in (sign, inner) or inside is not None, currency, after, not gap)

    def tens(self, letters: bool = False) -> int:
        """The power of ten that its number is multiplied by; `letters` whether K, M and B behind it do so.

        >>> NumberCell.of("3.9k").tens(), NumberCell.of("3.9M").tens(), NumberCell.of("$3.9M").tens()
        (3, 0, 6)
        """
        if not self.after:
            return 0
        word = self.after if len(self.after) == 1 else self.after.casefold().rstrip(".")
        if word in _POWERS:
            return _POWERS[word]
        if self.currency:
            return _OF_MONEY.get(self.after, 0)
        return _LETTERS.get(self.after, 0) if letters and self.attached else 0

    @property
    def is_letter(self) -> bool:
        """Whether a letter behind it multiplies the number or is its unit, which the cell alone does not say."""
        return self.after in _LETTERS and self.attached and not self.currency

    def mark(self, letters: bool = False) -> str:
        """What its number is of: a currency, percent, a unit, or nothing.

        >>> [NumberCell.of(text).mark() for text in ("$5", "5 %", "5 kg", "5k", "5")]
        ['$', '%', 'kg', '', '']
        """
        if not self.after:
            return self.currency
        unit = "" if self.tens(letters) else self.after
        return f"{self.currency} {unit}".strip() if unit else self.currency

    def value(self, decimal: str, letters: bool = False) -> float | None:
        """The number that it means where this is the decimal mark; None where it cannot be."""
        text, other = self.core, "," if decimal == "." else "."
        if _GROUPED[decimal].fullmatch(text):
            text = re.sub(rf"['\u2019{_BLANKS}]", "", text).replace(other, "")
        if other in text:
            return None
        tens = int(self.power[1:] or 0) + self.tens(letters)
        try:
            number = float(f"{text}e{tens}".replace(",", ".") if tens or decimal == "," else text)
        except ValueError:  # blanks between other digits than thousands
            return None
        return -number if self.negative else number


def number_in(cell: str, decimal: str = ".", unit: str = "") -> float | None:
    """The number that a cell means, whatever thousands, currency or percent it wears; None if it means none.

    `unit` may stand behind it, and no other. What a column of cells means is told by all of them: `NumbersInText`.

    >>> number_in("$1,234.50"), number_in("12 %"), number_in("1.234,5", ","), number_in("(3)"), number_in("3 kg")
    (1234.5, 12.0, 1234.5, -3.0, None)
    >>> number_in("1,003 kg", unit="kg"), number_in("3", unit="kg"), number_in("3 t", unit="kg")
    (1003.0, 3.0, None)
    """
    number = plain_number(cell, decimal)
    if number is not None:
        return number
    found = NumberCell.of(cell)
    return None if found is None or found.after not in ("", unit, *PERCENTS) else found.value(decimal)
