"""What a fitted estimator stands on, for the layers above it: the one place that knows where an estimator keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latens.core import State

__all__ = ["FittedParts", "fitted_parts", "has_fitted_parts"]


@dataclass(frozen=True)
class FittedParts:
    model: Any  # with its hyper-parameters, in the model's units
    frame: Any  # from the units of the data to those of the model, and back
    state: State  # posterior and statistics, from which `partial_fit` goes on
    waiting: Any = None  # the first samples of a stream, while they are few


def has_fitted_parts(estimator: object) -> bool:
    """Whether it is an estimator of latens that was fitted."""
    return "model_" in vars(estimator)


def fitted_parts(estimator: Any) -> FittedParts:
    """The parts of a fitted estimator; they are its own, and not to be changed."""
    return FittedParts(estimator.model_, estimator.frame_, estimator.state_, getattr(estimator, "waiting_", None))
