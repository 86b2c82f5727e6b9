"""Linear response of all numbers of a large posterior at once: what codes leave unknown lies in few directions.

    -H = -A - B,   (-A)^-1 = R R',   C = R' B R          information that is lost with the codes, as shares of all
    (-H)^-1 = R (I - C)^-1 R'  ~  R (I + U ((I - T)^-1 - I) U') R'

With many columns each row's codes are known well but for what all columns share: factors may be turned, stretched and
moved against each other, K (K + 1) directions or so, and only there are shares of missing information large. Lanczos'
iteration finds them: U are directions of unit length, T = U'CU is tridiagonal, each costs one product with B, two
passes over the rows, and no number's variance can fall with another one. R is a root of the curvature at fixed sums,
column by column (`arrow`). The iteration ends where the last directions raised next to no variance.

Numbers of one column are slopes in its coordinates and those of the border; others, such as shares, in all coordinates.

References: Lanczos (1950); Golub & Van Loan (2013), chapter 10; Giordano, Broderick & Jordan (2018).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import State
from latens.core.coordinates import Chart
from latens.errors import NotSettled
from latens.inference.ascent import infer
from latens.inference.sweep import Sweep, serial_sweep
from latens.inference.uncertainty.arrow import Arrow, Blocks, arrow_of, blocks_of
from latens.inference.uncertainty.column_slopes import ColumnSlopes, column_slopes
from latens.inference.uncertainty.response import (
    LARGEST_GAIN_OF_SETTLED,
    NO_CURVATURE,
    STEP,
    ascend_to,
    settle_block,
    step_of_slopes,
)

__all__ = ["ManyResponses", "respond_many"]

# nats of an iteration for each coordinate, below which a Newton step does the rest of the ascent
LARGEST_GAIN_PER_COORDINATE = 5e-7
MOST_DIRECTIONS = 400
AT_A_TIME = 10  # directions, between looks at the variances
LARGEST_RISE = 0.02  # relative rise of a variance over the last of them, up to which it is settled
LEAST_SHARE_SETTLED = 0.99  # share of numbers that are to be settled
LARGEST_SLOPE = 0.05  # slope in standard deviations beyond which a coordinate stands at an end of its range
NOTHING_LEFT = 1e-7  # length of a new direction before it is made 1: directions are kept in single precision
LEAST_INFORMATION = 1e-5  # as in `response`: a share of information that is left below it is 0
MANY_AT_ONCE = 1000  # numbers whose derivatives along all directions are held at once
LOOKED_AT = 1000  # numbers by which it is decided whether directions are enough

# numbers (m',) that are of several columns, and their derivatives (m', P); None where they cannot be told
Others = Callable[[Chart, Blocks], tuple[Floats, Floats] | None]


@dataclass(frozen=True)
class ManyResponses:
    """Numbers at the optimum, and how sure they are; first those of the posterior alone, then the others."""

    values: Floats  # (m,)
    std: Floats  # (m,), infinite where the rows do not tell a number
    missing: Floats  # (m,), share of the information that is lost with the codes
    settled: Any  # (m,), whether enough directions were taken
    moves: Any  # (m,), whether anything moves it
    held: Any  # (m,), whether it moves with a coordinate at an end of its range
    shift: Floats  # (m,), the rest of the way to the top
    decrement: float  # nats that are left to gain
    n_directions: int
    top: State
    stats: Any  # there


def respond_many(
    model: Any,
    batches: Sequence[Any],
    q: Any,
    quantity: Callable[[Any], Floats],
    others: Others | None = None,
    *,
    sweep: Sweep = serial_sweep,
) -> ManyResponses | None:
    """Of `quantity`, a function of the posterior to (m,), and of `others`, near q.

    None where coordinates of several columns meet at fixed sums, or where a number is of several of them.
    """
    first = _responses(model, batches, State(q), quantity, others, sweep, LARGEST_GAIN_PER_COORDINATE * Chart(q).size)
    if first is None or np.isfinite(first.std).all():
        return first
    return _responses(
        model, batches, first.top, quantity, others, sweep, LARGEST_GAIN_OF_SETTLED
    )  # flat only there, perhaps


def _responses(
    model: Any,
    batches: Sequence[Any],
    start: State,
    quantity: Callable[[Any], Floats],
    others: Others | None,
    sweep: Sweep,
    enough: float,
) -> ManyResponses | None:
    """Where an ascent gains less than `enough` nats in an iteration."""
    top = ascend_to(model, batches, start, sweep, enough)
    chart, warm = Chart.sized(top.q), top.locals or (None,) * len(batches)
    exact = bool(model.exact_local(top.q))

    def sums(at: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSettled)
            return sweep(partial(infer if exact else settle_block, model, at), batches, warm)[1]

    stats, origin = sums(top.q), np.zeros(chart.size)
    fixed = _arrow(chart, lambda point: model.slopes(point, stats))
    slopes = None if fixed is None else column_slopes(quantity, chart, fixed.blocks, STEP)
    if fixed is None or slopes is None:
        return None
    rest = (np.zeros(0), np.zeros((0, chart.size))) if others is None else others(chart, fixed.blocks)
    if rest is None:
        return None
    gradient, of_prior = (chart.pulled(origin, model.slopes(chart.point, each)) for each in (stats, 0.0 * stats))
    steep = (fixed.free > 0) & (np.abs(gradient) > LARGEST_SLOPE * np.sqrt(fixed.own))
    arrow = fixed.holding(steep) if steep.any() else fixed
    length = step_of_slopes(batches, sweep)
    settled = length < STEP and exact  # a short step to one side then errs by less than a thousandth

    def lost(v: Floats) -> Floats:
        """B v."""
        if not v.any():
            return v
        step = length / np.abs(v).max()
        above = sums(chart.at(step * v))
        if settled:
            change = above.difference(stats, 1 / step)
        else:
            change = above.difference(sums(chart.at(-step * v)), 0.5 / step)
        return chart.pulled(origin, model.slopes(chart.point, change)) - of_prior  # slopes are linear in sums

    values_of_rest, of_rest = rest
    narrow = arrow.lengths(slopes.block, slopes.own, slopes.border)
    narrow = np.append(narrow, [np.sum(arrow.pulled(row) ** 2) for row in of_rest])
    pull = arrow.pulled(gradient)
    found = _lanczos(arrow, lost, slopes, of_rest, narrow)
    values, turned = np.linalg.eigh(found.tridiagonal)
    left = 1 - values
    informed = left > LEAST_INFORMATION
    gain = np.where(informed, 1 / np.where(informed, left, 1.0) - 1, 0.0)  # beside what mean field has
    variances, of_unknown = np.empty((2, len(narrow)))
    for some, inside in found.in_parts(turned):
        variances[some] = narrow[some] + inside**2 @ gain
        of_unknown[some] = np.sum(inside[:, ~informed] ** 2, axis=1) / LEAST_INFORMATION
    before = variances if found.ended else _variances(found, max(len(gain) - AT_A_TIME, 0), narrow)
    way = turned.T @ (found.directions @ pull.astype(np.float32))
    step = arrow.spread(pull + (turned @ (gain * way)).astype(np.float32) @ found.directions)
    shift = np.concatenate([slopes.times(step), of_rest @ step])
    others_of_none = np.zeros(len(of_rest), dtype=bool)
    positive = np.maximum(variances, np.finfo(float).tiny)
    unknown = of_unknown > 1e-2 * variances
    return ManyResponses(
        np.concatenate([quantity(chart.point), values_of_rest]),
        np.where(unknown, np.inf, np.sqrt(variances)),
        np.where(unknown, 1.0, 1 - narrow / positive),
        variances - before <= LARGEST_RISE * positive,
        np.concatenate([np.diff(slopes.matrix.indptr) > 0, ~others_of_none]),
        np.concatenate([slopes.meets(steep), others_of_none]),
        shift,
        0.5 * float(pull @ pull + gain @ way**2),
        len(gain),
        top,
        stats,
    )


def _arrow(chart: Chart, slopes: Callable[[Any], Any]) -> Arrow | None:
    def product(v: Floats) -> Floats:
        side = STEP / np.abs(v).max() * v
        ends = [chart.pulled(each, slopes(chart.at(each))) for each in (side, -side)]
        return np.asarray((ends[1] - ends[0]) * (np.abs(v).max() / (2 * STEP)))

    ways = (arrow_of(product, blocks, NO_CURVATURE) for blocks in blocks_of(chart))
    return next((arrow for arrow in ways if arrow is not None), None)


@dataclass(frozen=True, eq=False)
class _Found:
    directions: Any  # (r, P), U', in single precision
    tridiagonal: Floats  # (r, r), T
    moved: Any  # (r, m + m'), derivatives of numbers along R U, in single precision
    ended: bool  # whether there are no others

    def in_parts(self, turned: Floats) -> Iterator[tuple[slice, Floats]]:
        """Some numbers at a time, and their derivatives along combinations (r', s) of the first directions."""
        for first in range(0, self.moved.shape[1], MANY_AT_ONCE):
            some = slice(first, first + MANY_AT_ONCE)
            yield some, self.moved[: len(turned), some].T.astype(float) @ turned


def _lanczos(
    arrow: Arrow, lost: Callable[[Floats], Floats], slopes: ColumnSlopes, of_rest: Floats, narrow: Floats
) -> _Found:
    """Directions until they raise variances no more."""
    limit, size = min(MOST_DIRECTIONS, int(arrow.free.sum())), arrow.blocks.size
    rounded = arrow.rounded()

    def spread(u: Any) -> Floats:
        return rounded.spread(u).astype(float)

    def pulled(v: Floats) -> Floats:
        return rounded.pulled(v.astype(np.float32)).astype(float)

    u = pulled(lost(spread(np.random.default_rng(0).standard_normal(size).astype(np.float32))))
    basis, moved = (np.empty((limit, m), dtype=np.float32) for m in (size, len(narrow)))
    length, diagonal, beside = float(np.linalg.norm(u)), list[float](), list[float]()
    some = np.linspace(0, len(slopes.block) - 1, min(LOOKED_AT, len(slopes.block))).astype(int)
    variances = narrow[some]
    while len(diagonal) < limit and length > NOTHING_LEFT:
        r = len(diagonal)
        basis[r] = u / length
        v = spread(basis[r])
        u = pulled(lost(v))
        diagonal.append(float(basis[r] @ u))
        moved[r] = np.concatenate([slopes.times(v), of_rest @ v])
        u -= diagonal[r] * basis[r]
        if r:
            u -= beside[r - 1] * basis[r - 1]
        # what rounding has put back; directions at right angles to 1e-7 have the same T but for the square of that
        u -= (basis[: r + 1] @ u.astype(np.float32)) @ basis[: r + 1]
        length = float(np.linalg.norm(u))
        beside.append(length)
        if (r + 1) % AT_A_TIME == 0:
            found = _Found(basis[: r + 1], _tridiagonal(diagonal, beside), moved[: r + 1, some], False)
            before, variances = variances, _variances(found, r + 1, narrow[some])
            if np.mean(variances - before <= LARGEST_RISE * variances) >= LEAST_SHARE_SETTLED and r + 1 > AT_A_TIME:
                break
    r = len(diagonal)  # 0 where codes leave nothing unknown
    return _Found(basis[:r], _tridiagonal(diagonal, beside), moved[:r], length <= NOTHING_LEFT)


def _tridiagonal(diagonal: Sequence[float], beside: Sequence[float]) -> Floats:
    """(r, r)."""
    r = len(diagonal)
    matrix = np.diag(np.array(diagonal, dtype=float))
    matrix[np.arange(1, r), np.arange(r - 1)] = matrix[np.arange(r - 1), np.arange(1, r)] = beside[: max(r - 1, 0)]
    return matrix


def _variances(found: _Found, r: int, narrow: Floats) -> Floats:
    """(m,), as the first r directions have them."""
    values, turned = np.linalg.eigh(found.tridiagonal[:r, :r])
    gain, variances = 1 / np.maximum(1 - values, LEAST_INFORMATION) - 1, np.empty(len(narrow))
    for some, inside in found.in_parts(turned):
        variances[some] = narrow[some] + inside**2 @ gain
    return variances
