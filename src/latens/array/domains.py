"""Where a parameter lives, declared on its field.

One generic perturber can then move any posterior in free coordinates, which is how
the tests check that every update is a stationary point of the bound.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

__all__ = ["positive", "positive_definite", "real", "simplex", "unit"]


def real() -> Any:
    return field(metadata={"domain": "real"})


def positive() -> Any:
    return field(metadata={"domain": "positive"})


def unit() -> Any:
    """Between 0 and 1, entry by entry."""
    return field(metadata={"domain": "unit"})


def simplex() -> Any:
    """Non-negative along the last axis, summing to one."""
    return field(metadata={"domain": "simplex"})


def positive_definite() -> Any:
    """Symmetric matrices in the last two axes."""
    return field(metadata={"domain": "positive_definite"})
