"""Measurements whose precision is known entry by entry: y ~ Normal(eta, 1 / t_nd). Exact.

log p = -t y^2/2 + t y eta - t eta^2/2 + (log t - log 2 pi) / 2
"""

from __future__ import annotations

from typing import ClassVar

from array_api_compat import array_namespace

from latens.array import Array
from latens.array.fields import record
from latens.array.transfer import column_sums
from latens.core import Rows
from latens.families.least_squares import LOG_2PI
from latens.models.likelihoods import At, Tangent, Touching
from latens.models.likelihoods.gaussian import Gaussian

__all__ = ["Measured"]


@record
class Measured(Touching, Gaussian):
    """Noise is known: there is none to learn."""

    touches: ClassVar[str] = "given"
    learns_noise: ClassVar[bool] = False

    def tangent(self, rows: Rows, at: At) -> Tangent:
        t = at()
        known = t if rows.seen is None else t * rows.mask
        return Tangent(known * rows.x, known, column_sums(rows.weigh(self._level(rows, t))), at)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return self._level(rows, tangent.at())

    def _level(self, rows: Rows, t: Array) -> Array:
        return 0.5 * rows.mask * (array_namespace(t).log(t) - LOG_2PI - t * rows.x**2)
