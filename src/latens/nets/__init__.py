"""Posteriors of weights from the path of an optimiser: as functions of arrays, and for the modules of torch.

Names load on first use; torch is imported when a posterior of a module is made (`pip install 'latens[torch]'`).
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "ClassPrediction": "latens.nets.prediction",
    "FactorPosterior": "latens.nets.factor_posterior",
    "LangevinOptimizer": "latens.nets.langevin.optimizer",
    "MultiPosterior": "latens.nets.multi_posterior",
    "OnlineFactorPosterior": "latens.nets.online_factor_posterior",
    "PosteriorCallback": "latens.nets.callback",
    "Prediction": "latens.nets.prediction",
    "RegressionPrediction": "latens.nets.prediction",
    "SWAG": "latens.nets.swag",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"latens.nets has no {name!r}; it offers {', '.join(sorted(__all__))}.")


def __dir__() -> list[str]:
    return sorted(__all__)
