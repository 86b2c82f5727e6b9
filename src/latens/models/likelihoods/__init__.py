"""What is measured given a linear predictor eta, each bounded by a parabola that touches it.

    log p(y | eta)  >=  tau (constant + response eta - precision eta^2 / 2) + normaliser

tau is a noise precision per column, held in the posterior, and 1 where a likelihood has none. The rest is found by
`tangent` where eta is now, and lives for one block of rows. A precision of None is 1 wherever an entry was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.core import Rows

__all__ = ["At", "Likelihood", "Tangent", "Touching", "averages"]


At = Callable[[], Array]  # (n, D), made anew by every call


@dataclass(frozen=True)
class Tangent:
    """Zero at missing entries."""

    response: Array  # (n, D)
    precision: Array | None  # (n, D)
    levels: Floats | None = None  # (D,), weighted sums of the constant; None where it never changes
    at: Any = None  # At: where it touches; None where that changes nothing


@runtime_checkable
class Likelihood(Protocol):
    name: ClassVar[str]
    curved: ClassVar[bool]  # whether the parabola depends on where eta is
    touches: ClassVar[str]  # what says where: "mean", "square" (E[eta^2]), "given" precisions instead, or ""
    learns_noise: ClassVar[bool]  # whether columns have a noise precision of their own

    def tangent(self, rows: Rows, at: At) -> Tangent: ...  # where it is told what it `touches`

    def level(self, rows: Rows, tangent: Tangent) -> Array: ...  # (n, D), the constant

    def levels(self, rows: Rows, tangent: Tangent) -> Floats: ...  # (D,), its weighted sums

    def normaliser(self, noise: Any) -> Floats: ...  # (D,), per observed entry

    def expect(self, mean: Array, variance: Array, noise: Array) -> tuple[Array, Array]: ...  # of y, eta being normal

    def curvature(self, rows: Rows, tangent: Tangent, at: At) -> Array | None: ...  # -d^2 log p / d eta^2 at E[eta]

    def middle(self, eta: Array) -> Array: ...  # E[y | eta]

    def deviance(self, y: Array, eta: Array) -> Array: ...  # twice the log-likelihood lost beside a perfect eta

    def link(self, level: Floats) -> Floats: ...  # eta whose y is at that level

    def start(self, level: Floats) -> tuple[Floats, Floats]: ...  # the same, not too far out, and dy/deta there

    def draw(self, eta: Floats, noise: Floats, rng: np.random.Generator) -> Floats: ...


class Touching:
    """What likelihoods share whose parabola moves."""

    def levels(self, rows: Rows, tangent: Tangent) -> Floats:
        return np.asarray(tangent.levels)

    def normaliser(self, noise: Any) -> Floats:
        return np.zeros_like(noise.mean)


def averages(mean: Array, variance: Array, of: Callable[[Array], tuple[Array, ...]], nodes: int = 20) -> list[Array]:
    """E[f(eta)] of each f, eta ~ Normal(mean, variance), by Gauss-Hermite quadrature."""
    xp = array_namespace(mean)
    sd = xp.sqrt(variance)
    points, masses = np.polynomial.hermite_e.hermegauss(nodes)
    totals: list[Array] = []
    for point, mass in zip(points.tolist(), (masses / masses.sum()).tolist(), strict=True):
        parts = [mass * part for part in of(mean + point * sd)]
        totals = parts if not totals else [total + part for total, part in zip(totals, parts, strict=True)]
    return totals
