"""Axes of factors by a rule, and how they turn as loadings and noise move.

    B = R W (K, D)      loadings in the axes of the rule, R a rotation
    e_kl(B, psi) = 0    for each pair of factors, which is what the rule asks for:

    orthogonal beside the noise      e_kl = sum_d B_kd B_ld / psi_d
    varimax (Kaiser 1958)            e_kl = sum_d C_kd C_ld (C_ld^2 - C_kd^2 - m_l + m_k),   m_k the mean of C_kd^2
                                     C_kd = B_kd / s_d,   s_d^2 = sum_k B_kd^2 + psi_d       correlations with factors

A move of W and psi changes e; the turn theta of the axes that undoes it follows from the derivatives of e by both
(implicit functions), so that no posterior nearby is brought to its own axes. Neither rule depends on the units of
columns: varimax of loadings in data units would be that of the columns with the largest numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from latens.array import Floats, Index
from latens.array.varimax import varimax
from latens.core.coordinates import Chart
from latens.estimators.factor_analysis.starts import canonical_axes, turned
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.factor_analysis.model import FactorAnalysisPosterior

__all__ = ["RuledAxes", "ruled_axes", "varimax_axes"]

STEP = 1e-5  # of an angle, in differences
LEAST_SLOPE = 1e-14  # of the largest derivative by an angle: axes that no rule holds turn far, not infinitely far


@dataclass(frozen=True, eq=False)
class RuledAxes:
    """Where the rule puts the axes of a posterior, and how they turn with it."""

    q: FactorAnalysisPosterior
    rotation: Floats  # (K, K), R
    by_varimax: bool

    def turned(self, q: FactorAnalysisPosterior) -> FactorAnalysisPosterior:
        """A posterior in these axes, which need not be those of its own."""
        return turned(q, self.rotation)

    def turns(self, chart: Chart) -> Floats:
        """(T, P), how each pair of axes turns with the coordinates of the posterior."""
        by_loading, by_noise = self._conditions
        first, second = self._pairs
        inner = by_loading @ np.swapaxes(self._loadings, 0, 1)  # derivatives of e by B, times B'
        by_angle = inner[:, first, second] - inner[:, second, first]
        least = LEAST_SLOPE * np.abs(by_angle).max(initial=0.0) or 1.0
        by_angle = by_angle + np.diag(np.where(np.abs(by_angle).max(axis=1, initial=0.0) <= least, least, 0.0))
        moved = [
            chart.pulled(np.zeros(chart.size), self._nested(self.rotation.T @ loading, noise))
            for loading, noise in zip(by_loading, by_noise, strict=True)
        ]
        return -np.linalg.solve(by_angle, np.stack(moved))

    def along_turns(self, quantity: Callable[[Any], Floats]) -> Floats:
        """(m, T), derivatives of a function of a posterior, turned into these axes, by the angles of their pairs."""
        at, columns = self.turned(self.q), []
        for k, other in zip(*self._pairs, strict=True):
            ends = []
            for angle in (STEP, -STEP):
                turn = np.eye(self.q.n_components)
                turn[[k, other], [k, other]] = np.cos(angle)
                turn[k, other], turn[other, k] = np.sin(angle), -np.sin(angle)
                ends.append(quantity(turned(at, turn)))
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        return np.stack(columns, axis=1)

    @property
    def _pairs(self) -> tuple[Index, Index]:
        return np.triu_indices(self.q.n_components, 1)

    @cached_property
    def _loadings(self) -> Floats:
        """(K, D), B."""
        return np.asarray(self.rotation @ self.q.loadings.mean)

    @property
    def _conditions(self) -> tuple[Floats, Floats]:
        """(T, K, D) and (T, D), derivatives of each condition by loadings and by noise."""
        b, size, (first, second) = self._loadings, self.q.column_sizes, self._pairs
        b = b / size if self.by_varimax else b
        one, other, each = b[first], b[second], np.arange(len(first))
        by_loading, by_noise = np.zeros((len(first), *b.shape)), np.zeros((len(first), b.shape[1]))
        if self.by_varimax:
            means = np.mean(b * b, axis=1)
            gap = other**2 - one**2 - (means[second] - means[first])[:, None]
            shared = 2 * np.mean(one * other, axis=1, keepdims=True)
            by_loading[each, first] = other * (gap - 2 * one**2) + shared * one
            by_loading[each, second] = one * (gap + 2 * other**2) - shared * other
            by_size = -np.sum(by_loading * b, axis=1)  # by log s_d
            by_loading, by_noise = (by_loading + by_size[:, None] * b) / size, by_size / (2 * size**2)
        else:
            tau = self.q.loadings.tau
            by_loading[each, first], by_loading[each, second] = tau * other, tau * one
            by_noise = -one * other * tau**2
        return by_loading, by_noise

    def _nested(self, loading: Floats, noise: Floats) -> dict[str, Any]:
        """Derivatives by the fields of the posterior."""
        if isinstance(self.q.loadings, PointNormalGamma):
            return {"loadings": {"mean": loading, "noise": noise}}
        w = self.q.loadings.weights  # whose noise is rate / shape
        return {
            "loadings": {"weights": {"mean": loading, "rate": noise / w.shape, "shape": -noise / (w.shape * w.tau)}}
        }


def varimax_axes(q: FactorAnalysisPosterior) -> Floats:
    """(K, K), the rotation after which each factor has few large correlations with columns."""
    return varimax(q.loadings.mean / q.column_sizes)


def ruled_axes(q: FactorAnalysisPosterior, like: FactorAnalysisPosterior, by_varimax: bool) -> RuledAxes:
    """Axes of q by the rule, in the order and with the signs of another posterior with as many factors."""
    rotation = canonical_axes(q)
    if by_varimax:
        rotation = varimax_axes(turned(q, rotation)) @ rotation
    if q.n_components == like.n_components:
        together = (like.loadings.mean * like.loadings.tau) @ (rotation @ q.loadings.mean).T
        own, there = linear_sum_assignment(-np.abs(together))
        order = np.zeros_like(together)
        order[own, there] = np.sign(together[own, there])
        rotation = order @ rotation
    return RuledAxes(q, rotation, by_varimax)
