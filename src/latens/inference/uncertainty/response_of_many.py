"""Linear response of all numbers of a large posterior at once: what codes leave unknown lies in few directions.

    -H = -A - B,   (-A)^-1 = R R',   C = R' B R          information that is lost with the codes, as shares of all
    (-H)^-1 = R (I - C)^-1 R'  ~  R (I + U ((I - T)^-1 - I) U') R'

With many columns each row's codes are known well but for what all columns share: factors may be turned, stretched and
moved against each other, K (K + 1) directions or so, and only there are shares of missing information large. Lanczos'
iteration finds them: U are directions of unit length, T = U'CU is tridiagonal, each costs one product with B, two
passes over the rows, and no number's variance can fall with another one. R is a root of the curvature at fixed sums,
column by column (`arrow`). The iteration ends where the last directions raised next to no variance.

Numbers of one column are slopes in its coordinates and those of the border. Others, such as shares, are followed along
every direction, with the sums that belong to it; what is left outside of them is taken from draws.

References: Lanczos (1950); Golub & Van Loan (2013), chapter 10; Giordano, Broderick & Jordan (2018).
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
from latens.inference.uncertainty.arrow import Arrow, arrow_of, blocks_of
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
NOTHING_LEFT = 1e-8  # length of a new direction before it is made 1
LEAST_INFORMATION = 1e-5  # as in `response`: a share of information that is left below it is 0
N_DRAWS = 16  # of what is outside of all directions, for numbers that are not of one column
LOOKED_AT = 1000  # numbers by which it is decided whether directions are enough


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
    others: Callable[[Any, Any], Floats] | None = None,
    *,
    sweep: Sweep = serial_sweep,
) -> ManyResponses | None:
    """Of `quantity`, a function of the posterior to (m,), and `others`, of posterior and statistics, near q.

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
    others: Callable[[Any, Any], Floats] | None,
    sweep: Sweep,
    enough: float,
) -> ManyResponses | None:
    """Where an ascent gains less than `enough` nats in an iteration."""
    top = ascend_to(model, batches, start, sweep, enough)
    chart, warm = Chart.sized(top.q), top.locals or (None,) * len(batches)

    def sums(at: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotSettled)
            return sweep(partial(settle_block, model, at), batches, warm)[1]

    stats, origin = sums(top.q), np.zeros(chart.size)
    fixed = _arrow(chart, lambda point: model.slopes(point, stats))
    slopes = None if fixed is None else column_slopes(quantity, chart, fixed.blocks, STEP)
    if fixed is None or slopes is None:
        return None
    gradient, of_prior = (chart.pulled(origin, model.slopes(chart.point, each)) for each in (stats, 0.0 * stats))
    steep = (fixed.free > 0) & (np.abs(gradient) > LARGEST_SLOPE * np.sqrt(fixed.own))
    arrow = fixed.holding(steep)
    rest, here = others or (lambda q, stats: np.zeros(0)), (chart.point, stats)
    length = step_of_slopes(batches, sweep)
    settled = length < STEP and model.exact_local(top.q)  # a short step to one side then errs by less than a thousandth

    def derivative(v: Floats) -> tuple[Floats, Floats]:
        """B v, and how numbers that are not of one column move."""
        if not v.any():
            return v, np.zeros_like(rest(*here))
        step = length / np.abs(v).max()
        up = chart.at(step * v)
        ends = [(up, sums(up)), here]
        if not settled:
            down = chart.at(-step * v)
            ends, step = [ends[0], (down, sums(down))], 2 * step
        change = (1 / step) * (ends[0][1] + (-1.0) * ends[1][1])  # slopes are linear in it
        pull = chart.pulled(origin, model.slopes(chart.point, change)) - of_prior
        return pull, (rest(*ends[0]) - rest(*ends[1])) / step

    narrow = arrow.lengths(slopes.block, slopes.own, slopes.border)
    pull = arrow.pulled(gradient)
    found = _lanczos(arrow, derivative, slopes, narrow)
    values, turned = np.linalg.eigh(found.tridiagonal)
    left = 1 - values
    informed = left > LEAST_INFORMATION
    gain = np.where(informed, 1 / np.where(informed, left, 1.0) - 1, 0.0)  # beside what mean field has
    inside = np.concatenate([found.moved, found.others]) @ turned
    outside = _outside(arrow, derivative, found.directions, len(found.others))
    narrow = np.concatenate([narrow, outside + np.sum(found.others**2, axis=1)])
    variances = narrow + inside**2 @ gain
    unknown = np.sum(inside[:, ~informed] ** 2, axis=1) / LEAST_INFORMATION > 1e-2 * variances
    before = variances if found.ended else _variances(found, max(len(gain) - AT_A_TIME, 0), narrow)
    way = turned.T @ (found.directions.T @ pull)
    step = arrow.spread(pull + found.directions @ (turned @ (gain * way)))
    shift = np.concatenate([slopes.times(step), derivative(step)[1]])
    at_end = np.concatenate([slopes.meets(steep), np.zeros(len(found.others), dtype=bool)])
    positive = np.maximum(variances, np.finfo(float).tiny)
    return ManyResponses(
        np.concatenate([quantity(chart.point), rest(chart.point, stats)]),
        np.where(unknown, np.inf, np.sqrt(variances)),
        np.where(unknown, 1.0, 1 - narrow / positive),
        variances - before <= LARGEST_RISE * positive,
        np.concatenate([np.diff(slopes.matrix.indptr) > 0, np.ones(len(found.others), dtype=bool)]),
        at_end,
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
    directions: Floats  # (P, r), U
    tridiagonal: Floats  # (r, r), T
    moved: Floats  # (m, r), derivatives of numbers along R U
    others: Floats  # (m', r), of those that are not of one column
    ended: bool  # whether there are no others


def _lanczos(
    arrow: Arrow, derivative: Callable[[Floats], tuple[Floats, Floats]], slopes: ColumnSlopes, narrow: Floats
) -> _Found:
    """Directions until they raise variances no more."""
    limit, size = min(MOST_DIRECTIONS, int(arrow.free.sum())), arrow.blocks.size
    anywhere, blank = derivative(arrow.spread(np.random.default_rng(0).standard_normal(size)))
    u, shapes = arrow.pulled(anywhere), (len(narrow), len(blank))
    basis, length = np.empty((limit, size)), float(np.linalg.norm(u))
    some = np.linspace(0, len(narrow) - 1, min(LOOKED_AT, len(narrow))).astype(int)
    moved, others, diagonal, beside = list[Floats](), list[Floats](), list[float](), list[float]()
    variances = narrow[some]
    while len(diagonal) < limit and length > NOTHING_LEFT:
        r = len(diagonal)
        basis[r] = u / length
        v = arrow.spread(basis[r])
        pull, more = derivative(v)
        u = arrow.pulled(pull)
        diagonal.append(float(basis[r] @ u))
        moved.append(slopes.times(v))
        others.append(more)
        u -= diagonal[r] * basis[r]
        if r:
            u -= beside[r - 1] * basis[r - 1]
        u -= (basis[: r + 1] @ u) @ basis[: r + 1]  # what rounding has put back
        length = float(np.linalg.norm(u))
        beside.append(length)
        if (r + 1) % AT_A_TIME == 0:
            found = _as_found(
                basis, diagonal, beside, [each[some] for each in moved], others, (len(some), len(blank)), False
            )
            before, variances = variances, _variances(found, r + 1, narrow[some])
            if np.mean(variances - before <= LARGEST_RISE * variances) >= LEAST_SHARE_SETTLED and r + 1 > AT_A_TIME:
                break
    return _as_found(basis, diagonal, beside, moved, others, shapes, length <= NOTHING_LEFT)


def _as_found(
    basis: Floats,
    diagonal: list[float],
    beside: list[float],
    moved: list[Floats],
    others: list[Floats],
    shapes: tuple[int, int],
    ended: bool,
) -> _Found:
    r = len(diagonal)  # 0 where codes leave nothing unknown
    matrix = np.zeros((r, r))
    matrix[np.arange(r), np.arange(r)] = diagonal
    matrix[np.arange(1, r), np.arange(r - 1)] = matrix[np.arange(r - 1), np.arange(1, r)] = beside[: max(r - 1, 0)]
    own, rest = (np.asarray(np.reshape(each, (r, m)).T) for each, m in zip((moved, others), shapes, strict=True))
    return _Found(basis[:r].T, matrix, own, rest, ended)


def _variances(found: _Found, r: int, narrow: Floats) -> Floats:
    """(m,) or (m + m',), as the first r directions have them."""
    values, turned = np.linalg.eigh(found.tridiagonal[:r, :r])
    left = np.maximum(1 - values, LEAST_INFORMATION)
    moved = found.moved if len(narrow) == len(found.moved) else np.concatenate([found.moved, found.others])
    return np.asarray(narrow + (moved[:, :r] @ turned) ** 2 @ (1 / left - 1))


def _outside(
    arrow: Arrow, derivative: Callable[[Floats], tuple[Floats, Floats]], directions: Floats, n_others: int
) -> Floats:
    """(m',), variances that are outside of all directions, from draws of what mean field believes."""
    if not n_others:
        return np.zeros(0)
    rng, total = np.random.default_rng(3), np.zeros(n_others)
    for _ in range(N_DRAWS):
        u = rng.standard_normal(arrow.blocks.size)
        total += derivative(arrow.spread(u - directions @ (directions.T @ u)))[1] ** 2
    return total / N_DRAWS
