"""Linear response of a few numbers of a large posterior, by conjugate gradients: no matrix is ever formed.

    Var(f) = G (-H)^-1 G'           G = d f / d eta, found by moving groups of coordinates and halving those that matter
    H v = A v + B v                 two passes over the rows, by differences of slopes in closed form along v
    A v                             the same at fixed statistics, without rows; (-A)^-1 is the preconditioner

The variance rises from that of mean field, which the first step has, to that of the response; the iteration ends when
it rises by less than 1 %. Coordinates without curvature are left out, as in `response`.

References: Giordano, Broderick & Jordan (2018); Bekas, Kokiopoulou & Saad (2007) for diagonals by random signs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import State
from latens.core.coordinates import Chart
from latens.errors import NotSettled
from latens.inference.sweep import Sweep, serial_sweep
from latens.inference.uncertainty.response import (
    LARGEST_GAIN_OF_SETTLED,
    NO_CURVATURE,
    STEP,
    ascend_to,
    settle_block,
    step_of_slopes,
)

__all__ = ["FewResponses", "respond_few"]

MOST_PRODUCTS = 10  # with H, for each number
LARGEST_RISE = 0.01  # relative rise of the variance at which it is settled
N_SIGNS = 12  # vectors of random signs, from which the diagonal of A is guessed
INNER_STEPS, INNER_CLOSE = 30, 1e-2  # of the solution with A alone
Product = Callable[[Floats], Floats]


@dataclass(frozen=True)
class FewResponses:
    """Numbers at the optimum, and how sure they are."""

    values: Floats  # (m,)
    std: Floats  # (m,), infinite where the rows do not tell a number
    missing: Floats  # (m,), share of the information that is lost with the codes
    settled: Any  # (m,), whether ten products were enough
    n_products: int  # with H, of all numbers


def respond_few(
    model: Any, batches: Sequence[Any], q: Any, quantity: Callable[[Any], Floats], *, sweep: Sweep = serial_sweep
) -> FewResponses:
    """Of `quantity`, a function of the posterior to (m,), near q; the model has slopes in closed form."""
    top = ascend_to(model, batches, State(q), sweep, LARGEST_GAIN_OF_SETTLED)
    chart, warm = Chart.sized(top.q), top.locals or (None,) * len(batches)

    def sums(at: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSettled)
            return sweep(partial(settle_block, model, at), batches, warm)[1]

    stats, length = sums(top.q), step_of_slopes(batches, sweep)

    def derivative(direction: Floats, moved: bool) -> Floats:
        step = length / np.abs(direction).max()
        ends = []
        for side in (step * direction, -step * direction):
            point = chart.at(side)
            ends.append(chart.pulled(side, model.slopes(point, sums(point) if moved else stats)))
        return np.asarray((ends[1] - ends[0]) / (2 * step))

    diagonal = _diagonal(partial(derivative, moved=False), chart.size)
    free = diagonal > NO_CURVATURE
    narrow = _Solver(partial(derivative, moved=False), diagonal, free)
    found = [_variance(partial(derivative, moved=True), narrow, free * row) for row in _gradients(quantity, chart)]
    variances, narrows, enough, products = (np.array(column) for column in zip(*found, strict=True))
    known = np.isfinite(variances) & (variances > 0)
    missing = np.where(known, 1 - narrows / np.where(known, variances, 1.0), 1.0)
    return FewResponses(quantity(top.q), np.sqrt(variances), missing, enough.astype(bool), int(products.sum()))


def _variance(product: Product, narrow: _Solver, row: Floats) -> tuple[float, float, bool, int]:
    """G (-H)^-1 G', what mean field says, whether it is settled, and the products it took."""
    if not row.any():
        return 0.0, 0.0, True, 0
    x, left = np.zeros_like(row), row
    z = narrow(left)
    p, alone, value = z, float(row @ z), 0.0
    for step in range(1, MOST_PRODUCTS + 1):
        bent = narrow.free * product(p)
        height = float(p @ bent)
        if height <= 0:  # the rows do not tell this direction
            return np.inf, alone, True, step
        size = float(left @ z) / height
        x, rest = x + size * p, left - size * bent
        rise, value = float(row @ x) - value, float(row @ x)
        if rise < LARGEST_RISE * value and step > 1:
            return value, alone, True, step
        after = narrow(rest)
        p = after + max(float(after @ (rest - left)) / float(left @ z), 0.0) * p
        left, z = rest, after
    return value, alone, False, MOST_PRODUCTS


@dataclass(frozen=True)
class _Solver:
    """Products with (-A)^-1, by conjugate gradients with the diagonal of A."""

    product: Product
    diagonal: Floats
    free: Any

    def __call__(self, b: Floats) -> Floats:
        scale = np.where(self.free, 1 / np.maximum(self.diagonal, NO_CURVATURE), 0.0)
        x, left = np.zeros_like(b), b
        z = scale * left
        p, weight = z, float(left @ z)
        enough = INNER_CLOSE**2 * weight
        for _ in range(INNER_STEPS):
            if weight <= enough:
                break
            bent = self.free * self.product(p)
            height = float(p @ bent)
            if height <= 0:
                break
            x, left = x + (weight / height) * p, left - (weight / height) * bent
            z = scale * left
            before, weight = weight, float(left @ z)
            p = z + (weight / before) * p
        return x


def _diagonal(product: Product, size: int) -> Floats:
    """(P,), of -A, from products with random signs: what is off the diagonal averages out."""
    rng, total = np.random.default_rng(0), np.zeros(size)
    for _ in range(N_SIGNS):
        signs = rng.choice([-1.0, 1.0], size=size)
        total += signs * product(signs)
    return total / N_SIGNS


def _gradients(quantity: Callable[[Any], Floats], chart: Chart) -> Floats:
    """(m, P), derivatives; groups of coordinates that move no number are not looked into."""
    rows = np.zeros((len(quantity(chart.point)), chart.size))
    probes = np.random.default_rng(1).uniform(0.5, 1.0, chart.size)

    def slope(low: int, high: int) -> Floats:
        steps = np.zeros(chart.size)
        steps[low:high] = STEP * (probes[low:high] if high - low > 1 else 1.0)
        return np.asarray((quantity(chart.at(steps)) - quantity(chart.at(-steps))) / (2 * STEP))

    groups = [(0, chart.size)]
    while groups:
        low, high = groups.pop()
        moved = slope(low, high)
        if high - low == 1:
            rows[:, low] = moved
        elif moved.any():
            middle = (low + high) // 2
            groups += [(low, middle), (middle, high)]
    return rows
