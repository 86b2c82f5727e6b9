"""Parabolas that touch log-likelihoods from below: compiled for NumPy arrays, plain array operations for others.

    log p(y | eta)  >=  constant + response eta - precision eta^2 / 2

Response and precision are returned as (n, D), 0 at unobserved entries: `seen` (n, D) is true at observed ones, None
where all are. Constants are returned as their sums (D,) over rows, each row counted `weight` (n,) times; None: once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.special import expit

from latens.array import Array, Floats
from latens.array.special import softplus_and_log
from latens.array.transfer import column_sums, cross_sums, host, like

__all__ = [
    "MOST_BENT",
    "Steps",
    "logistic_constant",
    "masked",
    "middles",
    "softplus_bend",
    "softplus_constant",
    "softplus_curvature",
    "steps_about",
    "steps_constant",
    "sum_steps",
    "sum_steps_plain",
    "touch_logistic",
    "touch_logistic_plain",
    "touch_rare_counts",
    "touch_rare_counts_plain",
    "touch_softplus",
    "touch_softplus_plain",
    "touch_steps",
    "touch_steps_plain",
]

# of parabolas about the middle of a level: half the gap that they know of at most, and how soon they get there; what is
# said of half the gap then is bent by no more, whatever the precision
WIDEST_HALF_GAP, SHARPNESS, MOST_BENT = 1.2, 6, 1.0


def touch_logistic(squares: Array, seen: Array | None = None, weight: Array | None = None) -> tuple[Array, Floats]:
    """Precision of y eta - log(1 + e^eta), best where E[eta^2] is `squares`, over which it may be written.

    The response is y - 1/2.
    """
    if not is_numpy_array(squares):
        return touch_logistic_plain(squares, seen, weight)
    from latens.array.kernels import quadratic_bounds_numba

    precision, levels = np.ascontiguousarray(squares), np.zeros(squares.shape[1])
    quadratic_bounds_numba.touch_logistic(precision, *_counted(squares, seen, weight), precision, levels)
    return precision, levels


def touch_logistic_plain(
    squares: Array, seen: Array | None = None, weight: Array | None = None
) -> tuple[Array, Floats]:
    return masked(_logistic_curve(squares)[1], seen), _summed(logistic_constant(squares, seen), weight)


def logistic_constant(squares: Array, seen: Array | None = None) -> Array:
    """(n, D), of each entry."""
    xi, curve, fall = _logistic_curve(squares)
    return masked(0.5 * xi * (curve * xi - 1) - array_namespace(xi).log1p(fall + 1), seen)


def _logistic_curve(squares: Array) -> tuple[Array, Array, Array]:
    """xi, twice lambda(xi), and e^-xi - 1."""
    xp = array_namespace(squares)
    xi = xp.sqrt(xp.abs(squares) + 1e-12)  # rounding may leave a square just below 0; any xi bounds
    fall = xp.expm1(-xi)  # tanh and log sigmoid from one exponential; its digits survive small xi
    return xi, fall / (fall + 2) / (-2 * xi), fall


def touch_rare_counts(
    y: Array,
    mean: Array,
    squares: Array,
    size: Floats,
    seen: Array | None = None,
    weight: Array | None = None,
) -> tuple[Array, Floats]:
    """Precision of -log(1 + e^eta), and four sums (4, D) of -(y + size) log(1 + e^eta).

    They are those of its constants, of y times them, and of its slope and bend by log size where e^eta size stays as it
    is. `squares`, E[eta^2], may be written over.
    """
    if not is_numpy_array(squares):
        return touch_rare_counts_plain(y, mean, squares, size, seen, weight)
    from latens.array.kernels import quadratic_bounds_numba

    precision, sums = np.ascontiguousarray(squares), np.zeros((4, squares.shape[1]))
    counted = _counted(squares, seen, weight)
    y, mean = np.ascontiguousarray(y), np.ascontiguousarray(mean)  # else compiled once more for each layout
    quadratic_bounds_numba.touch_rare_counts(y, mean, precision, size, *counted, precision, sums)
    return precision, sums


def touch_rare_counts_plain(
    y: Array,
    mean: Array,
    squares: Array,
    size: Floats,
    seen: Array | None = None,
    weight: Array | None = None,
) -> tuple[Array, Floats]:
    xp, r = array_namespace(squares), like(size, squares)
    xi, t, fall = _logistic_curve(squares)
    high, b = 0.5 * xi + xp.log1p(fall + 1), y + r
    constant, lost = 0.5 * t * xi**2 - high, r * (0.5 * mean + high)
    parts = (
        constant,
        y * constant,
        0.5 * (r - y) - lost + b * t * mean,
        r - lost + 2 * r * t * mean - b * (t - mean**2 * (t**2 + (t - 0.25) / xi**2)),
    )
    return masked(t, seen), np.stack([_summed(masked(part, seen), weight) for part in parts])


def touch_softplus(
    y: Array, eta: Array, seen: Array | None = None, weight: Array | None = None
) -> tuple[Array, Floats]:
    """Response of y log softplus(eta) - softplus(eta) at `eta`, over which it may be written.

    The precision is `softplus_curvature`.
    """
    if not is_numpy_array(y):
        return touch_softplus_plain(y, eta, seen, weight)
    from latens.array.kernels import quadratic_bounds_numba

    response, levels = np.ascontiguousarray(eta), np.zeros(y.shape[1])
    quadratic_bounds_numba.touch_softplus(y, response, *_counted(y, seen, weight), response, levels)
    return response, levels


def touch_softplus_plain(
    y: Array, eta: Array, seen: Array | None = None, weight: Array | None = None
) -> tuple[Array, Floats]:
    slope = _softplus_slope(y, eta)[0]
    response = masked(softplus_curvature(y) * eta - slope, seen)
    return response, _summed(softplus_constant(y, eta, seen), weight)


def softplus_curvature(y: Array) -> Array:
    """(n, D), at least that of softplus - y log softplus anywhere."""
    return 0.25 + 0.17 * y


def softplus_bend(y: Array, eta: Array) -> Array:
    """(n, D), the curvature of softplus - y log softplus at `eta` itself, which is never negative."""
    xp, rate = array_namespace(y), softplus_and_log(eta)[0]
    rest = xp.exp(-rate)  # 1 - sigmoid(eta)
    ratio = -xp.expm1(-rate) / rate
    bend = rate * ratio * rest + y * ratio * (ratio - rest)
    return xp.maximum(bend, xp.zeros_like(bend))


def softplus_constant(y: Array, eta: Array, seen: Array | None = None) -> Array:
    """(n, D), of each entry."""
    slope, rate, log_rate = _softplus_slope(y, eta)
    return masked(y * log_rate - rate + eta * (slope - 0.5 * softplus_curvature(y) * eta), seen)


def _softplus_slope(y: Array, eta: Array) -> tuple[Array, Array, Array]:
    """That of softplus - y log softplus, softplus itself and its logarithm."""
    rate, log_rate = softplus_and_log(eta)
    share = -array_namespace(y).expm1(-rate)  # sigmoid(eta), whose ratio to a tiny softplus is 1 to the last digit
    return share - y * (share / rate), rate, log_rate


class Steps(NamedTuple):
    """What of thresholds the parabolas of levels in order need."""

    cuts: Floats  # (D, C - 1)
    top: Floats  # (D,), the highest level
    widths: Floats  # (D, C), log(1 - e^-gap) of levels between two cuts, else 0
    middles: Floats  # (D, C, 5), `middles` of levels between two cuts, else 0


def middles(low: Floats, high: Floats) -> Floats:
    """(..., 5), of levels between these cuts what one parabola about their middle needs.

    With x the distance of eta from the middle of a level, and g half its gap,

        log(sigmoid(eta - low) - sigmoid(eta - high)) = r(x, g) + log(1 - e^-2g)
        r(x, g) = g - log(2 cosh g + 2 cosh x)  >=  r(x, h) + r(0, g) - r(0, h),      h <= g

    and as long as cosh h <= 2, cosh x + cosh h has a logarithm that is concave in x^2: a parabola in x that touches
    where x^2 is E[x^2] is below it everywhere, and where h = g above the sum of those of both cuts. h is g of small
    gaps and stays below WIDEST_HALF_GAP: of a given precision, the highest such parabola is then bent by half the gap
    by MOST_BENT at most, so that cuts can be learnt from sums. Returned are the middle, cosh h, what is added in
    height, and b and a of the slope by g, b - a e^-|x| / (1 + 2 cosh h e^-|x| + e^-2|x|).
    """
    g = 0.5 * (high - low)
    ratio = (g / WIDEST_HALF_GAP) ** SHARPNESS
    h = g * (1 + ratio) ** (-1 / SHARPNESS)
    rate = (1 + ratio) ** (-1 / SHARPNESS - 1)  # dh / dg
    lift = 2 * (np.logaddexp(0, -h) - np.logaddexp(0, -g))
    slope = 2 * (expit(-g) - rate * expit(-h))
    return np.stack([0.5 * (low + high), np.cosh(h), h + lift, rate + slope, 2 * rate * np.sinh(h)], axis=-1)


def touch_steps(
    level: Array, mean: Array, squares: Array, steps: Steps, seen: Array | None = None, weight: Array | None = None
) -> tuple[Array, Array, Array, Array, Floats, Floats]:
    """Parabolas of log(sigmoid(eta - low) - sigmoid(eta - high)), between the cuts below and above a level.

    `level` (n, D) counts from 0. Of levels between two cuts each entry has the higher one of two parabolas: the sum of
    those of both cuts, or one about the middle (`middles`). Returns precisions of the part that each cut makes, below
    and above, and of that about the middle, the response, sums (2, D) of constants, and of what they are without the
    cuts, and (D, C, 2), entries with parabolas about the middle and what half the gap is multiplied by in them.
    """
    if not is_numpy_array(mean):
        return touch_steps_plain(level, mean, squares, steps, seen, weight)
    from latens.array.kernels import quadratic_bounds_numba

    below, above, centre, response = (np.empty_like(mean) for _ in range(4))
    sums, centred = np.zeros((2, mean.shape[1])), np.zeros((*steps.widths.shape, 2))
    found = (below, above, centre, response, sums, centred)
    quadratic_bounds_numba.touch_steps(level, mean, squares, *steps, *_counted(mean, seen, weight), *found)
    return found


def touch_steps_plain(
    level: Array, mean: Array, squares: Array, steps: Steps, seen: Array | None = None, weight: Array | None = None
) -> tuple[Array, Array, Array, Array, Floats, Floats]:
    found = _steps(level, mean, squares, steps, seen)
    sums = np.stack([_summed(found.free + found.moved, weight), _summed(found.free, weight)])
    here = [array_namespace(mean).astype(level == c, mean.dtype) for c in range(steps.widths.shape[1])]
    parts = [[_summed(part * own, weight) for part in (found.about, found.lean)] for own in here]
    centred = np.moveaxis(np.array(parts), 2, 0)
    return found.below, found.above, found.centre, found.response, sums, centred


def steps_constant(level: Array, mean: Array, squares: Array, steps: Steps, seen: Array | None = None) -> Array:
    """(n, D), of each entry."""
    found = _steps(level, mean, squares, steps, seen)
    return found.free + found.moved


class _Touched(NamedTuple):
    """(n, D) each."""

    below: Array  # precisions of the parts of cuts
    above: Array
    centre: Array  # and of the one about the middle
    response: Array
    free: Array  # constants without the cuts
    moved: Array  # and what is added with them
    about: Array  # 1 where the parabola is about the middle
    lean: Array  # what half the gap is multiplied by there


def _steps(level: Array, mean: Array, squares: Array, steps: Steps, seen: Array | None) -> _Touched:
    xp = array_namespace(mean)
    there, spare = masked(xp.ones_like(mean), seen), xp.maximum(squares - mean**2, xp.zeros_like(mean)) + 1e-12
    low, high, width = steps_about(level, steps.cuts, steps.widths)
    middle, wide, lift, slope, fade = _of_levels(level, steps.middles)
    gap, far = 0.5 * (high - low), xp.sqrt(spare + (mean - middle) ** 2)
    fall = xp.exp(-far)
    mass = 1 + fall * (2 * wide + fall)
    height, lean = lift - far - xp.log(mass), slope - fade * fall / mass
    bend = -xp.expm1(-far) * (1 + fall) / (far * mass)
    squared = [spare + (mean - cut) ** 2 for cut in (low, high)]
    curves, heights = [_logistic_curve(each)[1] for each in squared], [logistic_constant(each) for each in squared]
    height_of_two = gap + sum(h - 0.5 * t * each for h, t, each in zip(heights, curves, squared, strict=True))
    about = there * xp.astype((wide > 0) & (height > height_of_two), mean.dtype)
    rest = there * (1 - about)
    parts = [rest * xp.astype(level > 0, mean.dtype), rest * xp.astype(level < like(steps.top, mean), mean.dtype)]
    whole = height + 0.5 * bend * far**2
    free = about * (whole - gap * (lean + 0.5 * MOST_BENT * gap))
    moved = there * width + about * (gap * (lean + 0.5 * MOST_BENT * gap) - 0.5 * bend * middle**2)
    curves = [part * t for part, t in zip(parts, curves, strict=True)]
    for part, cut, turn, own, t in zip(parts, (low, high), (0.5, -0.5), heights, curves, strict=True):
        free = free + part * own
        moved = moved - cut * (turn * part + 0.5 * t * cut)
    (below, above), centre = curves, about * bend
    response = 0.5 * (parts[0] - parts[1]) + below * low + above * high + centre * middle
    return _Touched(below, above, centre, response, free, moved, about, about * (lean + MOST_BENT * gap))


def _of_levels(level: Array, values: Floats) -> list[Array]:
    """(n, D) each: of values (D, C, m) those of each entry's level."""
    xp, found = array_namespace(level), [0 * level for _ in range(values.shape[2])]
    for c in range(values.shape[1]):
        here = xp.astype(level == c, level.dtype)
        found = [own + here * like(part, level) for own, part in zip(found, values[:, c].T, strict=True)]
    return found


def steps_about(level: Array, cuts: Floats, widths: Floats) -> tuple[Array, Array, Array]:
    """(n, D) each: the cuts below and above each level, 0 where there is none, and the width between them."""
    xp = array_namespace(level)
    low, high, width = xp.zeros_like(level), xp.zeros_like(level), xp.zeros_like(level)
    for c in range(widths.shape[1]):
        here = xp.astype(level == c, level.dtype)
        width = width + here * like(widths[:, c], level)
        low = low if c == 0 else low + here * like(cuts[:, c - 1], level)
        high = high if c == cuts.shape[1] else high + here * like(cuts[:, c], level)
    return low, high, width


def sum_steps(level: Array, below: Array, above: Array, centre: Array, regressors: Array, n_cuts: int) -> Floats:
    """(D, 2 C - 3, R), precisions times regressors (n, R), summed over rows: of the parts that touch each cut, then of
    those about the middles of levels between two."""
    if not is_numpy_array(below):
        return sum_steps_plain(level, below, above, centre, regressors, n_cuts)
    from latens.array.kernels import quadratic_bounds_numba

    out = np.zeros((below.shape[1], 2 * n_cuts - 1, regressors.shape[1]))
    quadratic_bounds_numba.sum_steps(level, below, above, centre, np.ascontiguousarray(regressors), out)
    return out


def sum_steps_plain(level: Array, below: Array, above: Array, centre: Array, regressors: Array, n_cuts: int) -> Floats:
    xp, none = array_namespace(below), 0 * below
    of_cuts = [xp.where(level == c + 1, below, none) + xp.where(level == c, above, none) for c in range(n_cuts)]
    of_levels = [xp.where(level == c, centre, none) for c in range(1, n_cuts)]
    return np.stack([host(cross_sums(regressors, part)).T for part in (*of_cuts, *of_levels)], axis=1)


def masked(values: Array, seen: Array | None) -> Array:
    """0 where nothing was seen."""
    return values if seen is None else values * array_namespace(values).astype(seen, values.dtype)


def _counted(values: Array, seen: Array | None, weight: Array | None) -> tuple[Array, Array]:
    there = np.ones((1, values.shape[1]), bool) if seen is None else np.ascontiguousarray(seen)
    return there, np.ones(0, values.dtype) if weight is None else np.ascontiguousarray(weight)


def _summed(values: Array, weight: Array | None) -> Floats:
    return column_sums(values if weight is None else values * weight[:, None])
