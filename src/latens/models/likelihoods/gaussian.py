"""Measurements with a noise precision per column: y ~ Normal(eta, 1 / tau_d). Exact.

log p = tau (-y^2/2 + y eta - eta^2/2) + (log tau - log 2 pi) / 2
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from latens.array import Array, Floats
from latens.array.fields import record
from latens.core import Rows
from latens.families.least_squares import LOG_2PI
from latens.models.likelihoods import At, Tangent

__all__ = ["Gaussian"]


@record
class Gaussian:
    name: ClassVar[str] = "gaussian"
    curved: ClassVar[bool] = False
    touches: ClassVar[str] = ""
    learns_noise: ClassVar[bool] = True

    def tangent(self, rows: Rows, at: At) -> Tangent:
        return Tangent(rows.x, None)  # missing entries hold 0 already

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return -0.5 * rows.x**2

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return -0.5 * rows.squares

    def normaliser(self, noise: Any) -> Floats:
        return np.asarray(0.5 * (noise.mean_log - LOG_2PI))

    def expect(self, mean: Array, variance: Array, noise: Array) -> tuple[Array, Array]:
        return mean, variance + noise

    def curvature(self, rows: Rows, tangent: Tangent, at: At) -> Array | None:
        return tangent.precision  # the likelihood is its parabola

    def middle(self, eta: Array) -> Array:
        return eta

    def deviance(self, y: Array, eta: Array) -> Array:
        return (y - eta) ** 2

    def link(self, level: Floats) -> Floats:
        return level

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        return level, np.ones_like(level)

    def draw(self, eta: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(eta + rng.normal(size=eta.shape) * np.sqrt(noise))
