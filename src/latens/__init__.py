"""Hidden causes behind data, with honest uncertainty.

Public names load on first use, so that ``import latens`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "BernoulliMixture": "latens.estimators.mixtures.bernoulli",
    "BayesianLinearRegression": "latens.estimators.regression.estimator",
    "BinaryFactorAnalysis": "latens.estimators.binary_factors",
    "FactorAnalysis": "latens.estimators.factor_analysis.estimator",
    "GaussianMixture": "latens.estimators.mixtures.gaussian",
    "LatentClassAnalysis": "latens.estimators.mixtures.latent_classes",
    "MultiViewFactorAnalysis": "latens.estimators.multi_view.estimator",
    "NoisyICA": "latens.estimators.noisy_ica.estimator",
    "NoisyOr": "latens.estimators.noisy_or",
    "compare": "latens.diagnose.comparison",
    "load": "latens.io",
    "read": "latens.intake",
    "report": "latens.report",
    "save": "latens.io",
    "scan": "latens.scale.scan",
    "stability": "latens.diagnose.halves",
    "suggest": "latens.diagnose.suggestion",
    "sweep": "latens.diagnose.numbers",
}
# what lower layers reach through here, since they may not import it
_WIRED = {"CheckpointStore": "latens.io.checkpoint"}
_MODULES = ("datasets", "errors", "interop", "likelihoods", "metrics", "nets", "plots", "weights")

__all__ = [*_HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES or name in _WIRED:
        return getattr(importlib.import_module(_HOMES.get(name) or _WIRED[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"latens.{name}")
    raise AttributeError(f"latens has no {name!r}; it offers {', '.join(sorted(__all__))}.")


def __dir__() -> list[str]:
    return sorted(__all__)
