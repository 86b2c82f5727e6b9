"""What a fit knows beside the parameters of its estimator, as its hooks are given it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.core import Rows
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.units import Units
from latens.inference.search.journal import UNRECORDED, Record

__all__ = ["FitContext", "smaller_fit", "starting_beside"]


@dataclass(frozen=True)
class FitContext:
    """One fit under way. Nothing of it is stored on the estimator: what outlives the fit is what `_keep` publishes."""

    given: Data  # the rows as they came
    data: Data  # the same in the units of the model, once they have entered them
    sample: Any  # Rows of them in those units; where a model compresses rows, the sum of all that stands for them
    units: Units
    rng: np.random.Generator
    journal: Record = UNRECORDED  # of finished steps, where the fit has a checkpoint
    over: Callable[[], bool] | None = None  # whether `max_time` has passed
    centred: bool = False  # whether the model has a location of its own, so that the origin of the data was moved
    in_stream: bool = False  # whether rows come in batches, of which these are the first
    growth: int = 1  # how many times the usual components are allowed, while their number is searched for
    rival: float = -math.inf  # the bound of a fit of the same rows to another question: only what is higher counts
    smaller: Any = None  # a fit of the same rows with one component fewer, to start from as well

    @classmethod
    def of_rows(cls, rows: Rows, sample: Any, units: Units, rng: np.random.Generator) -> FitContext:
        """That of rows of a stream which have entered the units already."""
        data = InMemory(rows)
        return cls(data, data, sample, units, rng, in_stream=True)


# An estimator that is about to be fitted, and a fit of the same rows with one component fewer. The public `fit` takes
# data and no such fit, so that a sweep over numbers of components hands it over here.
_BESIDE: ContextVar[tuple[Any, Any] | None] = ContextVar("an estimator and a smaller fit", default=None)


@contextmanager
def starting_beside(estimator: Any, smaller: Any) -> Iterator[None]:
    """A fit of this estimator within the block starts from `smaller` as well, if that is not None."""
    token = _BESIDE.set((estimator, smaller))
    try:
        yield
    finally:
        _BESIDE.reset(token)


def smaller_fit(estimator: Any) -> Any:
    """The fit with one component fewer that this one starts from as well; None where there is none."""
    fitted, smaller = _BESIDE.get() or (None, None)
    return smaller if fitted is estimator else None  # a callback may fit another one
