"""Chances of levels in answers, read out of the codes of rows by a regression of its own for each column.

    p(y_n = c) = softmax_c(b_c + w_c'u_n),      u_n ~ Normal(z_n, C_n - C_0)

z_n and C_n are mean and covariance of a row's codes given what it shows: all but the column itself, which is hidden
where the coefficients are learnt and missing where they answer. C_0 is C_n averaged over those rows of the fit that
show the most entries: u_n is what the row would tell of its codes if it had no holes. Where it has none, u_n is z_n,
and where it shows nothing, u_n is spread as codes of other rows are. Regressors that are given stand beside the codes,
with coefficients of their own: memberships in groups, of which b_c is that of the row's, and covariates.

The fit itself does not use these coefficients, only answers about entries do. A fit takes levels one after the other
(sticks): each is a yes/no column among rows that have none of the levels before it, and its log likelihood is bounded
by a parabola that bends more than it does. What codes tell of a level then depends on the order of levels, and the
chances are less sure than rows allow. Here the softmax likelihood itself is maximised, with a normal prior of the
coefficients: no parabola, and no order. Coefficients are points; how uncertain they are is left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from latens.array import Array, Floats, Index
from latens.array.fields import record, sized
from latens.array.transfer import host

__all__ = ["LevelReadOut", "regress_levels"]

SHAPE, RATE = 1e-3, 1e-3  # of the prior of the precision of coefficients, as of loadings in a fit
FIRST_PRECISION = 0.1  # where that of codes starts: coefficients of levels that codes tell for certain are large
ROUNDS, LAST_CHANGE = 20, 0.02  # in which that precision is found, and the change of its logarithm in the last
MOST_STEPS = 500  # of each regression
N_POINTS = 64  # draws of u_n over which chances are averaged
AT_ONCE = 2**17  # numbers: a part of the rows at a time
LEAST_LEFT = 1e-300  # of the chances of levels that were not taken yet


@record(eq=False)
class LevelReadOut:
    """Coefficients by which the levels of a view's columns are answered."""

    least: Floats = sized("columns factors factors")  # C_0
    coefficients: Floats = sized("levels factors+n_groups+n_covariates")  # of the levels of all columns
    sizes: tuple[int, ...] = ()  # how many levels each column has

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.least) or sum(self.sizes) != len(self.coefficients) or min(self.sizes) < 2:
            raise ValueError(f"{len(self.coefficients)} levels of {len(self.least)} columns cannot be {self.sizes}.")

    def chances(self, at: Any, drawn: Array | None = None) -> Floats:
        """(n, E), of a yes in the yes/no columns of a view, one less than levels for each column, given `Regressors`.

        Chances of the levels of a column in turn, each where none of those before it holds: averaged over u_n, or at
        the u_n that is as many standard deviations from z_n as codes `drawn` (n, K) are.
        """
        mean, spread, k = host(at.mean), host(at.spread), self.least.shape[1]
        spread = spread if at.kind is None else spread[host(at.kind)]
        found, stops = [], np.cumsum(self.sizes)
        for least, stop, size in zip(self.least, stops, self.sizes, strict=True):
            own = self.coefficients[stop - size : stop]
            eta, beyond = mean @ own.T, spread - least
            if drawn is None:
                chance = _averaged(eta, _lean(own[:, :k], beyond))
            else:
                deviation = _times(_root(beyond), _times(_root(spread, -1), host(drawn) - mean[:, :k]))
                chance = _softmax(eta + deviation @ own[:, :k].T)
            found.append(_in_turn(chance))
        return np.concatenate(found, axis=1)


def regress_levels(x: Floats, level: Index, weight: Floats, n_levels: int, precision: Floats) -> Floats:
    """(C, K + G), most probable coefficients of the levels (n,) of rows with regressors x (n, K + G).

    `precision` (G,) is that of coefficients of what stands beside the codes, of which the first starts at the log
    share of each level. The one precision of all coefficients of codes is learnt by MacKay's rule: how many of them the
    rows determine, over the sum of their squares; how far they do is told by the curvature of each alone.
    """
    k, alpha = x.shape[1] - len(precision), FIRST_PRECISION
    found = np.zeros((n_levels, x.shape[1]))
    counts = np.bincount(level, weight, n_levels) + 0.5
    found[:, k] = np.log(counts / counts.sum())
    for _ in range(ROUNDS):
        found = _most_probable(found, x, level, weight, np.concatenate([np.full(k, alpha), precision]))
        chance = _softmax(x @ found.T)
        bend = (weight[:, None] * chance * (1 - chance)).T @ x[:, :k] ** 2
        known = float(np.sum(bend / (bend + alpha)))
        last, alpha = alpha, (2 * SHAPE + known) / (2 * RATE + float(np.sum(found[:, :k] ** 2)))
        if abs(np.log(alpha / last)) < LAST_CHANGE:
            break
    return found


def _most_probable(start: Floats, x: Floats, level: Index, weight: Floats, precision: Floats) -> Floats:
    """(C, K + G), where log likelihood and log prior together are highest, by L-BFGS; precision (K + G,)."""
    rows = np.arange(len(x))

    def descend(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(start.shape)
        eta = x @ w.T
        eta = eta - eta.max(axis=1, keepdims=True)
        grown = np.exp(eta)
        total = grown.sum(axis=1)
        slope = grown / total[:, None]
        slope[rows, level] -= 1
        height = weight @ (np.log(total) - eta[rows, level]) + 0.5 * np.sum(precision * w**2)
        return float(height), ((weight[:, None] * slope).T @ x + precision * w).ravel()

    found = minimize(descend, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS})
    return np.asarray(found.x.reshape(start.shape))


def _softmax(eta: Floats) -> Floats:
    grown = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


def _averaged(eta: Floats, lean: Floats) -> Floats:
    """(n, C), E[softmax(eta + lean e)] over standard normal e, by quasi-Monte Carlo; lean (1 or n, C, R)."""
    if not lean.any():
        return _softmax(eta)
    found, points = np.empty_like(eta), _points(lean.shape[2]).T
    step = max(1, AT_ONCE // (eta.shape[1] * N_POINTS))
    for at in range(0, len(eta), step):
        rows = slice(at, at + step)
        grown = (lean if len(lean) == 1 else lean[rows]) @ points + eta[rows, :, None]
        np.exp(grown - grown.max(axis=1, keepdims=True), out=grown)
        found[rows] = np.mean(grown / grown.sum(axis=1, keepdims=True), axis=2)
    return found


def _lean(own: Floats, beyond: Floats) -> Floats:
    """(1 or n, C, R), by which etas of coefficients (C, K) move with e; the fewer e the better."""
    return _root(own @ beyond @ own.T) if len(own) < own.shape[1] else own @ _root(beyond)


def _root(matrices: Floats, sign: int = 1) -> Floats:
    """Symmetric square roots, or their inverses with sign -1, of symmetric matrices; parts below 0 are left out."""
    values, vectors = np.linalg.eigh(matrices)
    inside = values > 1e-12
    scale = np.where(inside, np.where(inside, values, 1.0) ** (0.5 * sign), 0.0)
    return np.asarray((vectors * scale[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _times(matrices: Floats, vectors: Floats) -> Floats:
    """(n, K), matrices (1 or n, K, K) times vectors (n, K)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _in_turn(chance: Floats) -> Floats:
    """(n, C - 1), chance of each level where none of those before it holds."""
    before = np.cumsum(chance, axis=1) - chance
    return np.minimum(chance / np.maximum(1 - before, LEAST_LEFT), 1.0)[:, :-1]


@lru_cache(maxsize=16)
def _points(k: int) -> Floats:
    """(N_POINTS, k), spread evenly as standard normals are, by the sequence of the k-dimensional golden ratio.

    Half of them are minus the others; where there are enough, their covariance is exactly the identity.
    """
    ratio = 1.5
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (k + 1))
    steps = ratio ** -np.arange(1.0, k + 1)
    half = ndtri((0.5 + np.outer(np.arange(1, N_POINTS // 2 + 1), steps)) % 1)
    points = np.concatenate([half, -half])
    if 4 * k > N_POINTS:
        return points
    return np.asarray(np.linalg.solve(np.linalg.cholesky(points.T @ points / N_POINTS), points.T).T)
