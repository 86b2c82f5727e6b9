"""Sums of binary factors that rows of other libraries bring at once, beside those that come one by one."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

from latens.core import Rows
from latens.families.relevance import Relevance
from latens.models.binary_factors.model import BinaryFactors
from latens.models.binary_factors.posteriors import MeanField

LIBRARIES = ["array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", [0, 1, 5])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_sums_that_come_at_once(library: str, k: int, intercept: bool, weighted: bool) -> None:
    rng, xp = np.random.default_rng(k), importlib.import_module(library)
    model = BinaryFactors(n_features=7, intercept=intercept, e_step=MeanField())
    prior = model.prior(k)
    assert isinstance(prior.loadings, Relevance)
    w = rng.normal(size=(k + intercept, 7))
    q = replace(prior, loadings=replace(prior.loadings, weights=replace(prior.loadings.weights, mean=w)))
    x, weight = rng.normal(size=(90, 7)) + 1.0, rng.uniform(0.5, 2.0, 90) if weighted else None
    here, there = Rows(x, weight=weight), Rows(xp.asarray(x), weight=None if weight is None else xp.asarray(weight))
    expected = model.statistics(here, model.local_step(q, here))
    found = model.statistics(there, model.local_step(q, there))
    for name in ("n", "seen", "on", "zz", "zx", "xx", "entropy"):
        assert np.shape(getattr(found, name)) == np.shape(getattr(expected, name)), name
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-11, abs=1e-10), name
