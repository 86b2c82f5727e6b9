"""Rows as linear functions of codes, x_n ~ Normal(W'z_n, diag(tau)^-1): what several models say about them.

An intercept is a row of W after those of the components, whose code is always 1. Missing entries drop out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats
from latens.array.row_matrices import with_ones
from latens.array.transfer import column_sums, cross_sums, like
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI, PointNormalGamma
from latens.families.relevance import Relevance

__all__ = [
    "beside_ones",
    "evidence",
    "level",
    "predicted_variance",
    "products",
    "second_with_ones",
    "sharp",
    "squares_before_rounding",
]

Loadings = Relevance | PointNormalGamma
LARGEST_DOUBLE_ROUNDING = 1e-10  # between the rounding errors of double and of single precision


def evidence(w: Loadings, batch: Rows, k: int, pull: Array | None = None) -> tuple[Array, Array]:
    """Drive (n, K) and gram (1 or n, K, K): E[log p(row | z)] = level + drive'z - 1/2 z'gram z.

    `pull` is the product of the rows with the weighted loadings, where that is already known.
    """
    xp, x = array_namespace(batch.x), batch.x
    rows, d = w.mean.shape
    if batch.seen is None:
        gram = like(w.gram[None], x)
    else:
        gram = xp.reshape(batch.mask @ like(w.grams.reshape(d, rows * rows), x), (len(batch), rows, rows))
    if pull is None:  # of NumPy numbers of many rows lie together, as compiled local steps want them
        weights = like(w.scaled[:k], x)
        pull = (weights @ x.T).T if isinstance(x, np.ndarray) else x @ weights.T
    drive = pull[:, :k]
    if rows > k:
        drive = drive - gram[:, :k, k]
    return drive, gram[:, :k, :k]


def level(w: Loadings, batch: Rows, k: int, rounding: Floats | None = None) -> Array:
    """(n,), the part of E[log p(row | z)] that no code changes; of rounded entries (`squares_before_rounding`)."""
    x, mask, (rows, d) = batch.x, batch.mask, w.mean.shape
    tau, log_tau = (np.broadcast_to(part, (d,)) for part in (w.tau, w.log_tau))
    flat = 0.5 * (mask @ like(log_tau - LOG_2PI, x) - x**2 @ like(tau, x))
    if rows > k:
        flat = flat + x @ like(tau * w.mean[k], x) - 0.5 * (mask @ like(w.grams[:, k, k], x))
    return flat if rounding is None else flat - 0.5 * (mask @ like(tau * rounding, x))


def squares_before_rounding(batch: Rows, rounding: Floats | None) -> Floats:
    """(D,), sums of squares of entries, which are y^2 + h^2 / 12 on average over the interval that rounds to y.

    `rounding` (D,) has h^2 / 12; None: entries are as they are. Log densities averaged over that interval are a lower
    bound of the log of its probability over h (Jensen), with codes of a row or without.
    """
    return batch.squares if rounding is None else np.asarray(batch.squares + batch.counts * rounding)


def sharp(batch: Rows, tau: Floats) -> Rows:
    """The same rows, in double precision where noise is so small that single would blur which codes explain them.

    What rows say for their codes is as large as tau x^2, and rounded in proportion; the bound may fall by sqrt(eps)
    of its terms, of which every entry brings a few.
    """
    xp = array_namespace(batch.x)
    eps = float(xp.finfo(batch.x.dtype).eps)
    if eps < LARGEST_DOUBLE_ROUNDING or eps * float(np.sum(tau * batch.squares)) < 0.3 * eps**0.5 * float(
        batch.counts.sum()
    ):
        return batch
    return replace(batch, x=xp.astype(batch.x, xp.float64))


def second_with_ones(second: Array, mean: Array, intercept: bool) -> Array:
    """(n, K', K'), E[z z'] with the intercept's row and column."""
    if not intercept:
        return second
    xp = array_namespace(mean)
    upper = xp.concat([second, mean[:, :, None]], axis=2)
    return xp.concat([upper, with_ones(mean, True)[:, None, :]], axis=1)


def products(
    batch: Rows,
    mean: Array,
    second: Callable[[], Array],
    summed: Callable[[], Floats],
    intercept: bool,
    variance: Array | None = None,
) -> Floats:
    """(1 or D, K', K'), sums of E[z z'] over the rows where each column was seen.

    Rows with holes need `second` (n, K, K), complete ones only its weighted sum over rows (K, K). With the `variance`
    of codes that are independent of each other, rows of which little is missing do without `second`.
    """
    xp = array_namespace(mean)
    if batch.seen is not None and variance is not None and batch.few_gaps:
        return _products_by_complement(batch, with_ones(mean, intercept), variance)
    if batch.seen is not None:
        full = second_with_ones(second(), mean, intercept)
        n, rows, _ = full.shape
        return cross_sums(batch.mask, xp.reshape(batch.weigh(full), (n, rows * rows))).reshape(
            batch.x.shape[1], rows, rows
        )
    zz = summed()
    return np.asarray(beside_ones(zz, column_sums(batch.weigh(mean)), batch.n) if intercept else zz)[None]


def beside_ones(zz: Floats, z: Floats, n: float) -> Floats:
    """(K + 1, K + 1), sums of products of codes and the 1 of an intercept; of codes alone they are zz, and z (K,)."""
    k = len(zz)
    found = np.empty((k + 1, k + 1))
    found[:k, :k], found[k, k] = zz, n
    found[:k, k] = found[k, :k] = z
    return found


def _products_by_complement(batch: Rows, codes: Array, variance: Array) -> Floats:
    """The same of independent codes: of all rows that show anything, less those in which a column is missing."""
    from latens.array.kernels.row_matrices_numba import subtract_products

    weight = np.asarray(batch.weigh(batch.present), dtype=np.float64)
    codes = np.ascontiguousarray(codes, np.float64)
    spread = np.zeros_like(codes)
    spread[:, : variance.shape[1]] = variance
    whole = cross_sums(weight[:, None] * codes, codes)
    whole[np.diag_indices(len(whole))] += weight @ spread
    out = np.empty((batch.x.shape[1], *whole.shape))
    subtract_products(*batch.gaps[1], codes, spread, weight, whole, out)
    return out


def predicted_variance(w: Loadings, second: Array, mean: Array, x: Array) -> Array:
    """(n, D), variance of every entry, where the row's codes have E[z z'] = second and it is expected at `mean`."""
    xp = array_namespace(x)
    noise = np.broadcast_to(w.mean_noise, w.mean.shape[1:])
    pairs = w.mean.T[:, :, None] * w.mean.T[:, None, :] + noise[:, None, None] * w.spread
    flat = xp.reshape(second, (second.shape[0], -1))
    square = flat @ like(pairs.reshape(len(pairs), -1).T, x)
    return xp.maximum(square - mean**2, xp.zeros_like(mean)) + like(noise, x)
