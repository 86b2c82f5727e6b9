"""Exposures of rows of mixed columns: found in what the caller gave, and carried beside the rows as logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from latens.array.transfer import host, like
from latens.core import Rows
from latens.estimators.mixtures.column_kinds import COUNTS, ColumnKinds
from latens.estimators.multi_view.tables.row_names import align
from latens.estimators.rows.exposures import exposure_numbers, log_exposures, row_totals, usual_counts
from latens.models.likelihoods.names import MEASUREMENTS
from latens.models.mixture.features import EXPOSURE

__all__ = ["ExposureSums", "check_counted", "counts_of_totals", "exposure_step", "with_exposure"]


def check_counted(columns: ColumnKinds) -> list[int]:
    """Columns of counts, without which there are no exposures."""
    counted = [d for d, kind in enumerate(columns.kinds) if kind in COUNTS]
    if not counted:
        numbers = [name for name, kind in zip(columns.names, columns.kinds, strict=True) if kind in MEASUREMENTS]
        raise ValueError(
            "exposure is for counts; no column is 'poisson' or 'negative-binomial'. Say which hold counts, such as "
            f"likelihoods={{{(numbers or columns.names)[0]!r}: 'poisson'}}, or leave exposure out."
        )
    return counted


def with_exposure(rows: Rows, columns: ColumnKinds, exposure: Any, row_names: tuple[str, ...] | None) -> Rows:
    """Rows with the logarithms of their exposures: positive numbers (n,), or "total", what a row shows of counts."""
    counted = check_counted(columns)
    if isinstance(exposure, Mapping):
        raise ValueError("exposure is a dict, which is for several views; give one number for each row.")
    n, shown = len(rows), host(_counts(rows, counted).present) > 0
    if isinstance(exposure, str):
        numbers, remedy = row_totals(_counts(rows, counted), columns.usual_counts), "leave the row out"
    else:
        numbers = exposure_numbers(align("exposure", exposure, row_names, n))
        remedy = "give positive numbers, or leave the row out"
    if numbers.shape != (n,):
        raise ValueError(f"exposure has shape {numbers.shape}; expected ({n},), one for each row.")
    logs = log_exposures(numbers, shown, remedy)
    return replace(rows, aux={**rows.aux, EXPOSURE: like(logs, rows.x)})


def counts_of_totals(rows: Rows, columns: ColumnKinds, exposure: Any) -> tuple[float, ...]:
    """What a usual row counts in each column of counts, where exposures are totals; () where they are told."""
    return usual_counts(_counts(rows, check_counted(columns))) if isinstance(exposure, str) else ()


def _counts(rows: Rows, counted: list[int]) -> Rows:
    xp = array_namespace(rows.x)
    at = xp.asarray(counted, device=device(rows.x))
    seen = None if rows.seen is None else xp.take(rows.seen, at, axis=1)
    return Rows(xp.take(rows.x, at, axis=1), seen, weight=rows.weight)


@dataclass(frozen=True)
class ExposureSums:
    """Sums over rows that tell the unit of exposures; those of two sets of rows add."""

    n: float  # rows, by their weights
    logs: float  # logarithms of exposures, times the weights

    def __add__(self, other: ExposureSums) -> ExposureSums:
        return ExposureSums(self.n + other.n, self.logs + other.logs)

    @property
    def unit(self) -> float:
        """The geometric mean: in it usual exposures are 1."""
        return float(np.exp(self.logs / max(self.n, np.finfo(float).tiny)))


def exposure_step(rows: Rows, _: Any = None) -> tuple[None, ExposureSums]:
    """`ExposureSums` of one block of a source."""
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    return None, ExposureSums(float(weight.sum()), float(weight @ host(rows.aux[EXPOSURE])))
