"""The reference: every public name is on its page, and every public function says what it takes and returns."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import latens
from tests.estimators.subjects import SUBJECTS, shared_fit

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").glob("api*.md"))
PAGE = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
NAMES_ON_PAGE = set(re.findall(r"\w+", PAGE))
MODULES = ("datasets", "errors", "interop", "metrics", "nets", "plots")
WITH_TORCH = ("nets",)
# what fits keep for themselves, and former names
PRIVATE = {"deviances_", "columns_"}
FORMER = {"alpha_", "beta_", "lower_bound_"}


def estimators() -> dict[str, type]:
    return {name: getattr(latens, name) for name in SUBJECTS}


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Methods that are written here; those of scikit-learn's base classes are described there."""
    for name in dir(cls):
        member = getattr(cls, name)
        if name.startswith(("_", "on_train")) or not inspect.isroutine(member) or hasattr(BaseEstimator, name):
            continue  # Lightning describes what its hooks are given
        if getattr(inspect.unwrap(member), "__module__", "").startswith("latens"):
            yield name, member


def fitted_attributes(name: str) -> set[str]:
    model = shared_fit(name)
    cls = type(model)
    properties = {each for each in dir(cls) if isinstance(inspect.getattr_static(cls, each), property)}
    found = {each for each in {*vars(model), *properties} if re.fullmatch(r"[A-Za-z]\w*_", each)}
    return found - PRIVATE - FORMER


def functions(module: str) -> Iterator[tuple[str, Any]]:
    home = importlib.import_module(f"latens.{module}")
    for name in home.__all__:
        member = getattr(home, name)
        if inspect.isfunction(member):
            yield name, member
        elif inspect.isclass(member) and not issubclass(member, Exception):
            yield from ((f"{name}.{each}", method) for each, method in public_methods(member))


def function(name: str) -> Any:
    """What the package finds first: `latens.report` is a package as well, once it is imported."""
    home = latens._HOMES.get(name)
    return getattr(importlib.import_module(home), name) if home else None


def section(doc: str, title: str) -> str:
    """The text of a section of a docstring in numpydoc's form; "" where there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", doc, flags=re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def described(doc: str, title: str) -> set[str]:
    """Names that a section describes: those at the beginning of its unindented lines."""
    lines = [line for line in section(doc, title).splitlines() if line and not line.startswith(" ")]
    return {name for line in lines for name in re.findall(r"\w+", line.partition(" : ")[0])}


def lacks(function: Any) -> list[str]:
    """What a docstring leaves open."""
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    wanted = [name for name in signature.parameters if name not in ("self", "cls")]
    missing = [f"parameter {name}" for name in wanted if name not in described(doc, "Parameters")]
    gives = signature.return_annotation not in (None, "None", inspect.Signature.empty, "NoReturn")
    if gives and not section(doc, "Returns") and not section(doc, "Yields"):
        missing.append("Returns")
    return missing


CALLS = [
    *((f"{name}.{each}", method) for name, cls in estimators().items() for each, method in public_methods(cls)),
    *((name, call) for name in latens.__all__ if inspect.isfunction(call := function(name))),
]
MODULE_CALLS = [pytest.param(module, marks=pytest.mark.extras if module in WITH_TORCH else ()) for module in MODULES]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_a_public_method_says_what_it_takes_and_returns(name: str, call: Any) -> None:
    assert lacks(call) == []


@pytest.mark.parametrize("module", MODULE_CALLS)
def test_public_functions_of_a_module_say_what_they_take_and_return(module: str) -> None:
    assert {name: open_ for name, call in functions(module) if (open_ := lacks(call))} == {}


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_estimator_describes_its_parameters_and_fitted_attributes(name: str) -> None:
    cls = getattr(latens, name)
    parameters = set(inspect.signature(cls).parameters)
    assert parameters - described(inspect.getdoc(cls) or "", "Parameters") == set()
    documented = set().union(*(described(inspect.cleandoc(each.__doc__ or ""), "Attributes") for each in cls.__mro__))
    assert fitted_attributes(name) - documented == set()


@pytest.mark.parametrize("name", latens.__all__)
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert name in NAMES_ON_PAGE


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_method_and_attribute_of_an_estimator_is_on_the_page(name: str) -> None:
    wanted = {each for each, _ in public_methods(getattr(latens, name))} | fitted_attributes(name)
    assert wanted - NAMES_ON_PAGE == set()


@pytest.mark.parametrize("module", MODULES)
def test_every_name_of_a_module_is_on_the_page(module: str) -> None:
    names = importlib.import_module(f"latens.{module}").__all__
    assert [name for name in names if f"\n   latens.{module}.{name}\n" not in PAGE] == []


@pytest.mark.parametrize("module", MODULE_CALLS)
def test_every_name_of_a_module_has_a_docstring(module: str) -> None:
    home = importlib.import_module(f"latens.{module}")
    assert [name for name in home.__all__ if not (getattr(home, name).__doc__ or "").strip()] == []


def test_a_method_without_its_sections_is_noticed() -> None:
    def bare(x: int) -> int:
        """Say nothing of x."""
        return x

    def half(x: int, y: int) -> int:
        """Say something.

        Parameters
        ----------
        x : int
            y is not described here.
        """
        return x

    assert lacks(bare) == ["parameter x", "Returns"]
    assert lacks(half) == ["parameter y", "Returns"]
