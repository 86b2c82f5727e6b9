"""Every component that a fit publishes is worth its place: without it, climbed anew, the bound is lower."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import latens
from latens.core import Rows, State
from latens.errors import ElboDecreased
from latens.estimators.fitted_parts import fitted_parts
from latens.inference.ascent import ascend
from latens.system.threads import one_blas_thread

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
BINARY = {"binary clusters", "causes of binary rows"}


def rows_for(name: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = (rng.random((100, 2)) < 0.35).astype(float)
    x = codes @ (2.5 * rng.normal(size=(2, 4))) + 0.5 * rng.normal(size=(100, 4))
    if name in BINARY:
        return (rng.random(x.shape) < np.clip(codes @ (rng.random((2, 4)) < 0.6), 0.05, 0.9)).astype(float)
    return x


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", FITS)
def test_without_a_published_component_the_bound_is_lower(name: str, seed: int) -> None:
    x = rows_for(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]().fit(x)
    parts, q = fitted_parts(model), model.posterior_
    data = parts.units.enter(Rows(x))
    margin = model.tol * len(x)

    def height(start: Any) -> float:
        with warnings.catch_warnings(), one_blas_thread():
            warnings.simplefilter("ignore", ElboDecreased)
            fit = ascend(
                parts.model, [data], State(start), max_iter=300, tol=0.1 * model.tol, log_scale=parts.units.log_scale
            )
        return fit.elbo

    assert height(q) >= model.elbo_ - margin
    for gone in range(q.n_components):
        keep = np.delete(np.arange(q.n_components), gone)
        if len(keep) or "clusters" not in name:
            assert height(q.only(keep)) <= model.elbo_ + 2 * margin
