"""Restarts: the same ascent from several posteriors, the highest bound kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from latens.core import Fit, Iteration
from latens.inference.ascent import OnIteration

__all__ = ["ascend_all", "best_of", "distinct", "highest", "labelled", "records"]

Ascent = Callable[[Any, OnIteration | None], Fit]  # (start, on_iteration) -> Fit
Map = Callable[[Callable[[int, Any], None], Iterable[int], Iterable[Any]], Iterable[None]]


def best_of(starts: Sequence[Any], ascent: Ascent, on_iteration: OnIteration | None = None, *, map_: Map = map) -> Fit:
    """Ascent from every start; `map_` may be that of a pool. Ties go to the earlier start.

    An interrupt or a callback's stop ends the round: what was found so far is compared.
    """
    return highest(ascend_all(starts, ascent, on_iteration, map_=map_))


def ascend_all(
    starts: Sequence[Any], ascent: Ascent, on_iteration: OnIteration | None = None, *, map_: Map = map
) -> list[Fit]:
    """The same, all fits in the order of their starts; those that an interrupt or a stop left out are missing."""
    if not starts:
        raise ValueError("no start was given; expected at least one, so try n_init=1.")
    over, running, done = threading.Event(), set[int](), dict[int, Fit]()

    def one(restart: int, start: Any) -> None:
        if over.is_set() and restart:
            return
        running.add(restart)
        try:
            done[restart] = fit = ascent(start, _until(over, labelled(on_iteration, restart)))
            done[restart] = replace(fit, trace=tuple(replace(event, restart=restart) for event in fit.trace))
        finally:
            running.discard(restart)
        if fit.interrupted or fit.stopped:
            over.set()

    interrupted = False
    try:
        for _ in map_(one, range(len(starts)), starts):
            pass
    except KeyboardInterrupt:
        over.set()
        while running:  # those in other threads end with their current iteration
            time.sleep(0.005)
        if not done:
            raise
        interrupted = True
    return [replace(done[restart], interrupted=done[restart].interrupted or interrupted) for restart in sorted(done)]


def distinct(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that did not end where one before them did: as many components, and the same bound to `tol` per row."""
    kept: list[Fit] = []
    for fit in fits:
        margin, size = tol * max(fit.state.stats.n, 1.0), fit.state.q.n_components
        if not any(size == other.state.q.n_components and abs(fit.elbo - other.elbo) <= margin for other in kept):
            kept.append(fit)
    return kept


def records(fits: Sequence[Fit], tol: float) -> list[Fit]:
    """The fits that are higher than all before them, by more than `tol` nats per row; the first always is.

    More fits at the end leave those that were chosen without them as they are: whatever goes on from records and keeps
    the highest never ends lower for having had more starts.
    """
    chosen = list(fits[:1])
    for fit in fits[1:]:
        if fit.elbo > chosen[-1].elbo + tol * max(fit.state.stats.n, 1.0):
            chosen.append(fit)
    return chosen


def labelled(on_iteration: OnIteration | None, restart: int) -> OnIteration | None:
    """The same callback, given the number of the restart with each iteration."""
    if on_iteration is None:
        return None

    def relabel(event: Iteration) -> bool | None:
        return on_iteration(replace(event, restart=restart))

    return relabel


def _until(over: threading.Event, on_iteration: OnIteration | None) -> OnIteration:
    """The same callback, which also stops once the round is over."""

    def watch(event: Iteration) -> bool:
        stop = bool(on_iteration and on_iteration(event))
        return stop or over.is_set()

    return watch


def highest(fits: Sequence[Fit]) -> Fit:
    """The first of those with the highest bound; interrupted or stopped if any of them was."""
    best = max(fits, key=lambda fit: fit.elbo)  # the first of equals
    return replace(best, interrupted=any(fit.interrupted for fit in fits), stopped=any(fit.stopped for fit in fits))
