"""Loadings of each column in two factors, in or out, all else being given: their evidence, and draws.

Of the parabolas pull'w - w'gram w / 2 with slabs of precision alpha, the four states of a column have the log weights

    none 0,   one alone  odds + 1/2 log(alpha / (g + alpha)) + 1/2 pull^2 / (g + alpha),   both likewise with matrices
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latens.array import Floats

__all__ = ["TwoLoadings"]


@dataclass(frozen=True, eq=False)
class TwoLoadings:
    one: Floats  # (..., D), pull of the first
    other: Floats
    first: Floats  # (..., D), gram of the first
    second: Floats
    cross: Floats  # of both
    alpha: float
    odds: Floats  # (2,), logarithms; infinite where all loadings are in

    def turned(self, angles: Floats) -> TwoLoadings:
        """Of codes that are turned into each other by each of the angles (A,): with a leading axis."""
        c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
        mixed = 2 * c * s * self.cross
        return TwoLoadings(
            c * self.one + s * self.other,
            c * self.other - s * self.one,
            c * c * self.first + s * s * self.second + mixed,
            s * s * self.first + c * c * self.second - mixed,
            c * s * (self.second - self.first) + (c * c - s * s) * self.cross,
            self.alpha,
            self.odds,
        )

    @property
    def log_weights(self) -> Floats:
        """(4, ..., D): none, the first alone, the second alone, both."""
        alpha, one, other, cross = self.alpha, self.one, self.other, self.cross
        first, second = self.first + alpha, self.second + alpha
        det = first * second - cross**2
        alone = [0.5 * (np.log(alpha / g) + h * h / g) for h, g in ((one, first), (other, second))]
        quadratic = (second * one**2 - 2 * cross * one * other + first * other**2) / det
        both = 0.5 * (np.log(alpha * alpha / det) + quadratic)
        free = np.isfinite(self.odds)
        within, out = np.where(free, self.odds, 0.0), np.where(free, 0.0, -np.inf)
        states = [
            out[0] + out[1] + np.zeros_like(one),
            within[0] + out[1] + alone[0],
            out[0] + within[1] + alone[1],
            within[0] + within[1] + both,
        ]
        return np.stack(states)

    @property
    def log_evidence(self) -> Floats:
        """(...), of all columns, but for what does not change with codes that are turned."""
        logs = self.log_weights
        top = logs.max(axis=0)
        return np.asarray(np.sum(top + np.log(np.sum(np.exp(logs - top), axis=0)), axis=-1))

    def draw(self, rng: np.random.Generator) -> Floats:
        """(D, 2), 0 where out; without a leading axis."""
        logs, first, second, cross = self.log_weights, self.first + self.alpha, self.second + self.alpha, self.cross
        state = np.argmax(logs + rng.gumbel(size=logs.shape), axis=0)
        noise = rng.standard_normal((2, *self.one.shape))
        # the second by itself or with the first left open, then the first given it
        with_first = state == 3
        sharp = np.where(with_first, second - cross**2 / first, second)
        other = np.where(with_first, self.other - cross / first * self.one, self.other) / sharp
        other = np.where(state >= 2, other + noise[1] / np.sqrt(sharp), 0.0)
        one = (self.one - cross * other) / first + noise[0] / np.sqrt(first)
        return np.stack([np.where((state == 1) | with_first, one, 0.0), other], axis=1)
