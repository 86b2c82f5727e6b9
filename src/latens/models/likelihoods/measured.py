"""Measurements whose precision is known entry by entry: y ~ Normal(eta, 1 / t_nd). Exact.

log p = -t y^2/2 + t y eta - t eta^2/2 + (log t - log 2 pi) / 2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import array_namespace

from latens.array import Array
from latens.core import Rows
from latens.families.least_squares import LOG_2PI
from latens.models.likelihoods import Tangent, Touching, masked
from latens.models.likelihoods.gaussian import Gaussian

__all__ = ["Measured"]


@dataclass(frozen=True)
class Measured(Touching, Gaussian):
    """Noise is known: there is none to learn."""

    touches: ClassVar[str] = "given"
    learns_noise: ClassVar[bool] = False

    def tangent(self, rows: Rows, at: Array | None) -> Tangent:
        xp, t = array_namespace(rows.x), at
        pulled = t * rows.x
        return masked(rows, pulled, t, 0.5 * (xp.log(t) - LOG_2PI - pulled * rows.x))
