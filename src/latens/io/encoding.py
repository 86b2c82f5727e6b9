"""Values as JSON and arrays, and back.

    None, True, 3, 0.1, "text"      themselves; floats as the shortest digits that give back the same bits
    [..]                            a list
    {"tuple": [..]}                 {"dict": {..}}, with names as keys
    {"array": 3}                    the array of that number
    {"float": "inf"}                also "-inf" and "nan", which JSON lacks
    {"record": "Beta", "fields": {..}}

Fields marked transient are not written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import numpy as np

from latens.errors import FileRefused
from latens.io.archive.npy import dtype_name
from latens.io.checks.type_checks import fits, hints_of
from latens.io.registry import name_of, record_class

__all__ = ["MOST_LEVELS", "decode", "encode"]

MOST_LEVELS = 32  # levels of nesting; a model has about ten

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}

Take = Callable[[int], Any]  # the array of a number


def encode(value: Any, arrays: list[Any], where: str, depth: int = 0) -> Any:
    """JSON for `value`; arrays are appended to `arrays`. `where` names the value in errors."""
    if depth > MOST_LEVELS:
        raise TypeError(f"{where} is nested more than {MOST_LEVELS} levels deep; a file cannot hold that.")
    if value is None or isinstance(value, str):
        return value if value is None else str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and not isinstance(value, np.longdouble):
        return _encode_float(float(value))
    if isinstance(value, np.ndarray) and dtype_name(value) is not None:
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if type(value) is list:
        return [encode(entry, arrays, f"{where}[{i}]", depth + 1) for i, entry in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": [encode(entry, arrays, f"{where}[{i}]", depth + 1) for i, entry in enumerate(value)]}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {
            "dict": {str(key): encode(entry, arrays, f"{where}[{key!r}]", depth + 1) for key, entry in value.items()}
        }
    name = name_of(type(value)) if is_dataclass(value) else None
    if name is None:
        kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise TypeError(
            f"{where} is {kind}, which a file cannot hold; it holds numbers, texts, numeric NumPy arrays, and lists, "
            "tuples and dicts of them. Try np.asarray for arrays of other libraries, or None."
        )
    parts = {
        f.name: encode(getattr(value, f.name), arrays, f"{where}.{f.name}", depth + 1) for f in _stored(type(value))
    }
    return {"record": name, "fields": parts}


def decode(node: Any, take: Take, where: str, depth: int = 0) -> Any:
    """The value that `encode` wrote, or a refusal that says where it is none."""
    if depth > MOST_LEVELS:
        raise FileRefused(f"{where} is nested more than {MOST_LEVELS} levels deep; no model is.")
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if isinstance(node, list):
        return [decode(entry, take, f"{where}[{i}]", depth + 1) for i, entry in enumerate(node)]
    match node:
        case {"tuple": list(entries), **rest} if not rest:
            return tuple(decode(entry, take, f"{where}[{i}]", depth + 1) for i, entry in enumerate(entries))
        case {"dict": dict(entries), **rest} if not rest:
            return {key: decode(entry, take, f"{where}[{key!r}]", depth + 1) for key, entry in entries.items()}
        case {"array": int(number), **rest} if not rest:
            return take(number)
        case {"float": str(special), **rest} if not rest and special in _SPECIAL:
            return _SPECIAL[special]
        case {"record": name, "fields": dict(parts), **rest} if not rest:
            return _decode_record(record_class(name), parts, take, where, depth)
    raise FileRefused(f"{where} is given by the keys {str(list(node))[:80]}, which mean nothing in this format.")


def _decode_record(cls: type, parts: dict[str, Any], take: Take, where: str, depth: int) -> Any:
    known = {f.name: f for f in _stored(cls)}
    strange = [name for name in parts if name not in known]
    if strange:
        raise FileRefused(
            f"{where} is a {cls.__name__} with an unknown field {strange[0][:40]!r}; it has {', '.join(known)}. "
            "If a newer latens wrote it, upgrade."
        )
    # a field that an older latens did not have yet takes its default
    missing = [name for name, f in known.items() if name not in parts and _needed(f)]
    if missing:
        raise FileRefused(f"{where} is a {cls.__name__} without {', '.join(missing)}.")
    values = {name: decode(part, take, f"{where}.{name}", depth + 1) for name, part in parts.items()}
    for name, value in values.items():
        hint = hints_of(cls)[name]
        if not fits(value, hint):
            raise FileRefused(f"{where}.{name} is {_description(value)}; expected {_plain(hint)}.")
    try:
        return cls(**values)
    except Exception as error:
        raise FileRefused(f"{where} is no {cls.__name__} ({error}).") from error


def _encode_float(value: float) -> Any:
    if math.isfinite(value):
        return value
    return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def _stored(cls: type) -> list[Field[Any]]:
    return [f for f in fields(cls) if f.init and not f.metadata.get("transient")]


def _needed(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _description(value: Any) -> str:
    """A value in a few words: hostile ones may be long."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"{repr(value)[:40]} ({type(value).__name__})"


def _plain(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
