"""Gaussian rows with missing entries: what is missing is latent, jointly with the cluster.

Under cluster k with mean m and S = E[Lam]^-1, o observed and u unobserved,

    x_u | x_o, k  ~ Normal(m_u + S_uo S_oo^-1 (x_o - m_o), S_uu - S_uo S_oo^-1 S_ou)
    x_o | k       has quadratic form (x_o - m_o)' S_oo^-1 (x_o - m_o) and factor |S_oo|^-1/2

Rows with the same holes share their matrices. Cost O(P K D^3) for P patterns, beside that of complete rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array, Floats, Index
from latens.array.linalg import inverse, log_determinant
from latens.array.packed_symmetric import unpacked, upper, with_pairs
from latens.array.transfer import cast, column_sums, host, like, take
from latens.core import Rows
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["Filled", "Pattern", "fill", "forms", "in_row_order", "of_scale"]

FEW_ROWS = 64  # of a pattern: all clusters are then one product, instead of one after another


@dataclass(frozen=True)
class Pattern:
    """Rows with the same holes, and the conditionals of each cluster there."""

    rows: Index  # (n_p,)
    shown: Index
    x: Array  # (n_p, |o|)
    mean: Floats  # (K, D)
    map: Floats  # (K, D, |o|): a filled row is m + map (x_o - m_o)
    spread: Floats  # (K, D, D), covariance of what was filled in, 0 elsewhere
    inner: Floats  # (K, |o|, |o|), S_oo^-1
    log_det: Floats  # (K,), log |S_oo|


@dataclass(frozen=True)
class Filled:
    """Conditional distributions of the missing entries of a batch, by pattern; tied clusters pool their squares."""

    patterns: tuple[Pattern, ...]
    log_det: Floats  # (K,), log |S|
    tied: bool

    def sums(self, batch: Rows, weighted: Array, counts: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Sums of E[x] and E[xx'], weighted by memberships (n, K); the filled rows themselves are not formed."""
        k, d = self.patterns[0].mean.shape
        x, xx, entropy = np.zeros((k, d)), np.zeros((k, d, d)), 0.0
        for p in self.patterns:
            share = cast(take(weighted, p.rows), p.x)
            moments, mass = host(share.T @ with_pairs(p.x)), column_sums(share)
            o, m = len(p.shown), p.mean[:, p.shown]
            first = moments[:, :o] - mass[:, None] * m
            cross = moments[:, :o, None] * m[:, None, :]
            about = unpacked(moments[:, o:], o) - cross - np.swapaxes(cross, 1, 2) + _outer(mass, m)
            shift = (p.map @ first[:, :, None])[:, :, 0]
            turned = shift[:, :, None] * p.mean[:, None, :]
            second = p.map @ about @ np.swapaxes(p.map, 1, 2) + mass[:, None, None] * p.spread
            second = second + turned + np.swapaxes(turned, 1, 2) + _outer(mass, p.mean)
            x += shift + mass[:, None] * p.mean
            xx += second
            hidden = d - o
            entropy += 0.5 * float(mass @ (hidden * (1 + LOG_2PI) + self.log_det - p.log_det))
        products = upper(xx)
        return counts[:, None], x, products.sum(axis=0, keepdims=True) if self.tied else products, entropy

    def moments(self, batch: Rows, share: Array, stretch: Sequence[Array]) -> tuple[Array, Array]:
        """(n, D) each: mean and variance of every entry given the seen ones, under memberships (n, K).

        `stretch` (n_p, K) by pattern is what multiplies the spread of what was filled in.
        """
        means, variances = [], []
        for p, wider in zip(self.patterns, stretch, strict=True):
            chance = cast(take(share, p.rows), p.x)
            mean = square = 0.0
            for j in range(len(p.mean)):
                each = like(p.mean[j], p.x) + (p.x - like(p.mean[j, p.shown], p.x)) @ like(p.map[j].T, p.x)
                held = chance[:, j][:, None]
                mean = mean + held * each
                spread = wider[:, j][:, None] * like(np.diagonal(p.spread[j]), p.x)
                square = square + held * (each**2 + spread)
            means.append(cast(mean, batch.x))
            variances.append(cast(square - mean**2, batch.x))
        return in_row_order(self, means), in_row_order(self, variances)


def fill(clusters: Any, log_weights: Floats, batch: Rows, x: Array) -> tuple[Array, Filled]:
    """E[log pi_k + log p(x_n)] of the observed entries (n, K), the rest integrated out, and its conditionals.

    `x` are the rows of the batch, in the precision to compute in.
    """
    k, d = clusters.mean.shape
    covariance = np.broadcast_to(clusters.covariance, (k, d, d))
    log_det = np.broadcast_to(log_determinant(clusters.covariance), (k,))
    filled = Filled(tuple(_conditionals(clusters.mean, covariance, batch, x)), log_det, clusters.tied)
    parts = []
    for p in filled.patterns:
        level = clusters.log_det + log_det - p.log_det - d / clusters.strength - len(p.shown) * LOG_2PI
        parts.append(cast(like(log_weights + 0.5 * level, x) - 0.5 * forms(p), batch.x))
    return in_row_order(filled, parts), filled


def of_scale(mean: Floats, scale: Floats, batch: Rows) -> Filled:
    """The same conditionals for given scale matrices (K, D, D)."""
    return Filled(tuple(_conditionals(mean, scale, batch, batch.x)), log_determinant(scale), False)


def forms(p: Pattern) -> Array:
    """(n_p, K), (x_o - m_o)' S_oo^-1 (x_o - m_o)."""
    xp = array_namespace(p.x)
    if len(p.rows) > FEW_ROWS:  # all clusters at once would take their number times the memory of the rows
        return xp.stack([_form(p.x, m, inner) for m, inner in zip(p.mean[:, p.shown], p.inner, strict=True)], axis=1)
    gaps = p.x[None, :, :] - like(p.mean[:, None, p.shown], p.x)
    return xp.sum((gaps @ like(p.inner, p.x)) * gaps, axis=2).T


def _form(x: Array, mean: Floats, inner: Floats) -> Array:
    """(n_p,), of one cluster."""
    gap = x - like(mean, x)
    return array_namespace(x).sum((gap @ like(inner, x)) * gap, axis=1)


def in_row_order(filled: Filled, parts: list[Array]) -> Array:
    """Answers by pattern, put back where the rows were."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([p.rows for p in filled.patterns]), kind="stable")
    return take(array_namespace(parts[0]).concat(parts), order)


def _conditionals(mean: Floats, covariance: Floats, batch: Rows, x: Array) -> Iterator[Pattern]:
    k, d = mean.shape
    for rows, shown, hidden in batch.patterns:
        inner = inverse(covariance[:, shown[:, None], shown])
        log_det = log_determinant(covariance[:, shown[:, None], shown])
        mapping, spread = np.zeros((k, d, len(shown))), np.zeros((k, d, d))
        mapping[:, shown, np.arange(len(shown))] = 1.0
        across = covariance[:, hidden[:, None], shown] @ inner
        mapping[:, hidden] = across
        left = covariance[:, hidden[:, None], hidden] - across @ np.swapaxes(
            covariance[:, hidden[:, None], shown], 1, 2
        )
        spread[:, hidden[:, None], hidden] = left
        yield Pattern(rows, shown, take(take(x, rows), shown, axis=1), mean, mapping, spread, inner, log_det)


def _outer(scale: Floats, v: Floats) -> Floats:
    return np.asarray(scale[:, None, None] * v[:, :, None] * v[:, None, :])
