"""Columns of metadata whose numbers are written as text, such as $1,000.00: numbers all the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

from latens.errors import MixedNumbers, UnseenLevels, warn
from latens.intake.marks import are_codes, is_missing_mark
from latens.intake.numbers.column import read_numbers

__all__ = ["has_levels", "read_texts"]


def has_levels(values: Any) -> bool:
    """Whether a column is of a type that has levels, which are labels whatever they are called."""
    kind = getattr(values, "dtype", None)
    return hasattr(kind, "categories") or str(kind).startswith(("Categorical", "Enum"))


def read_texts(name: str, values: list[Any], what: str) -> list[Any]:
    """The values of a column, None where missing: numbers where all of it is text that holds them, else as they are.

    Few whole numbers without anything around them may be names of levels, such as batches, and stay labels.

    >>> read_texts("fare", ["$1,000.50", None, "$7.00", "$8.00"], "metadata")
    [1000.5, None, 7.0, 8.0]
    >>> read_texts("batch", ["1", "2", "3"], "metadata")
    ['1', '2', '3']
    """
    if not all(value is None or isinstance(value, str) for value in values):
        return values
    texts = [None if value is None or is_missing_mark(value) else value.strip() for value in values]
    counts = Counter(text for text in texts if text is not None)
    if len(counts) <= 2 or are_codes(counts):
        return values
    found = read_numbers(counts)
    if found is None:
        return values
    of = f"column {name!r} of {what}"
    if found.doubt:
        seen, _, remedy = found.doubt.rpartition(": ")
        warn(MixedNumbers(f"{of} holds numbers that are written in several ways, {seen}: they are taken as labels.",
                          f"To have numbers, {remedy}."))  # fmt: skip
        return values
    words = [text for text in counts if text not in found.numbers]
    if words:
        mark = found.reading.mark
        n_words = sum(counts[word] for word in words)
        warn(
            UnseenLevels(
                f"{of} holds {n_words} value(s) that are no numbers{f' in {mark}' if mark else ''}, taken as missing, "
                f"such as {words[0][:20]!r}.",
                "Correct them, or leave those cells empty.",
            )
        )
    return [None if text is None else found.numbers.get(text) for text in texts]
