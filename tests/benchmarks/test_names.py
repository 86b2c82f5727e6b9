"""Names of the library that benchmarks use: they are run by hand, so that a renamed one would be noticed late."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
FILES = sorted(FOLDER.rglob("*.py"))


def absent(tree: ast.Module) -> Iterator[str]:
    """What a file imports from the library, or asks its modules for, and they do not have."""
    modules: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] != "latens":
            continue
        owner = importlib.import_module(str(node.module))
        for alias in node.names:
            if not hasattr(owner, alias.name):
                try:
                    importlib.import_module(f"{node.module}.{alias.name}")
                except ModuleNotFoundError as error:
                    if str(error.name).startswith("latens"):
                        yield f"line {node.lineno}: {node.module}.{alias.name}"
                    continue  # another package is missing
            found = getattr(owner, alias.name)
            if isinstance(found, ModuleType):
                modules[alias.asname or alias.name] = found
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            owner = modules[node.value.id]
            if not hasattr(owner, node.attr):
                yield f"line {node.lineno}: {owner.__name__}.{node.attr}"


def test_benchmarks_use_names_that_the_library_has() -> None:
    found = {str(path.relative_to(FOLDER)): list(absent(ast.parse(path.read_text("utf-8")))) for path in FILES}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from latens.inference import ascents",
        "from latens.core import Row",
        "from latens.inference import ascent\nascent.climb",
    ],
)
def test_a_name_that_is_gone_would_be_noticed(source: str) -> None:
    assert list(absent(ast.parse(source)))
