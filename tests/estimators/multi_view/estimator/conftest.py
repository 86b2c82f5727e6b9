"""Fits that many tests look at and none changes."""

from __future__ import annotations

from typing import Any

import pytest

import latens
from latens.datasets import make_multiview
from tests.estimators.multi_view.estimator.views import MIXED, Views, model


@pytest.fixture(scope="session")
def data() -> tuple[Views, Any]:
    return make_multiview(200, (60, 40), n_factors=3, noise=0.5, random_state=50)


@pytest.fixture(scope="session")
def fitted(data: tuple[Views, Any]) -> latens.MultiViewFactorAnalysis:
    return model().fit(data[0])


@pytest.fixture(scope="session")
def mixed() -> tuple[Views, Any]:
    return make_multiview(250, (30, 40, 30), MIXED, n_factors=2, missing=0.1, missing_views=0.1, random_state=51)


@pytest.fixture(scope="session")
def of_mixed(mixed: tuple[Views, Any]) -> latens.MultiViewFactorAnalysis:
    return model(5).fit(mixed[0])


@pytest.fixture(scope="session")
def grouped() -> tuple[Views, Any, Any]:
    views, truth = make_multiview(300, (50, 40), n_factors=3, groups=2, noise=0.6, random_state=64)
    views["view0"][truth.groups == "group1"] += 30
    return views, truth, model(6).fit(views, groups=truth.groups)
