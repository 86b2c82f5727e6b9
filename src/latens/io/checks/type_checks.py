"""Whether a decoded value is of the type its field declares."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

__all__ = ["fits", "hints_of"]


@cache
def hints_of(cls: type) -> dict[str, Any]:
    """The resolved annotations of a class: resolving them costs more than checking them."""
    return get_type_hints(cls)


def fits(value: Any, hint: Any) -> bool:
    """Whether `value` may stand in a field declared as `hint`.

    A whole number may stand for a float, as in Python; True is no number here.

    Examples
    --------
    >>> fits((1.0, 2), tuple[float, float]), fits(True, int), fits(None, str | None)
    (True, False, True)
    """
    hint = _without_alias(hint)
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Union or origin is UnionType:
        return any(fits(value, arg) for arg in args)
    if hint is None or hint is NoneType:
        return value is None
    if hint is int or hint is float:
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    if hint is np.ndarray or origin is np.ndarray:
        return isinstance(value, np.ndarray) and _dtype_fits(value, args)
    if origin is tuple:
        return isinstance(value, tuple) and _entries_fit(value, args)
    if origin is list:
        return isinstance(value, list) and all(fits(entry, args[0]) for entry in value)
    if origin is dict or origin is Mapping:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    return isinstance(value, hint)


def _without_alias(hint: Any) -> Any:
    """The type that an alias stands for: from NumPy 2.5 on, NDArray is an alias with one parameter."""
    alias = get_origin(hint) or hint
    while hasattr(alias, "__value__"):
        args = get_args(hint)
        hint = alias.__value__[args] if args else alias.__value__
        alias = get_origin(hint) or hint
    return hint


def _entries_fit(value: tuple[Any, ...], args: tuple[Any, ...]) -> bool:
    if len(args) == 2 and args[1] is Ellipsis:
        return all(fits(entry, args[0]) for entry in value)
    return len(value) == len(args) and all(map(fits, value, args))


def _dtype_fits(value: np.ndarray[Any, Any], args: tuple[Any, ...]) -> bool:
    """`np.ndarray[shape, np.dtype[scalar]]` also says which numbers it holds."""
    scalars = get_args(args[1]) if len(args) == 2 else ()
    return not scalars or not isinstance(scalars[0], type) or issubclass(value.dtype.type, scalars[0])
