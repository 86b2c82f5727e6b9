"""Free coordinates: a frozen dataclass with declared domains, as a point that may move in any direction.

Every field that declares a domain is moved by numbers without limits, 0 being the point itself:

    real                 x + size t,  size the largest entry, or 1; or what the point says itself (`Sized`)
    positive             x e^t
    unit                 a logit moves by t; entries at 0 or 1 stay there
    simplex              x e^t, made to add up to 1 again; the largest entry has no coordinate of its own
    positive definite    R (1 + T/2)(1 + T/2)' R',  x = R R' and T symmetric

What recalls other fields, or is known, does not move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import expit

from latens.array import Floats, Index
from latens.families.known_gamma import KnownGamma

__all__ = ["Chart", "Sized"]

NEAR_1 = 1e-15  # a step from nearer to 1 than this may round to 1

Path = tuple[Any, ...]  # names of fields, and keys of mappings as ("key", name)
Move = Callable[[Floats], Floats]  # coordinates of one field -> its value
Pull = Callable[[Floats, Floats], Floats]  # its coordinates, derivatives by its value -> by its coordinates
Find = Callable[[Floats], Floats]  # another value of one field -> its coordinates
Moves = tuple[Move, Pull, Find, int]  # and how many coordinates there are
Names = dict[str, str]  # what names of axes in a record within others are called outside


@dataclass(frozen=True)
class _Leaf:
    path: Path
    move: Move
    pull: Pull
    find: Find
    size: int
    domain: str
    value: Floats
    axes: tuple[str, ...]  # of the value, by the names that records give them


@runtime_checkable
class Sized(Protocol):
    """A point some of whose real fields have a unit in each column."""

    @property
    def coordinate_sizes(self) -> Mapping[str, Any]:
        """By field, as derivatives are in `Chart.pulled`: what a coordinate of 1 stands for, positive."""


class Chart:
    """All free coordinates of a dataclass, the point itself at 0.

    >>> from latens.families.beta import Beta
    >>> chart = Chart(Beta(np.array([2.0]), np.array([1.0])))
    >>> chart.names
    ('on[0]', 'off[0]')
    >>> float(chart.at(np.array([np.log(2), 0.0])).on[0])
    4.0
    """

    def __init__(self, point: Any, sizes: Mapping[str, Any] | None = None) -> None:
        self.point = point
        self._leaves = tuple(_leaves(point, (), {}, sizes or {}))
        self.size = sum(leaf.size for leaf in self._leaves)
        self._ends = np.cumsum([leaf.size for leaf in self._leaves])

    @classmethod
    def sized(cls, point: Any) -> Chart:
        """In the point's own sizes, where it has them: curvature does not then depend on the units of columns."""
        return cls(point, point.coordinate_sizes if isinstance(point, Sized) else None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each coordinate is called: its field, and its number there."""
        return tuple(f"{_label(leaf.path)}[{i}]" for leaf in self._leaves for i in range(leaf.size))

    def at(self, coordinates: Floats) -> Any:
        """The dataclass at these coordinates (P,)."""
        changes, start = {}, 0
        for leaf in self._leaves:
            part = coordinates[start : start + leaf.size]
            if np.any(part):
                changes[leaf.path] = leaf.move(part)
            start += leaf.size
        return _rebuilt(self.point, changes)

    def coordinates(self, other: Any) -> Floats | None:
        """(P,), where another dataclass like this one is; None if it has other entries at an end of their range.

        >>> from latens.families.beta import Beta
        >>> chart = Chart(Beta(np.array([2.0]), np.array([1.0])))
        >>> chart.coordinates(Beta(np.array([2.0]), np.array([np.e]))).tolist()
        [0.0, 1.0]
        """
        parts = []
        for leaf in self._leaves:
            value = np.asarray(_value_at(other, leaf.path), dtype=float)
            if value.shape != leaf.value.shape:
                return None
            with np.errstate(divide="ignore", invalid="ignore"):
                parts.append(np.ravel(leaf.find(value)))
        found = np.concatenate([np.zeros(0), *parts])
        return found if len(found) == self.size and np.isfinite(found).all() else None

    @cached_property
    def rounding(self) -> Floats:
        """(P,), how far a coordinate goes from a number to the next that there is: far where a chance is next to 1.

        >>> from latens.families.beta import Beta
        >>> bool(Chart(Beta(np.array([2.0]), np.array([1.0]))).rounding.max() < 1e-15)
        True
        """
        with np.errstate(divide="ignore"):
            parts = [np.ravel(leaf.find(np.nextafter(leaf.value, np.inf))) for leaf in self._leaves]
        return np.asarray(np.abs(np.concatenate([np.zeros(0), *parts])))

    def pulled(self, coordinates: Floats, slopes: Mapping[str, Any]) -> Floats:
        """(P,), derivatives by the coordinates, there, of what has these by the fields; those not named are 0."""
        parts, start = [], 0
        for leaf in self._leaves:
            found = _at_path(slopes, leaf.path)
            here = coordinates[start : start + leaf.size]
            parts.append(np.zeros(leaf.size) if found is None else leaf.pull(here, found))
            start += leaf.size
        return np.concatenate([np.zeros(0), *parts])

    def places(self, axis: str, alone: bool = False) -> list[tuple[Path, Index | None]]:
        """Of each field in turn: the record that the axis is of, and where along it each coordinate stands.

        None where the field does not have that axis, has it twice, or has no other beside components: these are told
        where `alone` asks for them, but for weights, which add up to 1.

        >>> from latens.families.spike_slab import SpikeSlab
        >>> chart = Chart(SpikeSlab(*np.full((3, 2, 1), 0.5), np.ones(1)))
        >>> [None if places is None else places.tolist() for _, places in chart.places("d")]
        [[0, 1], [0, 1], [0, 1], None]
        """
        found: list[tuple[Path, Index | None]] = []
        for leaf in self._leaves:
            at = None
            by_itself = alone and leaf.domain != "simplex"
            if leaf.axes.count(axis) == 1 and (axis != "k" or len(leaf.axes) > 1 or by_itself):
                at = np.unravel_index(_entries(leaf), leaf.value.shape)[leaf.axes.index(axis)]
            keys = [i for i, part in enumerate(leaf.path) if isinstance(part, tuple)]
            found.append((leaf.path[: keys[-1] + 1] if keys else (), at))
        return found

    @property
    def paths(self) -> list[Path]:
        """Where each field is."""
        return [leaf.path for leaf in self._leaves]

    @property
    def sizes(self) -> list[int]:
        """How many coordinates each field has."""
        return [leaf.size for leaf in self._leaves]

    def shift(self, i: int, step: float) -> Any:
        """The dataclass with coordinate i at `step`, the others at 0."""
        at = int(np.searchsorted(self._ends, i, side="right"))
        leaf = self._leaves[at]
        part = np.zeros(leaf.size)
        part[i - int(self._ends[at]) + leaf.size] = step
        return _rebuilt(self.point, {leaf.path: leaf.move(part)})


def _at_path(values: Mapping[str, Any], path: Path) -> Any:
    for part in path:
        values = values.get(part[1] if isinstance(part, tuple) else part)  # type: ignore[assignment]
        if values is None:
            return None
    return values


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part[1]] if isinstance(part, tuple) else getattr(value, part)
    return value


def _leaves(value: Any, path: Path, names: Names, sizes: Mapping[str, Any]) -> Iterator[_Leaf]:
    for f in fields(value):
        part, domain, here = getattr(value, f.name), f.metadata.get("domain"), (*path, f.name)
        within = {name: _outside(shape, names) for name, shape in f.metadata.get("within", {}).items()}
        if domain is not None:
            x = np.asarray(part, dtype=float)
            own = _at_path(sizes, here) if domain == "real" else None
            move, pull, find, size = MOVES[domain](x) if own is None else _real(x, own)
            if size:
                yield _Leaf(here, move, pull, find, size, domain, x, _axes(f.metadata["shape"], x, names))
        elif f.metadata.get("transient") or isinstance(part, KnownGamma):
            continue
        elif is_dataclass(part):
            yield from _leaves(part, here, names | within, sizes)
        elif isinstance(part, Mapping):
            for key, inner in part.items():
                if is_dataclass(inner):
                    yield from _leaves(inner, (*here, ("key", key)), names | within, sizes)


def _outside(shape: str, names: Names) -> str:
    """A shape in the names of the record around it."""
    return " ".join("|".join(names.get(name, name) for name in token.split("|")) for token in shape.split())


def _axes(shape: str, x: Floats, names: Names) -> tuple[str, ...]:
    """What each axis of x is called; "" where there is one entry, or where shapes do not say."""
    shapes = [_outside(each, names).split() for each in shape.split(";")]
    tokens = next((each for each in shapes if len(each) == x.ndim), [""] * x.ndim)
    return tuple("" if size == 1 else token.split("|")[-1] for token, size in zip(tokens, x.shape, strict=True))


def _entries(leaf: _Leaf) -> Index:
    """(size,), which entry of its field, as if flat, each coordinate moves; of matrices one of the lower half."""
    x = leaf.value
    if leaf.domain == "unit":
        return np.flatnonzero(_inside(x))
    if leaf.domain == "simplex":
        return np.flatnonzero(_movable(x))
    if leaf.domain == "positive_definite":
        rows, columns = np.tril_indices(x.shape[-1])
        each = rows * x.shape[-1] + columns
        return np.asarray(np.add.outer(np.arange(0, x.size, x.shape[-1] ** 2), each).ravel())
    return np.arange(x.size)


def _label(path: Path) -> str:
    return ".".join(part[1] if isinstance(part, tuple) else part for part in path)


def _rebuilt(value: Any, changes: Mapping[Path, Floats]) -> Any:
    """The same dataclass or mapping with new values at these paths."""
    heads: dict[Any, dict[Path, Floats]] = {}
    for path, new in changes.items():
        heads.setdefault(path[0], {})[path[1:]] = new
    if not heads:
        return value
    if isinstance(value, Mapping):
        return {key: _rebuilt(part, heads.get(("key", key), {})) for key, part in value.items()}
    new_parts = {
        name: below[()] if () in below else _rebuilt(getattr(value, name), below) for name, below in heads.items()
    }
    return replace(value, **new_parts)


def _real(x: Floats, size: float | Floats | None = None) -> Moves:
    size = max(1.0, float(np.abs(x).max(initial=0.0))) if size is None else size
    return (
        lambda t: x + size * t.reshape(x.shape),
        lambda t, slope: np.ravel(size * np.reshape(slope, x.shape)),
        lambda other: (other - x) / size,
        x.size,
    )


def _positive(x: Floats) -> Moves:
    def move(t: Floats) -> Floats:
        return np.asarray(x * np.exp(t.reshape(x.shape)))

    return move, lambda t, slope: np.ravel(move(t) * slope), lambda other: np.log(other / x), x.size


def _unit(x: Floats) -> Moves:
    inside = _inside(x)
    logit = np.log(x[inside]) - np.log1p(-x[inside])

    def move(t: Floats) -> Floats:
        moved = x.copy()
        moved[inside] = expit(logit + t)
        return moved

    def pull(t: Floats, slope: Floats) -> Floats:
        here = expit(logit + t)
        return np.asarray(here * expit(-logit - t) * slope[inside])

    def find(other: Floats) -> Floats:
        chance = other[inside]
        return np.asarray(np.log(chance) - np.log1p(-chance) - logit)

    return move, pull, find, int(inside.sum())


def _inside(x: Floats) -> Any:
    return (x > 0) & (x < 1 - NEAR_1)  # the ends of the interval are infinitely far away


def _movable(x: Floats) -> Any:
    free = x > 0
    np.put_along_axis(free, np.argmax(x, axis=-1)[..., None], False, axis=-1)
    return free


def _simplex(x: Floats) -> Moves:
    free = _movable(x)

    def move(t: Floats) -> Floats:
        moved = x.copy()
        moved[free] *= np.exp(t)
        return np.asarray(moved / moved.sum(axis=-1, keepdims=True))

    def pull(t: Floats, slope: Floats) -> Floats:
        here = move(t)
        return np.asarray((here * (slope - np.sum(here * slope, axis=-1, keepdims=True)))[free])

    def find(other: Floats) -> Floats:
        ratios, largest = np.log(other / x), np.argmax(x, axis=-1)[..., None]
        return np.asarray((ratios - np.take_along_axis(ratios, largest, axis=-1))[free])

    return move, pull, find, int(free.sum())


def _positive_definite(x: Floats) -> Moves:
    root, d = np.linalg.cholesky(x), x.shape[-1]
    rows, columns = np.tril_indices(d)
    many = int(np.prod(x.shape[:-2], dtype=int))

    def widened(t: Floats) -> Floats:
        half = np.zeros((many, d, d))
        half[:, rows, columns] = 0.5 * t.reshape(many, -1)
        return np.asarray(np.eye(d) + 0.5 * (half + np.swapaxes(half, 1, 2)).reshape(x.shape))

    def move(t: Floats) -> Floats:
        moved = root @ widened(t)
        return np.asarray(moved @ np.swapaxes(moved, -1, -2))

    def pull(t: Floats, slope: Floats) -> Floats:
        inner = widened(t) @ np.swapaxes(root, -1, -2) @ slope @ root
        inner = 0.5 * (inner + np.swapaxes(inner, -1, -2))
        return np.asarray(inner.reshape(many, d, d)[:, rows, columns].ravel())

    def find(other: Floats) -> Floats:
        half = np.linalg.solve(root, other)
        inner = np.linalg.solve(root, np.swapaxes(half, -1, -2))
        values, vectors = np.linalg.eigh(0.5 * (inner + np.swapaxes(inner, -1, -2)))
        wide = (vectors * np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2) - np.eye(d)
        t = 2 * wide.reshape(many, d, d)[:, rows, columns]
        return np.asarray((t * np.where(rows == columns, 1.0, 2.0)).ravel())

    return move, pull, find, many * len(rows)


MOVES: dict[str, Callable[[Floats], Moves]] = {
    "real": _real,
    "positive": _positive,
    "unit": _unit,
    "simplex": _simplex,
    "positive_definite": _positive_definite,
}
