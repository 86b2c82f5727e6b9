"""Counts: y ~ Poisson(softplus(eta)), by a parabola of fixed curvature (Seeger and Bouchard 2012).

    f(eta) = softplus(eta) - y log softplus(eta),      f'' <= kappa = 1/4 + 0.17 y
    log p >= -f(zeta) - f'(zeta)(eta - zeta) - kappa (eta - zeta)^2 / 2 - log y!,    best at zeta = E[eta]

kappa is per entry: tighter than one per column, and never outgrown by a later, larger count. Files of earlier
fits hold it; new fits take `latens.models.likelihoods.counts`, whose bound is tight at every mean.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.fields import record
from latens.array.kernels.quadratic_bounds import (
    masked,
    softplus_bend,
    softplus_constant,
    softplus_curvature,
    touch_softplus,
)
from latens.array.special import gammaln, softplus_and_log
from latens.core import Rows
from latens.models.likelihoods.count_rates import count_limits
from latens.models.likelihoods.counts import refused_counts
from latens.models.likelihoods.interface import Columns, Likelihood, Look, Predictor, Tangent, averages

__all__ = ["SoftplusPoisson"]

SMALLEST_RATE = 2.0**-52
SMALLEST_START = 1e-3  # counts per row that a column starts with at least


@record
class SoftplusPoisson(Likelihood):
    name: ClassVar[str] = "poisson"

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        precision = rows.cached("softplus", lambda: masked(softplus_curvature(rows.x), rows.seen))
        response, levels = touch_softplus(rows.x, at.mean(), rows.seen, rows.weight)
        return Tangent(response, precision, levels, at)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return softplus_constant(rows.x, tangent.at.mean(), rows.seen) - gammaln(
            rows.x + 1
        )  # 0 where y, being unseen, is 0

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return np.asarray(super().levels(rows, tangent) - rows.log_factorials)

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        rate, square = averages(mean, variance, lambda eta: ((r := softplus_and_log(eta)[0]), r**2))
        return rate, rate + array_namespace(rate).maximum(square - rate**2, 0 * rate)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        return masked(softplus_bend(rows.x, at.mean()), rows.seen)

    def middle(self, eta: Array, columns: Columns) -> Array:
        return softplus_and_log(eta)[0]

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        xp = array_namespace(eta)
        rate, log_rate = softplus_and_log(eta)
        log_y = xp.log(xp.maximum(y, xp.ones_like(y)))  # 0 log 0 = 0
        return 2 * (y * (log_y - log_rate) - y + rate)

    def link(self, level: Floats, columns: Columns | None = None) -> Floats:
        rate = np.maximum(level, SMALLEST_RATE)
        return np.where(rate > 30, rate, np.log(np.expm1(np.minimum(rate, 30.0))))

    def start(self, level: Floats) -> tuple[Floats, Floats]:
        eta = self.link(np.maximum(level, SMALLEST_START))
        return eta, 1 / (1 + np.exp(-eta))

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        return rng.poisson(np.logaddexp(0.0, eta)).astype(float)

    def limits(self, mean: Array, variance: Array, tail: float) -> tuple[Array, Array]:
        return count_limits(mean, variance, tail)

    @classmethod
    def refusal(cls, look: Look) -> str | None:
        return refused_counts(look)
