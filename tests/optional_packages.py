"""The default tests see the required packages alone, whatever else is installed.

`make test` promises to need no optional package. A developer has them all installed, and a test that quietly uses
pandas passes there and fails for the newcomer. Where the expression of ``-m`` leaves out the tests marked `extras`,
everything that neither latens nor its development tools require is therefore hidden from imports.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from types import ModuleType

from packaging.requirements import Requirement

# What an environment has before anything is installed into it.
ALWAYS_THERE = {"pip", "setuptools", "wheel"}


class RequiredPackages(PathFinder):
    """Find modules on the path, those of hidden packages apart."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return super().find_spec(fullname, path, target)


def hide_optional_packages() -> None:
    """Make every import of an optional package fail in this process, as if it were not installed."""
    RequiredPackages.hidden = frozenset(optional_modules())
    for name in [name for name in sys.modules if name.partition(".")[0] in RequiredPackages.hidden]:
        del sys.modules[name]
    sys.meta_path[:] = [RequiredPackages if finder is PathFinder else finder for finder in sys.meta_path]


def optional_modules() -> Iterator[str]:
    """Names to import of what is installed, but required neither by latens nor by its development tools.

    None where latens runs from its source folder without being installed: nothing says then what it requires.
    """
    try:
        distribution("latens")
    except PackageNotFoundError:
        return
    required = _required("latens", extras={"", "dev"}) | ALWAYS_THERE
    for module, distributions in packages_distributions().items():
        if module.isidentifier() and not required & {_normal(name) for name in distributions}:
            yield module


def _required(name: str, *, extras: set[str]) -> set[str]:
    """A distribution and all that it needs in the end."""
    found: set[str] = set()
    waiting = [(_normal(name), frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        found.add(name)
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:  # asked for elsewhere, such as on another system
            continue
        for requirement in map(Requirement, lines):
            applies = requirement.marker is None or any(requirement.marker.evaluate({"extra": e}) for e in wanted)
            if applies and _normal(requirement.name) not in found:
                waiting.append((_normal(requirement.name), frozenset({"", *requirement.extras})))
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
