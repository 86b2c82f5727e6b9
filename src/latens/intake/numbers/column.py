"""What a column of cells that hold numbers means: decided by all of its cells together, or not at all.

Cells with and without a unit, a percent sign or another currency are not pooled, nor are cells with a decimal point
and with a decimal comma; where a mark may be of thousands or of decimals, other cells tell, or nobody does. A few cells
that are unlike all others are missing; more of them, and the column is no numbers: what was seen is said, and what to
write.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from latens.intake.marks import NONE_WORDS, plain_number
from latens.intake.numbers.cell import CURRENCY, PERCENTS, NumberCell

__all__ = ["ENOUGH_NUMBERS", "NumbersInText", "Reading", "are_codes", "decimal_of", "read_numbers", "shown_decimal"]

ENOUGH_NUMBERS = 0.95  # share of a column that are numbers of one kind, so that the rest is taken as missing
_MOST_CHOICES = 20  # answers that a question offers, of which a cell may list two
_MOST_SHOWN = 3  # ways of writing numbers that a word about them names
_IS_CURRENCY = re.compile(CURRENCY)
_BARE = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_BOTH = re.compile(r"[.,]")
_GROUPS = re.compile(r"\d[.,'\u2019 \u00a0\u202f]\d{3}")
_UNMARKED = re.compile(r"\d{3,}")
_BELOW_A_THOUSAND = re.compile(r"[1-9]\d{2}")


@dataclass(frozen=True)
class Reading:
    """How the cells of a column are read as numbers.

    Examples
    --------
    >>> percent = Reading(mark="%")
    >>> percent.number("39 %"), percent.number("0.39"), percent.number("0")
    (39.0, None, 0.0)
    >>> Reading.like(["-1,234", "-1.2K"]).number("3.9K"), Reading.like(["-1.2K"]).number("3.9K")
    (3900.0, 3.9)
    """

    decimal: str = "."
    mark: str = ""  # what all numbers are of: a currency, percent, a unit, or nothing
    letters: bool = False  # whether K, M and B behind a number multiply it

    @classmethod
    def like(cls, cells: Sequence[str], decimal: str = ".") -> Reading:
        """That of cells of which all are known to be numbers of one kind."""
        found = [cell for cell in map(NumberCell.of, cells) if cell is not None]
        letters = _letters_multiply(found)
        return cls(decimal, next((cell.mark(letters) for cell in found), ""), letters)

    def number(self, text: str) -> float | None:
        """The number that a cell means; None where it means none, or one of another kind."""
        cell = NumberCell.of(text)
        if cell is None:
            return plain_number(text, self.decimal)  # infinite, or none
        value = cell.value(self.decimal, self.letters)
        return value if cell.mark(self.letters) == self.mark or _is_nothing(cell, self.mark) else None

    @property
    def unit(self) -> str:
        """The mark, where it is a unit."""
        return "" if self.mark in PERCENTS or _IS_CURRENCY.match(self.mark) else self.mark

    def words(self, texts: Iterable[str]) -> list[str]:
        """What stood around the numbers of a column, in a word or two each.

        >>> Reading(mark="$").words(["$1,000"]), Reading().words(["1,000", "7k"])
        (['currency $'], ['thousands marked', 'k is 1,000'])
        """
        cells = [cell for cell in map(NumberCell.of, texts) if cell is not None]
        said = [f"unit: {self.unit}"] if self.unit else []
        if not said and self.mark:
            said = ["percent" if self.mark == "%" else self.mark if self.mark in PERCENTS else f"currency {self.mark}"]
        if not said and any(_GROUPS.search(cell.core.replace(self.decimal, "_")) for cell in cells):
            said = ["thousands marked"]
        if not said and self.decimal == ",":
            said = ["decimal comma"]
        tens = {cell.after: cell.tens(self.letters) for cell in cells if cell.tens(self.letters)}
        return [*said, *(f"{word} is {10**power:,}" for word, power in sorted(tens.items(), key=lambda each: each[1]))]


@dataclass(frozen=True)
class NumbersInText:
    """What was made of the texts of a column.

    Parameters
    ----------
    reading : Reading
    numbers : dict of str to float
        The number of each text that is one.
    doubt : str
        Why they are no numbers of one kind, and what to write; "" where they are.
    assumed : str
        What was read where cells may mean another number, and what to write for that; "" where they may not.
    """

    reading: Reading
    numbers: Mapping[str, float] = field(default_factory=dict)
    doubt: str = ""
    assumed: str = ""


def read_numbers(counts: Mapping[str, int], decimal: str = ".") -> NumbersInText | None:
    """The numbers of a column of text, from its texts and how often each occurs; None where it holds none.

    Parameters
    ----------
    counts : dict of str to int
    decimal : str
        The decimal mark of the table, where the cells do not tell.

    Examples
    --------
    >>> read_numbers({"3.9k": 1, "438": 1}).numbers
    {'3.9k': 3900.0, '438': 438.0}
    >>> read_numbers({"3.750,00 €": 1, "3.750 €": 1}).numbers
    {'3.750,00 €': 3750.0, '3.750 €': 3750.0}
    >>> read_numbers({"39%": 2, "0.176": 1}).doubt
    "in % (2 cells, such as '39%') and without % (1, such as '0.176'): write all in %, or all as fractions"
    >>> read_numbers({"3.750 €": 1, "4.120 €": 2}).doubt
    "'3.750 €' may be 3750 or 3.75 (3 cells like it): write 3750 € or 3.75 €"
    >>> read_numbers({"3.750 €": 1, "4.120 €": 2}, ",").assumed
    "'3.750 €' read as 3750, as the file has decimal commas; for 3.75 write 3,75 €"
    >>> read_numbers({"yes": 3, "1": 1})
    """
    if are_codes(counts):
        return None
    if decimal == "." and all(map(_BARE.fullmatch, counts)):  # nothing is to be decided
        return NumbersInText(Reading(), {text: float(text) for text in counts}) if len(counts) > 1 else None
    n_seen = sum(count for text, count in counts.items() if text not in NONE_WORDS)
    cells = {text: cell for text in counts if (cell := NumberCell.of(text)) is not None}
    infinite = {text: math.nan for text in counts if text not in cells and plain_number(text) is not None}
    n_cells = sum(counts[text] for text in (*cells, *infinite))
    if len(cells) + len(infinite) < 2 or n_cells < ENOUGH_NUMBERS * n_seen:
        return None
    letters = _letters_multiply(cells.values())
    by_mark: dict[str, list[str]] = {}
    for text, cell in cells.items():
        by_mark.setdefault(cell.mark(letters) if cell.after else cell.currency, []).append(text)
    often = Counter({mark: sum(counts[text] for text in texts) for mark, texts in by_mark.items()})
    mark = _commonest_mark(often, by_mark, cells)
    own = [*by_mark[mark], *(text for text in by_mark.get("", ()) if mark and _is_nothing(cells[text], mark))]
    n_own = sum(counts[text] for text in own)
    if n_own + sum(counts[text] for text in infinite) < ENOUGH_NUMBERS * n_seen:
        own_texts = set(own)  # bare zeros are of no kind of their own
        ambiguous = {each: texts for each, texts in by_mark.items() if each == mark or not own_texts.issuperset(texts)}
        return NumbersInText(Reading(decimal), doubt=_of_marks(ambiguous, counts))
    found, doubt = _decided_decimal({text: cells[text] for text in own}, counts, decimal, mark)
    reading = Reading(found, mark, letters)
    read = {text: cells[text].value(found, letters) for text in own}
    numbers = {text: number for text, number in read.items() if number is not None} | infinite
    if doubt:
        return NumbersInText(reading, doubt=doubt)
    if len(numbers) < 2 or sum(counts[text] for text in numbers) < ENOUGH_NUMBERS * n_seen:
        return None
    return NumbersInText(reading, numbers, assumed=_assumed_thousands({text: cells[text] for text in own}, decimal))


def are_codes(texts: Iterable[str]) -> bool:
    """Whether digits begin with 0, as those of postal codes do."""
    return any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts)


def decimal_of(cells: Iterable[NumberCell], reading: Reading) -> str:
    """The decimal mark of later cells of a column: as they tell, else that of the reading."""
    by_decimal = {mark for cell in cells if (mark := shown_decimal(cell.core)) is not None}
    return by_decimal.pop() if len(by_decimal) == 1 else reading.decimal


def _letters_multiply(cells: Collection[NumberCell]) -> bool:
    """Whether K, M and B are thousands, millions and billions in a column: beside words that are so, or one another.

    K and M are so beside numbers without anything too; a column in which all cells have one of them has a unit.
    """
    letters = {cell.after for cell in cells if cell.is_letter}
    if not letters:
        return False
    plain = any(not cell.after and not cell.currency and cell.core.strip("0.,") for cell in cells)
    return len(letters) > 1 or any(cell.tens() for cell in cells) or (plain and letters <= {"K", "M"})


def _is_nothing(cell: NumberCell, mark: str) -> bool:
    """Whether a cell is a bare 0, which is the same in every unit but degrees."""
    return not cell.core.strip("0.,") and not cell.currency and not cell.after and not mark.startswith("°")


def _commonest_mark(often: Counter[str], by_mark: Mapping[str, Sequence[str]], cells: Mapping[str, NumberCell]) -> str:
    """What most numbers are of; bare zeros have no say."""
    has_say = [mark for mark in often if mark or any(cells[text].core.strip("0.,") for text in by_mark[mark])]
    return max(has_say or often, key=lambda mark: often[mark], default="")


def _of_marks(by_mark: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> str:
    """What numbers of a column are of, and what to write."""
    often = {mark: sum(counts[text] for text in texts) for mark, texts in by_mark.items()}
    order = sorted(by_mark, key=lambda mark: (mark == "", -often[mark]))
    named = [mark for mark in order if mark]
    parts: list[str] = []
    for mark in order[:_MOST_SHOWN]:
        without = named[0] if len(named) == 1 else "a unit"
        cells = f"{often[mark]:,}" if parts else f"{often[mark]:,} cell{'s' if often[mark] > 1 else ''}"
        parts.append(f"{f'in {mark}' if mark else f'without {without}'} ({cells}, such as {by_mark[mark][0]!r})")
    more = len(order) - _MOST_SHOWN
    said = " and ".join(parts) if more <= 0 else f"{', '.join(parts)} and {more} other way{'s' if more > 1 else ''}"
    if len(named) > 1:
        return f"{said}: write one {'currency' if all(map(_IS_CURRENCY.match, named)) else 'unit'}"
    if named[0] in PERCENTS:
        return f"{said}: write all in {named[0]}, or all as fractions"
    return f"{said}: write {named[0]} in all cells, or in none"


def shown_decimal(core: str) -> str | None:
    """The decimal mark that a number shows; None where it shows none, or one that may be of thousands.

    >>> [shown_decimal(core) for core in ("3.75", "3,75", "1,234.5", "1.234.567", "0.125", "1.234", "12")]
    ['.', ',', '.', ',', '.', None, None]
    """
    marks = _BOTH.findall(core)
    if not marks or _AMBIGUOUS.fullmatch(core):
        return None
    other = "," if marks[-1] == "." else "."
    return other if marks.count(marks[-1]) > 1 else marks[-1]


def _decided_decimal(
    cells: Mapping[str, NumberCell], counts: Mapping[str, int], decimal: str, mark: str
) -> tuple[str, str]:
    """The decimal mark of a column, and why it cannot be known."""
    by_decimal: dict[str, list[str]] = {}
    open_: list[str] = []
    for text, cell in cells.items():
        shown = shown_decimal(cell.core)
        if shown is not None:
            by_decimal.setdefault(shown, []).append(text)
        elif _BOTH.search(cell.core):
            open_.append(text)
    if mark == "" and "," in by_decimal and _may_be_answers([cells[text].core for text in cells]):
        del by_decimal[","]
    if mark == "" and decimal == ",":
        by_decimal.pop(".", None)  # of a table whose numbers have commas: days and months, or versions
    often = {shown: sum(counts[text] for text in texts) for shown, texts in by_decimal.items()}
    if len(by_decimal) == 2 and min(often.values()) > (1 - ENOUGH_NUMBERS) * sum(counts[text] for text in cells):
        return decimal, (
            f"with a decimal point ({often['.']:,}, such as {by_decimal['.'][0]!r}) and with a decimal comma "
            f"({often[',']:,}, such as {by_decimal[','][0]!r}): write one of them"
        )
    if by_decimal:
        return max(by_decimal, key=lambda shown: often[shown]), ""
    if mark and mark not in PERCENTS and (either := _may_be_thousands(open_, cells, decimal, mark)):
        return decimal, _either_way(either, cells, counts, decimal)
    return decimal, ""


def _may_be_thousands(open_: Sequence[str], cells: Mapping[str, NumberCell], decimal: str, mark: str) -> Sequence[str]:
    """Cells whose mark before three digits may be of thousands or of decimals, where nothing makes one more probable.

    Of money, which has two decimals or none, every decimal mark; and commas where the currency follows, as where commas
    are decimal. Of other units, decimal marks beside numbers of three digits without any.
    """
    between = [text for text in open_ if decimal in cells[text].core]
    if not _IS_CURRENCY.match(mark):
        whole = any(_UNMARKED.fullmatch(cell.core) for cell in cells.values())
        return between if whole else []
    follows = any(text.strip().endswith(mark) for text in open_)
    return open_ if follows and decimal == "." else between


def _assumed_thousands(cells: Mapping[str, NumberCell], decimal: str) -> str:
    """What to say of points before three digits that count as thousands for the decimal commas of other columns alone.

    Where cells of the column have decimals, or three digits without a point as below a thousand, these tell as well.
    """
    cores = {text: cell.core for text, cell in cells.items()}
    points = [text for text, core in cores.items() if _AMBIGUOUS.fullmatch(core) and "." in core]
    is_decided = any(shown_decimal(core) is not None or _BELOW_A_THOUSAND.fullmatch(core) for core in cores.values())
    if decimal == "." or not points or is_decided:
        return ""
    text = points[0]
    whole, broken = cores[text].replace(".", ""), f"{float(cores[text]):g}"
    written = text.replace(cores[text], _unmistakable(broken, ","))
    return f"{text!r} read as {whole}, as the file has decimal commas; for {broken} write {written}"


def _either_way(open_: Sequence[str], cells: Mapping[str, NumberCell], counts: Mapping[str, int], decimal: str) -> str:
    """What to say of a mark that may be of thousands or of decimals."""
    text = open_[0]
    core, n = cells[text].core, sum(counts[each] for each in open_)
    whole, broken = _BOTH.sub("", core), f"{float(_BOTH.sub('.', core)):g}"
    written = [text.replace(core, each) for each in (whole, _unmistakable(broken, decimal))]
    like = f"{n:,} cell{'s' if n > 1 else ''} like it"
    return f"{text!r} may be {whole} or {broken} ({like}): write {written[0]} or {written[1]}"


def _unmistakable(number: str, decimal: str) -> str:
    """A number with a decimal mark that is none of thousands: before other than three digits.

    >>> _unmistakable("3.75", ","), _unmistakable("1.234", "."), _unmistakable("4", ",")
    ('3,75', '1.2340', '4,0')
    """
    whole, _, rest = number.partition(".")
    return f"{whole}{decimal}{rest or '0'}{'0' if len(rest) == 3 else ''}"


def _may_be_answers(cores: Iterable[str]) -> bool:
    """Whether commas stand between two small whole numbers, the second larger, which may be two answers."""
    pairs = [core.split(",") for core in cores if "," in core]
    return all(
        len(pair) == 2
        and all(part.isdigit() for part in pair)
        and int(pair[0]) < int(pair[1]) <= _MOST_CHOICES
        and pair[1][0] != "0"
        for pair in pairs
    )
