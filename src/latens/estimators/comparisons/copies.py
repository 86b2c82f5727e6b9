"""Estimators with the settings of another, for fits beside its own."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from latens.estimators.fitting.context import starting_beside

__all__ = ["fit_beside", "like", "takes"]


def like(model: Any, **changes: Any) -> Any:
    """An estimator that is not fitted, with the settings of `model` but for the changes, in which None changes none."""
    return clone(model).set_params(**{name: value for name, value in changes.items() if value is not None})


def takes(model: Any, name: str) -> bool:
    """Whether an estimator has a setting of that name."""
    return name in model.get_params(deep=False)


def fit_beside(model: Any, smaller: Any, X: Any, fit_params: dict[str, Any]) -> Any:
    """Fit; besides its own starts, from those of a fit of the same rows with one component fewer, if there is one."""
    with starting_beside(model, smaller):
        return model.fit(X, **fit_params)
