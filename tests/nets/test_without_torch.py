"""torch is an extra: the modules load without it, and what needs it says so."""

import importlib
import pkgutil
import sys

import pytest

import latens.nets


def test_every_module_loads_without_torch_and_the_posteriors_name_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    names = [f"latens.nets.{info.name}" for info in pkgutil.iter_modules(latens.nets.__path__)]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = [importlib.import_module(name) for name in names]
    assert len(loaded) > 10
    for kind in (latens.nets.SWAG, latens.nets.FactorPosterior):
        with pytest.raises(ImportError, match=r"needs torch: pip install 'latens\[torch\]'"):
            kind(object())


def test_unknown_names_are_told():
    with pytest.raises(AttributeError, match=r"latens\.nets has no 'Swagg'; it offers"):
        _ = latens.nets.Swagg
