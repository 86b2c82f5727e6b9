"""What normal codes leave unknown of what they are multiplied by: sums of covariances over rows in closed form.

    log p(x, h) = h'(M x - m) - h'G h / 2 + ...        M (K, D), m (K,), G (K, K)
    q(h)        = Normal(V (M x - m), V),              V = (A + G)^-1, A the precision of codes before

Along a coordinate M, m and G (or A) move by M', m' and G', and the terms with h by h'(M'x - m') - h'G'h / 2. Under q(h)
the covariance of two such changes, i and j, summed over N rows, is

    tr(Z_i' V Z_j C) + N tr(G_i' V G_j' V) / 2,        Z_i = [M_i' - G_i' V M,  -(m_i' - G_i' V m)]   (K, D + 1)

where C (D + 1, D + 1) are the sums of (x, 1)(x, 1)'. That is all that rows are asked for, however many coordinates
there are. Cost O(P D^2 K + P^2 D K), all of it products of matrices.

References: Louis (1982).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latens.array import Floats

__all__ = ["CodeTerms", "lost_with_normal_codes"]


@dataclass(frozen=True)
class CodeTerms:
    """What codes are multiplied by, or P moves of it."""

    lead: Floats  # (D, K) or (P, D, K), M'
    shift: Floats  # (K,) or (P, K), m
    gram: Floats  # (K, K) or (P, K, K), A + G


def lost_with_normal_codes(at: CodeTerms, moves: CodeTerms, products: Floats) -> Floats:
    """(P, P), for sums (D + 1, D + 1) of (x, 1)(x, 1)' over the rows."""
    (n_moves, d, k), spread = moves.lead.shape, np.linalg.inv(at.gram)
    root = np.linalg.cholesky(0.5 * (spread + spread.T))
    spread = root @ root.T
    ways = np.empty((d + 1, n_moves, k))  # Z' times the root of V
    ways[:-1] = np.swapaxes((moves.lead - (at.lead @ spread) @ moves.gram) @ root, 0, 1)
    ways[-1] = ((at.shift @ spread) @ moves.gram - moves.shift) @ root
    pairs = (products @ ways.reshape(d + 1, -1)).reshape(ways.shape)
    inner = (root.T @ moves.gram @ root).reshape(n_moves, -1)
    return np.asarray(_flat(ways) @ _flat(pairs).T + 0.5 * products[-1, -1] * (inner @ inner.T))


def _flat(ways: Floats) -> Floats:
    """(P, (D + 1) K), from (D + 1, P, K)."""
    return np.swapaxes(ways, 0, 1).reshape(ways.shape[1], -1)
