"""The estimators under test, and data in which there is something to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latens.estimators.binary_factors import BinaryFactorAnalysis

# one row per way of fitting; a new estimator adds its own and gets every test that takes `make`
SETTINGS: dict[str, dict[str, Any]] = {
    "binary-ard": {},
    "binary-ml": {"prior": "ml"},
    "binary-ard-intercept": {"fit_intercept": True},
    "binary-ard-mean-field-diagonal": {"e_step": "mean-field", "noise": "diagonal"},
    "binary-ml-truncated-intercept": {"prior": "ml", "e_step": "truncated", "fit_intercept": True},
}

Make = Callable[..., BinaryFactorAnalysis]


def maker(name: str) -> Make:
    """A constructor with one row's settings, quick and repeatable."""

    def make(n_components: int | None = 3, **options: Any) -> BinaryFactorAnalysis:
        return BinaryFactorAnalysis(n_components, **{"random_state": 0, "n_init": 2, **SETTINGS[name], **options})

    return make


def switched_rows(n: int = 120, d: int = 6, k: int = 3, seed: int = 5, noise: float = 0.2) -> np.ndarray:
    """Rows that are sums of causes which are on or off, signed, with noise."""
    rng = np.random.default_rng(seed)
    causes = rng.choice([-1.0, 1.0], size=(k, d)) * rng.uniform(0.7, 2.5, size=(k, d))
    codes = rng.random((n, k)) < 0.35
    return codes @ causes + noise * rng.normal(size=(n, d))
