"""Measurements whose precision is known entry by entry: y ~ Normal(eta, 1 / t_nd). Exact.

log p = -t y^2/2 + t y eta - t eta^2/2 + (log t - log 2 pi) / 2
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.fields import record
from latens.array.transfer import column_sums
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Predictor, Tangent

__all__ = ["Measured"]


@record
class Measured(Gaussian):
    """Noise is known: there is none to learn."""

    even: ClassVar[bool] = False
    learns_noise: ClassVar[bool] = False
    takes_precision: ClassVar[bool] = True

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        t = at.columns.given
        known = t if rows.seen is None else t * rows.mask
        return Tangent(known * rows.x, known, column_sums(rows.weigh(self._level(rows, t))), at)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return self._level(rows, tangent.at.columns.given)

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return np.asarray(tangent.levels)

    def normaliser(self, noise: Any) -> Floats:
        return np.zeros_like(noise.mean)

    def _level(self, rows: Rows, t: Array) -> Array:
        return 0.5 * rows.mask * (array_namespace(t).log(t) - LOG_2PI - t * rows.x**2)
