"""The default tests run as if no optional package were installed."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder

import pytest

from tests.optional_packages import RequiredPackages, optional_modules


def test_what_latens_and_its_tools_require_stays_in_sight() -> None:
    assert not {"latens", "numpy", "scipy", "sklearn", "numba", "pytest"} & set(optional_modules())


@pytest.mark.extras
def test_optional_packages_and_what_they_bring_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    optional = set(optional_modules())
    assert {"pandas", "torch", "matplotlib", "dask", "tornado"} <= optional
    assert PathFinder.find_spec("pandas") is not None
    monkeypatch.setattr(RequiredPackages, "hidden", frozenset(optional))
    assert RequiredPackages.find_spec("pandas") is None
    assert RequiredPackages.find_spec("pandas.api") is None
    assert RequiredPackages.find_spec("numpy") is not None


def test_a_default_run_cannot_import_them(pytestconfig: pytest.Config) -> None:
    assert (RequiredPackages in sys.meta_path) == ("not extras" in pytestconfig.option.markexpr)
    assert not RequiredPackages.hidden & {name.partition(".")[0] for name in sys.modules}
