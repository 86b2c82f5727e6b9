"""How the odds of clusters go with covariates: the regression of assignments that may be wrong.

    pi_nk        P(c_n = k), log(pi_nk / pi_n0) = x_n'b_k
    L(b)         sum_n log sum_k pi_nk H_{k s_n}, whose maximum is sought

Where a cluster never shows a level, or a column tells clusters apart without error, L grows without end as some of b
do. Jeffreys' prior then bounds it, as Firth (1993) does: what is maximised is

    L(b) + 1/2 log det I(b),    I(b) = sum_n (diag pi_n - pi_n pi_n') x (x_n x_n'),    without the first cluster,

the information that rows of known clusters would have. It depends neither on the unit of a column nor on which cluster
is the first. Variances are robust ones, but at least those of the curvature: where clusters are told apart without
error, rows do not vary about what is expected of them, however little they say of b.

Columns that are sums of others have no b of their own; the others' does not depend on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from scipy.optimize import minimize
from scipy.special import log_softmax

from latens.array import Floats, Index
from latens.estimators.associations.assigned import Assigned, spread_with_drift

__all__ = ["Odds", "class_odds", "entangled"]

LEAST_SINGULAR_VALUE = 1e-9  # singular value of columns in units of their norm, at which one of them is a sum of others
LARGE_LOG_ODDS = 5.0  # log odds that a column's range makes, from which on it is asked whether they have an end
LEAST_CURVATURE = 1e-12  # curvature per row, below which there is none


@dataclass(frozen=True)
class Odds:
    """Log odds b (K - 1, P) against the first cluster, their variances, and which grow without end by L alone."""

    slopes: Floats  # (K - 1, P)
    variances: Floats  # (K - 1, P)
    endless: Floats  # (P,) of bool


def entangled(x: Floats) -> tuple[Index, Floats]:
    """Columns of x (n, P) that span all of them, and (P,) which are a sum of others; the first is of ones.

    Examples
    --------
    >>> x = np.column_stack([np.ones(4), [1.0, 2, 3, 5], [2.0, 4, 6, 10], [0.0, 1, 0, 0]])
    >>> kept, tied = entangled(x)
    >>> len(kept), tied.tolist()
    (3, [False, True, True, False])
    """
    centred = x[:, 1:] - x[:, 1:].mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    z = np.where(
        size > LEAST_SINGULAR_VALUE * np.linalg.norm(x[:, 1:], axis=0), centred / np.where(size > 0, size, 1.0), 0.0
    )
    _, singular, ways = np.linalg.svd(z, full_matrices=False)
    rank = int(np.sum(singular > LEAST_SINGULAR_VALUE))
    tied = np.sum(ways[:rank] ** 2, axis=0) < 1 - LEAST_SINGULAR_VALUE  # not determined by what the rows span
    first = qr(z, mode="r", pivoting=True)[1][:rank]
    return np.array([0, *sorted(first + 1)]), np.array([False, *tied])


def class_odds(assigned: Assigned, keep: Index, x: Floats, described: Index) -> Odds:
    """Regress the clusters described on x (n', P), whose columns are independent and the first of ones."""
    regression = _Regression.of(assigned, keep, x, described)
    b = regression.maximum(penalised=False)
    shape = (-1, x.shape[1])
    sd = np.sqrt(np.diag(regression.inverse(b))).reshape(shape)
    spans = np.array([1.0, *np.ptp(regression.z[:, 1:], axis=0)])
    endless = (np.abs(b.reshape(shape)) * spans > LARGE_LOG_ODDS) & (sd > np.abs(b.reshape(shape)))
    if endless.any():
        b = regression.maximum(penalised=True)
    variances = regression.variances(b, assigned, keep)
    return Odds(b.reshape(shape) @ regression.back.T, variances.reshape(shape), endless.any(axis=0))


@dataclass(frozen=True)
class _Regression:
    z: Floats  # (n, P), columns but the first less their mean, in units of their spread
    back: Floats  # (P, P), makes b of x from that of z
    labels: Index  # (n,), assignments
    errors: Floats  # (K, S), of the clusters described
    described: Index  # (K,)

    @classmethod
    def of(cls, assigned: Assigned, keep: Index, x: Floats, described: Index) -> _Regression:
        centre, scale = np.array([0.0, *x[:, 1:].mean(axis=0)]), np.array([1.0, *x[:, 1:].std(axis=0)])
        back = np.diag(1 / scale)
        back[0] -= centre / scale
        errors = np.maximum(assigned.errors, 1e-300)[described]
        return cls((x - centre) / scale, back, assigned.labels[keep], errors, described)

    @property
    def size(self) -> int:
        return int((len(self.errors) - 1) * self.z.shape[1])

    def chances(self, b: Floats) -> tuple[float, Floats, Floats]:
        """L, and how probable clusters (n, K) are after assignments are known, and before."""
        eta = np.column_stack([np.zeros(len(self.z)), self.z @ b.reshape(-1, self.z.shape[1]).T])
        log_prior = log_softmax(eta, axis=1)
        joint = log_prior + np.log(self.errors[:, self.labels].T)
        top = np.logaddexp.reduce(joint, axis=1)
        return float(top.sum()), np.exp(joint - top[:, None]), np.exp(log_prior)

    def maximum(self, *, penalised: bool) -> Floats:
        """b of z, with Jeffreys' prior or without."""
        n = len(self.z)

        def descend(flat: Floats) -> tuple[float, Floats]:
            value, after, before = self.chances(flat)
            slope = (after - before)[:, 1:]
            if penalised:
                more, steeper = self._jeffreys(before[:, 1:])
                value, slope = value + more, slope + steeper
            return -value / n, -(slope.T @ self.z).ravel() / n

        found = minimize(descend, np.zeros(self.size), jac=True, method="BFGS", options={"gtol": 1e-7})
        return np.asarray(found.x)

    def _jeffreys(self, chance: Floats) -> tuple[float, Floats]:
        """Half the log determinant of I, and its slopes by x_n'b_k (n, K - 1)."""
        z, k = self.z, chance.shape[1]
        information = self._sum(_spread(chance))
        values, vectors = np.linalg.eigh(information)
        values = np.maximum(values, LEAST_CURVATURE * len(z))
        inverse = ((vectors / values) @ vectors.T).reshape(k, z.shape[1], k, z.shape[1])
        leverage = np.einsum("np,kplq,nq->nkl", z, inverse, z)
        own = np.einsum("nkk->nk", leverage)
        mean_leverage = np.einsum("nkl,nl->nk", leverage, chance)
        whole = np.sum(chance * (own - 2 * mean_leverage), axis=1, keepdims=True)
        return 0.5 * float(np.sum(np.log(values))), 0.5 * chance * (own - 2 * mean_leverage - whole)

    def _sum(self, bend: Floats) -> Floats:
        """Sum over rows of bend_n (K - 1, K - 1) x z_n z_n'."""
        return np.asarray(np.einsum("nkl,np,nq->kplq", bend, self.z, self.z).reshape(self.size, self.size))

    def inverse(self, b: Floats) -> Floats:
        """Of the curvature of L, which is very large where there is none."""
        _, after, before = self.chances(b)
        values, vectors = np.linalg.eigh(self._sum(_spread(before[:, 1:]) - _spread(after)[:, 1:, 1:]))
        return np.asarray((vectors / np.maximum(values, LEAST_CURVATURE * len(self.z))) @ vectors.T)

    def variances(self, b: Floats, assigned: Assigned, keep: Index) -> Floats:
        """Of b of x, where b is that of z."""
        _, after, before = self.chances(b)
        n, k = after.shape
        turn = np.kron(np.eye(k - 1), self.back)
        curvature = self.inverse(b)
        inverse, by_curvature = turn @ curvature, np.sum((turn @ curvature) * turn, axis=1)
        own = ((after - before)[:, 1:, None] * self.z[:, None, :]).reshape(n, -1) @ inverse.T
        everyone = np.eye(assigned.errors.shape[0])
        by_log = np.einsum("nkc,np,ns->kpcs", _spread(after)[:, 1:], self.z, everyone[self.labels])  # by log H
        slopes = np.zeros((self.size, *everyone.shape))
        slopes[:, self.described] = np.tensordot(inverse, (by_log / self.errors).reshape(-1, k, len(everyone)), axes=1)
        together = np.sum(assigned.with_drift(own, keep, slopes) ** 2, axis=0)
        robust = np.sum(own**2, axis=0)
        return spread_with_drift(np.maximum(robust, by_curvature), robust, together)


def _spread(chance: Floats) -> Floats:
    """(n, K, K), the covariance of one draw from each row of chances."""
    k = chance.shape[1]
    return np.asarray(chance[:, :, None] * np.eye(k) - chance[:, :, None] * chance[:, None, :])
