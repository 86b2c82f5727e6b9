"""Rows of many columns in coordinates of the few directions that they span.

With one noise for all columns the model knows no direction from another: rows X = Y A', with orthonormal axes A (D, M),
say of causes what the M columns of Y say, and of D - M further columns that they are 0 (`n_empty`). Loadings of an
optimum are sums of rows. Those of a start need not be: of what lies beyond the rows only products matter, and as many
axes as there are loadings hold these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from latens.array import Floats
from latens.core import Rows, State
from latens.families.relevance import learnt
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior, CodeStatistics

__all__ = ["RowSpace"]


@dataclass(frozen=True)
class RowSpace:
    axes: Floats  # (D, N), orthonormal, that hold all rows
    n_beyond: int  # axes beside these, which no row needs

    @classmethod
    def of(cls, rows: Rows, n_beyond: int) -> RowSpace:
        """That of complete rows, fewer than columns."""
        axes, _ = qr(np.asarray(rows.x, dtype=np.float64).T, mode="economic")
        return cls(np.asarray(axes, dtype=np.float64), n_beyond)

    def again(self, rows: Rows) -> RowSpace:
        return self.of(rows, self.n_beyond)

    def model_within(self, model: BinaryFactors) -> BinaryFactors:
        return replace(model, n_empty=model.n_features - self.axes.shape[1] - self.n_beyond)

    def rows_within(self, rows: Rows) -> Rows:
        x = np.zeros((len(rows), self.axes.shape[1] + self.n_beyond), rows.x.dtype)
        x[:, : self.axes.shape[1]] = rows.x @ self.axes
        return replace(rows, x=x)

    def state_within(self, state: State) -> State:
        """A beginning: nothing but its posterior is taken."""
        q: BinaryPosterior = state.q
        loadings = learnt(q.loadings)
        inside = loadings.mean @ self.axes
        mean = np.zeros((len(inside), self.axes.shape[1] + self.n_beyond))
        mean[:, : self.axes.shape[1]] = inside
        if len(inside):
            beyond = qr((loadings.mean - inside @ self.axes.T).T, mode="r")[0][: len(inside)]
            mean[:, self.axes.shape[1] :][:, : len(beyond)] = beyond.T
        weights = replace(loadings.weights, mean=mean, n_empty=loadings.mean.shape[1] - mean.shape[1])
        return State(replace(q, loadings=replace(loadings, weights=weights)))

    def posterior_outside(self, q: BinaryPosterior) -> BinaryPosterior:
        """The same in all columns, which no sum over rows leads beyond their directions."""
        loadings = learnt(q.loadings)
        mean = loadings.mean[:, : self.axes.shape[1]] @ self.axes.T
        return replace(q, loadings=replace(loadings, weights=replace(loadings.weights, mean=mean, n_empty=0)))

    def state_outside(self, state: State, rows: Rows) -> State:
        """The same of the rows in all columns."""
        stats: CodeStatistics = state.stats
        zx = stats.zx[:, : self.axes.shape[1]] @ self.axes.T
        stats = replace(stats, seen=rows.counts, zx=zx, xx=rows.squares)
        return replace(state, q=self.posterior_outside(state.q), stats=stats)
