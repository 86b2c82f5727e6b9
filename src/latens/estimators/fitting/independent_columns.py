"""Columns that have nothing to do with each other: what components must do better than.

A column of heavy tails is no component. Where the tails of single columns, a Student-t each, gain more than all
components do, the components may only describe tails: two clusters of different width, a cause that is on in outliers.
Whether they do is seen where the entries of each column are shuffled: what is gained there is owed to single columns.

One cluster that may be long in any direction says how columns go together, and columns that are independent are not
what is left without the others. There the same is asked of axes that are: each as near to its column as may be. Columns
that hear the same few things, as sensors do, have the same tails, which would count once for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import betaln, gammaln

from latens.array import Floats, Index
from latens.array.transfer import column_sums, host, is_sparse
from latens.core import Rows

__all__ = ["binary_evidence", "in_axes", "independent_axes", "independent_bound", "shuffled", "tails_gain"]

DEGREES = (15.0, 10.0, 7.0, 5.0, 3.5, 2.5)  # of freedom that are tried, one after the other
LEAST_KURTOSIS = 3.2  # kurtosis from which they are
AT_ONCE = 2**18  # entries of the columns that are looked at together
SIDE_BY_SIDE = 8  # columns that are copied together
LEAST_SQUARED_WIDTH = 1e-2  # squared width of the Student-t, as a share of the variance: ties are no tails
N_ROUNDS = 4  # of reweighting, for the middle and width of each column
LEAST_VARIANCE = 1e-6  # along an axis, where that of each column is 1


def independent_bound(rows: Rows, *, binary: bool) -> float | None:
    """About the log evidence of columns that are independent: their likelihood less half a log n a parameter.

    None where a column is constant, which says nothing of the others, or rows are sparse or on a device.
    """
    if is_sparse(rows.x) or not isinstance(rows.x, np.ndarray):
        return None
    if binary:
        return _independent_switches(rows)
    total = 0.0
    for x, w in _each_column(rows):
        n = float(w.sum())
        if not n > 1:
            continue
        mean, spread = _moments(x, w, n)
        if not spread > (64 * np.finfo(rows.x.dtype).eps * mean) ** 2:
            return None
        total += -0.5 * n * (np.log(2 * np.pi * spread) + 1) - np.log(n)
    return total


def _independent_switches(rows: Rows) -> float | None:
    """The same for columns of 0 and 1."""
    n = np.asarray(rows.counts, dtype=np.float64)
    mean = np.asarray(column_sums(rows.weigh(rows.x)), dtype=np.float64)[n > 1] / n[n > 1]
    if not np.all((mean > 0) & (mean < 1)):
        return None
    log_likelihood = n[n > 1] * (mean * np.log(mean) + (1 - mean) * np.log1p(-mean))
    return float(np.sum(log_likelihood - 0.5 * np.log(n[n > 1])))


def binary_evidence(rows: Rows) -> float:
    """Log evidence of independent columns of 0 and 1, of which any frequency is as likely beforehand."""
    if is_sparse(rows.x):
        weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight)
        on = np.asarray(rows.x.T @ weight, dtype=np.float64)
    else:
        on = column_sums(rows.weigh(rows.x))
    return float(np.sum(betaln(1 + on, 1 + np.maximum(rows.counts - on, 0.0))))


def independent_axes(rows: Rows) -> Floats | None:
    """(D, D), axes along which complete rows have variance 1 and do not go together, each the nearest to its column.

    A constant column is an axis of its own. None where rows are too few to tell.
    """
    x, weight = host(rows.x).astype(np.float64), np.ones(len(rows)) if rows.weight is None else host(rows.weight)
    if len(x) <= x.shape[1]:
        return None
    mean = np.average(x, axis=0, weights=weight)
    spread = np.sqrt(np.average((x - mean) ** 2, axis=0, weights=weight))
    varies = spread > 64 * np.finfo(np.float64).eps * np.abs(mean)
    spread = np.where(varies, spread, 1.0)
    z = np.where(varies, x - mean, 0.0) / spread
    variances, directions = np.linalg.eigh((weight[:, None] * z).T @ z / weight.sum())
    whitening = directions / np.sqrt(np.maximum(variances, LEAST_VARIANCE)) @ directions.T
    return np.asarray(whitening / spread[:, None])


def in_axes(rows: Rows, axes: Floats) -> Rows:
    """Complete rows in coordinates along these axes."""
    return replace(rows, x=host(rows.x) @ axes)


def shuffled(sample: Rows, rng: np.random.Generator) -> Rows:
    """The same entries of each column in another order, among the rows that show it: these columns are independent."""
    x = np.array(sample.x)
    for j in range(x.shape[1]):
        at = np.arange(len(x)) if sample.seen is None else np.flatnonzero(sample.seen[:, j])
        x[at, j] = x[rng.permutation(at), j]
    return replace(sample, x=x)


def tails_gain(rows: Rows, sample: Rows, columns: Sequence[int]) -> float:
    """How many nats Student-t columns are above normal ones, each column for itself and only where it pays.

    Middles, widths and tails are found in the sample and judged on all rows.
    """
    at_once = max(1, AT_ONCE // len(rows))
    blocks = (columns[start : start + at_once] for start in range(0, len(columns), at_once))
    return float(sum(_tails_gain(rows, sample, np.asarray(block, dtype=np.intp)) for block in blocks))


def _tails_gain(rows: Rows, sample: Rows, columns: Index) -> float:
    x, w = _columns(rows, columns)
    n = w.sum(axis=0)
    x = x - np.sum(w * x, axis=0) / np.maximum(n, 1.0)
    spread, fourth = (np.sum(w * x**power, axis=0) / np.maximum(n, 1.0) for power in (2, 4))
    noticed = np.flatnonzero((n > 1) & (spread > 0) & (fourth > LEAST_KURTOSIS * spread**2))
    if not len(noticed):
        return 0.0
    x, w, n, spread = x[:, noticed], w[:, noticed], n[noticed], spread[noticed]
    part, counted = _columns(sample, columns[noticed])
    part = part - np.sum(counted * part, axis=0) / np.maximum(counted.sum(axis=0), 1.0)
    best, best_in_part = np.full(len(noticed), -np.inf), np.full(len(noticed), -np.inf)
    middle, width = np.zeros(len(noticed)), spread.copy()
    for nu in DEGREES:
        middle, width = _student(part, counted, middle, width, spread, nu)
        in_part = _student_likelihood(part, counted, middle, width, nu)
        here = in_part if rows is sample else _student_likelihood(x, w, middle, width, nu)
        best, best_in_part = np.where(in_part > best_in_part, here, best), np.maximum(in_part, best_in_part)
    normal = -0.5 * n * (np.log(2 * np.pi * spread) + 1)
    return float(np.sum(np.maximum(best - normal - 0.5 * np.log(n), 0.0)))  # for one parameter more


def _student(x: Floats, w: Floats, middle: Floats, width: Floats, spread: Floats, nu: float) -> tuple[Floats, Floats]:
    """(D,) twice, middles and squared widths, by a few rounds in which rows far away count for less."""
    for _ in range(N_ROUNDS):
        near = w * (nu + 1) / (nu + (x - middle) ** 2 / width)
        middle = np.sum(near * x, axis=0) / np.maximum(near.sum(axis=0), np.finfo(float).tiny)
        width = np.sum(near * (x - middle) ** 2, axis=0) / np.maximum(w.sum(axis=0), 1.0)
        width = np.maximum(width, LEAST_SQUARED_WIDTH * spread)
    return middle, width


def _student_likelihood(x: Floats, w: Floats, middle: Floats, width: Floats, nu: float) -> Floats:
    """(D,), of each column."""
    level = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu * width)
    far = np.sum(w * np.log1p((x - middle) ** 2 / (nu * width)), axis=0)
    return np.asarray(w.sum(axis=0) * level - 0.5 * (nu + 1) * far)


def _columns(rows: Rows, columns: Index) -> tuple[Floats, Floats]:
    """(n, D) twice: values of these columns, and how often each counts."""
    x = host(rows.x)[:, columns].astype(np.float64)
    w = np.ones_like(x) if rows.seen is None else host(rows.seen)[:, columns].astype(np.float64)
    return x, w if rows.weight is None else w * host(rows.weight)[:, None]


def _each_column(rows: Rows) -> Iterator[tuple[Floats, Floats]]:
    """Values (n,) of each column and how often each counts; what is missing does not.

    Columns are copied some at a time: numbers that lie side by side in a row come into the caches together.
    """
    weight = np.ones(len(rows)) if rows.weight is None else host(rows.weight).astype(np.float64)
    for start in range(0, int(rows.x.shape[1]), SIDE_BY_SIDE):
        part = slice(start, start + SIDE_BY_SIDE)
        values = host(rows.x[:, part]).T.astype(np.float64, order="C")
        counts = [weight] * len(values) if rows.seen is None else [weight * seen for seen in host(rows.seen[:, part]).T]
        yield from zip(values, counts, strict=True)


def _moments(x: Floats, w: Floats, n: float) -> tuple[float, float]:
    mean = float(w @ x) / n
    return mean, float(w @ (x - mean) ** 2) / n
