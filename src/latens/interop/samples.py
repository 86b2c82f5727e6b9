"""The samples of a fit, which a stream does not remember."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.plots.fitted import fitted

__all__ = ["scores_of"]


def scores_of(model: Any) -> Floats:
    """(n, K), factor values of the samples of a fit."""
    forgotten = (
        "after partial_fit it does not know its samples any more. Fit them in one call, fit(views); transform(views) "
        "tells the factor values of any samples."
    )
    return np.asarray(fitted(model, "scores_", forgotten), dtype=np.float64)
