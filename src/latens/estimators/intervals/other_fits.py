"""Whether fits with a component fewer, as likely as the fit, say the same of the components that both have.

A component is taken out and the others ascend anew. Where they are factors they turn: whichever was taken out, what is
missing in the end is the weakest, and the bound says what that one is worth, not what the one is that was taken out.
So components of both fits are paired by their numbers, in units of their standard deviations, and the one without a
partner is the one that the other fit does without. A component is doubted if a fit that is nearly as likely does
without it, or says other numbers of it than its intervals allow for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from latens.array import Floats, Index
from latens.estimators.intervals.table import LINKS, PublishedNumber, component_axis
from latens.inference.search.component_worth import FitWithout

__all__ = ["FEWEST_NATS", "Components", "not_compared", "with_other_fits"]

FEWEST_NATS = 6.0  # by which a fit must be less likely for one optimum to stand for the posterior
# standard deviations, root mean square over the numbers of a kind, up to which two fits say the same
MOST_DEVIATIONS_OF_SAME = 1.0
MOST_DEVIATIONS_OF_ONE = 100.0  # standard deviations that one number can be apart
NAMED_LOADINGS = ("components", "mixing")  # whose signs are free where those of codes are


@dataclass(frozen=True)
class Components:
    """What is known of each component."""

    nats: Floats  # (K,), that it is worth; nan where no other fits were made
    why: list[str]  # (K,), why numbers of it are not sound; "" where they are
    missing: Floats | None = None  # (K,), share of missing information; None where it is that of the numbers


def not_compared(k: int, nats: float = math.nan) -> Components:
    return Components(np.full(k, nats), [""] * k)


def with_other_fits(
    fits: Sequence[FitWithout],
    names: Sequence[str],
    numbers: Sequence[PublishedNumber],
    entered: Floats,
    std: Floats,
    publish: Callable[[Any, Any], Mapping[str, Any]],
    *,
    signed: bool,
) -> Components:
    """Components judged by fits without one of them.

    `entered` and `std` (m,) are the numbers and their standard deviations on the scales of their links; `publish`
    gives the numbers of a posterior and its statistics. `signed`: signs of loadings are free.
    """
    k, kinds = len(names), _kinds_of_each(len(names), numbers, entered, std)
    nats, why = np.full(k, math.inf), [""] * k
    compared: dict[int, tuple[int, list[int]] | None] = {}  # one end may be that of all components
    for fit in sorted(fits, key=lambda fit: fit.nats, reverse=True):  # what is said last is of the likeliest
        if id(fit.end) not in compared:
            compared[id(fit.end)] = _compared(publish(fit.end.q, fit.end.stats), kinds, signed) if all(kinds) else None
        # where nothing is known of the numbers of one, what is missing is what was taken out
        missing, changed = compared[id(fit.end)] or (fit.component, [])
        back = fit.component not in (missing, *changed)
        nats[fit.component] = min(nats[fit.component], fit.nats_at_once if back else fit.nats)
        nats[missing] = min(nats[missing], fit.nats)
        if fit.nats >= FEWEST_NATS:
            continue
        for each in changed:
            why[each] = f"a fit without {names[missing]}, {max(fit.nats, 0.0):.1f} nats below, says otherwise of it"
        why[missing] = f"its component is worth {fit.nats:.1f} nats: other fits are as likely"
    return Components(nats, why)


def _compared(published: Mapping[str, Any], kinds: Sequence[Sequence[_Kind]], signed: bool) -> tuple[int, list[int]]:
    """The component that the other fit does without, and those of which it says other things."""
    k = len(kinds)
    distances = np.empty((k, k - 1, 2))  # as far as pairs go, and as agreement does
    for each in range(k):
        ways = [_distances(published, kinds[each], k - 1, sign) for sign in ((1.0, -1.0) if signed else (1.0,))]
        nearer = np.argmin([way[:, 0] for way in ways], axis=0)
        distances[each] = np.stack(ways)[nearer, np.arange(k - 1)]
    paired, partners = linear_sum_assignment(distances[:, :, 0])
    missing = int(np.setdiff1d(np.arange(k), paired)[0])
    return missing, [
        int(i) for i, j in zip(paired, partners, strict=True) if not distances[i, j, 1] <= MOST_DEVIATIONS_OF_SAME
    ]


@dataclass(frozen=True)
class _Kind:
    """Numbers of one component that are found, and linked, alike."""

    first: PublishedNumber
    places: Index  # (m, n of axes)
    entered: Floats  # (m,)
    std: Floats  # (m,)


def _kinds_of_each(k: int, numbers: Sequence[PublishedNumber], entered: Floats, std: Floats) -> list[list[_Kind]]:
    """Of each component, the numbers that something is known of."""
    groups: list[dict[tuple[str, str, str], list[int]]] = [{} for _ in range(k)]
    for i in np.flatnonzero((std > 0) & (std < math.inf)).tolist():
        number = numbers[i]
        if number.component is not None:
            groups[number.component].setdefault((number.parameter, number.view, number.link), []).append(i)
    return [
        [_Kind(numbers[at[0]], np.array([numbers[i].place for i in at]), entered[at], std[at]) for at in group.values()]
        for group in groups
    ]


def _distances(published: Mapping[str, Any], kinds: Sequence[_Kind], n_others: int, sign: float) -> Floats:
    """(n, 2), standard deviations between a component and each of another fit: on average, and of the farthest kind."""
    squares: dict[str, list[Floats]] = {}
    for kind in kinds:
        name, view = kind.first.parameter, kind.first.view
        value = published[name]
        places = [column[None] for column in kind.places.T]
        places[component_axis(name)] = np.arange(n_others)[:, None]
        values = np.asarray(value[view] if isinstance(value, Mapping) else value, dtype=float)[tuple(places)]
        with np.errstate(divide="ignore", invalid="ignore"):
            there = LINKS[kind.first.link].enter((sign if name in NAMED_LOADINGS else 1.0) * values)
            gaps = np.fmin(
                np.abs(there - kind.entered) / kind.std, MOST_DEVIATIONS_OF_ONE
            )  # also where one is at an end of its range
        squares.setdefault(name, []).append(gaps)
    gaps_by_name = [np.concatenate(parts, axis=1) for parts in squares.values()]
    farthest = np.max([np.sqrt(np.mean(gaps**2, axis=1)) for gaps in gaps_by_name], axis=0)
    return np.stack([np.mean(np.concatenate(gaps_by_name, axis=1), axis=1), farthest], axis=1)
