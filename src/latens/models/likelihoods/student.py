"""Measurements with outliers: y = eta + t_nu / sqrt(tau_d), Student's t with nu degrees of freedom, one nu for a view.

It is a normal likelihood whose precision is scaled by a hidden u ~ Gamma(nu/2, nu/2) in each entry, with
q(u) = Gamma(a, b) found anew where eta is. An entry far from eta has a small E[u], and hardly counts:

    delta = E[tau] E[(y - eta)^2],    a = (nu + 1) / 2,    b = (nu + delta) / 2,    E[u] = a / b

    log p >= tau E[u] (-y^2/2 + y eta - eta^2/2) + (log tau - log 2 pi) / 2
             + nu/2 log(nu/2) - log Gamma(nu/2) + nu/2 (E[log u] - E[u])
             + a + log Gamma(a) + (1/2 - a) psi(a) - log(b) / 2

The second line is all that knows nu once q(u) is given; its best nu is a root. Steps beyond the root are taken as long
as the bound does not fall, since those to the root alone are slow where tails are light.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import digamma, stdtr, stdtrit
from scipy.special import gammaln as host_gammaln

from latens.array import Array, Floats
from latens.array.fields import positive, record
from latens.array.kernels.quadratic_bounds import masked
from latens.array.transfer import column_sums, host, like
from latens.core import Rows
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Columns, Free, Parameters, Predictor, Tangent
from latens.models.student_tails import best_tail

__all__ = ["Student", "Tails"]

FEWEST_DEGREES, MOST_DEGREES = 0.5, 1000.0  # degrees of freedom at least and at most
START = 5.0
OVER_RELAXATION = 1.9  # how far beyond the root a step goes, in logarithms; from 2 on the bound would fall
TRIMMED_SHARE = 0.02  # share at either end of a column that a start takes for outliers
RATIOS = np.geomspace(1e-4, 1e4, 97)  # of variances, at which limits are computed; others lie between


@record
class Tails(Parameters):
    """Degrees of freedom; the fewer, the heavier."""

    freedom: Floats = positive("1")

    @property
    def value(self) -> float:
        return float(self.freedom[0])

    def applied(self, sums: Any) -> Any:
        (logs, scales, rest), nu = sums.own.T, self.value
        return replace(sums, free_level=rest + sums.count * _level(nu) + 0.5 * nu * (logs - scales))

    def improved(self, sums: Any, coefficients: Floats) -> Tails:
        n, excess = float(sums.count.sum()), float(np.sum(sums.own[:, 0] - sums.own[:, 1]))
        if n <= 0:
            return self

        def height(nu: float) -> float:
            return n * _level(nu) + 0.5 * nu * excess

        root = float(best_tail(np.array([excess / n]), FEWEST_DEGREES, MOST_DEGREES)[0])
        far = float(np.clip(self.value * (root / self.value) ** OVER_RELAXATION, FEWEST_DEGREES, MOST_DEGREES))
        return Tails(np.array([far if height(far) >= height(self.value) else root]))


def _level(nu: float) -> float:
    return float(0.5 * nu * np.log(0.5 * nu) - host_gammaln(0.5 * nu))


@record
class Student(Gaussian):
    name: ClassVar[str] = "student"
    curved: ClassVar[bool] = True
    even: ClassVar[bool] = False

    def parameters(self, d: int) -> Tails:
        return Tails(np.array([START]))

    def tangent(self, rows: Rows, at: Predictor) -> Tangent:
        xp, y, nu = array_namespace(rows.x), rows.x, at.columns.parameters.value
        delta = like(at.columns.noise.mean, y) * (y**2 - 2 * y * at.mean() + at.square())
        a = 0.5 * (nu + 1)
        rate = 0.5 * (nu + xp.maximum(delta, xp.zeros_like(delta)))
        log_rate = xp.log(rate)
        u = masked(a / rate, rows.seen)
        logs = masked(float(digamma(a)) - log_rate, rows.seen)
        fixed = a + float(host_gammaln(a)) + (0.5 - a) * float(digamma(a))
        rest = masked(fixed - 0.5 * log_rate, rows.seen)
        constant = masked(xp.ones_like(y), rows.seen) * _level(nu) + 0.5 * nu * (logs - u) + rest

        def own(part: Rows, regressors: Array) -> Floats:
            """(D, 3), sums of E[log u], of E[u], and of what does not know nu."""
            return np.stack([column_sums(part.weigh(values)) for values in (logs, u, rest)], axis=1)

        return Tangent(u * y, u, at=at, free=Free(lambda: constant), own=own)

    def level(self, rows: Rows, tangent: Tangent) -> Array:
        return -0.5 * rows.x * tangent.response

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return column_sums(rows.weigh(self.level(rows, tangent)))

    def expect(self, mean: Array, variance: Array, columns: Columns) -> tuple[Array, Array]:
        """The variance is infinite where there is none, with two degrees of freedom and fewer."""
        nu = columns.parameters.value
        return mean, variance + columns.variance(mean) * (nu / (nu - 2) if nu > 2 else np.inf)

    def curvature(self, rows: Rows, tangent: Tangent, at: Predictor) -> Array:
        """Expected over y: the observed one may be negative."""
        nu = at.columns.parameters.value
        return masked((nu + 1) / (nu + 3) * array_namespace(rows.x).ones_like(rows.x), rows.seen)

    def deviance(self, y: Array, eta: Array, columns: Columns) -> Array:
        nu = columns.parameters.value
        return (nu + 1) * array_namespace(y).log1p((y - eta) ** 2 / (nu * columns.variance(y)))

    def working(self, y: Floats) -> Floats:
        """Without outliers, which would be the principal directions."""
        return np.asarray(np.clip(y, *np.quantile(y, (TRIMMED_SHARE, 1 - TRIMMED_SHARE), axis=0)))

    def draw(self, eta: Floats, columns: Columns, rng: np.random.Generator) -> Floats:
        noise = rng.standard_t(columns.parameters.value, size=eta.shape)
        return np.asarray(eta + noise * np.sqrt(columns.variance(eta)))

    def between(self, mean: Array, variance: Array, columns: Columns, tail: float) -> tuple[Array, Array]:
        """By the distribution of a normal eta and its noise together."""
        noise = host(columns.variance(mean))
        ratio = np.clip(host(variance) / noise, RATIOS[0], RATIOS[-1])
        reach = np.interp(np.log(ratio), np.log(RATIOS), _reaches(columns.parameters.value, tail) / np.sqrt(1 + RATIOS))
        half = like(reach * np.sqrt(1 + ratio) * np.sqrt(noise), mean)
        return mean - half, mean + half


def _reaches(nu: float, tail: float) -> Floats:
    """Of t_nu + Normal(0, r), r each of RATIOS: what is exceeded with that chance, by bisection."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(40)
    masses = masses / masses.sum()
    shift = np.sqrt(RATIOS)[:, None] * nodes
    low, high = np.zeros(len(RATIOS)), -stdtrit(nu, tail / 2) + 8 * np.sqrt(RATIOS)
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = stdtr(nu, shift - middle[:, None]) @ masses > tail
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 0.5 * (low + high)
