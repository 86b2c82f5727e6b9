"""What pictures and pages read from a fitted estimator, and how they choose between image and table.

Nothing here draws: the page, which needs no matplotlib, reads models through the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["component_names", "feature_names", "fitted", "image_shape", "is_signed", "loadings"]

SIGNED_FROM = 0.1  # negative entries smaller than this share of the largest are estimation noise around 0


def fitted(model: Any, attribute: str, otherwise: str = "this picture does not apply to it.") -> Any:
    """A fitted attribute, or an error that says what is missing, and `otherwise` why."""
    if hasattr(model, attribute):
        return getattr(model, attribute)
    name = type(model).__name__
    if not any(key.endswith("_") and not key.startswith("_") for key in getattr(model, "__dict__", {})):
        raise ValueError(f"{name} is not fitted; call fit(X) first.")
    raise ValueError(f"{name} has no {attribute}; {otherwise}")


def component_names(model: Any, k: int) -> list[str]:
    """Names of the k components, or their numbers from 0 where the model has no names for as many."""
    read = getattr(model, "get_feature_names_out", None)
    names = [str(i) for i in range(k)] if read is None else [str(name) for name in read()]
    return names if len(names) == k else [str(i) for i in range(k)]


def loadings(model: Any) -> Any:
    """(K, D), what a unit of each component adds to each column, or a dict of such arrays by view.

    That is `components_`; but where sources are separated `components_` goes from columns to sources, and `mixing_`
    (D, K) the other way.
    """
    return np.asarray(model.mixing_).T if hasattr(model, "mixing_") else fitted(model, "components_")


def feature_names(model: Any, X: Any = None) -> list[str] | None:
    """Names of the columns, from the fit or from a data frame; None where columns are only numbered."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def image_shape(d: int, shape: Sequence[int] | None, named: bool = False) -> tuple[int, int] | None:
    """Height and width of a component drawn as an image, or None if it is better drawn as a row of a table.

    Without a given shape, d columns are an image if d is a square of at least 2 x 2; named columns never are.
    """
    if shape is not None:
        size = tuple(int(side) for side in shape)
        if len(size) != 2 or min(size) < 1 or size[0] * size[1] != d:
            raise ValueError(
                f"shape={tuple(shape)} does not hold the {d} columns; give (height, width) with product {d}."
            )
        return size[0], size[1]
    side = math.isqrt(d)
    return (side, side) if side >= 2 and side * side == d and not named else None


def is_signed(values: np.ndarray) -> bool:
    """Whether negative entries mean something, and so need a scale with two colours.

    Examples
    --------
    >>> import numpy as np
    >>> is_signed(np.array([1.0, -0.02])), is_signed(np.array([1.0, -0.5]))
    (False, True)
    """
    finite = values[np.isfinite(values)]
    return finite.size > 0 and float(finite.min()) < -SIGNED_FROM * float(np.abs(finite).max())
