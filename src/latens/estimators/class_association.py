"""Clusters and classes against what is known about the rows, corrected for rows that are assigned to the wrong one.

Rows are assigned to the cluster that is most probable, s_n, though they may be of another, c_n. How often that happens
is known from the memberships p_nk, and is divided out instead of counting rows by their assignment:

    H_ks = P(assigned to s | of k) = sum_n p_nk [s_n = s] / sum_n p_nk

    outcomes     the mean of y in cluster k, with weights w_nk = (H^-1)_{s_n k} in place of [s_n = k], some of them
                 negative: sum_n w_nk y_n / sum_n w_nk, with a robust variance       (Bolck, Croon & Hagenaars 2004)
    covariates   log P(c_n = k) / P(c_n = 0) = x_n'b_k, fitted to the assignments by maximum likelihood of
                 sum_n log sum_k P(c_n = k) H_{k s_n}                                               (Vermunt 2010)

Shares may be 0 or 1 in a cluster, whose rows then do not vary: whether clusters are alike is judged by how all rows
vary, and intervals reach at least as far as those of Agresti and Coull for as many rows.

Clusters are estimated, and so is H (`ErrorRates`): its error comes in parts, each of which adds (dt / dH) dH to the
error of an estimate t, together with that of the row it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from scipy.special import log_softmax

from latens.array import Floats, Index
from latens.estimators.association import as_numbers, metadata_columns
from latens.estimators.intervals.error_rates import ErrorRates, rates_of
from latens.system.summary_table import Table

__all__ = ["Assigned", "covariates_table", "outcomes_table"]

INDISTINCT = 1e-3  # smallest singular value of H, below which assignments do not tell clusters apart
MOST_LEVELS = 50  # of a column of labels


@dataclass(frozen=True)
class Assigned:
    """Rows assigned to clusters, and how often that is wrong."""

    memberships: Floats  # (n, K)
    names: tuple[str, ...]
    estimated: ErrorRates | None = None  # where it is counted that clusters are estimated

    def __post_init__(self) -> None:
        smallest = np.linalg.svd(self.errors, compute_uv=False)[-1]
        if not smallest > INDISTINCT:
            raise ValueError(
                f"assignments do not tell the {len(self.names)} clusters apart (smallest singular value of their error "
                f"rates {smallest:.1g}), so that nothing can be corrected; fit fewer clusters."
            )

    @property
    def labels(self) -> Index:
        """(n,), the most probable cluster of each row."""
        return np.asarray(np.argmax(self.memberships, axis=1))

    @property
    def errors(self) -> Floats:
        """(K, K), how probable it is that a row of cluster k is assigned to s."""
        return rates_of(self.memberships, self.labels) if self.estimated is None else self.estimated.rates

    @property
    def weights(self) -> Floats:
        """(n, K), how much each row counts for each cluster; rows add up to 1."""
        return np.asarray(np.linalg.inv(self.errors)[self.labels])

    def with_drift(self, own: Floats, keep: Index, slopes: Floats) -> Floats:
        """(m, J), independent parts of the error of J numbers: `own` (n', J) of the rows `keep`, and that of H.

        The slopes of the numbers by H are (J, K, K).
        """
        if self.estimated is None:
            return own
        by_row, others = (np.tensordot(part, slopes, axes=((1, 2), (1, 2)))
                          for part in (self.estimated.by_row, self.estimated.others))  # fmt: skip
        by_row[keep] += own
        return np.concatenate([by_row, others])

    @property
    def note(self) -> str:
        if self.estimated is None:
            return "intervals and p take the clusters as known"
        return "intervals and p count that the clusters are estimated"


def outcomes_table(assigned: Assigned, metadata: Any, row_names: Sequence[str] | None, level: float) -> Table:
    """What each cluster is like in each column of metadata.

    Returns
    -------
    Table
        column, of ("mean", or the level whose share it is), cluster, estimate, low, high, uncorrected (by assignment
        alone), p and adjusted p (that all clusters are alike, Wald), n.
    """
    rows = list[tuple[Any, ...]]()
    for column, values in metadata_columns(metadata, len(assigned.labels), row_names).items():
        parts, keep = _indicators(column, values)
        shown, y = np.eye(len(assigned.names))[assigned.labels[keep]], np.column_stack(list(parts.values()))[keep]
        shares, wide = list(parts) != ["mean"], float(stats.norm.isf(0.5 * (1 - level)))
        means, covariance = _means(assigned, keep, y)
        p = _all_alike(means, _covariance_of_alike(assigned, keep, y) if shares else covariance)
        half = wide * np.sqrt(np.maximum(np.einsum("jjkk->jk", covariance), 0.0))
        lows, highs = means - half, means + half
        if shares:
            means, lows, highs = _within_one(assigned.weights[keep], means, half, wide)
        naive = shown.T @ y / np.maximum(shown.sum(axis=0), 1.0)[:, None]
        for j, of in enumerate(parts):
            for k, name in enumerate(assigned.names):
                numbers = (float(each[j, k]) for each in (means, lows, highs, naive.T))
                rows.append((column, of, name, *numbers, p, len(keep)))
    if not rows:
        raise ValueError("metadata has no columns; give at least one.")
    by_column = {row[0]: row[7] for row in rows}
    adjusted = dict(zip(by_column, stats.false_discovery_control(list(by_column.values())), strict=True))
    columns = ("column", "of", "cluster", "estimate", "low", "high", "uncorrected", "p", "adjusted p", "n")
    return Table(columns, tuple((*row[:8], float(adjusted[row[0]]), row[8]) for row in rows), note=assigned.note)


def covariates_table(assigned: Assigned, metadata: Any, row_names: Sequence[str] | None, level: float) -> Table:
    """How the odds of each cluster, against the first, go with all columns of metadata together.

    Returns
    -------
    Table
        cluster, against, covariate, log odds for one unit more (or for a level against the first), low, high, odds
        ratio, p, adjusted p, n.
    """
    if len(assigned.names) < 2:
        raise ValueError("there is one cluster, whose odds go with nothing; ask for outcomes.")
    design, names, keep = _design(metadata_columns(metadata, len(assigned.labels), row_names))
    slopes, covariance = _logit(assigned, keep, design)
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0)).reshape(slopes.shape)
    wide, rows = float(stats.norm.isf(0.5 * (1 - level))), list[tuple[Any, ...]]()
    for k, cluster in enumerate(assigned.names[1:]):
        for j, name in enumerate(names):
            b, s = float(slopes[k, j]), float(sd[k, j])
            p = float(2 * stats.norm.sf(abs(b) / s)) if s > 0 else 1.0
            rows.append((cluster, assigned.names[0], name, b, b - wide * s, b + wide * s, float(np.exp(b)), p))
    tested = [i for i, row in enumerate(rows) if row[2] != INTERCEPT]
    adjusted = np.full(len(rows), np.nan)  # of an intercept nothing is asked
    adjusted[tested] = stats.false_discovery_control([rows[i][7] for i in tested])
    columns = ("cluster", "against", "covariate", "log odds", "low", "high", "odds ratio", "p", "adjusted p", "n")
    return Table(
        columns, tuple((*row, float(adjusted[i]), len(keep)) for i, row in enumerate(rows)), note=assigned.note
    )


INTERCEPT = "(intercept)"


def _indicators(column: str, values: list[Any]) -> tuple[dict[str, Floats], Index]:
    """The numbers (n,) of a column, or one 0/1 column for each of its levels, and the rows in which it is known."""
    keep = np.flatnonzero([value is not None for value in values])
    if not len(keep):
        raise ValueError(f"column {column!r} of metadata has no value in any row of the model; leave it out.")
    numbers = as_numbers(values)
    if numbers is not None:
        return {"mean": numbers}, np.flatnonzero(np.isfinite(numbers))
    texts = [str(value) for value in values]
    levels = sorted({texts[i] for i in keep})
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"column {column!r} of metadata has {len(levels)} levels; at most {MOST_LEVELS} can be compared. Leave it "
            "out, or join rare levels."
        )
    return {level: np.array([float(text == level) for text in texts]) for level in levels}, keep


def _within_one(weights: Floats, shares: Floats, half: Floats, wide: float) -> tuple[Floats, Floats, Floats]:
    """(J, K) shares, and ends of their intervals, in [0, 1]; `half` is that of rows as they vary."""
    mass, pseudo = weights.sum(axis=0), wide**2
    shown = np.clip(shares, 0.0, 1.0)
    n = np.maximum(mass, 0.0) ** 2 / np.maximum(np.sum(weights**2, axis=0), np.finfo(float).tiny)  # rows worth as much
    centre = (n * shown + 0.5 * pseudo) / (n + pseudo)
    reach = wide * np.sqrt(centre * (1 - centre) / (n + pseudo))
    low, high = np.minimum(shares - half, centre - reach), np.maximum(shares + half, centre + reach)
    return shown, np.clip(np.minimum(low, shown), 0.0, 1.0), np.clip(np.maximum(high, shown), 0.0, 1.0)


def _covariance_of_alike(assigned: Assigned, keep: Index, y: Floats) -> Floats:
    """(J, J, K, K), of the means where all clusters are alike: rows of each vary as all rows do.

    A cluster that happens to have no row of a level would else be taken to be sure of it.
    """
    weights = assigned.weights[keep]
    weights = weights / weights.sum(axis=0)
    centred = y - y.mean(axis=0)
    return np.asarray(np.einsum("ji,kl->jikl", centred.T @ centred / len(y), weights.T @ weights))


def _means(assigned: Assigned, keep: Index, y: Floats) -> tuple[Floats, Floats]:
    """(J, K) means of J variables in each cluster over rows `keep`, and their covariances (J, J, K, K)."""
    weights, inverse = assigned.weights[keep], np.linalg.inv(assigned.errors)
    mass = weights.sum(axis=0)
    means = (weights.T @ y / mass[:, None]).T
    own = weights[:, None, :] * (y[:, :, None] - means) / mass  # (n', J, K)
    # the same summed over the rows of an assignment, (K, J, K), of which inverse' dH inverse is taken
    shown = np.eye(len(assigned.names))[assigned.labels[keep]]
    apart = np.tensordot(shown, (y[:, :, None] - means) / mass, axes=(0, 0))
    slopes = -np.einsum("sa,sjk,bk->jkab", inverse, apart, inverse)
    shape = (len(keep), means.size)
    error = assigned.with_drift(own.reshape(shape), keep, slopes.reshape(means.size, *inverse.shape))
    error = error.reshape(-1, *means.shape)
    return means, np.einsum("njk,nil->jikl", error, error)


def _all_alike(means: Floats, covariance: Floats) -> float:
    """p of Wald's test that a column is alike in all clusters; of shares, the last is what the others leave."""
    j, k = means.shape
    if k < 2:
        return 1.0
    used = max(j - 1, 1)
    gap = (means[:used, 1:] - means[:used, :1]).ravel()
    turn = np.kron(np.eye(used), np.column_stack([-np.ones(k - 1), np.eye(k - 1)]))
    joint = covariance[:used, :used].transpose(0, 2, 1, 3).reshape(used * k, used * k)
    spread = turn @ joint @ turn.T
    return float(stats.chi2.sf(gap @ np.linalg.pinv(spread, hermitian=True) @ gap, len(gap)))


def _design(columns: dict[str, list[Any]]) -> tuple[Floats, list[str], Index]:
    """(n, P), an intercept, numbers, and levels but the first; names; the rows in which everything is known."""
    if not columns:
        raise ValueError("metadata has no columns; give at least one.")
    parts, names = list[Floats](), [INTERCEPT]
    known = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for column, values in columns.items():
        own, keep = _indicators(column, values)
        known &= np.isin(np.arange(len(values)), keep)
        numeric = list(own) == ["mean"]
        for level in list(own) if numeric else list(own)[1:]:
            parts.append(own[level])
            names.append(column if numeric else f"{column} = {level}")
    keep = np.flatnonzero(known)
    if len(keep) <= len(names):
        raise ValueError(f"{len(keep)} row(s) have all columns of metadata; {len(names)} numbers cannot be learnt.")
    return np.column_stack([np.ones(len(known)), *parts])[keep], names, keep


def _logit(assigned: Assigned, keep: Index, x: Floats) -> tuple[Floats, Floats]:
    """(K - 1, P) slopes by maximum likelihood over rows `keep` with design x (n', P), and their robust covariance."""
    n, p = x.shape
    labels, errors = assigned.labels[keep], np.maximum(assigned.errors, 1e-300)
    log_errors = np.log(errors[:, labels].T)
    k = log_errors.shape[1]
    scale = np.maximum(np.abs(x).max(axis=0), np.finfo(float).tiny)
    z = x / scale

    def chances(flat: Floats) -> tuple[float, Floats, Floats]:
        eta = np.column_stack([np.zeros(n), z @ flat.reshape(k - 1, p).T])
        log_prior = log_softmax(eta, axis=1)
        joint = log_prior + log_errors
        top = np.logaddexp.reduce(joint, axis=1)
        return float(top.sum()), np.exp(joint - top[:, None]), np.exp(log_prior)

    def descend(flat: Floats) -> tuple[float, Floats]:
        value, after, before = chances(flat)
        return -value / n, -((after - before)[:, 1:].T @ z).ravel() / n

    found = minimize(descend, np.zeros((k - 1) * p), jac=True, method="BFGS", options={"gtol": 1e-7})
    _, after, before = chances(found.x)
    own = (after - before)[:, 1:]
    scores = (own[:, :, None] * z[:, None, :]).reshape(n, -1)
    spread = _spread(after)
    bend = _spread(before[:, 1:]) - spread[:, 1:, 1:]  # (n, K - 1, K - 1)
    information = np.einsum("nkl,np,nq->kplq", bend, z, z).reshape(scores.shape[1], -1)
    inverse = np.linalg.pinv(information, hermitian=True)
    by_log = np.einsum("nkc,np,ns->kpcs", spread[:, 1:], z, np.eye(k)[labels])  # slopes of scores by log H
    by_errors = np.tensordot(inverse, (by_log / errors).reshape(-1, k, k), axes=1)
    error = assigned.with_drift(scores @ inverse, keep, by_errors) / np.tile(scale, k - 1)
    covariance = error.T @ error
    return found.x.reshape(k - 1, p) / scale, covariance


def _spread(chance: Floats) -> Floats:
    """(n, K, K), the covariance of one draw from each row of chances."""
    k = chance.shape[1]
    return np.asarray(chance[:, :, None] * np.eye(k) - chance[:, :, None] * chance[:, None, :])
