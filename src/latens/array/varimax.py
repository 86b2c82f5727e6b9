"""Varimax: the rotation of loadings after which each factor has few large ones."""

from __future__ import annotations

import numpy as np

from latens.array import Floats

__all__ = ["varimax"]


def varimax(loadings: Floats, *, least_gain: float = 1e-10) -> Floats:
    """(K, K), the rotation R for which R @ loadings has squares that vary most within each factor (Kaiser 1958).

    It ends where a step gains less than a share `least_gain`.
    """
    turn, height = np.eye(len(loadings)), 0.0
    for _ in range(200):
        at = loadings.T @ turn
        squares = at * at  # a cube by `**` would cost more than all the rest
        u, s, v = np.linalg.svd(loadings @ (at * (squares - np.mean(squares, axis=0))))
        turn = np.asarray(u @ v)
        if s.sum() <= height * (1 + least_gain):
            break
        height = float(s.sum())
    return turn.T
