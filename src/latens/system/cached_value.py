"""A value that an object finds when it is first asked for, and keeps."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, TypeVar, overload

__all__ = ["cached_value"]

T = TypeVar("T")


class cached_value(cached_property[T]):  # noqa: N801 (a decorator)
    """`functools.cached_property` without its lock, for what belongs to a block of rows.

    Until Python 3.12 that lock is one for all objects of a class: threads, each at a block of its own, would take
    turns. An object that two threads ask at once finds its value twice.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2
    ...     @cached_value
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (12, {'area': 12})
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        value = self.func(instance)
        vars(instance)[self.attrname] = value
        return value
