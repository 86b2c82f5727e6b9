"""Rows that are sums of random causes, at sizes where the shapes are too small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.peers.source import Floats

__all__ = ["Sums", "draw_sums"]


@dataclass(frozen=True)
class Sums:
    x: Floats  # (N, D)
    components: Floats  # (K, D)
    usage: Floats  # (K,)
    noise_variance: float


def draw_sums(n: int, d: int, k: int, seed: int, *, noise: float = 0.5, activity: float = 0.15) -> Sums:
    """Each cause touches a quarter of the columns, with either sign; drawn in blocks, so that memory stays near N D."""
    rng = np.random.default_rng(seed)
    touched = rng.random((k, d)) < max(0.25, 2 / d)
    components = np.where(touched, rng.normal(size=(k, d)), 0.0)
    x = np.empty((n, d))
    for at in range(0, n, 4096):
        block = x[at : at + 4096]
        codes = (rng.random((len(block), k)) < activity).astype(float)
        np.matmul(codes, components, out=block)
        block += noise * rng.normal(size=block.shape)
    return Sums(x, components, np.full(k, activity), noise**2)
