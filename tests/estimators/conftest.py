"""Fixtures that run a test for every estimator, or for every way of fitting one."""

from __future__ import annotations

import pytest

from tests.estimators.subjects import SUBJECTS, VARIANTS, Subject


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[name for name in SUBJECTS if not SUBJECTS[name].supervised])
def transformer(request: pytest.FixtureRequest) -> Subject:
    """Every estimator whose answer is `transform`."""
    return SUBJECTS[request.param]
