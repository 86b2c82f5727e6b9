"""torch is an extra: the modules load without it, and what needs it says so."""

import importlib
import pkgutil
import sys

import pytest

import latens.weights


def test_every_module_loads_without_torch_and_the_posteriors_name_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    names = [f"latens.weights.{info.name}" for info in pkgutil.iter_modules(latens.weights.__path__)]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = [importlib.import_module(name) for name in names]
    assert len(loaded) > 10
    for kind in (latens.weights.SWAG, latens.weights.FactorPosterior):
        with pytest.raises(ImportError, match=r"needs torch: pip install 'latens\[torch\]'"):
            kind(object())


def test_unknown_names_are_told():
    with pytest.raises(AttributeError, match=r"latens\.weights has no 'Swagg'; it offers"):
        _ = latens.weights.Swagg
