"""Coordinates of any frozen dataclass with declared domains, one by one, and slopes along them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from latens.core.coordinates import Chart

Curve = Callable[[float], Any]


def curves(value: Any) -> Iterator[tuple[str, Curve]]:
    """Every coordinate of `value` as (its name, a curve t -> the same dataclass with that coordinate moved)."""
    chart = Chart(value)
    for i, name in enumerate(chart.names):
        yield name, partial(chart.shift, i)


def slope(height: Callable[[Any], float], curve: Curve, h: float = 1e-3) -> float:
    """Derivative of `height` along the curve at 0: central differences of fourth order."""
    near = height(curve(h)) - height(curve(-h))
    far = height(curve(2 * h)) - height(curve(-2 * h))
    return (8 * near - far) / (12 * h)
