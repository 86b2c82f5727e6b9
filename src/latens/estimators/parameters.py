"""Parameters, checked where they are used: every error says what was given, what was expected, what to try."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from latens.errors import collect_warnings

__all__ = [
    "SECONDS_OF_FITS",
    "all_or_nothing",
    "given_array",
    "in_callback",
    "keep_warnings",
    "one_of",
    "positive_number",
    "probability",
    "shown",
    "some_of",
    "whole_number",
    "yes_or_no",
]


LARGEST_WHOLE = 2**31 - 1  # whole number that a parameter takes: no fit gets that far


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


SECONDS_OF_FITS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()  # of CPU; no part of what was found


_called_back: ContextVar[tuple[Any, ...]] = ContextVar("_called_back", default=())


@contextmanager
def in_callback(estimator: Any) -> Iterator[None]:
    """While a fit calls a function of the caller's: the estimator must not be fitted from there."""
    token = _called_back.set((*_called_back.get(), estimator))
    try:
        yield
    finally:
        _called_back.reset(token)


@contextmanager
def keep_warnings(estimator: Any, *, adding: bool = False) -> Iterator[None]:
    """Keep what a fit inside warns of in `warnings_`; `adding` keeps those of the rows before, too."""
    if any(other is estimator for other in _called_back.get()):
        raise RuntimeError(
            f"this {type(estimator).__name__} is being fitted, and one of its callbacks asks it to fit again; "
            "fit a copy of it there: sklearn.base.clone(model).fit(X)."
        )
    with collect_warnings(estimator) as records:
        yield
    earlier = getattr(estimator, "warnings_", []) if adding else []  # without those that have become untrue meanwhile
    estimator.warnings_ = [*earlier, *(record for record in records if record not in earlier)]


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
        raise ValueError(f"{name}={shown(value)} is too small; choose at least {least}.")
    most = LARGEST_WHOLE if most is None else most
    if int(value) > most:
        raise ValueError(f"{name}={shown(value)} is too large{why and f': {why}'}; choose at most {most}.")
    return int(value)


def shown(value: Any) -> str:
    """A value for a message; whole numbers of thousands of digits are given by their size.

    >>> shown(10**400)
    'a whole number of 401 digits'
    """
    if isinstance(value, int) and abs(value) >= 10**100:
        return f"a whole number of {int(value.bit_length() * math.log10(2)) + 1} digits"
    return repr(value)


def positive_number(name: str, value: Any, *, zero: bool = False, most: float = np.inf) -> float:
    """A finite number above 0, or from 0 on."""
    wanted = f"a number {'of at least' if zero else 'above'} 0" + (f" and at most {most:g}" if most < np.inf else "")
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real) or not _is_finite(value):
        raise ValueError(f"{name}={shown(value)} is not a finite number; choose {wanted}.")
    if float(value) < 0 or (float(value) == 0 and not zero) or float(value) > most:
        raise ValueError(f"{name}={value!r} is out of range; choose {wanted}.")
    return float(value)


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:
        return False


def one_of(name: str, value: Any, options: Iterable[str]) -> str:
    """The value, which must be one of a few names.

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


def given_array(name: str, value: Any, key: str = "components") -> NDArray[np.float64]:
    """An array of numbers, or a dict that holds one under `key`."""
    if isinstance(value, Mapping):
        if set(value) != {key}:
            raise ValueError(f"{name} has the keys {sorted(map(str, value))}; expected one, {key!r}.")
        value = value[key]
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} is no array of numbers; give one of shape (K, D), 'auto' or 'random'.") from error


def yes_or_no(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} is neither True nor False; choose one of them.")
    return bool(value)
