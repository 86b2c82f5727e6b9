"""Priors of single columns that the caller gives, in the units of each column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.mixtures.column_kinds import COUNTS, ColumnKinds
from latens.estimators.parameters import positive_number
from latens.estimators.rows.units import Units
from latens.families.normal_columns import NormalColumns
from latens.models.likelihoods.names import MEASUREMENTS

__all__ = ["COUNT_WORTH", "ColumnPriors"]

COUNT_WORTH = 0.5  # events that the prior of a rate is worth

Pairs = dict[int, tuple[float, float]]  # by column: a value, and how many rows it is worth


@dataclass(frozen=True)
class ColumnPriors:
    mean: Pairs
    variance: Pairs
    rate: Pairs

    @classmethod
    def of(cls, estimator: Any, columns: ColumnKinds) -> ColumnPriors:
        """Those that the parameters of an estimator tell, checked."""
        return cls(
            _pairs("mean_prior", estimator.mean_prior, columns, MEASUREMENTS),
            _pairs("variance_prior", estimator.variance_prior, columns, MEASUREMENTS),
            _pairs("rate_prior", estimator.rate_prior, columns, COUNTS),
        )

    def normal(self, usual: NormalColumns, places: tuple[int, ...], units: Units) -> NormalColumns:
        """The prior of measurements, in the units of the model, where it is not the usual one."""
        if not (self.mean or self.variance):
            return usual
        d, mean, rate = len(places), usual.mean.copy(), usual.rate.copy()
        strength, shape = (np.broadcast_to(part, (1, d)).copy() for part in (usual.strength, usual.shape))
        for i, at in enumerate(places):
            if at in self.mean:
                middle, strength[0, i] = self.mean[at]
                mean[0, i] = (middle - units.origin[at]) / units.scale[at]
            if at in self.variance:
                variance, worth = self.variance[at]
                shape[0, i], rate[0, i] = 0.5 * worth, 0.5 * worth * variance / units.scale[at] ** 2
        return replace(usual, mean=mean, strength=strength, shape=shape, rate=rate)

    def counts(self, usual: Floats, places: tuple[int, ...], unit: float) -> tuple[Floats, Floats]:
        """(D,) each: means of counts in so many units of exposure, and how many events they are worth."""
        mean, worth = usual.copy(), np.full(len(places), COUNT_WORTH)
        for i, at in enumerate(places):
            if at in self.rate:
                value, worth[i] = self.rate[at]
                mean[i] = value * unit
        return mean, worth


def _pairs(name: str, given: Any, columns: ColumnKinds, kinds: tuple[str, ...]) -> Pairs:
    if given is None:
        return {}
    of_what = "events" if kinds == COUNTS else "rows"
    if not isinstance(given, Mapping):
        raise ValueError(f"{name}={given!r} is no dict; give one from column to (value, {of_what} that it is worth).")
    found = {}
    for key, pair in given.items():
        at = _place(name, key, columns)
        if columns.kinds[at] not in kinds:
            raise ValueError(
                f"{name} names the column {columns.names[at]!r}, which is {columns.kinds[at]}; it is for "
                f"{' or '.join(kinds)} columns."
            )
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise ValueError(f"{name}[{key!r}]={pair!r} is no pair; give a value and how many {of_what} it is worth.")
        value, worth = pair
        what = f"{name}[{key!r}]"
        if name != "mean_prior":
            value = positive_number(f"{what}[0]", value)
        elif not np.isfinite(value):
            raise ValueError(f"{what}[0]={value!r} is not a finite number; give the mean in data units.")
        found[at] = (float(value), positive_number(f"{what}[1]", worth))
    return found


def _place(name: str, key: Any, columns: ColumnKinds) -> int:
    """The number of a column that is named, or numbered."""
    if str(key) in columns.names:
        return columns.names.index(str(key))
    if isinstance(key, int | np.integer) and 0 <= key < len(columns.names):
        return int(key)
    raise ValueError(f"{name} names {key!r}; the columns are {', '.join(columns.names[:8])}.")
