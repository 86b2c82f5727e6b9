"""Cells of later tables, read as those of the fit were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.intake.marks import NONE_WORDS
from latens.intake.numbers.cell import NumberCell
from latens.intake.numbers.column import Reading, decimal_of
from latens.intake.numbers.format import ColumnFormat

__all__ = ["format_of_later", "read_later"]


def read_later(
    values: NDArray[Any], reading: Reading, is_known: bool
) -> tuple[NDArray[np.float64], list[tuple[str, str]]]:
    """The numbers (n,) in cells of text, NaN where there are none, and what is to be said of them, with the remedy.

    Cells that are written in another way than those of the fit are missing. Where all of them are, without what those
    of the fit had, or with something that is not known of those, they are taken as they are.

    Parameters
    ----------
    values : array (n,) of str or None
    reading : Reading
        That of the fit.
    is_known : bool
        Whether the cells of the fit were text, so that the reading says what their numbers were of.

    Examples
    --------
    >>> cells = np.array(["39 %", "0.39", None], dtype=object)
    >>> read_later(cells, Reading(mark="%"), True)
    (array([39., nan, nan]), [("holds 1 value(s) that are no numbers in %, taken as missing, such as '0.39'.", ...)])
    """
    counts = Counter(value for value in values if value is not None and value not in NONE_WORDS)
    own = _reading_of_later(counts, reading, is_known)
    doubts = [] if own.mark == reading.mark else [_in_another_way(counts, reading.mark, own.mark)]
    numbers = {text: number for text in counts if (number := own.number(text)) is not None}
    strange = [text for text in counts if text not in numbers]
    if strange:
        of = f" in {own.mark}" if own.mark else ""
        n_strange = sum(counts[text] for text in strange)
        doubts.append(
            (
                f"holds {n_strange} value(s) that are no numbers{of}, taken as missing, such as {strange[0][:20]!r}.",
                "Correct them, or leave those cells empty.",
            )
        )
    found = np.array([numbers.get(value, np.nan) for value in values], dtype=np.float64)
    return found, doubts


def format_of_later(texts: Iterable[str], written: Sequence[str], reading: Reading, is_known: bool) -> ColumnFormat:
    """How numbers are written among these cells; where they show none, as cells of the fit, which `written` is like."""
    shown = list(dict.fromkeys(texts))
    own = _reading_of_later(shown, reading, is_known)
    if any(own.number(text) is not None for text in shown):
        return ColumnFormat.of(shown, own)
    return ColumnFormat.of(written, reading)


def _reading_of_later(texts: Iterable[str], reading: Reading, is_known: bool) -> Reading:
    """How later cells are read: as those of the fit, but for a decimal mark that they tell, or a mark that all lack."""
    cells = [cell for cell in map(NumberCell.of, texts) if cell is not None]
    marks = {cell.mark(reading.letters) for cell in cells if cell.core.strip("0.,")}
    mark = marks.pop() if len(marks) == 1 else reading.mark
    return replace(reading, decimal=decimal_of(cells, reading), mark=reading.mark if is_known and mark else mark)


def _in_another_way(counts: Counter[str], fitted: str, given: str) -> tuple[str, str]:
    """What to say of cells none of which is written as those of the fit."""
    cells = {text: cell for text in counts if (cell := NumberCell.of(text)) is not None}
    text = next(text for text, cell in cells.items() if cell.core.strip("0.,"))
    n = sum(counts[each] for each in cells)
    if fitted:
        return (
            f"holds {n} number(s) without {fitted!r}, which cells of the fit had, such as {text[:20]!r}: they are "
            f"taken as numbers in {fitted}.",
            f"If they are of another unit, turn them into {fitted} first.",
        )
    return (
        f"holds {n} number(s) in {given!r}, which is not known of the fit, such as {text[:20]!r}: they are taken "
        "without it.",
        "If the fit had another unit, turn them into that first.",
    )
