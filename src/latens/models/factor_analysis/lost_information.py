"""What the factors of rows leave unknown of loadings, noise and mean, from sums that stand for the rows.

Of each column, codes meet tau_d w_d and tau_d w_d w_d'; a pattern of holes is the same with the columns that it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats
from latens.core import Rows
from latens.models.factor_analysis.sums import Covariance, Scatter
from latens.models.factor_analysis.sums_wide import FewRows
from latens.models.lost_information import CodeTerms, lost_with_normal_codes

if TYPE_CHECKING:
    from latens.models.factor_analysis.model import FactorAnalysisPosterior

__all__ = ["code_weights", "lost_information"]


def code_weights(q: FactorAnalysisPosterior) -> Floats:
    """(D (K + K^2 + 1),), of each column E[tau w], E[tau w w'], and its mean."""
    w, k = q.loadings, q.n_components
    grams = np.broadcast_to(w.grams, (len(q.center), k, k)).reshape(len(q.center), k * k)
    return np.concatenate([w.scaled.T, grams, q.center[:, None]], axis=1).ravel()


def lost_information(q: FactorAnalysisPosterior, batch: Rows | Covariance, slopes: Floats) -> Floats | None:
    """(P, P), for slopes (D (K + K^2 + 1), P) of `code_weights`; None of rows that are not summed."""
    if isinstance(batch, Rows) or (isinstance(batch, FewRows) and not batch.complete):
        return None
    d, k, n_moves = len(q.center), q.n_components, slopes.shape[1]
    moves = slopes.T.reshape(n_moves, d, -1)
    scaled, grams, center = moves[:, :, :k], moves[:, :, k:-1], moves[:, :, -1]
    own, total = q.loadings.grams.reshape(d, k * k), np.zeros((n_moves, n_moves))
    for shown, products in _sums(batch, q.center):
        lead = (q.loadings.scaled * shown).T
        at = CodeTerms(lead, np.zeros(k), np.eye(k) + (shown @ own).reshape(k, k))  # rows are counted from the mean
        turns = np.einsum("pdk,d->pk", grams, shown).reshape(n_moves, k, k)
        total += lost_with_normal_codes(at, CodeTerms(scaled * shown[:, None], center @ lead, turns), products)
    return total


def _sums(batch: Covariance, center: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Of each pattern of holes: columns shown (D,), and sums of (x - c, 1)(x - c, 1)' (D + 1, D + 1)."""
    d = len(center)
    if isinstance(batch, Scatter) and batch.patterns is not None:
        each = batch.patterns
        for shown, n, x, xx in zip(each.shown.astype(float), each.rows.tolist(), each.x, each.xx, strict=True):
            c, gap = center * shown, x - n * center * shown
            yield shown, _bordered(xx - np.outer(x, c) - np.outer(c, gap), gap, n)
        return
    n, gap = float(batch.n_rows), batch.mean - center
    yield np.ones(d), _bordered(n * (batch.times(np.eye(d)) + np.outer(gap, gap)), n * gap, n)


def _bordered(products: Floats, gap: Floats, n: float) -> Floats:
    return np.block([[products, gap[:, None]], [gap[None], np.full((1, 1), n)]])
