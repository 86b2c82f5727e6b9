"""What a listing of a source document is here: a function with its numbers, and what was mended to run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Listing", "Repair"]


@dataclass(frozen=True)
class Repair:
    """One departure from the print, without which it does not run or cannot be repeated.

    Examples
    --------
    >>> Repair("mean_field", "sigmoid is called and not defined", "the logistic function", "NameError").where
    'mean_field'
    """

    where: str  # function or step
    printed: str  # what stands there
    run: str  # what is run in its place
    reason: str


@dataclass(frozen=True)
class Listing:
    """A listing, an algorithm or a set of equations, as printed."""

    name: str
    document: str  # its number
    place: str  # section, algorithm, slide
    function: Callable[..., Any]  # the whole of it, or its outermost function
    repairs: tuple[Repair, ...] = ()
    errors: tuple[str, ...] = ()  # what is kept although it is wrong
