"""What a fitted estimator stands on, for the layers above it: the one place that knows where an estimator keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from latens.array import Floats
from latens.array.transfer import host, is_sparse
from latens.core import State
from latens.estimators.intervals.table import AXES, COVARIANCES

__all__ = [
    "FittedParts",
    "axes_of_published",
    "check_fitted",
    "column_spread",
    "component_shares",
    "entries_of",
    "fitted_parts",
    "has_fitted_parts",
    "strength_errors",
]


@dataclass(frozen=True)
class FittedParts:
    model: Any  # with its hyper-parameters, in the model's units
    units: Any  # from the units of the data to those of the model, and back
    state: State  # posterior and statistics, from which `partial_fit` goes on
    waiting: Any = None  # the first samples of a stream, while they are few
    one_table: bool = True  # False where several views were given


def has_fitted_parts(estimator: object) -> bool:
    """Whether it is an estimator of latens that was fitted."""
    return "_model" in vars(estimator)


def check_fitted(estimator: Any, otherwise: str) -> None:
    """Refuse, in these words, an estimator that was not fitted."""
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(otherwise)


def fitted_parts(estimator: Any) -> FittedParts:
    """The parts of a fitted estimator; they are its own, and not to be changed."""
    own = vars(estimator)
    return FittedParts(
        estimator._model, estimator._units, estimator._state, own.get("_waiting"), own.get("_plain", True)
    )


def entries_of(estimator: Any, X: Any, **given: Any) -> Floats:
    """(n, D), rows as numbers for each column of the model, in data units, NaN where missing.

    Of categories the number of their level, of several views the columns of all side by side. `given` is what `fit`
    took besides rows.
    """
    rows = estimator._rows_of_fit(X, **given)
    x = np.asarray(rows.x.toarray() if is_sparse(rows.x) else host(rows.x), dtype=np.float64)
    if rows.seen is not None:
        x = np.where(host(rows.seen) > 0, x, np.nan)
    return x


def column_spread(estimator: Any) -> Floats | None:
    """(D,), standard deviation of each column under a fitted model, in data units, views side by side.

    None of latent classes, whose columns are of several kinds, and of what has no components or is not fitted.
    """
    known = has_fitted_parts(estimator) and hasattr(estimator, "n_components_")
    if not known or hasattr(estimator, "columns_"):
        return None
    return np.asarray(estimator._column_spread(), dtype=np.float64)


def strength_errors(estimator: Any) -> Floats | None:
    """(K, D), standard errors of how strong components are in columns, in the unit of those that `column_spread` is.

    Infinite where no row of a component shows the column; None where `column_spread` is.
    """
    known = has_fitted_parts(estimator) and hasattr(estimator, "n_components_")
    if not known or hasattr(estimator, "columns_"):
        return None
    return np.asarray(estimator._strength_errors(), dtype=np.float64)


def component_shares(estimator: Any) -> Floats | None:
    """(K,), shares of the components as `summary` and pages tell them; None of what is no such estimator.

    Of the rows for clusters and classes, of the ones for causes of binary rows, else of the variance, each column in
    units of its own standard deviation.
    """
    known = has_fitted_parts(estimator) and hasattr(estimator, "n_components_")
    return np.asarray(estimator._component_shares(), dtype=np.float64) if known else None


def axes_of_published(estimator: Any, name: str, view: str = "") -> tuple[str, list[str]]:
    """What the axes of a published array are, and the names of its features, or of its levels.

    Axes are k for components, d and e for features, l for levels of columns, m for measured columns.
    """
    kind = getattr(estimator, "covariance_type", "")
    axes = COVARIANCES.get(kind, "") if name == "covariances" else AXES.get(name, ("", ""))[0]
    if "l" in axes:
        return axes, [" = ".join(level) for level in estimator._named_levels()]
    if "m" in axes:
        return axes, list(estimator._measured())
    return axes, [str(feature) for feature in estimator._features_by_view().get(view, ())]
