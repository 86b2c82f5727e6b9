"""Parameters, checked where they are used: every error says what was given, what was expected, what to try."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

__all__ = [
    "all_or_nothing",
    "check_fitted",
    "one_of",
    "positive_number",
    "probability",
    "some_of",
    "whole_number",
    "yes_or_no",
]


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Whatever fails inside leaves the estimator as it was before: never half fitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_fitted(estimator: Any, otherwise: str) -> None:
    """Refuse, in these words, an estimator that was not fitted."""
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(otherwise)


def whole_number(name: str, value: Any, least: int = 1, most: int | None = None, why: str = "") -> int:
    """An integer in range; whole floats count, since R sends 10.0.

    >>> whole_number("n_components", 10.0)
    10
    """
    whole = isinstance(value, numbers.Integral | np.integer) or (
        isinstance(value, numbers.Real) and float(value).is_integer()
    )
    if isinstance(value, bool | np.bool_) or not whole:
        raise ValueError(f"{name}={value!r} is not a whole number; choose an integer of at least {least}.")
    if int(value) < least:
        raise ValueError(f"{name}={value!r} is too small; choose at least {least}.")
    if most is not None and int(value) > most:
        raise ValueError(f"{name}={value!r} is too large{why and f': {why}'}; choose at most {most}.")
    return int(value)


def positive_number(name: str, value: Any, *, zero: bool = False, most: float = np.inf) -> float:
    """A finite number above 0, or from 0 on."""
    wanted = f"a number {'of at least' if zero else 'above'} 0" + (f" and at most {most:g}" if most < np.inf else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name}={value!r} is not a finite number; choose {wanted}.")
    if float(value) < 0 or (float(value) == 0 and not zero) or float(value) > most:
        raise ValueError(f"{name}={value!r} is out of range; choose {wanted}.")
    return float(value)


def one_of(name: str, value: Any, options: Iterable[str]) -> str:
    """One of a few names.

    >>> one_of("prior", "ml", ["ml", "ard"])
    'ml'
    """
    options = list(options)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name}={value!r} is not known; choose one of {', '.join(map(repr, options))}.")
    return value


def some_of(name: str, value: Any, options: Iterable[str]) -> list[str]:
    """Some of a few names, or one of them; all, where None is given.

    >>> some_of("quantities", "means", ["weights", "means"])
    ['means']
    """
    options = list(options)
    if value is None:
        return options
    given = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not given:
        raise ValueError(f"{name}={value!r} asks for nothing; choose from {', '.join(map(repr, options))}.")
    return [one_of(name, each, options) for each in given]


def probability(name: str, value: Any) -> float:
    """A number between 0 and 1, neither of them.

    >>> probability("level", 0.95)
    0.95
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r} is no probability; choose a number above 0 and below 1, such as 0.95.")
    return float(value)


def yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is neither True nor False; choose one of them.")
    return bool(value)
