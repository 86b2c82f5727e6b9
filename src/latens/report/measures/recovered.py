"""How much of a known truth a fit has found again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.metrics import match_components

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["known_truth", "recovered"]

PARTS = ("components", "labels", "usage", "noise_variance", "shape")  # of a truth that pages show
OVERLAP = 0.8  # of a true group and a class, of both together, from which the class is that group


def known_truth(entry: Entry) -> Any:
    """A truth as pages show it: bare labels of rows, or components, get their name.

    Raises
    ------
    ValueError
        If the page of this model can show nothing of it.
    """
    truth = entry.truth
    if truth is None or any(hasattr(truth, name) for name in PARTS if name != "shape"):
        return truth
    if isinstance(truth, dict) and entry.family == "views" and set(truth) == set(entry.model.components_):
        return SimpleNamespace(components={view: np.asarray(own) for view, own in truth.items()})
    size = np.shape(truth)
    n = None if entry.X is None or entry.family == "views" else len(entry.X)
    if len(size) == 1 and entry.grouped and size[0] == n:
        return SimpleNamespace(labels=np.asarray(truth))
    if len(size) == 2 and entry.loadings is not None and size[1] == entry.loadings.shape[1]:
        return SimpleNamespace(components=np.asarray(truth, dtype=np.float64))
    wanted = "the true labels of the rows of X" if entry.grouped else "true components, one in each row"
    also = " Labels of rows go to metadata={'truth': labels}." if len(size) == 1 and not entry.grouped else ""
    raise ValueError(
        f"truth is a {type(truth).__name__}{f' of shape {size}' if size else ''}, of which the page of "
        f"{type(entry.model).__name__} shows nothing; give {wanted}, or what the generators of latens.datasets "
        f"return.{also}"
    )


def recovered(entry: Entry) -> tuple[int, int] | None:
    """True components that were found, and how many there are; None where the truth is unknown."""
    truth, model = entry.truth, entry.model
    if entry.match is not None:
        return entry.match.found(), len(entry.match.index)
    if entry.grouped and hasattr(truth, "labels") and entry.X is not None:
        true = np.asarray(truth.labels)
        return _groups_found(np.asarray(model.predict(entry.X, **entry.given)), true), len(np.unique(true))
    if entry.family == "views" and hasattr(truth, "components"):
        match = match_components(_wide(model.components_), _wide(truth.components), signed=True)
        return match.found(), len(match.index)
    return None


def _wide(components: Any) -> np.ndarray:
    return np.concatenate(list(components.values()), axis=1) if isinstance(components, dict) else np.asarray(components)


def _groups_found(label: np.ndarray, true: np.ndarray) -> int:
    """True groups that one class holds, and hardly any other row.

    >>> _groups_found(np.array([1, 1, 0, 0, 0]), np.array([0, 0, 2, 2, 1]))
    1
    """
    return sum(
        any(
            np.sum((true == g) & (label == k)) >= OVERLAP * np.sum((true == g) | (label == k)) for k in np.unique(label)
        )
        for g in np.unique(true)
    )
