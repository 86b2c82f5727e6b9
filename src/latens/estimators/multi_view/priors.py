"""Priors of multi-view models that the caller gave, in the units of each view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from latens.estimators.parameters import positive_number, yes_or_no
from latens.estimators.priors import Pair, beta_prior, by_name, no_prior, variance_prior
from latens.estimators.rows.units import Units
from latens.models.multi_view.view import View

__all__ = ["SharedPriors", "with_priors"]


@dataclass(frozen=True)
class SharedPriors:
    """Those that are not of single views; None where a model has no such quantity."""

    inclusion: Pair | None
    usage: Pair | None
    activity: Pair | None

    @classmethod
    def of(cls, estimator: Any, grouped: bool) -> SharedPriors:
        """What the parameters of an estimator tell, checked."""
        inclusion = beta_prior("inclusion_prior", estimator.inclusion_prior, (1.0, 1.0))
        usage = beta_prior("usage_prior", estimator.usage_prior, (1.0, 1.0))
        activity = variance_prior("activity_prior", estimator.activity_prior, (1.0, 1.0))
        sparse, rests = (yes_or_no(name, getattr(estimator, name)) for name in ("sparse_loadings", "sparse_factors"))
        if not sparse:
            no_prior("sparse_loadings=True", inclusion_prior=estimator.inclusion_prior)
        if not rests:
            no_prior("sparse_factors=True", usage_prior=estimator.usage_prior)
        if not grouped:
            no_prior("groups of samples", activity_prior=estimator.activity_prior)
        return cls(inclusion if sparse else None, usage if rests else None, activity if grouped else None)


def with_priors(estimator: Any, views: Sequence[View], units: Units) -> list[View]:
    """The views of a model, whose priors are the usual ones, with those that the parameters of the estimator tell."""
    names = [view.name for view in views]
    noisy = [view.name for view in views if view.likelihood.has_unit and view.likelihood.learns_noise]
    counted = [view.name for view in views if not view.likelihood.has_unit and view.likelihood.learns_noise]
    noise = _given("noise_variance_prior", estimator.noise_variance_prior, noisy, "measurements whose noise is learnt")
    noise |= _given("dispersion_prior", estimator.dispersion_prior, counted, "counts")
    loadings = by_name("loading_prior", estimator.loading_prior, names)
    levels = by_name("intercept_prior", estimator.intercept_prior, names)
    slopes = by_name("covariate_prior", estimator.covariate_prior, names)
    found = []
    for view in views:
        square = float(_scale(units, view.start) ** 2) if view.likelihood.has_unit else 1.0
        d = view.stop - view.start
        kind = "noise_variance_prior" if view.name in noisy else "dispersion_prior"
        changes: dict[str, Any] = {
            "noise": variance_prior(kind, noise.get(view.name), view.noise, square, d),
            "relevance": variance_prior("loading_prior", loadings[view.name], view.relevance, square),
        }
        if levels[view.name] is not None:
            changes["offset"] = square / positive_number("intercept_prior", levels[view.name])
        if slopes[view.name] is not None:
            changes["slope"] = square / positive_number("covariate_prior", slopes[view.name])
        found.append(replace(view, **changes))
    return found


def _given(name: str, given: Any, views: list[str], what: str) -> dict[str, Any]:
    if given is not None and not views:
        raise ValueError(f"{name} is for views of {what}, and there are none; leave it out.")
    return by_name(name, given, views)


def _scale(units: Units, column: int) -> Any:
    scale = units.scale
    return scale[column] if getattr(scale, "ndim", 0) else scale
