"""The classes a file may name. Nothing else is ever constructed, and nothing is imported by a name from a file.

They are those of the source tree, whatever was imported before: every module of a few packages is gone through once,
for the dataclasses that are marked as records (`latens.array.fields.record`), and for the estimators, which are the
classes whose `_build` returns records by its annotation. So a new model is storable by being written.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType, UnionType
from typing import Any, Union, get_args, get_origin

import latens
from latens.errors import FileRefused
from latens.io.checks.type_checks import hints_of
from latens.models.likelihoods import Likelihood

__all__ = [
    "PACKAGES",
    "collected",
    "custom_records",
    "estimator_class",
    "estimators",
    "models_of",
    "name_of",
    "record_class",
    "records",
]

_custom: ContextVar[dict[str, type]] = ContextVar("custom", default={})  # noqa: B039 - it is never written to
PACKAGES = ("core", "families", "models", "estimators", "io")  # where records and estimators live


@cache
def records() -> dict[str, type]:
    """Every record of the source tree, by name."""
    return collected(_modules(), is_record)


@cache
def estimators() -> dict[str, type]:
    """Every estimator whose models are records, by name."""
    return collected(_modules(), models_of)


def collected(modules: Any, wanted: Any) -> dict[str, type]:
    """Classes that are written in these modules, by name; no two may share one.

    Raises
    ------
    TypeError
        If two have the same name.
    """
    found: dict[str, type] = {}
    for module in modules:
        for cls in vars(module).values():
            if not isinstance(cls, type) or cls.__module__ != module.__name__ or not wanted(cls):
                continue
            if cls.__name__ in found:
                raise TypeError(f"{found[cls.__name__]} and {cls} have one name in files; give one of them another.")
            found[cls.__name__] = cls
    return dict(sorted(found.items()))


def is_record(cls: type) -> bool:
    """Whether a class is itself marked; what it inherits does not count."""
    return vars(cls).get("__record__") == cls.__name__


def models_of(cls: type) -> tuple[type, ...]:
    """The records that the models of an estimator are, or are derived from; () for a class that builds none."""
    build = getattr(cls, "_build", None)
    returned = hints_of(build).get("return") if build is not None else None
    options = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    return options if all(isinstance(option, type) and is_record(option) for option in options) else ()


def name_of(cls: type) -> str | None:
    """The name under which a class is written, or None for one that files do not hold.

    Examples
    --------
    >>> name_of(dict) is None
    True
    """
    # a class may claim any name; only the one that lives in the tree counts, or that the caller handed over
    known = (records().get(cls.__name__), estimators().get(cls.__name__), _custom.get().get(cls.__name__))
    return cls.__name__ if cls in known else None


@contextmanager
def custom_records(classes: Iterable[Any]) -> Iterator[None]:
    """Let files hold likelihoods of the caller's own, while they are written or read.

    Raises
    ------
    TypeError
        If one is no likelihood that is marked as a record, or has the name of one of the tree.
    """
    found: dict[str, type] = {}
    if isinstance(classes, type):
        raise TypeError(f"custom is the class {classes.__name__}; give a list: custom=[{classes.__name__}].")
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, Likelihood) and is_record(cls)):
            raise TypeError(
                f"custom holds {cls!r}; give classes that derive from latens.likelihoods.Likelihood and are marked by "
                "@latens.likelihoods.record."
            )
        if cls.__name__ in records() or found.get(cls.__name__, cls) is not cls:
            raise TypeError(f"the name of the class {cls.__name__} is taken; give it another.")
        found[cls.__name__] = cls
    token = _custom.set(found)
    try:
        yield
    finally:
        _custom.reset(token)


def record_class(name: object) -> type:
    """The record of that name."""
    known = records() | _custom.get()
    if not isinstance(name, str) or name not in known:
        raise FileRefused(
            f"it names the class {name!r}, which this version does not know. If it is a likelihood of your own, pass "
            "custom=[...] with its class; if a newer latens wrote the file, upgrade; otherwise do not trust it."
        )
    return known[name]


def estimator_class(name: object) -> type:
    """The estimator of that name."""
    if not isinstance(name, str) or name not in estimators():
        raise FileRefused(
            f"it holds a {name!r}; this version reads {', '.join(estimators())}. If it was written by a newer latens, "
            "upgrade; otherwise do not trust it."
        )
    return estimators()[name]


def _modules() -> Iterator[ModuleType]:
    """Every module of the packages, by the files that are there."""
    for package in PACKAGES:
        root = importlib.import_module(f"{latens.__name__}.{package}")
        yield root
        for found in pkgutil.walk_packages(root.__path__, f"{root.__name__}."):
            yield importlib.import_module(found.name)
