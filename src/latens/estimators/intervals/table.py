"""Published numbers one by one: what each is called, on which scale its interval is made, and the table of all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from latens.array import Floats
from latens.system.summary_table import Table

__all__ = [
    "INTERVAL_COLUMNS",
    "Choice",
    "IntervalTable",
    "Link",
    "PublishedNumber",
    "Scales",
    "component_axis",
    "published_numbers",
    "value_finder",
    "values_of",
]

INTERVAL_COLUMNS = (
    "parameter",  # as published, without the underscore
    "component",
    "feature",
    "view",
    "estimate",  # in the units of the data, like all numbers here
    "std",
    "lower",
    "upper",
    "sound",  # whether the interval is meant to hold what it claims
    "why",  # if not, the reason
)


@dataclass(frozen=True)
class IntervalTable(Table):
    """Intervals of all published numbers, and what is known of each component.

    Attributes
    ----------
    method : str
        How the intervals were made.
    components : Table
        For each component, the nats it is worth (the bound less that of the best fit without it, found by another
        ascent, plus log K; where the others become it again, what the bound falls by before they can) and the share
        of the information about it that is lost with the hidden codes.
    """

    method: str = ""
    components: Table = field(default_factory=lambda: Table(("component", "nats", "missing information"), ()))


@dataclass(frozen=True)
class Link:
    """A scale without ends, on which an interval is symmetric."""

    enter: Callable[[Any], Any]
    leave: Callable[[Any], Any]
    slope: Callable[[Any], Any]  # d enter / d value


LINKS = {
    "real": Link(lambda x: x, lambda t: t, lambda x: np.ones_like(x)),
    "log": Link(np.log, np.exp, lambda x: 1 / x),
    "logit": Link(logit, expit, lambda x: 1 / (x * (1 - x))),
}


class PublishedNumber(NamedTuple):
    parameter: str
    place: tuple[int, ...]  # in its array
    component: int | None
    feature: str
    view: str
    link: str
    columns: tuple[str, ...] = ()  # that it is of: one, two of a covariance, or none


class Scales:
    """The scales of several numbers; values (..., m) have one entry, or one column, for each.

    What stands at an end of its range is infinite, without a warning.
    """

    def __init__(self, numbers: Sequence[PublishedNumber]) -> None:
        links = np.array([number.link for number in numbers], dtype=object)
        self._places = {link: np.flatnonzero(links == link) for link in dict.fromkeys(links)}

    def enter(self, values: Floats) -> Floats:
        return self._each(values, lambda link: link.enter)

    def leave(self, values: Floats) -> Floats:
        return self._each(values, lambda link: link.leave)

    def slope(self, values: Floats) -> Floats:
        return self._each(values, lambda link: link.slope)

    def _each(self, values: Floats, way: Callable[[Link], Callable[[Any], Any]]) -> Floats:
        found = np.empty(values.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for link, at in self._places.items():
                found[..., at] = way(LINKS[link])(values[..., at])
        return found


# axes of what is published, and the scale of intervals: k for components, d for features, l for levels of columns, m
# for measured columns; "mean" is the scale of the column: a logit of chances, a logarithm of counts.
# What is not listed is no number of its own: a product of others, or a prior's.
AXES = {
    "weights": ("k", "logit"),
    "usage": ("k", "logit"),
    "share": ("k", "logit"),
    "means": ("kd", "mean"),
    "components": ("kd", "mean"),
    "level_probabilities": ("kl", "logit"),
    "standard_deviations": ("km", "log"),
    "mixing": ("dk", "real"),
    "tails": ("k", "log"),
    "leak": ("d", "logit"),
    "noise_variance": ("d", "log"),
    "mean": ("d", "real"),
    "intercept": ("d", "real"),
    "intercepts": ("gd", "real"),
    "covariate_coefficients": ("gd", "real"),
}
COVARIANCES = {"full": "kde", "tied": "de", "diag": "kd", "spherical": "k", "known": "k"}
NAMED_TWICE = {"components": ("means", "mixing")}  # published under another name as well


def published_numbers(
    published: Mapping[str, Any],
    features: Mapping[str, Sequence[str]],
    scales: Sequence[str],
    *,
    covariance_type: str = "",
    levels: Sequence[tuple[str, str]] = (),
    measured: Sequence[str] = (),
    sides: Mapping[str, Sequence[str]] | None = None,
) -> list[PublishedNumber]:
    """Every number that has an interval, in a fixed order.

    `features` are names by view, "" where there are none; `scales` those of the means of each column, or one for all;
    `levels` the column and the name of each level that has a probability of its own, `measured` the columns that have
    a standard deviation in each component; `sides` what the rows of numbers
    of groups or covariates are called.
    """
    found: list[PublishedNumber] = []
    for name, value in published.items():
        if any(other in published for other in NAMED_TWICE.get(name, ())):
            continue
        axes, link = AXES.get(name, ("", ""))
        if name == "covariances":
            axes, link = COVARIANCES[covariance_type], "covariance"
        if not link:
            continue
        for view, array in (value if isinstance(value, Mapping) else {"": value}).items():
            found += _numbers(
                name,
                np.asarray(array),
                axes,
                link,
                view,
                features[view],
                scales,
                levels,
                measured,
                (sides or {}).get(name),
            )
    return found


def _numbers(
    name: str,
    array: Floats,
    axes: str,
    link: str,
    view: str,
    features: Sequence[str],
    scales: Sequence[str],
    levels: Sequence[tuple[str, str]],
    measured: Sequence[str],
    sides: Sequence[str] | None,
) -> Iterator[PublishedNumber]:
    axes = axes if array.ndim else ""
    if axes in ("kd", "dk", "d") and link != "covariance":  # most numbers, by the thousand
        names = [str(feature) for feature in features]
        d_at, k_at = axes.index("d"), axes.find("k")
        for place in np.ndindex(array.shape):
            d = place[d_at]
            own = scales[d % len(scales)] if link == "mean" else link
            yield PublishedNumber(name, place, place[k_at] if k_at >= 0 else None, names[d], view, own, (names[d],))
        return
    for place in np.ndindex(array.shape):
        at = dict(zip(axes, place, strict=True))
        own = scales[at["d"] % len(scales)] if link == "mean" else link
        if link == "covariance":
            if "e" in at and at["e"] < at["d"]:
                continue  # symmetric
            own = "real" if "e" in at and at["e"] != at["d"] else "log"
        columns = [str(features[at[axis]]) for axis in "de" if axis in at]
        group = f" [{sides[at['g']] if sides else at['g']}]" if "g" in at and array.shape[0] > 1 else ""
        feature = ", ".join(dict.fromkeys(columns)) + group
        if "l" in at:
            columns = [levels[at["l"]][0]]
            feature = " = ".join(levels[at["l"]])
        if "m" in at:
            columns = [measured[at["m"]]]
            feature = measured[at["m"]]
        yield PublishedNumber(name, place, at.get("k"), feature, view, own, tuple(columns))


@dataclass(frozen=True)
class Choice:
    """Which numbers are wanted; None: of all components, or of all columns and of none."""

    parameters: Collection[str]
    components: Collection[int] | None = None
    columns: Collection[str] | None = None

    def holds(self, number: PublishedNumber) -> bool:
        of_component = self.components is None or number.component in self.components
        of_column = self.columns is None or any(name in self.columns for name in number.columns)
        return number.parameter in self.parameters and of_component and of_column


def component_axis(parameter: str) -> int:
    """Which axis of what is published counts components; covariances of clusters have it first."""
    return AXES.get(parameter, ("k", ""))[0].index("k")


def values_of(published: Mapping[str, Any], numbers: Sequence[PublishedNumber]) -> Floats:
    """(m,), the numbers in a publication."""
    return value_finder(numbers)(published)


def value_finder(numbers: Sequence[PublishedNumber]) -> Callable[[Mapping[str, Any]], Floats]:
    """What finds the numbers in one publication after another."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, number in enumerate(numbers):
        groups.setdefault((number.parameter, number.view), []).append(i)
    places = {key: tuple(np.array([numbers[i].place for i in at]).T) for key, at in groups.items()}

    def find(published: Mapping[str, Any]) -> Floats:
        found = np.empty(len(numbers))
        for (name, view), at in groups.items():
            value = published[name]
            array = np.asarray(value[view] if isinstance(value, Mapping) else value, dtype=float)
            found[at] = array[places[name, view]]
        return found

    return find
