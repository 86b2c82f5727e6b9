"""Sums over rows, as a vector space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from latens.array import Floats

__all__ = ["Statistics"]


class Statistics:
    """Base of frozen dataclasses whose fields are numbers, arrays or mappings of Statistics; None: a sum not taken.

    Fields add by broadcasting, so that a Gram shared by all columns, (1, K, K), and one
    Gram per column, (D, K, K), are the same field. Float64, on the host.
    """

    n: float  # sum of row weights

    if TYPE_CHECKING:

        @property
        def entries(self) -> float | Floats:
            """Sum of row weights over observed entries: what a change of units multiplies. A field or a property.

            One for each column (D,) where columns have units of their own.
            """

    def _names(self) -> tuple[str, ...]:
        kind: type = type(self)
        return _names_of(kind)

    def __add__(self, other: Self) -> Self:
        # threads that add take turns: names are looked up once
        names = self._names()
        return type(self)(**{name: _add(getattr(self, name), getattr(other, name)) for name in names})

    def __rmul__(self, weight: float) -> Self:
        return type(self)(**{name: _scale(weight, getattr(self, name)) for name in self._names()})

    def difference(self, other: Self, weight: float) -> Self:
        """weight * (self - other), in one go: response takes hundreds of them."""
        names = self._names()
        return type(self)(**{name: _difference(getattr(self, name), getattr(other, name), weight) for name in names})


@cache
def _names_of(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _add(a: Any, b: Any) -> Any:
    if a is None or b is None:  # a sum that was not taken over all rows
        return None
    if type(a) is np.ndarray or type(a) is float:  # at once: to ask whether it is a mapping takes as long as the sum
        return a + b
    return {key: a[key] + b[key] for key in a} if isinstance(a, Mapping) else a + b


def _difference(a: Any, b: Any, weight: float) -> Any:
    if a is None or b is None:
        return None
    return {key: a[key].difference(b[key], weight) for key in a} if isinstance(a, Mapping) else weight * (a - b)


def _scale(weight: float, a: Any) -> Any:
    if a is None:
        return None
    return {key: weight * a[key] for key in a} if isinstance(a, Mapping) else weight * a
