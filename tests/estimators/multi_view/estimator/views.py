"""Views of three kinds, and the estimator that these tests fit to them."""

from __future__ import annotations

from typing import Any

import numpy as np

import latens

MIXED = ("gaussian", "bernoulli", "poisson")
Views = dict[str, np.ndarray]


def model(n_components: int | None = 6, **options: Any) -> latens.MultiViewFactorAnalysis:
    return latens.MultiViewFactorAnalysis(n_components, **{"random_state": 0, **options})
