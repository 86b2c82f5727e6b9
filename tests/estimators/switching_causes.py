"""Rows that on/off causes have made."""

from __future__ import annotations

import numpy as np


def switched_rows(n: int = 120, d: int = 6, k: int = 3, seed: int = 5, noise: float = 0.2) -> np.ndarray:
    """Rows that are sums of causes which are on or off, signed, with noise."""
    rng = np.random.default_rng(seed)
    causes = rng.choice([-1.0, 1.0], size=(k, d)) * rng.uniform(0.7, 2.5, size=(k, d))
    codes = rng.random((n, k)) < 0.35
    return codes @ causes + noise * rng.normal(size=(n, d))
