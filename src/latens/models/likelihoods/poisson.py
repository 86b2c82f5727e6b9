"""Counts: y ~ Poisson(softplus(eta)), by a parabola of fixed curvature (Seeger and Bouchard 2012).

    f(eta) = softplus(eta) - y log softplus(eta),      f'' <= kappa = 1/4 + 0.17 y
    log p >= -f(zeta) - f'(zeta)(eta - zeta) - kappa (eta - zeta)^2 / 2 - log y!,    best at zeta = E[eta]

kappa is per entry: tighter than one per column, and never outgrown by a later, larger count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.special import softplus
from latens.core import Rows
from latens.models.likelihoods import Tangent, Touching, averages, masked

__all__ = ["Poisson"]

RARE = 1e-3  # columns with fewer counts per row start here
LEAST = -80.0  # below it softplus(eta) = exp(eta) would leave the range of single precision


@dataclass(frozen=True)
class Poisson(Touching):
    name: ClassVar[str] = "poisson"
    curved: ClassVar[bool] = True
    touches: ClassVar[str] = "mean"
    learns_noise: ClassVar[bool] = False

    def tangent(self, rows: Rows, at: Array | None) -> Tangent:
        eta, xp, y, kappa = at, array_namespace(rows.x), rows.x, 0.25 + 0.17 * rows.x
        rate, constant = _rates(eta)
        share = -xp.expm1(-rate)  # sigmoid(eta), whose ratio to a tiny softplus is 1 to the last digit
        response = kappa * eta
        slope = share / rate
        slope *= -y
        slope += share
        constant *= y  # in place from here on: these are most of the work of a fit
        constant -= rate
        constant -= rows.log_factorials
        constant += eta * (slope - 0.5 * response)
        response -= slope
        return masked(rows, response, kappa, constant)

    def expect(self, mean: Array, variance: Array, noise: Array) -> tuple[Array, Array]:
        rate, square = averages(mean, variance, lambda eta: ((r := _rates(eta)[0]), r**2))
        return rate, rate + array_namespace(rate).maximum(square - rate**2, 0 * rate)

    def middle(self, eta: Array) -> Array:
        return _rates(eta)[0]

    def deviance(self, y: Array, eta: Array) -> Array:
        xp = array_namespace(eta)
        rate, log_rate = _rates(eta)
        log_y = xp.log(xp.maximum(y, xp.ones_like(y)))  # 0 log 0 = 0
        return 2 * (y * (log_y - log_rate) - y + rate)

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        eta = np.maximum(level, RARE)
        eta = np.where(eta > 30, eta, np.log(np.expm1(np.minimum(eta, 30.0))))
        return eta, 1 / (1 + np.exp(-eta))

    def draw(self, eta: Floats, noise: Floats, rng: np.random.Generator) -> Floats:
        return rng.poisson(np.logaddexp(0.0, eta)).astype(float)


def _rates(eta: Array) -> tuple[Array, Array]:
    """softplus(eta) and its logarithm, which is eta itself where softplus is tiny."""
    xp = array_namespace(eta)
    if not bool(xp.any(eta < LEAST)):
        rate = softplus(eta)
        return rate, xp.log(rate)
    low = eta < LEAST
    rate = softplus(xp.where(low, xp.full_like(eta, LEAST), eta))
    return rate, xp.where(low, eta, xp.log(rate))
