"""How much of a known truth a fit has found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from latens.metrics import match_components

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["recovered"]

OVERLAP = 0.8  # of a true group and a class, of both together, from which the class is that group


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
