"""Free coordinates: any frozen dataclass with declared domains, as a point that may move along curves.

Each field that declares a domain gives one curve per coordinate, through the point at 0 and inside the domain
everywhere: logarithms of positive numbers, logits of shares, a congruence of definite matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from latens.families.known import Known

Curve = Callable[[float], Any]


def curves(value: Any, name: str = "") -> Iterator[tuple[str, Curve]]:
    """Every coordinate of `value` as (its name, a curve t -> the same dataclass with that coordinate moved)."""
    for f in fields(value):
        part, domain, label = getattr(value, f.name), f.metadata.get("domain"), f"{name}.{f.name}"
        if domain is not None:
            inner = ((f"{label}{list(at)}", curve) for at, curve in DOMAINS[domain](np.asarray(part, float)))
        elif f.metadata.get("transient") or isinstance(part, Known):  # it recalls the globals, or never moves
            continue
        elif is_dataclass(part):
            inner = curves(part, label)
        elif isinstance(part, Mapping):
            inner = _entries(part, label)
        else:
            continue
        for title, curve in inner:
            yield title, lambda t, f=f, curve=curve: replace(value, **{f.name: curve(t)})


def _entries(parts: Mapping[str, Any], label: str) -> Iterator[tuple[str, Curve]]:
    for key, part in parts.items():
        for title, curve in curves(part, f"{label}[{key}]"):
            yield title, lambda t, key=key, curve=curve: {**parts, key: curve(t)}


def slope(height: Callable[[Any], float], curve: Curve, h: float = 1e-3) -> float:
    """Derivative of `height` along the curve at 0: central differences of fourth order."""
    near = height(curve(h)) - height(curve(-h))
    far = height(curve(2 * h)) - height(curve(-2 * h))
    return (8 * near - far) / (12 * h)


def _bumps(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    for at in np.ndindex(shape):
        bump = np.zeros(shape)
        bump[at] = 1.0
        yield at, bump


def _real(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], Curve]]:
    size = max(1.0, float(np.abs(x).max(initial=0.0)))
    for at, bump in _bumps(x.shape):
        yield at, lambda t, bump=bump: x + t * size * bump


def _positive(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], Curve]]:
    for at, bump in _bumps(x.shape):
        yield at, lambda t, bump=bump: x * np.exp(t * bump)


def _unit(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], Curve]]:
    inside = (x > 0) & (x < 1)  # the ends of the interval are infinitely far away
    logit = np.log(np.where(inside, x, 0.5)) - np.log1p(-np.where(inside, x, 0.5))
    for at, bump in _bumps(x.shape):
        if inside[at]:
            yield at, lambda t, bump=bump: np.where(bump > 0, expit(logit + t), x)


def _simplex(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], Curve]]:
    for at, bump in _bumps(x.shape):
        if x[at] > 0:
            yield at, lambda t, bump=bump: _normalised(x * np.exp(t * bump))


def _normalised(x: np.ndarray) -> np.ndarray:
    return x / x.sum(axis=-1, keepdims=True)


def _positive_definite(x: np.ndarray) -> Iterator[tuple[tuple[int, ...], Curve]]:
    """L M L' with M = (1 + t S / 2)(1 + t S / 2)': symmetric, and definite for every small t."""
    root, eye = np.linalg.cholesky(x), np.eye(x.shape[-1])
    for at, bump in _bumps(x.shape):
        if at[-1] <= at[-2]:
            step = 0.5 * (bump + np.swapaxes(bump, -1, -2))
            yield at, lambda t, step=step: _squared(root @ (eye + 0.5 * t * step))


def _squared(root: np.ndarray) -> np.ndarray:
    return root @ np.swapaxes(root, -1, -2)


DOMAINS: dict[str, Callable[[np.ndarray], Iterator[tuple[tuple[int, ...], Curve]]]] = {
    "real": _real,
    "positive": _positive,
    "unit": _unit,
    "simplex": _simplex,
    "positive_definite": _positive_definite,
}
