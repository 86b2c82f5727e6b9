"""Why the shares of components do not fall from one to the next, where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats

__all__ = ["order_note"]


def order_note(estimator: Any, shares: Floats) -> str:
    """What components are numbered by, in words; empty where the largest share comes first anyway.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> order_note(SimpleNamespace(weights_=[0.6, 0.4]), [0.4, 0.6])
    'numbered by weight, in which a row of doubtful membership counts in parts; shares are of the rows assigned to each'
    >>> order_note(SimpleNamespace(weights_=[0.6, 0.4]), [0.7, 0.3])
    ''
    """
    if not np.any(np.diff(np.asarray(shares, dtype=np.float64)) > 0):
        return ""
    if hasattr(estimator, "weights_"):
        return (
            "numbered by weight, in which a row of doubtful membership counts in parts; shares are of the rows "
            "assigned to each"
        )
    return "numbered by variance in the units of the data; shares take each column in its own standard deviation"
