"""Rows of a scan with their target beside them: what a survey tells of both, and the sums of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.core import Rows, Source, Survey, survey_rows
from latens.estimators.regression.units import RegressionUnits
from latens.models.linear_regression import Moments
from latens.models.regression_sums import regression_sums
from latens.scale.blocks import as_numbers
from latens.scale.scan import Known, Scan, as_rows

__all__ = ["PairSurvey", "SumBlock", "rows_with_target", "survey_pairs", "targets_of"]

TARGET = "target"  # what rows call it


def rows_with_target(scan: Scan) -> Source:
    """The measurements of a scan in blocks, each row with its target (n,), NaN where it is missing."""
    return scan.source(Known(TARGET, (scan.target,), _TargetColumn(str(scan.target))))


def targets_of(scan: Scan) -> tuple[Floats, Floats | None]:
    """(n,) twice: the targets of all rows of a scan, and their weights if it names any; rows are read and let go."""
    source = rows_with_target(scan)
    blocks = [(host(rows.aux[TARGET]), rows.weight) for rows in map(source.load, source.handles)]
    weights = [np.ones(len(y)) if weight is None else host(weight) for y, weight in blocks]
    return np.concatenate([y for y, _ in blocks]), np.concatenate(weights) if scan.weights is not None else None


@dataclass(frozen=True)
class _TargetColumn:
    name: str

    def __call__(self, values: Any, rows: Rows) -> Floats:
        return as_numbers({self.name: values}, "the scan")[:, 0]


@dataclass(frozen=True)
class PairSurvey:
    """Surveys of the columns and of the target of the same rows."""

    x: Survey
    y: Survey  # of one column

    def __add__(self, other: PairSurvey) -> PairSurvey:
        return PairSurvey(self.x + other.x, self.y + other.y)

    @property
    def n_missing(self) -> int:
        return self.x.n_missing + self.y.n_missing

    @property
    def n_infinite(self) -> int:
        return self.x.n_infinite + self.y.n_infinite

    def units(self, dtype: np.dtype[Any], *, centred: bool) -> RegressionUnits:
        return RegressionUnits.of_surveys(self.x, self.y, dtype, centred=centred)


def survey_pairs(rows: Rows, _: Any) -> tuple[None, PairSurvey]:
    """One block of rows with their target."""
    target = as_rows(host(rows.aux[TARGET])[:, None], None if rows.weight is None else host(rows.weight))
    return None, PairSurvey(survey_rows(rows), survey_rows(target))


@dataclass(frozen=True)
class SumBlock:
    """The sums of one block of rows with their target."""

    units: RegressionUnits

    def __call__(self, rows: Rows, _: Any) -> tuple[None, Moments]:
        x, y = (np.asarray(host(values), dtype=np.float64) for values in (rows.x, rows.aux[TARGET]))
        weight = None if rows.weight is None else host(rows.weight)
        inside, target = self.units.enter(Rows(x)).x, self.units.target.enter(Rows(y[:, None])).x[:, 0]
        return None, regression_sums(inside, target, weight)
