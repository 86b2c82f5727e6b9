"""Precisions of weights and noise that the caller gives, or priors of them, in the units of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.estimators.parameters import positive_number, yes_or_no
from latens.estimators.priors import no_prior, variance_prior
from latens.estimators.regression.units import RegressionUnits
from latens.models.linear_regression import LinearRegression, Moments

__all__ = ["model_of", "weight_unit"]

NAMES = ("evidence", "gamma")


def model_of(estimator: Any, sums: Moments, units: RegressionUnits) -> LinearRegression:
    """The model that the parameters of an estimator tell, in these units; the priors are of the size of the data."""
    target, intercept = units.target, bool(estimator.fit_intercept)
    standardized = yes_or_no("standardize", estimator.standardize)
    step = weight_unit(units, standardized)
    sizes, yy = sums.sizes(intercept)
    resolution = _rounding(sums, float(target.origin[0]) / target.scale)
    spread = max(yy / sums.n, resolution)
    width = 1.0 if standardized else float(np.sum(sizes)) / (sums.n * len(sizes)) or 1.0
    variance = max(sums.sizes(True)[1] / sums.n, resolution)  # of y, with an intercept or without
    alpha, beta = (_precision(name, getattr(estimator, name)) for name in ("weight_precision", "noise_precision"))
    for name, kind in (("weight_variance_prior", alpha), ("noise_variance_prior", beta)):
        if kind != "gamma":
            no_prior(f"{name.replace('variance_prior', 'precision')}='gamma'", **{name: getattr(estimator, name)})
    usual = (1e-6, 1e-6 * spread / width), (1e-6, 1e-6 * spread)
    return LinearRegression(
        n_features=len(sums.x),
        alpha=alpha if isinstance(alpha, str) else alpha * step * step,
        beta=1 / variance if beta == "variance" else beta if isinstance(beta, str) else beta * target.scale**2,
        alpha_prior=variance_prior("weight_variance_prior", estimator.weight_variance_prior, usual[0], _square(step)),
        beta_prior=variance_prior(
            "noise_variance_prior", estimator.noise_variance_prior, usual[1], _square(target.scale)
        ),
        intercept=intercept,
        resolution=resolution,
        standardized=standardized,
    )


def weight_unit(units: RegressionUnits, standardized: bool) -> float:
    """What one unit of the model's weights is in the data, in which precisions are given: a target over a column.

    Standardized columns have no unit.
    """
    return float(units.target.scale if standardized else units.target.scale / units.scale)


def _square(unit: float) -> float:
    """Of a unit that may be too large to be squared, which only a given prior would need."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.square(np.float64(unit)))


def _rounding(sums: Moments, origin: float) -> float:
    """The mean square of y that rounding alone may make; 1 where y is 0 and has no size."""
    size = float(np.finfo(float).eps) ** 2 * (sums.yy + 2 * origin * sums.y + sums.n * origin**2) / sums.n
    return float(size) if size > 0 else 1.0


def _precision(name: str, value: Any) -> float | str:
    names = (*NAMES, "variance") if name == "noise_precision" else NAMES
    if isinstance(value, str):
        if value not in names:
            raise ValueError(
                f"{name}={value!r} is not known; give a positive number or one of {', '.join(map(repr, names))}."
            )
        return value
    return positive_number(name, value)
