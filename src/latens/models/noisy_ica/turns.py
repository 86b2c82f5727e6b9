"""The turn and shift of the sources, z -> T z + c, that suits their distributions, loadings and relevances best.

Loadings follow, w -> T'^-1 w, and so does the intercept, b -> b - c'T'^-1 w: the likelihood of the rows stays as it is.
With the intercept as the loadings of a source that is always 1, both are one turn of all R = K or K + 1 sources, of
which the last stays what it is. What changes are three terms:

    n log|T| + sum_k (t_k'v_k - 1/2 t_k'M_k t_k)      entropy and distributions of the sources; t_k: row k of (T, c)
    - D log|T|                                        entropy of the loadings
    - (a + D/2) sum_k log(b + s_k / 2)                their divergence, relevances following; s_k = (T'^-1 G T^-1)_kk

A turn that is judged by the first term alone is refused by the others where rows are few. Each step is Newton's for
every pair of sources by itself, T <- (1 + E) T, and is shortened until the sum rises.

References: Ablin, Cardoso & Gramfort (2018) on curvature by pairs of sources; Luttinen & Ilin (2010) on transformations
of both factors of a product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from latens.array import Floats

__all__ = ["Turning", "best_turn", "best_turn_plain", "square"]

LARGEST_ENTRY = 0.5  # entry of E: beyond it a parabola says little
LEAST_CURVATURE = 0.05  # of n: curvature of a pair that a step is divided by at least
SHORTENING = 0.3  # by which a step is shortened that does not rise
MOST_SHORTENED = 6


@dataclass(frozen=True)
class Turning:
    """What a turn is priced by, for sources that have been turned so far."""

    n: float
    quadratic: Floats  # (K, R, R), M_k, of sources that were not turned
    linear: Floats  # (K, R), v_k
    gram: Floats  # (R, R), G = sum_d E[tau_d w_d w_d']
    columns: int = 0  # D; 0: loadings are points, which cost nothing
    relevance: tuple[float, float] = (0.0, 1.0)  # a and b
    volume: float = 0.0  # log|T|
    turn: Floats | None = None  # (R, R), T and c so far; None: none yet

    @cached_property
    def own(self) -> Floats:
        """(K, R), row k of T M_k T'."""
        if self.turn is None:
            each = np.arange(len(self.linear))
            return np.asarray(self.quadratic[each, each])
        rows = self.turn[: len(self.linear), None, :] @ self.quadratic
        return np.asarray(rows[:, 0] @ self.turn.T)

    @property
    def squares(self) -> Floats:
        """(K, R), the diagonal of each T M_k T': only a step asks for all of them."""
        if self.turn is None:
            return np.diagonal(self.quadratic, axis1=1, axis2=2)
        k, rows = self.linear.shape
        half = (self.quadratic.reshape(k * rows, rows) @ self.turn.T).reshape(k, rows, rows)
        return np.asarray(np.sum(half * self.turn.T, axis=1))

    @cached_property
    def height(self) -> float:
        cost = (self.relevance[0] + 0.5 * self.columns) * np.sum(
            np.log(self.relevance[1] + 0.5 * np.diagonal(self.gram))
        )
        likely = np.trace(self.linear) - 0.5 * np.trace(self.own)
        return float((self.n - self.columns) * self.volume + likely - cost)

    @property
    def alpha(self) -> Floats:
        """(R,), the relevances that follow."""
        return np.asarray((self.relevance[0] + 0.5 * self.columns) / (self.relevance[1] + 0.5 * np.diagonal(self.gram)))

    def turned(self, turn: Floats) -> Turning | None:
        """The same after another turn; None where that leaves no sources to turn back to."""
        sign, volume = np.linalg.slogdet(turn)
        if not sign > 0:
            return None
        back = np.linalg.inv(turn)
        return replace(
            self,
            linear=self.linear @ turn.T,
            gram=back.T @ self.gram @ back,
            volume=self.volume + float(volume),
            turn=turn if self.turn is None else turn @ self.turn,
        )

    def newton(self) -> Floats:
        """(R, R), E: the slope over the curvature of each pair E_jk, E_kj; source j then has E_jk of source k in it."""
        (k, rows), alpha = self.linear.shape, self.alpha
        each, step = np.arange(k), np.zeros((rows, rows))
        slope = self.linear - self.own + alpha * self.gram[:k]
        slope[each, each] += self.n - self.columns
        squares = self.squares
        curved = np.maximum(squares + alpha * np.diagonal(self.gram)[:k, None], LEAST_CURVATURE * self.n)
        step[:k, k:] = slope[:, k:] / curved[:, k:]  # what is always 1 has nothing of other sources in it
        slope, curved = slope[:, :k], curved[:, :k]
        # of log|T| and of the sizes of both loadings, with which those of other sources are taken as uncorrelated
        both = self.n + self.columns
        mean, half = 0.5 * (curved + curved.T), 0.5 * (curved - curved.T)
        curved = curved + np.maximum(LEAST_CURVATURE * self.n - mean + np.sqrt(half**2 + both**2), 0.0)
        step[:k, :k] = (curved.T * slope - both * slope.T) / (curved * curved.T - both**2)
        step[each, each] = slope[each, each] / (squares[each, each] + self.n)
        return step


def best_turn(turning: Turning, n_steps: int, least: float, *, sizes_only: bool = False) -> Floats:
    """(K, R), T and c after so many steps at most, each of which gains `least` nats per row.

    With `sizes_only`, T is diagonal. Compiled, for sources that have not been turned.
    """
    if turning.turn is not None or not len(turning.linear):
        return best_turn_plain(turning, n_steps, least, sizes_only=sizes_only)
    from latens.array.kernels.turns_numba import climb_turns

    given = (np.ascontiguousarray(part) for part in (turning.quadratic, turning.linear, turning.gram))
    limits = (LARGEST_ENTRY, LEAST_CURVATURE, SHORTENING, float(MOST_SHORTENED))
    prices, out = (float(turning.columns), *map(float, turning.relevance)), np.empty(turning.linear.shape)
    climb_turns(float(turning.n), *given, *prices, n_steps, float(least), sizes_only, limits, out)
    return out


def best_turn_plain(turning: Turning, n_steps: int, least: float, *, sizes_only: bool = False) -> Floats:
    """The same, operation by operation."""
    k, rows = turning.linear.shape
    turn, height = np.eye(rows), turning.height
    for _ in range(n_steps):
        step = turning.newton()
        if sizes_only:
            step[:k, :k] = np.diag(np.diagonal(step)[:k])
        length = min(1.0, LARGEST_ENTRY / max(float(np.max(np.abs(step))), 1e-300))
        for _ in range(MOST_SHORTENED):
            small = np.eye(rows) + length * step
            now = turning.turned(small)
            if now is not None and now.height > height:
                break
            length *= SHORTENING
        else:
            break
        if now.height - height < least * turning.n:
            break
        turn, turning, height = small @ turn, now, now.height
    return turn[:k]


def square(turn: Floats, rows: int) -> Floats:
    """(R, R) of a turn of K sources, what lies beyond them staying as it is."""
    whole = np.eye(rows)
    whole[: len(turn), : turn.shape[1]] = turn
    return whole
