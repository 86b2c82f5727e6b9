"""Fixtures that run a test for every way of fitting."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimators.settings import SETTINGS, Make, maker, switched_rows


@pytest.fixture(params=SETTINGS)
def make(request: pytest.FixtureRequest) -> Make:
    return maker(request.param)


@pytest.fixture
def X() -> np.ndarray:
    return switched_rows()
