"""Measurements with a noise precision per column: y ~ Normal(eta, 1 / tau_d). Exact.

log p = tau (-y^2/2 + y eta - eta^2/2) + (log tau - log 2 pi) / 2
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.stats import norm

from latens.array import Array, Floats
from latens.array.fields import record
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.likelihoods.interface import Columns, Likelihood, Predictor, Tangent

__all__ = ["Gaussian"]


@record
class Gaussian(Likelihood):
    name: ClassVar[str] = "gaussian"
    curved: ClassVar[bool] = False
    even: ClassVar[bool] = True
    learns_noise: ClassVar[bool] = True
    has_unit: ClassVar[bool] = True

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        return Tangent(rows.x, None)  # missing entries hold 0 already

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return -0.5 * rows.x**2

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return np.asarray(-0.5 * rows.squares)

    def normaliser(self, noise: Any) -> Floats:
        return np.asarray(0.5 * (noise.mean_log - LOG_2PI))

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        return mean, variance + columns.variance(mean)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array | None:
        return tangent.precision  # the likelihood is its parabola

    def middle(self, eta: Array, columns: Columns) -> Array:
        return eta

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        return (y - eta) ** 2

    def link(self, level: Floats, columns: Columns) -> Floats:
        return level

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        return level, np.ones_like(level)

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        return np.asarray(eta + rng.normal(size=eta.shape) * np.sqrt(columns.variance(eta)))

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        half = float(norm.isf(tail)) * array_namespace(mean).sqrt(variance)
        return mean - half, mean + half
