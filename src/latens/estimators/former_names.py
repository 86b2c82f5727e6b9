"""Ways to call an estimator that were public before: they work for one release more, with a warning that names the new.

Each of them is one decorator or property here, so that the release which drops them removes this file and its uses.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from latens.errors import caller_level

__all__ = ["former_attribute", "former_parameters", "keywords_after_y"]

Method = TypeVar("Method", bound=Callable[..., Any])


def keywords_after_y(*former: str) -> Callable[[Method], Method]:
    """For a method whose arguments after `y` are keyword-only; `former` is the order they had by position."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def accept(self: Any, *given: Any, **options: Any) -> Any:
            given, late = given[:2], given[2:]
            if late:
                named = dict(zip(former, late, strict=False))
                twice = [name for name in named if name in options]
                if len(late) > len(former) or twice:
                    raise TypeError(
                        f"{type(self).__name__}.{method.__name__} got {f'{twice[0]!r} twice' if twice else 'too many'} "
                        f"arguments; give X, y and then {', '.join(f'{name}=' for name in former)}."
                    )
                warnings.warn(
                    f"{type(self).__name__}.{method.__name__} takes what comes after y by name only from the next "
                    f"release on; write {method.__name__}(X, {', '.join(f'{name}=...' for name in named)}).",
                    FutureWarning,
                    stacklevel=caller_level(),
                )
                options |= named
            return method(self, *given, **options)

        return cast("Method", accept)

    return decorate


def former_parameters(**names: str) -> Callable[[Method], Method]:
    """For a method with renamed parameters, former name to present one: both are taken, the former with a warning."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def accept(self: Any, *given: Any, **options: Any) -> Any:
            for former, present in names.items():
                if former not in options:
                    continue
                if present in options:
                    raise TypeError(f"{former} is the former name of {present}; give {present} alone.")
                _warn(type(self), former, present)
                options[present] = options.pop(former)
            return method(self, *given, **options)

        return cast("Method", accept)

    return decorate


def former_attribute(former: str, present: str) -> Any:
    """A property under the former name of an attribute, which reads and sets the present one with a warning."""

    def read(self: Any) -> Any:
        value = getattr(self, present)  # one that is not there is missed by its present name
        _warn(type(self), former, present)
        return value

    def assign(self: Any, value: Any) -> None:
        _warn(type(self), former, present)
        setattr(self, present, value)

    return property(read, assign, doc=f"The former name of `{present}`.")


def _warn(cls: type, former: str, present: str) -> None:
    warnings.warn(
        f"{former} of {cls.__name__} is now {present}; write {present} instead.",
        FutureWarning,
        stacklevel=caller_level(),
    )
