"""Labels of the rows of data frames, and what is given beside rows in their order.

Frames of pandas label their rows. Weights, targets, exposures and the like that carry the labels of X in another order
are matched by them; where labels differ, rows are matched by place, as scikit-learn does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["are_counted", "beside_rows", "has_numbers", "in_row_order", "is_labelled", "joined_by_name", "labels_of"]


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
    """Values in the order of the rows of X, where both carry the same labels; else as they are.

    Parameters
    ----------
    name : str
        What the values are called in an error.
    values : Series, DataFrame or anything else
        One entry for each row of X.
    X : DataFrame or anything else
    """
    if not is_labelled(values) or not is_labelled(X) or len(values) != len(X) or values.index.equals(X.index):
        return values
    own, rows = tuple(map(str, values.index)), tuple(map(str, X.index))
    if own == rows or Counter(own) != Counter(rows):
        return values
    place = {label: i for i, label in enumerate(own)}
    if len(place) < len(own):
        raise ValueError(
            f"{name} has the row labels of X in another order, and some labels are repeated, so that rows cannot be "
            f"matched; give both in the same order, with X.reset_index(drop=True) and {name}.reset_index(drop=True)."
        )
    return values.iloc[[place[label] for label in rows]]


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
    if frame is None or not is_labelled(values) or len(values) != len(frame):
        return values
    return in_row_order(name, values, frame).set_axis(frame.index, axis=0)
