"""Outcomes that depend on the columns of the fit beyond the cluster, and means that are right for them.

    m_k          mean of y in cluster k, by `class_means`: right if y depends on the columns x only through the cluster,
                 so that E[y | x] = sum_k p_k(x) m_k
    g_k          sum_n p_nk y_n / sum_n p_nk: right if y depends on the cluster only through x. It is the mean that
                 the fit itself gives a column of its own.

Where the first does not hold, m_k goes too far, even beyond all values of y; where the second does not, the g_k are too
much alike. E[y | x] is what can be seen: a function f(x) from which its regression on p(x) was taken has no covariance
with the residual e = y - sum_k p_k(x) m_k if the first holds. Those of ranks and squared ranks of each column and of
assignments are tested, by

    U = sum_n f_n e_n,    Var U = sum_n f_n^2 e_n^2 + Var sum_n f_n sum_k dp_nk m_k

whose second part counts, by draws of the errors dp of memberships, that clusters are estimated. Bonferroni's p is over
all functions and levels.

References: Bolck, Croon & Hagenaars (2004) for m_k; Hausman (1978) for two estimates of which one is right under more;
Vermunt & Magidson (2021) for effects on an outcome that do not pass through the class.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from latens.array import Floats, Index
from latens.estimators.associations.assigned import Assigned

__all__ = ["direct_effect_p", "is_of_the_fit", "membership_means", "membership_rows"]

MOST_VALUES = 50  # of a column that may be levels
LEAST_LEFT = 1e-6  # share of a function's squares that its regression on memberships leaves, from which on it is tested
ROUNDING = 1e-9  # of a correlation


def membership_rows(assigned: Assigned, keep: Index) -> Floats:
    """(K,), so many rows whose cluster is known say as much of g_k as rows `keep` do."""
    share = assigned.memberships[keep]
    return np.asarray(share.sum(axis=0) ** 2 / np.maximum(np.sum(share**2, axis=0), np.finfo(float).tiny))


def membership_means(assigned: Assigned, keep: Index, y: Floats, described: Index) -> tuple[Floats, Floats, Floats]:
    """(J, K), g_k of J variables y (n', J); variances by rows, and with what is not known of the clusters."""
    share = assigned.memberships[keep]
    mass = np.where(np.isin(np.arange(len(assigned.names)), described), share.sum(axis=0), np.nan)
    means = (share.T @ y / mass[:, None]).T
    distance = (y[:, :, None] - means) / mass  # (n', J, K)
    own = share[:, None, :] * distance
    variance = np.sum(own**2, axis=0)
    drawn = None if assigned.estimated is None else assigned.estimated.memberships
    if drawn is None:
        return means, variance, variance
    among, of_drawn = _shared(keep, drawn.place)
    each = len(keep) / max(len(among), 1)  # so many rows each of these stands for
    drift = each * np.einsum("bnk,njk->bjk", drawn.errors[:, of_drawn], distance[among])
    beside = each * np.tensordot(drawn.slopes[of_drawn].T, own[among], axes=1)  # how the rows' own part goes with it
    together = variance + np.mean(drift**2 + 2 * drift * beside, axis=0)
    return means, variance, np.maximum(together, 0.0)


def direct_effect_p(assigned: Assigned, keep: Index, y: Floats) -> float:
    """p that y (n', J) depends on the columns of the fit only through the clusters; 1 where nothing can be tested."""
    drawn = None if assigned.estimated is None else assigned.estimated.memberships
    among, of_drawn = (np.arange(len(keep)), keep) if drawn is None else _shared(keep, drawn.place)
    rows, y = keep[among], y[among]
    share = assigned.memberships[rows] if drawn is None else drawn.expected[of_drawn]
    functions = assigned.functions[rows]
    left = functions - share @ np.linalg.lstsq(share, functions, rcond=None)[0]
    varying = np.sum((functions - functions.mean(axis=0)) ** 2, axis=0)
    left = left[:, np.sum(left**2, axis=0) > LEAST_LEFT * varying]
    if not left.shape[1] or len(rows) <= share.shape[1] + 1:
        return 1.0
    means = np.linalg.lstsq(share, y, rcond=None)[0]
    residual = y - share @ means
    found, own = left.T @ residual, (left**2).T @ residual**2
    rows_worth = own**2 / np.maximum((left**4).T @ residual**4, np.finfo(float).tiny)
    drift, n_draws = np.zeros_like(own), 1
    if drawn is not None:
        n_draws = len(drawn.errors)
        drift = np.mean([(left.T @ (errors[of_drawn] @ means)) ** 2 for errors in drawn.errors], axis=0)
    variance = own + drift
    tested = variance > 0
    if not tested.any():
        return 1.0
    degrees = variance[tested] ** 2 / (
        own[tested] ** 2 / np.maximum(rows_worth[tested], 1.0) + drift[tested] ** 2 / n_draws
    )
    p = 2 * np.asarray(stats.t.sf(np.abs(found[tested]) / np.sqrt(variance[tested]), degrees))
    return float(min(1.0, p.min() * left.shape[1] * max(y.shape[1] - 1, 1)))


def is_of_the_fit(assigned: Assigned, keep: Index, y: Floats) -> bool:
    """Whether y (n', J) is a column of the fit: in another unit, or its levels."""
    if assigned.columns is None or not np.ptp(y, axis=0).any():
        return False
    for column in assigned.columns[keep].T:
        seen = np.isfinite(column)
        x, shown = column[seen], y[seen]
        if 2 * len(x) < len(keep) or len(x) < 3 or not np.ptp(x) > 0:
            continue
        if y.shape[1] == 1:
            correlation = np.corrcoef(x, shown[:, 0])[0, 1] if np.ptp(shown) > 0 else 0.0
            if abs(correlation) > 1 - ROUNDING:
                return True
            continue
        values, at = np.unique(x, return_inverse=True)
        if len(values) > MOST_VALUES:
            continue
        table = np.eye(len(values))[at].T @ shown
        if np.all((table == 0) | (table == table.sum(axis=1, keepdims=True))) and np.ptp(shown, axis=0).any():
            return True
    return False


def _shared(keep: Index, place: Index) -> tuple[Index, Index]:
    """Where the rows that both have stand in either."""
    _, first, second = np.intersect1d(keep, place, return_indices=True)
    return first, second
