"""`latens.weights`, the name before `latens.nets`."""

from __future__ import annotations

import importlib
import sys

import pytest

import latens


def test_the_former_name_warns_and_serves_the_same_classes() -> None:
    sys.modules.pop("latens.weights", None)
    with pytest.warns(FutureWarning, match=r"write latens\.nets instead"):
        former = importlib.import_module("latens.weights")
    assert former.SWAG is latens.nets.SWAG
    assert dir(former) == dir(latens.nets)
