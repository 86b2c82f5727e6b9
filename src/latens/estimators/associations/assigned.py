"""Rows assigned to clusters, and how often they are of another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from latens.array import Floats, Index
from latens.estimators.intervals.error_rates import ErrorRates, rates_of

__all__ = ["Assigned", "spread_with_drift"]

LEAST_SINGULAR_VALUE = 1e-3  # smallest singular value of H, below which assignments do not tell clusters apart
FEWEST_ROWS = 1.5  # rows of a cluster with a value, from which on it is described


@dataclass(frozen=True)
class Assigned:
    """Rows assigned to clusters, and how often that is wrong."""

    memberships: Floats  # (n, K)
    names: tuple[str, ...]
    estimated: ErrorRates | None = None  # where it is counted that clusters are estimated
    columns: Floats | None = None  # (n, D), of the fit, as numbers in any unit; NaN where missing

    def __post_init__(self) -> None:
        smallest = np.linalg.svd(self.errors, compute_uv=False)[-1]
        if not smallest > LEAST_SINGULAR_VALUE:
            raise ValueError(
                f"assignments do not distinguish the {len(self.names)} clusters (smallest singular value of their "
                f"error rates {smallest:.1g}), so that nothing can be corrected; fit fewer clusters."
            )

    @property
    def labels(self) -> Index:
        """(n,), the most probable cluster of each row."""
        return np.asarray(np.argmax(self.memberships, axis=1))

    @cached_property
    def functions(self) -> Floats:
        """(n, F), functions of the columns of the fit: assignments, ranks in each column, and squares of these.

        Missing values are at the mean.
        """
        found = [np.eye(len(self.names))[self.labels]]
        if self.columns is not None:
            ranks = stats.rankdata(self.columns, axis=0, nan_policy="omit")
            seen = np.isfinite(ranks)
            means = np.sum(np.where(seen, ranks, 0.0), axis=0) / np.maximum(seen.sum(axis=0), 1)
            ranks = np.where(seen, ranks - means, 0.0) / len(ranks)
            found += [ranks, ranks**2]
        return np.hstack(found)

    @property
    def errors(self) -> Floats:
        """(K, K), how probable it is that a row of cluster k is assigned to s."""
        return rates_of(self.memberships, self.labels) if self.estimated is None else self.estimated.rates

    @property
    def weights(self) -> Floats:
        """(n, K), how much each row counts for each cluster; rows add up to 1."""
        return np.asarray(np.linalg.inv(self.errors)[self.labels])

    def rows_worth(self, keep: Index) -> Floats:
        """(K,), so many rows whose cluster is known say as much of each cluster as rows `keep` do.

        Weights alone do not tell: a cluster of whose rows none is there has small ones on all the others, which add up.
        At most as many rows count as are assigned to a cluster and expected to be of it.
        """
        weights, own = self.weights[keep], np.eye(len(self.names))[self.labels[keep]]
        mass, squares = np.maximum(weights.sum(axis=0), 0.0), np.sum(weights**2, axis=0)
        expected = np.sum(own * self.memberships[keep], axis=0)
        return np.asarray(np.minimum(mass**2 / np.maximum(squares, np.finfo(float).tiny), expected))

    def described(self, keep: Index) -> Index:
        """(K',), clusters of which rows `keep` say enough."""
        return np.flatnonzero(self.rows_worth(keep) >= FEWEST_ROWS)

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


def spread_with_drift(better: Floats, own: Floats, together: Floats) -> Floats:
    """Variances of numbers that count the error of the error rates H as well.

    `own` are variances that single rows tell with H known, `together` those with the error of H counted, `better` more
    exact variances with H known. What the error of H adds to `own` is added to `better`; where it makes `own` smaller,
    `better` becomes smaller by the same share.
    """
    share = np.minimum(together / np.maximum(own, np.finfo(float).tiny), 1.0)
    return np.asarray(np.where(own > 0, better * share, better) + np.maximum(together - own, 0.0))
