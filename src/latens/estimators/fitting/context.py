"""What a fit knows beside the parameters of its estimator: as its hooks are given it, and as it comes from outside.

The public `fit` takes data, and neither a smaller fit to start from nor the journals of a job that it is a part of:
both reach it by a context variable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from latens.array import Floats
from latens.core import Rows, State
from latens.estimators.fitting.checkpoints import Checkpoint, checkpoint_folder
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.units import Units
from latens.inference.search.moves import UNRECORDED, Record
from latens.inference.search.optimum import Reached

__all__ = ["Directions", "FitContext", "checkpointing", "keeping_journals", "smaller_fit", "starting_beside"]


class Directions(Protocol):
    """Few directions that hold all rows, for a model that knows no direction from another."""

    def again(self, rows: Rows) -> Self: ...  # of as many other rows

    def model_within(self, model: Any) -> Any: ...

    def rows_within(self, rows: Rows) -> Rows: ...

    def state_within(self, state: State) -> State: ...

    def posterior_outside(self, q: Any) -> Any: ...  # in all columns again

    def state_outside(self, state: State, rows: Rows) -> State: ...


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
    growth: int = 1  # how many times the usual components are allowed, as their number is searched for, or which times
    widest: bool = False  # whether no more will be allowed, whatever is found
    least: float = -math.inf  # the first start's bound with fewer components allowed: below, a search for more ends
    reached: list[Reached] = field(default_factory=list)  # by starts of the last search, those above all before them
    smaller: Any = None  # a fit of the same rows with one component fewer, to start from as well
    # where rows are in coordinates of the directions that hold them: the same with all columns, and these directions
    outside: tuple[FitContext, Directions] | None = None

    @property
    def precision(self) -> Floats:
        """(D,), how far floating point may have moved an entry of the table, in model units."""
        x, origin = self.sample.x, np.abs(self.units.enter_direction(self.units.origin))
        return np.asarray(np.finfo(x.dtype).eps * (np.abs(x).max(axis=0) + origin))

    @classmethod
    def of_rows(cls, rows: Rows, sample: Any, units: Units, rng: np.random.Generator) -> FitContext:
        """That of rows of a stream which have entered the units already."""
        data = InMemory(rows)
        return cls(data, data, sample, units, rng, in_stream=True)


# An estimator that is about to be fitted, and a fit of the same rows with one component fewer, which a sweep over
# numbers of components hands over.
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


@dataclass(frozen=True)
class _Job:
    """Fits whose journals lie in one folder."""

    folder: Path
    fits: list[Checkpoint]


_JOB: ContextVar[_Job | None] = ContextVar("journals of a job of many fits", default=None)


@contextmanager
def keeping_journals(checkpoint: Any) -> Iterator[None]:
    """Every fit within keeps its journals in the folder `checkpoint`; all are removed when the job has ended well."""
    if checkpoint is None:
        yield
        return
    job = _Job(checkpoint_folder(checkpoint), [])
    token = _JOB.set(job)
    try:
        yield
    finally:
        _JOB.reset(token)
    for fit in job.fits:
        fit.remove()


@contextmanager
def checkpointing(checkpoint: Any) -> Iterator[Checkpoint | None]:
    """The checkpoint of a fit, whose journals are removed when it has ended well; None where none was asked for."""
    job = _JOB.get()
    if checkpoint is not None:
        opened = Checkpoint(checkpoint_folder(checkpoint))
        yield opened
        opened.close()
    elif job is not None:
        opened = Checkpoint(job.folder)
        yield opened
        opened.keep()
        job.fits.append(opened)
    else:
        yield None
