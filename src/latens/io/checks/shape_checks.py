"""Whether arrays have the shapes that the fields of their records declare (`latens.array.fields` has the grammar)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from latens.errors import FileRefused

__all__ = ["Found", "arrays_with_shapes", "check_axes", "check_sizes", "shape_matches", "switches_of"]

_NAME = re.compile(r"\.\.\.|[A-Za-z_][\w.]*(?!\w*\()")
_TERM = re.compile(r"([+-]?)(?:sym\(([^()]*)\)|(\w[\w.]*))")


@dataclass(frozen=True)
class Found:
    """An array within a record, and the shape that is declared for it, in the names of the outermost record."""

    path: str
    array: Any
    shape: str | None  # None: no array may stand there


def arrays_with_shapes(value: Any, path: str, names: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Every array within a record, transient fields apart, with its path and the shape that is declared for it.

    `names` says what the axes of a nested record are in terms of those of the records around it.
    """
    names = names or {}
    for f in fields(value):
        if f.metadata.get("transient"):
            continue
        shape = f.metadata.get("shape")
        shape = None if shape is None else _in_terms_of(names, shape)
        yield from _below(getattr(value, f.name), f"{path}.{f.name}", shape, names, f.metadata)


def _below(
    value: Any, path: str, shape: str | None, names: Mapping[str, str], declared: Mapping[str, Any]
) -> Iterator[Found]:
    if isinstance(value, np.ndarray):
        yield Found(path, value, shape)
    elif is_dataclass(value):
        within = {name: _in_terms_of(names, shape) for name, shape in declared.get("within", {}).items()}
        yield from arrays_with_shapes(value, path, {n: s for n, s in names.items() if n != "..."} | within)
    elif isinstance(value, dict | list | tuple):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for number, (key, entry) in enumerate(entries):
            own = {name: f"{name}.{number}" for name in declared.get("own", ())}
            yield from _below(entry, f"{path}[{key!r}]", shape, {**names, **own}, declared)


def _in_terms_of(names: Mapping[str, str], shape: str) -> str:
    return _NAME.sub(lambda found: names.get(found[0], found[0]), shape)


def check_axes(found: list[Found], owner: str) -> None:
    """Refuse arrays where there are none, and those of too many axes or too few: broadcast, they could fill memory."""
    for one in found:
        if one.shape is None or "..." in one.shape:
            raise FileRefused(f"{one.path} is an array, which a {owner} does not have there.")
        if all(one.array.ndim != len(shape.split()) for shape in one.shape.split(";")):
            raise FileRefused(f"{one.path} has {one.array.ndim} axes; expected the shape ({one.shape}).")


def check_sizes(found: list[Found], sizes: Mapping[str, int]) -> dict[str, int]:
    """Refuse arrays of other sizes than declared; returns `sizes` with those of names that were bound."""
    known_sizes = dict(sizes)
    for one in found:
        declared = one.shape or ""
        if not any(shape_matches(one.array.shape, shape, known_sizes) for shape in declared.split(";")):
            known = ", ".join(
                f"{name}={known_sizes[name]}" for name in dict.fromkeys(_NAME.findall(declared)) if name in known_sizes
            )
            raise FileRefused(f"{one.path} has shape {one.array.shape}; expected ({declared}) with {known}.")
    return known_sizes


def switches_of(model: Any) -> dict[str, int]:
    """The whole numbers and switches among the fields of a model, which shapes may refer to by name."""
    return {f.name: int(value) for f in fields(model) if isinstance(value := getattr(model, f.name), int)}


def shape_matches(found: tuple[int, ...], declared: str, sizes: dict[str, int]) -> bool:
    """Whether a shape is as declared; if so, names that `sizes` lacks are entered there.

    Examples
    --------
    >>> shape_matches((1, 5), "1|d k+intercept", {"d": 16, "k": 4, "intercept": 1})
    True
    >>> sizes = {"k": 4}
    >>> shape_matches((3, 4), "profiles k", sizes), shape_matches((2,), "profiles", sizes)
    (True, False)
    >>> shape_matches((10,), "sym(k)", sizes)
    True
    """
    axes, known_sizes = declared.split(), dict(sizes)
    if len(axes) != len(found):
        return False
    for size, axis in zip(found, axes, strict=True):
        if _NAME.fullmatch(axis):
            known_sizes.setdefault(axis, size)
        if size not in [_size(choice, known_sizes) for choice in axis.split("|")]:
            return False
    sizes.update(known_sizes)
    return True


def _size(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of a sum such as "k+intercept", "k-1" or "sym(k+1)"."""
    total = 0
    for sign, packed, plain in _TERM.findall(formula):
        size = _size(packed, sizes) if packed else int(plain) if plain.isdecimal() else sizes[plain]
        size = size * (size + 1) // 2 if packed else size
        total += -size if sign == "-" else size
    return total
