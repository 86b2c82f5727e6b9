"""From wide tables to the units of a multi-view model, and from its posterior back to those of the data.

Each factor points the way its strongest loading is positive, and has variance 1 over all samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.multi_view.covariates import Covariates
from latens.estimators.multi_view.tables.wide import Layout, WideTable, frame_encoding
from latens.estimators.parameters import given_array
from latens.estimators.rows.data import Data
from latens.estimators.rows.units import Units
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods.names import Kind
from latens.models.likelihoods.ordered_logit import Cuts
from latens.models.likelihoods.student import Tails
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import GROUP

__all__ = [
    "InPublishedUnits",
    "frame_of_rows",
    "in_data_units",
    "loadings_of",
    "published_codes",
    "signs",
    "sizes",
    "ungrouped",
]

PRIORS_IN_UNITS = ("noise_variance_prior", "loading_prior", "intercept_prior", "covariate_prior")


def frame_of_rows(estimator: Any, data: Data, kinds: Mapping[str, Kind]) -> Units:
    """Gaussian views about their means, each in its own unit; the others as they are.

    Columns of a mixed frame are measured in many units, and each has its own, unless precisions or priors are given:
    these are in one unit for all columns of a view.
    """
    layout, frames = estimator.layout_, []
    mixed = frame_encoding(estimator) is not None and all(getattr(estimator, name) is None for name in PRIORS_IN_UNITS)
    for name, columns, kind in zip(layout.views, layout.bounds, kinds.values(), strict=True):
        has_own_units = mixed and kind.has_unit and name not in layout.precise
        frames.append(data.units(columns, centred=kind.has_unit, scaled=kind.has_unit, standardized=has_own_units))
    return Units.joined(frames)


def signs(q: MultiViewPosterior) -> Floats:
    """(K,), 1 or -1, by which factors are published: the loading that is largest relative to its noise is positive."""
    loadings = np.concatenate([view.weights.mean * np.sqrt(view.noise.mean)[:, None] for view in q.views.values()])
    largest = np.take_along_axis(loadings, np.argmax(np.abs(loadings), axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def sizes(q: MultiViewPosterior, of: MultiViewPosterior | None = None) -> Floats:
    """(K,), standard deviation of each factor over all samples: the unit in which it is published.

    Where groups have variances of their own for each factor, only a prior decides how a product of variance and loading
    is shared out between the two: loadings in the model's own unit would be as uncertain as that. `of` is the posterior
    that q is a draw of, which tells how many samples groups have.
    """
    known = (q if of is None else of).activity
    if isinstance(known, KnownGamma):
        return np.ones(q.n_components)
    return np.asarray(np.sqrt(np.sum(known.shape / known.shape.sum(axis=0) / q.activity.mean, axis=0)))


def published_codes(q: MultiViewPosterior) -> Floats:
    """(K,), what factor values of the model are multiplied by to be published."""
    return signs(q) / sizes(q)


class InPublishedUnits:
    """Factor values that are kept in the unit of the posterior, as files hold them, and read in that of `sizes`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is None:
            return self
        if self.name not in vars(estimator):
            raise AttributeError(f"there is no {self.name!r}.")
        value, size = vars(estimator)[self.name], sizes(estimator.posterior_)
        return value if np.all(size == 1) else value / size

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)[self.name] = value

    def __delete__(self, estimator: Any) -> None:
        if vars(estimator).pop(self.name, None) is None:
            raise AttributeError(self.name)


def loadings_of(given: Any, k: int, layout: Layout, units: Units) -> dict[str, Floats]:
    """Loadings (K, D_m) in the model's units from those of the caller, by view or of all columns."""
    if isinstance(given, Mapping):
        given = {str(name): part for name, part in given.items()}
        if set(given) != set(layout.views):
            raise ValueError(f"init has the views {sorted(given)}; expected {', '.join(layout.views)}.")
        found = {name: given_array(f"init of view {name!r}", given[name]) for name in layout.views}
    else:
        wide = given_array("init", given)
        if wide.shape != (k, layout.n_columns):
            raise ValueError(
                f"init has shape {wide.shape}; expected ({k}, {layout.n_columns}), loadings of all columns."
            )
        found = {name: wide[:, columns] for name, columns in zip(layout.views, layout.bounds, strict=True)}
    scale = np.broadcast_to(units.scale, units.origin.shape)
    for (name, part), columns in zip(found.items(), layout.bounds, strict=True):
        wanted = (k, columns.stop - columns.start)
        if part.shape != wanted or not np.isfinite(part).all():
            raise ValueError(f"init of view {name!r} has shape {part.shape}; expected finite values of shape {wanted}.")
        found[name] = part / scale[columns]
    return found


def in_data_units(
    model: MultiView,
    q: MultiViewPosterior,
    of: MultiViewPosterior,
    layout: Layout,
    units: Units,
    covariates: Covariates | None = None,
) -> dict[str, Any]:
    """Loadings (K, D_m), inclusion probabilities, levels (G, D_m), noise and dispersion (D_m,) by view.

    And coefficients (C, D_m) of covariates, where there are some. Signs are those of the posterior `of`, of which q
    may be a draw.
    """
    size = sizes(q, of)
    times = signs(of) * size
    kinds = {view.name: view for view in model.views}
    views = {name: (view, columns) for (name, view), columns in zip(q.views.items(), layout.bounds, strict=True)}
    scale = np.broadcast_to(units.scale, units.origin.shape)
    public: dict[str, Any] = {
        "components": {n: (v.weights.mean * times).T * scale[c] for n, (v, c) in views.items()},
        "inclusion": {n: v.weights.on.T for n, (v, c) in views.items()},
        "intercepts": {
            n: kinds[n].likelihood.intercept(v.offsets.mean[:, : model.n_groups], kinds[n].about(v)).T * scale[c]
            + units.origin[c]
            + kinds[n].log_of_one
            for n, (v, c) in views.items()
        },
        "noise_variance": {
            n: scale[c] ** 2 / v.noise.mean
            for n, (v, c) in views.items()
            if kinds[n].likelihood.has_unit and kinds[n].likelihood.learns_noise
        },
    }
    dispersed = [n for n, view in kinds.items() if view.likelihood.learns_noise and not view.likelihood.has_unit]
    if dispersed:
        public["dispersion"] = {n: kinds[n].likelihood.dispersion(q.views[n].noise) for n in dispersed}
    tails = {n: v.parameters.value for n, (v, c) in views.items() if isinstance(v.parameters, Tails)}
    if tails:
        public["tails"] = tails
    scales = {n: v.parameters for n, (v, c) in views.items() if isinstance(v.parameters, Cuts)}
    if scales:
        named = dict(zip(layout.views, layout.features, strict=True))
        public["thresholds"] = {n: dict(zip(named[n], own.by_column, strict=True)) for n, own in scales.items()}
    if covariates is not None:
        public["covariate_coefficients"] = {
            n: covariates.coefficients(v.offsets.mean[:, model.n_groups :]) * scale[c] for n, (v, c) in views.items()
        }
    if len(layout.groups) > 1:
        public["activity"] = 1 / (q.activity.mean * size**2)
    return public


def ungrouped(table: WideTable) -> WideTable:
    """The table without its column of groups, where all samples are of one."""
    if not table.layout.groups:
        return table
    aux = {name: values for name, values in table.rows.aux.items() if name != GROUP}
    return replace(table, rows=replace(table.rows, aux=aux), layout=replace(table.layout, groups=()))
