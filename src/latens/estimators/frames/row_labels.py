"""Labels of the rows of data frames, and what is given beside rows in their order.

Frames of pandas label their rows. Weights, targets, exposures and the like that carry the labels of X go by them, in
whatever order. Where no label is shared, both sides have labels of their own, and rows are matched by place, as
scikit-learn does. Where some are shared and others are not, rows may have been dropped on one side and not on the
other: by place all that follows would be shifted, so that it is refused. Two runs of whole numbers, 0 to 9 and 1 to
10, are also what counts from 1 beside what counts from 0, or each row beside the next one: these go by place, which is
said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from latens.errors import RowsByPlace, warn
from latens.system.wording import listed

__all__ = [
    "are_counted",
    "beside_rows",
    "has_numbers",
    "in_row_order",
    "is_labelled",
    "joined_by_name",
    "labels_of",
    "places_of_rows",
]

LEAST_SHARE_IN_COMMON = 0.5  # share of labels in common from which they are taken to be more than chance


def is_labelled(values: Any) -> bool:
    """Whether this is a frame or series of pandas, whose entries carry labels."""
    return hasattr(values, "iloc") and hasattr(values, "index")


def labels_of(X: Any) -> tuple[str, ...] | None:
    """Labels of the rows of a data frame of pandas, those that only count them included; None of anything else."""
    return tuple(map(str, X.index)) if is_labelled(X) and hasattr(X, "columns") else None


def are_counted(labels: Sequence[str]) -> bool:
    """Whether labels say no more than the place of a row.

    Examples
    --------
    >>> are_counted(("0", "1", "2")), are_counted(("1", "2", "3")), are_counted(("a", "b"))
    (True, False, False)
    """
    return all(label == str(place) for place, label in enumerate(labels))


def has_numbers(index: Any) -> bool:
    """Whether an index of pandas is the places of the rows, which name none of them."""
    return getattr(index, "start", None) is not None


def joined_by_name(X: Any) -> Any:
    """Views whose rows have names, each with the rows of all in order of appearance; those it lacks are missing."""
    views = list(X.values()) if isinstance(X, Mapping) else []
    named = all(is_labelled(view) and not has_numbers(view.index) for view in views)
    names = [list(map(str, view.index)) for view in views] if named else []
    if len(names) < 2 or all(each == names[0] for each in names):
        return X
    joined = list(dict.fromkeys(name for each in names for name in each))
    return {
        view: frame.set_axis(own, axis=0).reindex(joined) for (view, frame), own in zip(X.items(), names, strict=True)
    }


def in_row_order(name: str, values: Any, X: Any) -> Any:
    """Values in the order of the rows of X, by their labels where both have them; else as they are.

    Parameters
    ----------
    name : str
        What the values are called in an error.
    values : Series, DataFrame or anything else
        One entry for each row of X.
    X : DataFrame or anything else
    """
    if not is_labelled(values) or not is_labelled(X) or values.index.equals(X.index):
        return values
    places = places_of_rows(name, tuple(map(str, values.index)), tuple(map(str, X.index)))
    return values if places is None else values.iloc[places]


def places_of_rows(
    name: str, own: Sequence[str], rows: Sequence[str], *, may_lack: bool = False
) -> Sequence[int] | None:
    """Where the entry of each row stands among labelled values; None where rows are matched by place.

    Parameters
    ----------
    name : str
        What the values are called in an error.
    own : sequence of str
        Labels of the values.
    rows : sequence of str
        Labels of the rows.
    may_lack : bool
        Whether values may lack some rows: they then stand at -1.

    Examples
    --------
    >>> places_of_rows("y", ("b", "a"), ("a", "b"))
    [1, 0]
    >>> places_of_rows("y", ("0", "1"), ("a", "b"))  # nothing in common: by place
    >>> places_of_rows("y", ("a", "b", "c"), ("a", "c", "d"))
    Traceback (most recent call last):
        ...
    ValueError: y and X share 2 of 3 row labels: y has no entry for the row(s) 'd', and has 'b' beside them. Take
    both from the same rows, both = X.index.intersection(y.index), X.loc[both] and y.loc[both]; or give y.to_numpy(),
    if its entries are in the order of the rows of X.
    """
    own, rows = tuple(own), tuple(rows)
    if own == rows:
        return None
    at = {label: i for i, label in enumerate(own)}
    places = [at.get(row, -1) for row in rows]
    lost = [row for row, place in zip(rows, places, strict=True) if place < 0]
    shared, same_length = len(rows) - len(lost), len(own) == len(rows)
    if not shared:
        return None
    counted = are_counted(own) or are_counted(rows)
    if lost and same_length:
        by_chance = shared < LEAST_SHARE_IN_COMMON * len(rows) and (counted or not may_lack)
        if by_chance or (_follow(own) and _follow(rows)):
            warn(_by_place(name, own, rows, shared))
            return None
    if len(at) < len(own):
        raise ValueError(_repeated(name, own, rows))
    if same_length and are_counted(own) and not lost and len(set(rows)) < len(rows):
        raise ValueError(_numbered_beside_repeated(name, rows))
    if not same_length and are_counted(rows) and (are_counted(own) or not lost):
        if len(own) < len(rows) and not may_lack:
            return None  # too few, which is said where they are counted
        raise ValueError(_numbered_otherwise(name, own, rows))
    if not lost or (may_lack and not (same_length and counted)):
        return places
    raise ValueError(_some_shared(name, own, rows, lost, shared))


def _follow(labels: Sequence[str]) -> bool:
    """Whether labels are whole numbers, each the next one."""
    try:
        first = int(labels[0])
    except ValueError:
        return False
    return all(label == str(first + place) for place, label in enumerate(labels))


def _by_place(name: str, own: Sequence[str], rows: Sequence[str], shared: int) -> RowsByPlace:
    return RowsByPlace(
        f"{name} is labelled {own[0]!r} to {own[-1]!r} and X {rows[0]!r} to {rows[-1]!r}, with {shared} of {len(rows)} "
        f"labels in common: the entries of {name} are taken in the order of the rows of X, whatever their labels.",
        f"Give {name}.to_numpy() to silence this; if labels count, give both of the same rows, "
        f"both = X.index.intersection({name}.index), X.loc[both] and {name}.loc[both].",
    )


def _repeated(name: str, own: Sequence[str], rows: Sequence[str]) -> str:
    times = Counter(own)
    if times == Counter(rows):
        return (
            f"{name} has the row labels of X in another order, and some labels are repeated, so that rows cannot be "
            f"matched; give both in the same order, with X.reset_index(drop=True) and {name}.reset_index(drop=True)."
        )
    return (
        f"{name} has duplicated row names: {listed([label for label in times if times[label] > 1])}; make them unique, "
        f"or give {name}.to_numpy(), if its entries are in the order of the rows of X."
    )


def _numbered_beside_repeated(name: str, rows: Sequence[str]) -> str:
    twice = [label for label, times in Counter(rows).items() if times > 1]
    return (
        f"row labels of X are repeated, {listed(twice, 3)}, and {name} is numbered from 0: its numbers may be labels "
        f"of X or places. Give {name}.loc[X.index] to go by label, {name}.to_numpy() to go by place."
    )


def _numbered_otherwise(name: str, own: Sequence[str], rows: Sequence[str]) -> str:
    return (
        f"{name} has {len(own)} entries for {len(rows)} rows, and the rows of X are numbered from 0: these may be "
        f"numbers of {name}, or have been given anew after rows were dropped. Give one entry for each row: "
        f"{name}.reindex(X.index) if the numbers are the same, or an array in the order of the rows."
    )


def _some_shared(name: str, own: Sequence[str], rows: Sequence[str], lost: list[str], shared: int) -> str:
    known = set(rows)
    beside = [label for label in own if label not in known]
    has = f", and has {listed(beside)} beside them" if beside else ""
    by_place = f"; or give {name}.to_numpy(), if its entries are in the order of the rows of X"
    return (
        f"{name} and X share {shared} of {len(rows)} row labels: {name} has no entry for the row(s) {listed(lost)}"
        f"{has}. Take both from the same rows, both = X.index.intersection({name}.index), X.loc[both] and "
        f"{name}.loc[both]{by_place if len(own) == len(rows) else ''}."
    )


def beside_rows(X: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is given beside rows, by name, in the order of the rows of X and under their labels.

    Some of the rows of X and the same rows of what comes back then still belong together. Views are matched with the
    first data frame among them.
    """
    tables = X.values() if isinstance(X, Mapping) else [X]
    frame = next((table for table in tables if labels_of(table) is not None), None)
    return {name: _under_labels(name, values, frame) for name, values in given.items()}


def _under_labels(name: str, values: Any, frame: Any) -> Any:
    if isinstance(values, Mapping):
        return {key: _under_labels(f"{name}[{key!r}]", part, frame) for key, part in values.items()}
    if frame is None or not is_labelled(values):
        return values
    values = in_row_order(name, values, frame)
    return values.set_axis(frame.index, axis=0) if len(values) == len(frame) else values
