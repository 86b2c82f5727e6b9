"""What pictures and pages read from a fitted estimator, and how they choose between image and table.

Nothing here draws: the page, which needs no matplotlib, reads models through the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "component_names",
    "component_number",
    "feature_names",
    "fitted",
    "image_shape",
    "is_signed",
    "loadings",
    "loadings_table",
]

LEAST_SIDE = 4  # of an image that is known as one by its number of columns alone
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


def loadings_table(model: Any, view: str | None = None, X: Any = None) -> tuple[np.ndarray, list[str]]:
    """(K, D), what each component adds to each column, and the names of the columns; of one view, or of all."""
    found = loadings(model)
    if not isinstance(found, dict):
        values = np.asarray(found, dtype=np.float64)
        return values, feature_names(model, X) or [f"x{d}" for d in range(values.shape[1])]
    layout = model.layout_
    if view is not None and view not in found:
        raise ValueError(f"view={view!r}: the model has the views {', '.join(map(repr, found))}; choose one.")
    chosen = list(found) if view is None else [view]
    names = [
        feature if len(chosen) == 1 else f"{name}: {feature}"
        for name in chosen
        for feature in layout.features[layout.views.index(name)]
    ]
    return np.concatenate([np.asarray(found[name], dtype=np.float64) for name in chosen], axis=1), names


def component_number(model: Any, component: int | str, k: int) -> int:
    """The place of a component that was given by number or name."""
    if k == 0:
        raise ValueError("the model found no component, so that there is none to draw.")
    names = component_names(model, k)
    at = names.index(component) if isinstance(component, str) and component in names else component
    if isinstance(at, bool) or not isinstance(at, int | np.integer) or not -k <= at < k:
        raise ValueError(f"component={component!r}: there are {k}, numbered from 0: {', '.join(names)}.")
    return int(at) % k


def feature_names(model: Any, X: Any = None) -> list[str] | None:
    """Names of the columns, from the fit or from a data frame; None where columns are only numbered."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def image_shape(d: int, shape: Sequence[int] | None, named: bool = False) -> tuple[int, int] | None:
    """Height and width of a component drawn as an image, or None if it is better drawn as a row of a table.

    Without a given shape, d columns are an image if d is a square of at least 4 x 4; named columns never are. Four or
    nine measurements, such as those of a flower, are far more often a table.
    """
    if shape is not None:
        size = tuple(int(side) for side in shape)
        if len(size) != 2 or min(size) < 1 or size[0] * size[1] != d:
            raise ValueError(
                f"shape={tuple(shape)} does not hold the {d} columns; give (height, width) with product {d}."
            )
        return size[0], size[1]
    side = math.isqrt(d)
    return (side, side) if side >= LEAST_SIDE and side * side == d and not named else None


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
