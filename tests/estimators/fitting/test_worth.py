"""Every component that a fit publishes is worth its place: without it, climbed anew, the bound is lower."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

import latens
from latens.core import Loose, Rows, State
from latens.errors import ElboDecreased
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.mixtures.base import MixtureEstimator
from latens.inference.ascent import ascend
from latens.inference.local_fixed_point import local_fixed_point
from latens.system.threads import one_blas_thread
from tests.contract.variants import QUICK, VARIANTS, Variant

FITS: dict[str, Any] = {
    "clusters": lambda: latens.GaussianMixture(n_init=1, random_state=0),
    "tied clusters": lambda: latens.GaussianMixture(covariance_type="tied", n_init=1, random_state=0),
    "binary clusters": lambda: latens.BernoulliMixture(n_init=1, random_state=0),
    "causes": lambda: latens.BinaryFactorAnalysis(6, n_init=1, random_state=0),
    "causes of binary rows": lambda: latens.NoisyOr(5, n_init=1, random_state=0),
    "sources": lambda: latens.NoisyICA(random_state=0),
    "factors": lambda: latens.FactorAnalysis(prior="ard", random_state=0),
    "views": lambda: latens.MultiViewFactorAnalysis(random_state=0),
}
REAL: dict[str, Any] = {  # told nothing
    **{name: make for name, make in FITS.items() if name not in ("causes", "causes of binary rows", "factors")},
    "causes": lambda: latens.BinaryFactorAnalysis(random_state=0),
    "causes of binary rows": lambda: latens.NoisyOr(random_state=0),
    "classes": lambda: latens.LatentClassAnalysis(random_state=0),
    # by default weak factors stay, which a loose bound would give up
    "factors": lambda: latens.FactorAnalysis(prior="ard", moves=True, random_state=0),
}
BINARY = {"binary clusters", "causes of binary rows"}
# points have no number of components to find; online solvers take the number they are given
SEARCHED = [
    name
    for name, variant in VARIANTS.items()
    if variant.estimator != "BayesianLinearRegression"
    and "-ml" not in name
    and (variant.estimator != "FactorAnalysis" or variant.params.get("prior") == "ard")
]
TABLES: dict[str, Callable[[], np.ndarray]] = {
    "iris": lambda: datasets.load_iris().data,
    "wine": lambda: datasets.load_wine().data,
    "breast cancer": lambda: datasets.load_breast_cancer().data[:, :10],
    "digits": lambda: datasets.load_digits().data[:300, 18:30],
    "diabetes": lambda: datasets.load_diabetes().data,
    "linnerud": lambda: np.hstack([datasets.load_linnerud().data, datasets.load_linnerud().target]),
}


def rows_for(name: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = (rng.random((100, 2)) < 0.35).astype(float)
    x = codes @ (2.5 * rng.normal(size=(2, 4))) + 0.5 * rng.normal(size=(100, 4))
    if name in BINARY:
        return (rng.random(x.shape) < np.clip(codes @ (rng.random((2, 4)) < 0.6), 0.05, 0.9)).astype(float)
    return x


@dataclass(frozen=True)
class Worth:
    """Nats a row: by which the bound is higher without some component, and by which that of the fit is above it."""

    most_raised: float
    short: float


def worth_of(model: Any, data: Rows) -> Worth:
    """Of the published components, climbed anew with and without each; one cluster is left alone.

    Ascents are those of a fit, at a tenth of its tolerance. Bounds are compared with what they are known to lack, as
    the search compares them. With all components rows begin where their codes have settled, as answers about rows do:
    after the first steps from neutral codes, some of which are slow, globals may leave for elsewhere.
    """
    parts, q = fitted_parts(model), model.posterior_

    def climbed(start: Any, codes: Any = None) -> tuple[float, float]:
        state = State(start, None, codes and (codes,))
        with warnings.catch_warnings(), one_blas_thread():
            warnings.simplefilter("ignore", ElboDecreased)
            fit = ascend(parts.model, [data], state, max_iter=300, tol=0.1 * model.tol, log_scale=parts.units.log_scale)
        slack = parts.model.looseness(fit.state.q, data, data.n) if isinstance(parts.model, Loose) else 0.0
        return fit.elbo, fit.elbo + slack

    bound, top = climbed(q, local_fixed_point(parts.model, q, data))
    # what the covariance shows is no more given up than the last cluster: the bound of heavy sources is loose
    fewest = 1 if isinstance(model, MixtureEstimator) else getattr(parts.model, "least", 0)
    others = [np.delete(np.arange(q.n_components), component) for component in range(q.n_components)]
    each = [climbed(q.only(keep))[1] - top for keep in others] if q.n_components > fewest else [-np.inf]
    return Worth(max(each) / data.n, (model.elbo_ - bound) / data.n)


def fitted(model: Any, **arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(**arguments)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", FITS)
def test_without_a_published_component_the_bound_is_lower(name: str, seed: int) -> None:
    x = rows_for(name, seed)
    model = fitted(FITS[name](), X=x)
    worth = worth_of(model, fitted_parts(model).units.enter(Rows(x)))
    assert worth.most_raised <= 2 * model.tol
    assert worth.short <= model.tol


def test_two_causes_of_which_one_is_too_many_are_told_though_others_take_their_place_late() -> None:
    """Without either, the bound is 69 nats lower or more at first, and 11 higher in the end."""
    rng = np.random.default_rng([50000, 38, 1000, 20, 5, 0])
    strength = (rng.random((5, 20)) < 0.4) * rng.uniform(0.6, 0.95, size=(5, 20))
    dark = 0.97 * np.exp((rng.random((1000, 5)) < 0.2) @ np.log1p(-strength))
    x = (rng.random((1000, 20)) > dark).astype(float)
    model = fitted(latens.NoisyOr(random_state=0), X=x)
    assert worth_of(model, Rows(x)).most_raised <= 2 * model.tol


def test_a_cluster_whose_rows_others_take_over_late_is_told() -> None:
    """Without it, the bound is 79 nats lower at first, stays 9 lower for a while, and is higher in the end."""
    x = datasets.load_digits().data[:600]
    x = (x[:, x.std(axis=0) > 0] > np.median(x[:, x.std(axis=0) > 0], axis=0)).astype(float)
    model = fitted(latens.BernoulliMixture(random_state=0), X=x)
    assert worth_of(model, fitted_parts(model).units.enter(Rows(x))).most_raised <= 2 * model.tol


def test_a_source_whose_place_others_take_only_from_neutral_codes_is_told() -> None:
    """From the codes that rows have, the ascent without it stays 80 nats below; from neutral ones it ends 21 above."""
    x = TABLES["digits"]()
    model = fitted(latens.NoisyICA(random_state=0), X=x)
    assert worth_of(model, all_in_one(model, {"X": x})).most_raised <= 2 * model.tol


def searching(variant: Variant) -> Any:
    """The variant told nothing: the number of components is found, with moves."""
    kind = {name: value for name, value in variant.params.items() if name not in QUICK}
    return getattr(latens, variant.estimator)(**kind, moves=True, random_state=0)


def all_in_one(model: Any, arguments: dict[str, Any]) -> Rows:
    """The rows of a fit in the units of its model."""
    beside = {name: value for name, value in arguments.items() if name != "X"}
    return fitted_parts(model).units.enter(model._rows_of_fit(arguments["X"], **beside))


@pytest.mark.slow
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("name", SEARCHED)
def test_every_variant_of_the_contract_publishes_what_is_worth_its_place(name: str, holes: bool) -> None:
    variant = VARIANTS[name]
    arguments = variant.batch(0, holes=holes).arguments
    model = fitted(searching(variant), **arguments)
    rows = all_in_one(model, arguments)
    worth = worth_of(model, rows)
    assert worth.most_raised <= 2 * model.tol
    assert worth.short * rows.n <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("which", [f"{table}, {name}" for table in TABLES for name in REAL])
def test_fits_of_real_tables_publish_what_is_worth_its_place(which: str) -> None:
    table, name = which.split(", ")
    x = TABLES[table]()
    if name in BINARY:
        x = (x > np.median(x, axis=0)).astype(float)
    model = fitted(REAL[name](), X=x)
    assert worth_of(model, all_in_one(model, {"X": x})).most_raised <= 2 * model.tol
