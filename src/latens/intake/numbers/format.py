"""How the numbers of a column are written, for others that are to stand among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from latens.intake.numbers.cell import CURRENCY, PERCENTS, NumberCell
from latens.intake.numbers.column import Reading

__all__ = ["ColumnFormat", "NumberFormat"]

_EXAMPLE = -1234.56789  # a number that shows sign, thousands and digits
_MONEY_THEN_SIGN = re.compile(rf"{CURRENCY}\s*[-\u2212]")


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written that are multiplied by the same power of ten.

    Examples
    --------
    >>> NumberFormat.of(["$3,750.00", "-$12.50"]).write(-1234.567)
    '-$1,234.57'
    >>> NumberFormat.of(["12 %", "8 %"]).write(9.7), NumberFormat.of(["1.234,5", "7"], ",").write(2000.25)
    ('10 %', '2.000,2')
    >>> NumberFormat.of(["(30)", "1400"]).write(-1250.0), NumberFormat.of(["3.9k"]).write(12345.6)
    ('(1250)', '12.3k')
    >>> NumberFormat.of(["3.750e+03", "1.2e-01"]).write(0.25111), NumberFormat.of(["3E5"]).write(21111.1)
    ('2.511e-01', '2E4')
    >>> NumberFormat.of(["1.5e-05", "0.00125"]).write(0.0123456)
    '0.0123'
    """

    before: str = ""  # a currency
    after: str = ""  # percent, a unit or a multiplier, with the blank before it
    decimal: str = "."
    thousands: str = ""
    digits: int | None = None  # behind the decimal mark; None: as many as it takes
    minus: str = "-"  # "(" where negative numbers stand in brackets
    minus_first: bool = True  # before the currency
    tens: int = 0  # the power of ten that is left out
    power: str = ""  # how powers are written, such as e+03; "" where they are not
    significant: int | None = None  # digits in all, of columns in which some numbers have powers and others none

    @classmethod
    def of(cls, texts: Iterable[str], decimal: str = ".", letters: bool = False) -> NumberFormat:
        """The format of some cells: what most have around their numbers, and the most digits."""
        found = [(text.strip(), cell) for text in texts if (cell := NumberCell.of(text)) is not None]
        found = [(text, cell) for text, cell in found if cell.value(decimal, letters) is not None]
        if not found:
            return cls(decimal=decimal)
        places = [text.index(cell.core) for text, cell in found]
        befores = [_currency(text[:place]) for (text, _), place in zip(found, places, strict=True)]
        afters = [
            text[place + len(cell.core + cell.power) :].rstrip(")")
            for (text, cell), place in zip(found, places, strict=True)
        ]
        cores = [cell.core for _, cell in found]
        signed = [text for text, cell in found if cell.negative]
        bracketed = [text for text in signed if "(" in text]
        grouping = Counter(
            mark for core in cores for mark in re.findall(r"[,.'\u2019 \u00a0\u202f]", core) if mark != decimal
        )
        powers = [cell.power for _, cell in found if cell.power]
        mixed = 0 < len(powers) < sum(bool(core.strip("0.,")) for core in cores)
        return cls(
            before=_commonest(befores),
            after=_commonest(afters),
            decimal=decimal,
            thousands=_commonest(grouping.elements()),
            digits=max(len(core.partition(decimal)[2]) for core in cores),
            minus="(" if 2 * len(bracketed) > len(signed) else _commonest(_minus(text) for text in signed) or "-",
            minus_first=not any(_MONEY_THEN_SIGN.search(text) for text, _ in found),
            tens=found[0][1].tens(letters),
            power="" if mixed else _commonest(map(_as_positive, powers)),
            significant=max(len(re.sub(r"\D", "", core).lstrip("0")) for core in cores) if mixed else None,
        )

    def write(self, number: float) -> str:
        """A number as the column has them."""
        size = abs(number) / 10**self.tens if self.tens else abs(number)
        if self.power:
            text = _with_power(size, self.digits or 0, self.power)
        elif self.significant is not None:
            text = f"{size:.{max(self.significant, 1)}g}"
        else:
            text = repr(float(size)) if self.digits is None else f"{size:,.{self.digits}f}"
        text = text.translate({ord(","): self.thousands, ord("."): self.decimal})
        negative = number < 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0])
        if negative and self.minus == "(":
            return f"({self.before}{text}{self.after})"
        sign = self.minus if negative else ""
        return (
            f"{sign}{self.before}{text}{self.after}" if self.minus_first else f"{self.before}{sign}{text}{self.after}"
        )


@dataclass(frozen=True)
class ColumnFormat:
    """How the numbers of a column are written, those in thousands or millions apart from the others.

    Examples
    --------
    >>> column = ColumnFormat.of(["3.9k", "438"], Reading())
    >>> column.write(5123.4), column.write(512.3), column.examples
    ('5.1k', '512', ('-1235', '-1234.6k'))
    >>> ColumnFormat.of(column.examples, Reading()) == column
    True
    """

    parts: tuple[NumberFormat, ...]  # by the power of ten, the lowest first

    @classmethod
    def of(cls, texts: Iterable[str], reading: Reading) -> ColumnFormat:
        """The format of the cells that are read as numbers."""
        by_tens: dict[int, list[str]] = {}
        for text in texts:
            if reading.number(text) is not None and (cell := NumberCell.of(text)) is not None:
                by_tens.setdefault(cell.tens(reading.letters), []).append(text)
        own = {tens: _of_mark(cells, reading) for tens, cells in by_tens.items()}
        parts = tuple(NumberFormat.of(own[tens], reading.decimal, reading.letters) for tens in sorted(own))
        return cls(parts or (_without_examples(reading),))

    @property
    def examples(self) -> tuple[str, ...]:
        """A cell for each part, from which others can be read and written."""
        return tuple(part.write(_EXAMPLE * 10**part.tens) for part in self.parts)

    def write(self, number: float) -> str:
        """A number as the column has them."""
        able = [part for part in self.parts if abs(number) >= 10**part.tens]
        return (able or self.parts[:1])[-1].write(number)


def _of_mark(cells: Sequence[str], reading: Reading) -> Sequence[str]:
    """Those that have the mark of their column: bare zeros have none."""
    own = [text for text in cells if (cell := NumberCell.of(text)) is not None and cell.mark(reading.letters)]
    return own if own and reading.mark else cells


def _without_examples(reading: Reading) -> NumberFormat:
    """The format of a column that shows no number: all that is known is what they are of."""
    if reading.mark in PERCENTS:
        return NumberFormat(after=reading.mark, decimal=reading.decimal)
    unit = reading.unit
    return NumberFormat(reading.mark if not unit else "", f" {unit}" if unit else "", reading.decimal)


def _with_power(size: float, digits: int, like: str) -> str:
    """A number with a power, written as `like`, such as e+03 or E3."""
    core, _, power = f"{size:.{digits}e}".partition("e")
    width = len(like.lstrip("eE+"))
    sign = "-" if power.startswith("-") else "+" if "+" in like else ""
    return f"{core}{like[0]}{sign}{power.lstrip('+-').lstrip('0').zfill(max(width, 1))}"


def _as_positive(power: str) -> str:
    """How a power would be written that is not negative: e+05 for e-05, e5 for e-5."""
    digits = power.lstrip("eE+-")
    return f"{power[0]}{'+' if '+' in power or ('-' in power and len(digits) > 1) else ''}{digits}"


def _currency(text: str) -> str:
    """What stands before a number without its sign, with the blank that follows it."""
    text = re.sub(r"[()+\u2212-]", "", text).lstrip()
    return text if text.strip() else ""


def _minus(text: str) -> str:
    return "\u2212" if "\u2212" in text else "-"


def _commonest(texts: Iterable[str]) -> str:
    counts = Counter(texts)
    return counts.most_common(1)[0][0] if counts else ""
