"""What a fit knows beside the parameters of its estimator, as its hooks are given it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.core import Rows
from latens.estimators.rows.data import Data, InMemory
from latens.estimators.rows.units import Units
from latens.inference.search.journal import UNRECORDED, Record

__all__ = ["FitContext"]


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
    in_stream: bool = False  # whether rows come in batches, of which these are the first
    growth: int = 1  # how many times the usual components are allowed, while their number is searched for

    @classmethod
    def of_rows(cls, rows: Rows, sample: Any, units: Units, rng: np.random.Generator) -> FitContext:
        """That of rows of a stream which have entered the units already."""
        data = InMemory(rows)
        return cls(data, data, sample, units, rng, in_stream=True)
