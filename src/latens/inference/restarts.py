"""Restarts: the same ascent from several posteriors, the highest bound kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from latens.core import Fit, Iteration, Model, State
from latens.inference.ascent import OnIteration
from latens.inference.stack import climb_stacked

__all__ = ["best_of", "best_stacked", "labelled"]

Climb = Callable[[Any, OnIteration | None], Fit]  # (start, on_iteration) -> Fit
Map = Callable[[Callable[[int, Any], Fit | None], Iterable[int], Iterable[Any]], Iterable[Fit | None]]


def best_of(starts: Sequence[Any], climb: Climb, on_iteration: OnIteration | None = None, *, map_: Map = map) -> Fit:
    """Climb from every start; `map_` may be that of a pool. Ties go to the earlier start.

    An interrupt or a callback's stop ends the round: what was climbed so far is compared.
    """
    if not starts:
        raise ValueError("no start was given; expected at least one, so try n_init=1.")
    over = False

    def one(restart: int, start: Any) -> Fit | None:
        nonlocal over
        if over and restart:
            return None
        fit = climb(start, labelled(on_iteration, restart))
        over = over or fit.interrupted or fit.stopped
        return replace(fit, trace=tuple(replace(event, restart=restart) for event in fit.trace))

    return _highest(fit for fit in map_(one, range(len(starts)), starts) if fit is not None)


def best_stacked(model: Model[Any, Any, Any], batches: Sequence[Any], starts: Sequence[State], **options: Any) -> Fit:
    """The same by one ascent over all starts at once; `options` are those of `ascend`."""
    return _highest(climb_stacked(model, batches, starts, **options))


def _highest(fits: Iterable[Fit]) -> Fit:
    fits = list(fits)
    best = max(fits, key=lambda fit: fit.elbo)  # the first of equals
    return replace(best, interrupted=any(fit.interrupted for fit in fits), stopped=any(fit.stopped for fit in fits))


def labelled(on_iteration: OnIteration | None, restart: int) -> OnIteration | None:
    """The same callback, told which restart an iteration belongs to."""
    if on_iteration is None:
        return None

    def relabel(event: Iteration) -> bool | None:
        return on_iteration(replace(event, restart=restart))

    return relabel
