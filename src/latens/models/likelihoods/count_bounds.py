"""Parabolas below the log-likelihoods of counts, those of common columns and of rare ones, and sums of them.

A coordinate step in a dispersion is short: parabolas that touch the log-likelihood at its old value are far too curved
at another. Newton's step in log tau needs the first and second derivative of the bound by it, parabolas touching at the
new tau as well, all else fixed (in rare columns the mean e^eta tau, too). Their sums over rows are taken here (`way`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.kernels.quadratic_bounds import logistic_constant, masked, touch_rare_counts
from latens.array.special import expit, gammaln
from latens.array.transfer import column_sums, host, like, take
from latens.core import Rows
from latens.models.likelihoods.interface import Free, Predictor, Tangent

__all__ = ["LEAST_TAU", "MOST_TAU", "Parabolas", "beside", "of_common", "of_rare", "some_columns", "touching_point"]

LEAST_TAU, MOST_TAU = 0.02, 1e6  # between which q(x) is looked for; any q(x) gives a bound
MOST_STEPS, LAST_STEP, LONGEST_STEP = 30, 1e-9, 2.0  # of Newton's method: steps, their size at the end, and at most


class Constants(NamedTuple):
    """Of every entry (n, D); zero at missing ones."""

    scaled: Array  # multiplied by tau in the bound
    powers: Array  # multiplied by log tau
    free: Array  # by neither


@dataclass(frozen=True)
class Parabolas:
    """Those of some columns; zero at missing entries."""

    response: Array  # (n, D)
    precision: Array | None  # (n, D)
    free_response: Array | None
    free_precision: Array | None
    sums: Constants  # (D,) each, of entries times the weights of their rows
    way: Floats  # (D, 3), sums of log tau, and of the bound's first and second derivative by it
    each: Callable[[], Constants]

    def tangent(self, at: Predictor) -> Tangent:
        free = Free(lambda: self.each().free, self.free_response, self.free_precision, self.sums.free)
        return Tangent(
            self.response,
            self.precision,
            self.sums.scaled,
            at=at,
            constant=lambda: self.each().scaled,
            free=free,
            powers=lambda: self.each().powers,
            power_sums=self.sums.powers,
            way=self.way,
        )


def beside(common: Parabolas, rare: Parabolas, seen: Array | None, order: Index) -> Parabolas:
    """Columns of both kinds as one view, in this order."""
    none = array_namespace(common.response).zeros_like(common.response)
    ones = masked(none + 1, seen)

    def joined(*parts: Any) -> Array:
        return take(array_namespace(*parts).concat(list(parts), axis=1), order, axis=1)

    return Parabolas(
        joined(common.response, rare.response),
        joined(ones, rare.precision),
        joined(none, rare.free_response),
        joined(none, rare.free_precision),
        Constants(*(np.concatenate(pair)[order] for pair in zip(common.sums, rare.sums, strict=True))),
        np.concatenate([common.way, rare.way])[order],
        lambda: Constants(*(joined(*pair) for pair in zip(common.each(), rare.each(), strict=True))),
    )


def of_common(rows: Rows, mean: Array, square: Array, tau: Floats) -> Parabolas:
    """Nothing but constants is free, and all observed entries have a precision of 1."""
    xp, single, y, m = array_namespace(rows.x), rows.x.dtype, _double(rows.x), _double(mean)
    precision = _within(like(tau, y))
    a = touching_point(y, m, precision)
    grown = xp.exp(a)
    v = 1 / (precision + grown)
    x = a - 0.5 * v
    free = masked(y * x - grown + 0.5 * (1 + xp.log(v)), rows.seen) - _log_factorials(rows)
    scaled, half = masked(-0.5 * (x**2 + v), rows.seen), 0.5 * masked(xp.ones_like(y), rows.seen)
    entries = Constants(*(xp.astype(part, single) for part in (scaled, half, free)))
    gap = x - m
    off = gap**2 + v + _double(square) - m**2
    narrower = v**2 * precision * (v * grown * gap - 1) / (1 + 0.5 * v**3 * grown * precision)
    moved = -v * (precision * gap + 0.5 * grown * narrower)
    bend = -0.5 * precision * (off + 2 * gap * moved + narrower)
    counts = rows.counts
    way = [counts * np.log(tau), *(_summed(rows, part) for part in (0.5 - 0.5 * precision * off, bend))]
    return Parabolas(
        xp.astype(masked(x, rows.seen), single),
        None,
        None,
        None,
        Constants(_summed(rows, scaled), 0.5 * counts, _summed(rows, free)),
        np.stack(way, axis=1),
        lambda: entries,
    )


def of_rare(rows: Rows, mean: Array, square: Callable[[], Array], noise: Any) -> Parabolas:
    y, tau, log_r = rows.x, noise.mean, noise.mean_log
    curve, (scaled, free, slope, bend) = touch_rare_counts(y, mean, square(), tau, rows.seen, rows.weight)
    half = rows.cached("half", lambda: masked(-0.5 * array_namespace(y).ones_like(y), rows.seen))
    above = host(rows.cached("above", lambda: _above(rows)))
    steps = np.exp(log_r) + np.arange(len(above))[:, None]  # (Y, D)
    chances = np.exp(log_r) / steps
    powers, rising = np.sum(above * chances, axis=0), np.sum(above * np.log(steps), axis=0)
    free = free + rising - powers * log_r - _summed(rows, _log_factorials(rows))
    bend = bend + np.sum(above * chances * (1 - chances), axis=0)

    def each() -> Constants:
        constant, (low, high) = logistic_constant(square(), rows.seen), _gamma_ratio(y, np.exp(log_r))
        return Constants(constant, low, y * constant - _log_factorials(rows) + high - low * like(log_r, y))

    way = np.stack([rows.counts * np.log(tau), slope + powers, bend], axis=1)
    return Parabolas(half, curve, 0.5 * y, y * curve, Constants(scaled, powers, free), way, each)


def _above(rows: Rows) -> Floats:
    """(Y, D), how many counts of each column exceed 0, 1, and so on."""
    y = host(rows.x).astype(np.intp)
    d = y.shape[1]
    most = int(y.max(initial=0)) + 1
    weight = None if rows.weight is None else np.repeat(host(rows.weight).astype(float), d)
    times = np.bincount((y + most * np.arange(d)).ravel(), weight, minlength=most * d).reshape(d, most)
    return np.ascontiguousarray(np.cumsum(times[:, :0:-1], axis=1)[:, ::-1].T)


def _gamma_ratio(y: Array, r: Floats) -> tuple[Array, Array]:
    """(n, D) each: l of the counts, and log Gamma(y + r) / Gamma(r), both 0 where y is 0."""
    counts = host(y).astype(np.intp)
    steps = r + np.arange(counts.max(initial=0))[:, None]  # (Y, D)
    first = np.zeros((1, len(r)))
    tables = [np.concatenate([first, np.cumsum(part, axis=0)]) for part in (r / steps, np.log(steps))]
    low, high = (np.take_along_axis(table, counts, axis=0) for table in tables)
    return like(low, y), like(high, y)


def _log_factorials(rows: Rows) -> Array:
    """(n, D), log y!; missing entries are stored as 0, of which it is 0, too."""
    return rows.cached("log factorials", lambda: gammaln(rows.x + 1))


def touching_point(y: Array, mean: Array, tau: Array) -> Array:
    """The a of common columns, by Newton's method from a point near it; its equation rises, with slope 1 at least."""
    xp, y, mean, tau = array_namespace(y), _double(y), _double(mean), _within(_double(tau))
    log_tau = xp.log(tau)
    d = mean + y / tau - log_tau
    large = xp.maximum(d, xp.ones_like(d))
    a = log_tau + xp.where(d > 1, xp.log(large - xp.log(large)), d - expit(d))
    for _ in range(MOST_STEPS):
        grown = xp.exp(a)
        v = 1 / (tau + grown)
        gap = a - mean - (y - grown) / tau - 0.5 * v
        step = xp.clip(gap / (1 + grown / tau + 0.5 * grown * v**2), -LONGEST_STEP, LONGEST_STEP)
        a = a - step
        if not bool(xp.any(xp.abs(step) > LAST_STEP)):
            break
    return a


def some_columns(rows: Rows, place: Index) -> Rows:
    """These columns; made once, as they are asked for in every step."""
    parts: Any = rows.cached(
        f"columns {place.tobytes().hex()}",
        lambda: Rows(
            take(rows.x, place, axis=1), None if rows.seen is None else take(rows.seen, place, axis=1), rows.weight
        ),
    )
    return parts  # type: ignore[no-any-return]


def _summed(rows: Rows, values: Array) -> Floats:
    """(D,), of entries that were seen."""
    return column_sums(rows.weigh(masked(values, rows.seen)))


def _double(values: Array) -> Array:
    """In double precision, which counts of a thousand need: a part of A / tau in a million is lost in single."""
    xp = array_namespace(values)
    return xp.astype(values, xp.float64)


def _within(tau: Array) -> Array:
    return array_namespace(tau).clip(tau, LEAST_TAU, MOST_TAU)
