"""What the factors of rows leave unknown of loadings, noise and mean: sums of covariances in closed form.

    log p(x, h) = h'M (x - c) - h'G h / 2 + ...      M = E[tau w] (K, D),   G = sum_d E[tau_d w_d w_d'] (K, K)
    q(h)        = Normal(V M (x - c), V),            V = (I + G)^-1

Along a coordinate M, G and c move by M', G' and c', and the terms with h by h'(M'(x - c) - M c') - h'G'h / 2. Under
q(h) the covariance of two such changes, i and j, summed over rows, is

    tr(Z_i' V Z_j C) + N tr(G_i' V G_j' V) / 2,      Z_i = [M_i' - G_i' V M,  -M c_i']   (K, D + 1)

where C (D + 1, D + 1) are the sums of (x - c, 1)(x - c, 1)'. Rows are not needed, and a pattern of holes is the same
with the columns that it shows. Cost O(P D^2 K + P^2 D K), all of it products of matrices.

References: Louis (1982).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats
from latens.array.linalg import inverse
from latens.core import Rows
from latens.models.factor_analysis.sums import Covariance, Scatter
from latens.models.factor_analysis.sums_wide import FewRows

if TYPE_CHECKING:
    from latens.models.factor_analysis.model import FactorAnalysisPosterior

__all__ = ["code_weights", "lost_information"]


def code_weights(q: FactorAnalysisPosterior) -> Floats:
    """(D (K + K^2 + 1),), the part of each column in M and G, and its mean."""
    w, k = q.loadings, q.n_components
    grams = np.broadcast_to(w.grams, (len(q.center), k, k)).reshape(len(q.center), k * k)
    return np.concatenate([w.scaled.T, grams, q.center[:, None]], axis=1).ravel()


def lost_information(q: FactorAnalysisPosterior, batch: Rows | Covariance, slopes: Floats) -> Floats | None:
    """(P, P), for slopes (D (K + K^2 + 1), P) of `code_weights`; None of rows that are not summed."""
    if isinstance(batch, Rows) or (isinstance(batch, FewRows) and not batch.complete):
        return None
    d, k, n_coordinates = len(q.center), q.n_components, slopes.shape[1]
    moves = slopes.T.reshape(n_coordinates, d, -1)
    scaled, grams, center = moves[:, :, :k], moves[:, :, k:-1], moves[:, :, -1]
    total = np.zeros((n_coordinates, n_coordinates))
    for shown, n, products in _sums(batch, q.center):
        weights = (q.loadings.scaled * shown).T  # (D, K), M'
        gram = np.sum((q.loadings.grams.reshape(d, k * k) * shown[:, None]), axis=0).reshape(k, k)
        spread = inverse(np.eye(k) + gram)
        root = np.linalg.cholesky(spread)
        turns = np.einsum("pdk,d->pk", grams, shown).reshape(n_coordinates, k, k)  # G'
        along = np.empty((d + 1, n_coordinates, k))  # Z' times the root of V
        along[:-1] = np.swapaxes((scaled * shown[:, None] - (weights @ spread) @ turns) @ root, 0, 1)
        along[-1] = -(center @ weights) @ root
        pairs = (products @ along.reshape(d + 1, -1)).reshape(along.shape)
        total += _rows_of(along) @ _rows_of(pairs).T
        inner = (root.T @ turns @ root).reshape(n_coordinates, -1)
        total += 0.5 * n * (inner @ inner.T)
    return total


def _rows_of(along: Floats) -> Floats:
    """(P, (D + 1) K), from (D + 1, P, K)."""
    return np.swapaxes(along, 0, 1).reshape(along.shape[1], -1)


def _sums(batch: Covariance, center: Floats) -> Iterator[tuple[Floats, float, Floats]]:
    """Of each pattern: columns shown (D,), rows, and sums of (x - c, 1)(x - c, 1)' (D + 1, D + 1)."""
    d = len(center)
    if isinstance(batch, Scatter) and batch.patterns is not None:
        each = batch.patterns
        for shown, n, x, xx in zip(each.shown.astype(float), each.rows.tolist(), each.x, each.xx, strict=True):
            c, gap = center * shown, x - n * center * shown
            yield shown, n, _bordered(xx - np.outer(x, c) - np.outer(c, gap), gap, n)
        return
    n, gap = float(batch.n_rows), batch.mean - center
    yield np.ones(d), n, _bordered(n * (batch.times(np.eye(d)) + np.outer(gap, gap)), n * gap, n)


def _bordered(products: Floats, gap: Floats, n: float) -> Floats:
    return np.block([[products, gap[:, None]], [gap[None], np.full((1, 1), n)]])
