"""Whether the parameters that a file states are those its model was built with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from latens.errors import FileRefused
from latens.estimators import binary_factors, noisy_or
from latens.families.dirichlet import Dirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.sticks import Sticks
from latens.models.noisy_or.jensen import JensenNoisyOr

__all__ = ["check_agreement"]


def check_agreement(name: str, params: Mapping[str, Any], model: Any, columns: Collection[str] = ()) -> None:
    """Refuse a parameter that the model denies; parameters that a model does not record are not judged.

    Nor is what is given for these columns, which a model knows by the views that hold them.
    """
    for parameter, recorded_by in TELLING.get(name, {}).items():
        if parameter in params and not _agrees(params[parameter], recorded := recorded_by(model), columns):
            raise FileRefused(
                f"it states {parameter}={str(params[parameter])[:40]!r}, but its model was built with "
                f"{parameter}={recorded!r}. If the parameter was changed after fit, change it back or fit again."
            )


def _agrees(given: Any, recorded: Any, columns: Collection[str]) -> bool:
    """Whether a parameter is what the model tells; of what is given by name, a part or one word may be given."""
    if isinstance(recorded, bool) and given == "auto":  # whichever has the higher bound
        return True
    if not isinstance(recorded, dict):
        return bool(given == recorded)
    given = given if given is None or isinstance(given, dict) else dict.fromkeys(recorded, given)
    return given is None or all(
        recorded.get(key) == getattr(given[key], "name", given[key]) for key in given if key not in columns
    )


def _prior(model: Any) -> str:
    return "ml" if model.points else "ard"


def _intercept(model: Any) -> bool:
    return bool(model.intercept)


def _weight_prior(model: Any) -> str:
    if isinstance(model.weights, Dirichlet):
        return "dirichlet"
    return "dirichlet_process" if isinstance(model.weights, Sticks) else "uniform"


def _covariance_type(model: Any) -> str:
    clusters = model.clusters
    if isinstance(clusters, NormalMeans):
        return "known"
    if isinstance(clusters, NormalWishart):
        return "tied" if clusters.tied else "full"
    return "spherical" if isinstance(clusters, NormalColumns) and clusters.shared else "diag"


def _e_step(model: Any) -> str | None:
    return next((name for name, step in binary_factors.E_STEPS.items() if type(step) is type(model.e_step)), None)


def _listing(model: Any) -> str | None:
    if isinstance(model, JensenNoisyOr):
        return "jensen"
    return next((name for name, most in noisy_or.E_STEPS.items() if most == model.most_exact), None)


# by estimator: parameters that a model records, and how
TELLING: dict[str, dict[str, Callable[[Any], Any]]] = {
    "BayesianLinearRegression": {"standardize": lambda model: model.standardized},
    "BernoulliMixture": {"weight_prior": _weight_prior},
    "BinaryFactorAnalysis": {
        "prior": _prior,
        "fit_intercept": _intercept,
        "noise": lambda model: "diagonal" if model.diagonal else "shared",
        "e_step": _e_step,
    },
    "FactorAnalysis": {"prior": _prior},
    "GaussianMixture": {"weight_prior": _weight_prior, "covariance_type": _covariance_type},
    "LatentClassAnalysis": {"weight_prior": _weight_prior},
    "MultiViewFactorAnalysis": {
        "likelihoods": lambda model: {view.name: view.likelihood.name for view in model.views},
        "sparse_factors": lambda model: model.usage is not None,
        "sparse_loadings": lambda model: all(view.inclusion is not None for view in model.views),
    },
    "NoisyICA": {
        "prior": _prior,
        "fit_intercept": _intercept,
        "covariance": lambda model: "diagonal" if model.diagonal else "full",
    },
    "NoisyOr": {"prior": _prior, "e_step": _listing},
}
