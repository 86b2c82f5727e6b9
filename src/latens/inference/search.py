"""The search for an optimum: starts, then moves, first on a part of the rows where there are many.

A part is searched as if it were all there is: its rows count once, so that they weigh against the priors like so many
rows. Weighted up to the number of all rows they would reward over-fitting, each needless parameter gaining as often as
a row is counted. What the search finds there is climbed from on all rows, and moves go on, judged by the bound of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from latens.core import Fit, Loose, Model, Movable, Rows, State
from latens.inference.ascent import OnIteration
from latens.inference.moves import Climb, improve
from latens.inference.restarts import Map, best_of
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["Search"]

N_RARE = 6  # candidates made for badly explained rows that are tried on all rows, in one round


@dataclass(frozen=True)
class Search:
    model: Model[Any, Any, Any]
    ascend: Callable[..., Fit]  # (batches, start, *, max_iter, on_iteration, sweep)
    rng: np.random.Generator  # of moves
    limit: int  # components that moves may grow to
    max_iter: int
    tol: float
    moves: bool

    def over(
        self,
        batches: Sequence[Any],
        sample: Any,
        starts: Sequence[State],
        *,
        screens: Sequence[Climb] = (),
        rare: Callable[[State], Iterator[Any]] | None = None,
        sweep: Sweep = serial_sweep,
        notify: OnIteration | None = None,
        map_: Map = map,
    ) -> Fit:
        """The best of the starts, then moves until none raises the bound of these rows; `sample` proposes them."""
        climb = self._climb(batches, sweep)
        fit = best_of(starts, lambda start, on: climb(start, self.max_iter, on), notify, map_=map_)
        model = self.model
        if not self.moves or not isinstance(model, Movable):
            return fit
        n = fit.state.stats.n
        return improve(
            fit,
            lambda state: model.candidates(state.q, state.stats, sample, self.rng, self.limit),
            climb,
            screens=screens,
            rare=rare,
            max_iter=self.max_iter,
            tol=self.tol,
            on_iteration=notify,
            looseness=(lambda q: model.looseness(q, sample, n)) if isinstance(model, Loose) else None,
        )

    def by_part(
        self,
        part: Rows,
        batches: Sequence[Any],
        n: float,
        badly_explained: Callable[[Any, int], Rows],
        starts: Sequence[State],
        *,
        afresh: bool = True,
        sweep: Sweep = serial_sweep,
        notify: OnIteration | None = None,
    ) -> Fit:
        """The same on a part of the rows, then on all of them, which count `n`, from what was found.

        `badly_explained(q, size)` gives about so many of the rows that a posterior explains worst. Unless `afresh`,
        the start was found on all rows before: only they say where to go on.
        """
        if afresh:
            ahead = self.over([part], part, starts)
            starts = [State(ahead.state.q)]
            if ahead.interrupted:
                fit = self._climb(batches, sweep)(starts[0], 1, notify)
                return replace(fit, converged=False, interrupted=True)
        weighted = replace(part, weight=np.full(len(part), n / len(part)))
        return self.over(
            batches,
            part,
            starts,
            # components that are too many fall on rows that count once, those too few on rows that count as all
            screens=[self._climb([part]), self._climb([weighted])],
            rare=partial(self._rare, badly_explained, len(part)),
            sweep=sweep,
            notify=notify,
        )

    def _climb(self, batches: Sequence[Any], sweep: Sweep = serial_sweep) -> Climb:
        return lambda start, steps, on: self.ascend(batches, start, max_iter=steps, on_iteration=on, sweep=sweep)

    def _rare(self, badly_explained: Callable[[Any, int], Rows], size: int, state: State) -> Iterator[Any]:
        """More components, for rows that the present ones explain badly: too few of a kind to be in the part."""
        model = self.model
        if not isinstance(model, Movable) or state.q.n_components >= self.limit:
            return iter(())
        rows = badly_explained(state.q, size)
        proposed = model.candidates(state.q, state.stats, rows, self.rng, self.limit)
        return islice((q for q in proposed if q.n_components > state.q.n_components), N_RARE)
