"""What the fields of a record hold, declared where the field is: the domain of numbers and the shape of arrays.

A domain lets one generic perturber move any posterior in free coordinates, which is how the tests check that every
update is a stationary point of the bound. A shape lets files be refused whose arrays do not fit together, before they
reach any equation. Shapes are axes between spaces:

    "k d"           a name stands for one size in a record and in the records within it
    "k+intercept"   a sum of names and numbers
    "sym(k)"        the entries of symmetric k x k matrices, packed
    "1|d"           an axis of either size
    "1 1;d d"       an array of either shape
    "..."           the shape that the field of the record around it gives: `alpha: Gamma = part("k")`

Names are those that the reader of a record knows: d columns, k components, n rows, and the whole numbers and switches
among the fields of the model. Any other name takes the size that it first meets, and keeps it.

    part(k="k+1")   a record within this one, whose k is k + 1 here
    each("d")       several records, by name or number, each with a d of its own
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any, TypeVar, cast, dataclass_transform, overload

__all__ = [
    "each",
    "forget_caches",
    "part",
    "positive",
    "positive_definite",
    "real",
    "record",
    "simplex",
    "sized",
    "unit",
]

C = TypeVar("C", bound=type)


def real(shape: str, *, transient: bool = False) -> Any:
    return _numbers("real", shape, transient)


def positive(shape: str, *, transient: bool = False) -> Any:
    return _numbers("positive", shape, transient)


def unit(shape: str, *, transient: bool = False) -> Any:
    """Between 0 and 1, entry by entry."""
    return _numbers("unit", shape, transient)


def simplex(shape: str, *, transient: bool = False) -> Any:
    """Non-negative along the last axis, summing to one."""
    return _numbers("simplex", shape, transient)


def positive_definite(shape: str, *, transient: bool = False) -> Any:
    """Symmetric matrices in the last two axes."""
    return _numbers("positive_definite", shape, transient)


def sized(shape: str, *, default: Any = MISSING, kw_only: bool = False) -> Any:
    """Numbers that no update improves: sums over rows, and what is known or given."""
    return field(default=default, kw_only=kw_only, metadata={"shape": shape})


def part(shape: str | None = None, *, default: Any = MISSING, **names: str) -> Any:
    """A record within this one: what "..." stands for in it, and what its names are in those of this one."""
    return field(default=default, metadata={"within": names if shape is None else {**names, "...": shape}})


def each(*own: str, **names: str) -> Any:
    """Records by name or number, in which these names stand for a size of their own; and others as in `part`."""
    return field(metadata={"own": own, "within": names})


def _numbers(domain: str, shape: str, transient: bool) -> Any:
    """A transient field is alive from a local step to the statistics, and not before; see `latens.core.transient`."""
    metadata = {"domain": domain, "shape": shape}
    return field(default=None, metadata={**metadata, "transient": True}) if transient else field(metadata=metadata)


@overload
def record(cls: C) -> C: ...
@overload
def record(*, eq: bool = True) -> Callable[[C], C]: ...
@dataclass_transform(
    frozen_default=True, field_specifiers=(each, field, part, positive, positive_definite, real, simplex, sized, unit)
)
def record(cls: C | None = None, *, eq: bool = True) -> C | Callable[[C], C]:
    """Make a class of the source tree a frozen dataclass that files hold, under its name.

    A copy or a pickle of a record has its fields, and nothing that was computed from them on the way.
    """
    if cls is None:
        return partial(_record, eq=eq)
    return _record(cls, eq=eq)


def _record(cls: C, *, eq: bool) -> C:
    made: Any = dataclass(frozen=True, eq=eq)(cls)
    made.__record__, made.__getstate__ = cls.__name__, _fields_alone
    return cast("C", made)


def forget_caches(value: Any) -> None:
    """Let go of what was computed from the fields of a record, and of those within it, until it is asked for again."""
    if hasattr(type(value), "__record__"):
        parts = _fields_alone(value)
        for name in vars(value).keys() - parts.keys():
            vars(value).pop(name, None)
        value = parts
    for part_of in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        forget_caches(part_of)


def _fields_alone(self: Any) -> dict[str, Any]:
    return {f.name: getattr(self, f.name) for f in fields(self)}
