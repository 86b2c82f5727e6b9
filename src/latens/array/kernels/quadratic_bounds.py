"""Parabolas that touch log-likelihoods from below: compiled for NumPy arrays, plain array operations for others.

    log p(y | eta)  >=  constant + response eta - precision eta^2 / 2

Response and precision are returned as (n, D), 0 at unobserved entries: `seen` (n, D) is true at observed ones, None
where all are. Constants are returned as their sums (D,) over rows, each row counted `weight` (n,) times; None: once.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats
from latens.array.special import softplus_and_log
from latens.array.transfer import column_sums, cross_sums, host, like

__all__ = [
    "logistic_constant",
    "masked",
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


def touch_steps(
    level: Array,
    mean: Array,
    squares: Array,
    cuts: Floats,
    top: Floats,
    widths: Floats,
    seen: Array | None = None,
    weight: Array | None = None,
) -> tuple[Array, Array, Array, Floats]:
    """Parabolas of log(sigmoid(eta - low) - sigmoid(eta - high)), between the cuts below and above a level.

    `level` (n, D) counts from 0 to `top` (D,); cuts (D, C - 1); `widths` (D, C) is log(1 - e^-gap) of levels between
    two cuts, else 0. Returns the precisions of the part that each cut makes, below and above, the response, and sums
    (2, D) of constants, and of what they are without the cuts.
    """
    if not is_numpy_array(mean):
        return touch_steps_plain(level, mean, squares, cuts, top, widths, seen, weight)
    from latens.array.kernels import quadratic_bounds_numba

    below, above, response = (np.empty_like(mean) for _ in range(3))
    sums, counted = np.zeros((2, mean.shape[1])), _counted(mean, seen, weight)
    quadratic_bounds_numba.touch_steps(level, mean, squares, cuts, top, widths, *counted, below, above, response, sums)
    return below, above, response, sums


def touch_steps_plain(
    level: Array,
    mean: Array,
    squares: Array,
    cuts: Floats,
    top: Floats,
    widths: Floats,
    seen: Array | None = None,
    weight: Array | None = None,
) -> tuple[Array, Array, Array, Floats]:
    below, above, response, free, moved = _steps(level, mean, squares, cuts, top, widths, seen)
    return below, above, response, np.stack([_summed(free + moved, weight), _summed(free, weight)])


def steps_constant(
    level: Array,
    mean: Array,
    squares: Array,
    cuts: Floats,
    top: Floats,
    widths: Floats,
    seen: Array | None = None,
) -> Array:
    """(n, D), of each entry."""
    *_, free, moved = _steps(level, mean, squares, cuts, top, widths, seen)
    return free + moved


def _steps(
    level: Array, mean: Array, squares: Array, cuts: Floats, top: Floats, widths: Floats, seen: Array | None
) -> tuple[Array, Array, Array, Array, Array]:
    """(n, D) each: precisions below and above, the response, and constants without the cuts, and with them."""
    xp = array_namespace(mean)
    there, spare = masked(xp.ones_like(mean), seen), xp.maximum(squares - mean**2, xp.zeros_like(mean))
    low, high, width = steps_about(level, cuts, widths)
    parts = [there * xp.astype(level > 0, mean.dtype), there * xp.astype(level < like(top, mean), mean.dtype)]
    curves, free, moved = [], xp.zeros_like(mean), there * width
    for part, cut, turn in zip(parts, (low, high), (0.5, -0.5), strict=True):
        squared = spare + (mean - cut) ** 2
        free = free + part * logistic_constant(squared)
        curves.append(part * _logistic_curve(squared)[1])
        moved = moved - cut * (turn * part + 0.5 * curves[-1] * cut)
    below, above = curves
    return below, above, 0.5 * (parts[0] - parts[1]) + below * low + above * high, free, moved


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


def sum_steps(level: Array, below: Array, above: Array, regressors: Array, n_cuts: int) -> Floats:
    """(D, C - 1, R), precisions of the parts that touch each cut, times regressors (n, R), summed over rows."""
    if not is_numpy_array(below):
        return sum_steps_plain(level, below, above, regressors, n_cuts)
    from latens.array.kernels import quadratic_bounds_numba

    out = np.zeros((below.shape[1], n_cuts, regressors.shape[1]))
    quadratic_bounds_numba.sum_steps(level, below, above, np.ascontiguousarray(regressors), out)
    return out


def sum_steps_plain(level: Array, below: Array, above: Array, regressors: Array, n_cuts: int) -> Floats:
    xp, sums = array_namespace(below), []
    for c in range(n_cuts):
        none = xp.zeros_like(below)
        touching = xp.where(level == c + 1, below, none) + xp.where(level == c, above, none)
        sums.append(host(cross_sums(regressors, touching)).T)
    return np.stack(sums, axis=1)


def masked(values: Array, seen: Array | None) -> Array:
    """0 where nothing was seen."""
    return values if seen is None else values * array_namespace(values).astype(seen, values.dtype)


def _counted(values: Array, seen: Array | None, weight: Array | None) -> tuple[Array, Array]:
    there = np.ones((1, values.shape[1]), bool) if seen is None else np.ascontiguousarray(seen)
    return there, np.ones(0, values.dtype) if weight is None else np.ascontiguousarray(weight)


def _summed(values: Array, weight: Array | None) -> Floats:
    return column_sums(values if weight is None else values * weight[:, None])
