"""Whether the parts of a model can be what they claim to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from latens.errors import FileRefused

__all__ = ["check_domains", "check_finite", "check_settings", "kinds"]

LARGEST_SETTING = 2**20


def check_finite(value: Any, where: str) -> None:
    """Refuse NaN and infinity, wherever they are."""
    for name, number in _leaves(value, where):
        if isinstance(number, np.ndarray):
            if number.dtype.kind == "f" and not np.isfinite(number).all():
                raise FileRefused(f"{name} holds NaN or infinity; expected finite numbers.")
        elif isinstance(number, float) and not math.isfinite(number):
            raise FileRefused(f"{name} is {number}; expected a finite number.")


def check_domains(value: Any, where: str) -> None:
    """Refuse parameters outside the domain that their field declares, such as a negative variance."""
    for name, record in _records(value, where):
        for f in fields(record):
            domain, numbers = f.metadata.get("domain"), getattr(record, f.name)
            if domain in _INSIDE and isinstance(numbers, np.ndarray) and not _INSIDE[domain](numbers):
                raise FileRefused(f"{name}.{f.name} holds values that are not {domain.replace('_', ' ')}.")


def check_settings(model: Any, n_features: int) -> None:
    """Refuse whole numbers that no model has: they count sweeps or states, and would take time or memory alike."""
    for name, number in _leaves(model, "model"):
        if isinstance(number, int) and abs(number) > max(LARGEST_SETTING, n_features):
            raise FileRefused(f"{name} is {str(number)[:40]}; expected at most {LARGEST_SETTING}.")


def kinds(value: Any, where: str) -> dict[str, type]:
    """The class of every record within a value, by its path."""
    return {name: type(record) for name, record in _records(value, where)}


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value directly holds, each part with what is to be appended to the value's path to name it."""
    if is_dataclass(value):
        yield from ((f".{f.name}", getattr(value, f.name)) for f in fields(value))
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", entry) for key, entry in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", entry) for i, entry in enumerate(value))


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if is_dataclass(value) or isinstance(value, dict | list | tuple):
        for step, child in _children(value):
            yield from _leaves(child, where + step)
    else:
        yield where, value


def _records(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if is_dataclass(value):
        yield where, value
    for step, child in _children(value):
        yield from _records(child, where + step)


def _is_positive_definite(matrices: np.ndarray[Any, np.dtype[Any]]) -> bool:
    """Up to rounding: an honest precision may be singular to machine accuracy."""
    k = matrices.shape[-1]
    level = np.abs(matrices).max(axis=(-1, -2), keepdims=True, initial=0.0) * (k * np.finfo(float).eps)
    if not (np.abs(matrices - np.swapaxes(matrices, -1, -2)) <= 1e6 * level).all():
        return False
    try:
        np.linalg.cholesky(matrices + level * np.eye(k))
    except np.linalg.LinAlgError:
        return False
    return True


_INSIDE: dict[str, Callable[[np.ndarray[Any, np.dtype[Any]]], bool]] = {
    "positive": lambda x: bool((x > 0).all()),
    "unit": lambda x: bool(((x >= 0) & (x <= 1)).all()),
    "simplex": lambda x: bool((x >= 0).all() and (np.abs(x.sum(axis=-1) - 1) < 1e-6).all()),
    "positive_definite": _is_positive_definite,
}
