"""What 0 and 1 of yes/no columns were called in the table that was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["after_one", "before_one", "yes_no_words"]


def yes_no_words(entry: Entry, d: int) -> list[tuple[str, str] | None]:
    """Of each of d columns what 0 and what 1 stands for; None of columns that are not yes/no, or have no words."""
    known = _known_words(entry.model)
    layout = getattr(entry.model, "layout_", None)
    names = entry.column_names(d) if layout is None else [name for own in layout.features for name in own]
    if layout is not None:  # whose columns are called after the word that is 1
        for own in layout.words.values():
            known |= {made: known[name] for name, made in zip(own.names, own.features, strict=True) if name in known}
    return [known.get(name) for name in names] if len(names) == d else [None] * d


def after_one(name: str, words: tuple[str, str] | None) -> str:
    """The name of a column with the word that is 1, where it has words.

    >>> after_one("sex", ("female", "male")), after_one("sex = male", ("female", "male")), after_one("ill", None)
    ('sex = male', 'sex = male', 'ill')
    """
    return name if words is None else f"{before_one(name, words)} = {words[1]}"


def before_one(name: str, words: tuple[str, str] | None) -> str:
    """The name of a column without the word that is 1.

    >>> before_one("sex = male", ("female", "male")), before_one("species = Gentoo", None)
    ('sex', 'species = Gentoo')
    """
    return name if words is None else name.removesuffix(f" = {words[1]}")


def _known_words(model: Any) -> dict[str, tuple[str, str]]:
    """By column, from the encoding of a frame or file, or of a raw frame of classes."""
    pairs: list[tuple[str, tuple[str, ...]]] = []
    for encoding in (getattr(model, "encodings_", None) or {}).values():
        pairs += [(column.name, column.levels) for column in encoding.columns if column.kind == "binary"]
    columns = getattr(model, "columns_", None)
    if columns is not None and columns.names_of_levels:
        kinds = zip(columns.names, columns.kinds, columns.names_of_levels, strict=True)
        pairs += [(name, texts) for name, kind, texts in kinds if kind == "bernoulli"]
    return {name: (str(words[0]), str(words[1])) for name, words in pairs if len(words) == 2 and words != ("0", "1")}
