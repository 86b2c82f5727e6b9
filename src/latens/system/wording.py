"""Lists of names as messages write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["listed"]


def listed(names: Iterable[Any], most: int = 5, form: Callable[[Any], str] = repr) -> str:
    """The first few of some names, for a message.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    >>> listed(["a (text)"], form=str)
    'a (text)'
    """
    names = list(names)
    return ", ".join(map(form, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
