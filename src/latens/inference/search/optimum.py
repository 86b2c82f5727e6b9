"""The search for an optimum: starts, then moves, first on a part of the rows where there are many.

A part is searched as if it were all there is: its rows count once, so that they weigh against the priors like so many
rows. Weighted up to the number of all rows they would reward over-fitting, each needless parameter gaining as often as
a row is counted. From what the search finds there it ascends on all rows, and moves go on, judged by the bound of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from latens.array import Floats
from latens.core import (
    Crossing,
    Fading,
    Fit,
    Forgetful,
    Loose,
    Movable,
    Proposal,
    Regrouping,
    Rows,
    State,
    Tiered,
    Uniting,
    Unkept,
    fewest_of,
)
from latens.inference.ascent import OnIteration
from latens.inference.extrapolated_ascent import has_settled, settled, size_of_terms
from latens.inference.search.crossing import crossed_in_turn
from latens.inference.search.moves import (
    UNRECORDED,
    Ascent,
    Hopeless,
    Map,
    Record,
    ascend_all,
    closed_after,
    distinct,
    highest,
    improve,
    jumped,
    leading_at_glance,
    longer,
    no_wider_than,
    records,
    until,
)
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["GoingOn", "Map", "Reached", "Search", "ascend_all", "distinct", "highest", "records"]

ALL, FIRST, FURTHER, AGAIN, FADING = "all", "first", "further", "again", "fading"  # candidates that are tried

SHARE_SETTLED = 1e-10  # of a bound's terms, that an iteration gains at least before leaps end
NATS_OF_CODES = 1.0  # for each row, that a bound may owe to codes which rows do not find again; fits owe up to .1
MOST_SETTLED = 3  # times that leaps and moves take turns
MOST_ROUNDS_ANEW = 3  # ascents from rows that are settled anew
TRIAL_STEPS = 10  # iterations after which a candidate is judged
LEAST_ALIKE = 0.5  # nats that a move gains which keeps the number of components, where leaps follow: they find less
ROWS_LOOKED_AT = 8192.0  # by starts set beside what was found on a part: four times as many as that has
N_LOOKED, N_GIVEN = 20, 60  # iterations that what was found needs on more rows, and that others have to get above it
# for each row, that a search with more components may be behind the last one when it has too many no more
NATS_BEHIND = 0.5
N_RARE = 6  # candidates made for badly explained rows that are tried on all rows, in one round

GoingOn = Callable[[Fit, Any], Fit]  # (fit, posterior) -> the fit, or what the posterior leads to where it is higher


class Reached(NamedTuple):
    """The end of a start after its moves."""

    elbo: float
    n_living: int  # components that would be published
    q: Any


@dataclass(frozen=True)
class Search:
    model: Any  # what it proposes, if it does, is tried
    ascend: Callable[..., Fit]  # (batches, start, *, max_iter, on_iteration, sweep)
    seed: int  # of moves; those of one start do not depend on how many others there are
    limit: int  # components that moves may grow to
    max_iter: int  # of the path that leads to an answer, on the part and on all rows each
    tol: float  # of the search, before `finer`
    moves: bool
    fixed: bool = False  # whether moves keep the number of components
    over: Callable[[], bool] | None = None  # whether the time is over: the state that was reached is kept
    journal: Record = UNRECORDED  # what was finished before, if the fit goes on after it died
    # a fit, or that with the fewest components where columns that have nothing to do with each other describe the rows
    # better; given both, and what goes on from a posterior to a higher fit. None where there was no time to tell
    alone: Callable[[Fit, Fit, GoingOn], Fit | None] | None = None
    log_scale: float | Floats = 0.0  # of the units of rows
    glance: int = 0  # iterations after which only starts that are higher than all before them go on; 0: all do
    rough_tol: float = 0.0  # tolerance to which moves are tried for the first time; 0: not before `tol` is reached
    pause: int = 0  # iterations after which a start that still rises is moved first; 0: it rises to its end
    slow: bool = False  # whether ascents end long before the bound does, so that any trial gains a little
    settles: float = 0.0  # nats of an iteration, at least, to which leaps go on from what was found; 0: none are made
    finer: tuple[float, ...] = ()  # smaller tolerances, with each of which what was found is gone on from
    least: float = -math.inf  # a bound that was reached before: nobody needs what is below it
    reached: list[Reached] | None = None  # told of the starts that got higher than all before them, after their moves
    # components of the first start's end from which on no others are tried, where more will be allowed anyway
    enough: float = math.inf

    def on_all(
        self,
        batches: Sequence[Any],
        sample: Any,
        starts: Sequence[State],
        *,
        screens: Sequence[Ascent] = (),
        rare: Callable[[State, np.random.Generator], Iterator[Any]] | None = None,
        sweep: Sweep = serial_sweep,
        notify: OnIteration | None = None,
        map_: Map = map,
    ) -> Fit:
        """The highest of the starts, after moves until none raises the bound of these rows; `sample` proposes them.

        An interrupt ends the search with the best that it has found, once an iteration of the first start is done.
        """
        found = self._found(batches, sample, starts, 1, screens, rare, sweep, notify, map_)
        fits = no_wider_than(self._widest(starts), found)
        fit = highest(fits)
        if self.reached is not None:
            self.reached[:] = [Reached(one.elbo, self._n_living(one.state), one.state.q) for one in fits]
        if fit.elbo < self.least:
            return fit
        try:
            if not (fit.interrupted or fit.stopped):
                at_the_end = partial(self._at_the_end, batches, sample, screens, rare, sweep, notify)
                ends = [at_the_end(one) for one in fits]
                if self.reached is not None and self.settles:
                    self.reached[:] = list(map(self._going_on_from, self.reached, ends))
                fit = highest([self._found_again(end, batches, sweep) for end in ends])
            without = self._without(fit, self._ascend(batches, sweep))
            for tol in self.finer:
                ascent = self._ascend(batches, sweep, tol)
                if not has_settled(fit, tol):
                    fit = replace(fit, converged=False)  # as far as this tolerance goes, unless iterations are left
                    fit = longer(fit, ascent, self.max_iter, notify)
                fit = self._moved(fit, ascent, sample, 1, tol, screens, rare, notify)
                fit = self._found_again(fit, batches, sweep)
                without = None if without is None else longer(without, ascent, self.max_iter)
            going_on = partial(self._going_on, batches, sample, screens, rare, sweep, notify)
            return self._or_without(fit, without, going_on)
        except KeyboardInterrupt:
            return replace(fit, interrupted=True)

    def _going_on_from(self, reached: Reached, end: Fit) -> Reached:
        """The same start where leaps led it, as a search with more components goes on; it would make them again."""
        settled = self._n_living(end.state) == reached.n_living and end.elbo > reached.elbo
        return reached._replace(q=end.state.q) if settled else reached

    def _at_the_end(
        self,
        batches: Sequence[Any],
        sample: Any,
        screens: Sequence[Ascent],
        rare: Callable[[State, np.random.Generator], Iterator[Any]] | None,
        sweep: Sweep,
        notify: OnIteration | None,
        fit: Fit,
    ) -> Fit:
        """The fit after leaps to where they gain next to nothing, and moves from there.

        Ascents that are slow end long before the bound does: each of hundreds of iterations gains less than `tol`.
        """
        if not self.settles or not self.moves or isinstance(sweep, Forgetful):
            return fit
        least = self.tol * max(fit.state.stats.n, 1.0)
        for stage in range(MOST_SETTLED):
            left = self.max_iter - len(fit.trace)
            if fit.interrupted or fit.stopped or not fit.converged or left <= 0:
                return fit
            nats = max(self.settles, SHARE_SETTLED * size_of_terms(fit))
            leaps = partial(settled, self.model, batches, fit.state, nats, left, self.over, sweep)
            further = self.journal.once(partial(leaps, self.log_scale), None, fit.state)
            if further.elbo < fit.elbo + nats:
                return replace(fit, interrupted=further.interrupted)
            gain, fit = further.elbo - fit.elbo, jumped(fit, replace(further, converged=True), notify)
            if gain < least or fit.interrupted or fit.stopped:
                return fit
            fit = self._moved(fit, self._ascend(batches, sweep), sample, 2 + stage, self.tol, screens, rare, notify)
        return fit

    def _found_again(
        self, fit: Fit, batches: Sequence[Any], sweep: Sweep, n_rounds: int = MOST_ROUNDS_ANEW, steps: int | None = None
    ) -> Fit:
        """The fit, or what its rows reach without the codes that were kept, where they do not find these again.

        Codes are kept from pass to pass where local steps are not exact, and answers about rows begin without them: a
        bound that rests on codes nobody finds again says nothing of the answers. It takes an iteration to tell, or two.
        """
        if not self.moves or isinstance(sweep, Forgetful):
            return fit
        ascent = self._ascend(batches, sweep)
        for _ in range(n_rounds):
            if fit.interrupted or fit.stopped or self.model.exact_local(fit.state.q):
                return fit
            again, least = ascent(State(fit.state.q), 1, None), fit.elbo - NATS_OF_CODES * fit.state.stats.n
            if again.elbo >= least:
                return fit
            # scales of heavy sources take a few local steps from anywhere, and answers about rows take them
            settled = State(fit.state.q, None, (Unkept(),) * len(batches))
            if ascent(settled, 1, None).elbo >= least:
                return fit
            again = replace(again, trace=tuple(replace(event, restart=fit.trace[-1].restart) for event in again.trace))
            fit = longer(replace(again, converged=False), ascent, min(steps or self.max_iter, self.max_iter))
        return fit

    def _settled(self, fits: Sequence[Fit], batches: Sequence[Any], sweep: Sweep) -> list[Fit]:
        """The same of fits that are to be moved: beside codes that nobody finds again no other start has a chance."""
        settled = list(fits)
        try:
            for number, fit in enumerate(fits):
                settled[number] = self._found_again(fit, batches, sweep, n_rounds=1, steps=self.pause)
        except KeyboardInterrupt:
            settled[-1] = replace(settled[-1], interrupted=True)
        return settled

    def _or_without(self, fit: Fit, without: Fit | None, going_on: GoingOn) -> Fit:
        """The fit, or that with the fewest components where it says nothing that independent columns do not say."""
        if without is None or self.alone is None or fit.interrupted or fit.stopped:
            return fit
        found = None if without.interrupted or without.stopped else self.alone(fit, without, going_on)
        if found is None:  # it was not to be told
            late = self.over is not None and self.over()
            return replace(fit, interrupted=not late, stopped=late)
        # columns that have nothing to do with each other describe the rows better, as far as was searched
        return replace(without, converged=fit.converged and without.converged) if found is without else found

    def _going_on(
        self,
        batches: Sequence[Any],
        sample: Any,
        screens: Sequence[Ascent],
        rare: Callable[[State, np.random.Generator], Iterator[Any]] | None,
        sweep: Sweep,
        notify: OnIteration | None,
        fit: Fit,
        q: Any,
    ) -> Fit:
        """The fit, or what another posterior, or both together, lead to with moves, where that is higher."""
        left, tol = max(self.max_iter - len(fit.trace), 1), (self.tol, *self.finer)[-1]
        if isinstance(self.model, Uniting) and fit.state.q.n_components + q.n_components <= self.limit:
            q = self.model.united(fit.state.q, q)
        ascent = self._ascend(batches, sweep, tol)
        found, search = ascent(State(q), left, None), replace(self, max_iter=left)
        found = search._moved(found, ascent, sample, 1, tol, screens, rare, None)
        found = search._found_again(found, batches, sweep)
        if found.interrupted or found.stopped:
            return replace(fit, interrupted=found.interrupted, stopped=found.stopped)
        return jumped(fit, found, notify) if found.elbo > fit.elbo + tol * max(fit.state.stats.n, 1.0) else fit

    def gain(self, rows: Rows, starts: Sequence[State]) -> tuple[float, Any] | None:
        """How far components raise the bound of these rows above that of the fewest, and which; None: time was over."""
        fit = replace(self, alone=None, reached=None, enough=math.inf).on_all([rows], rows, starts)
        without = None if fit.interrupted or fit.stopped else self._with_fewest(fit, self._ascend([rows]))
        if any(one is not None and (one.interrupted or one.stopped) for one in (fit, without)):
            return None
        return 0.0 if without is None else fit.elbo - without.elbo, fit.state.q

    def _without(self, fit: Fit, ascent: Ascent) -> Fit | None:
        """The fit with the fewest components instead, where that is to be judged."""
        if self.alone is None or not self.moves or self.fixed or fit.interrupted or fit.stopped:
            return None
        return self._with_fewest(fit, ascent)

    def _with_fewest(self, fit: Fit, ascent: Ascent) -> Fit | None:
        fewest = self._fewest(fit.state)
        return None if fewest is None else ascent(State(fewest), self.max_iter, None)

    def _fewest(self, state: State) -> Any:
        """The posterior with the fewest components that the model can have; None where there are no more."""
        fewest = fewest_of(self.model, state)
        return None if fewest is None or fewest.n_components >= state.q.n_components else fewest

    def starts_from(self, rows: Rows, starts: Sequence[State]) -> tuple[list[State], bool]:
        """Where the search on such rows ends, each start that is higher than all before; and if it was interrupted."""
        found = no_wider_than(self._widest(starts), self._found([rows], rows, starts, 0))
        return [State(fit.state.q) for fit in records(found, self.tol)], any(fit.interrupted for fit in found)

    def by_part(
        self,
        part: Rows,
        batches: Sequence[Any],
        n: float,
        badly_explained: Callable[[Any, int], Rows] | None,
        starts: Sequence[State],
        *,
        beside: Callable[[State], Sequence[State]] | None = None,
        from_scratch: bool = True,
        sweep: Sweep = serial_sweep,
        notify: OnIteration | None = None,
    ) -> Fit:
        """The same on a part of the rows, then on all of them, which count `n`, from what was found.

        `beside` gives starts that moves on the part may wrong, since it has too few rows for them, where what was found
        there lets one expect such. `badly_explained(q, size)` gives about so many of the rows that a posterior explains
        worst; None: no moves are made for them. Unless `from_scratch`, the start was found on all rows before:
        only they say where to go on.
        """
        if from_scratch:
            starts, interrupted = self.starts_from(part, starts)
            if interrupted:
                return self.once_over(batches, starts[-1], sweep, notify)
        weighted = replace(part, weight=np.full(len(part), n / len(part)))
        try:
            others = beside(starts[0]) if from_scratch and beside and self.moves and not self.fixed else ()
            if others:
                missed, interrupted = self._missed(batches, n, others, starts[0], sweep)
                starts = [starts[0], *missed, *starts[1:]]
                if interrupted:
                    return self.once_over(batches, starts[-1], sweep, notify)
            return self.on_all(
                batches,
                part,
                starts,
                # components that are too many fall on rows that count once, those too few on rows that count as all
                screens=[self._ascend([part]), self._ascend([weighted])],
                rare=badly_explained and partial(self._rare, badly_explained, len(part)),
                sweep=sweep,
                notify=notify,
            )
        except KeyboardInterrupt:  # in the first iteration on all rows
            return self.once_over(batches, starts[-1], sweep, notify)

    def _missed(
        self, batches: Sequence[Any], n: float, beside: Sequence[State], found: State, sweep: Sweep
    ) -> tuple[list[State], bool]:
        """Of what these starts lead to on many rows, without moves, the best, where it is above what a part led to.

        One that would not get there even if all iterations gained as much as the last is given up. And whether somebody
        interrupted.
        """
        some = batches[:: max(int(n / ROWS_LOOKED_AT), 1)]  # of very many rows blocks here and there
        ascent, missed = self._ascend(some, sweep), list[State]()
        fit = best = ascent(State(found.q), min(N_LOOKED, self.max_iter), None)
        for start in beside:
            if fit.interrupted:
                break
            target = best.elbo + self.tol * best.state.stats.n
            fit = ascent(start, self.max_iter, Hopeless(target, N_GIVEN, patience=N_LOOKED))
            if fit.elbo > target:
                best, missed = fit, [State(fit.state.q)]
        return missed, fit.interrupted

    def once_over(self, batches: Sequence[Any], start: State, sweep: Sweep, notify: OnIteration | None) -> Fit:
        """What an interrupt leaves of a search that has not come to all rows: one iteration on them, to be kept."""
        fit = self._ascend(batches, sweep)(start, 1, notify)
        return replace(fit, converged=False, interrupted=True)

    def _found(
        self,
        batches: Sequence[Any],
        sample: Any,
        starts: Sequence[State],
        stage: int,
        screens: Sequence[Ascent] = (),
        rare: Callable[[State, np.random.Generator], Iterator[Any]] | None = None,
        sweep: Sweep = serial_sweep,
        notify: OnIteration | None = None,
        map_: Map = map,
    ) -> list[Fit]:
        """Starts in turn, each of them moved before they are compared; those that get higher than all before them."""
        ascent, others, rest = self._ascend(batches, sweep), list[Fit](), None
        crossing = self.moves and not self.fixed and not screens and isinstance(self.model, Crossing)
        if crossing and stage and not self.glance and self.enough < math.inf:
            fits = self._ascended(ascent, starts[:1], notify, map_)
            rest = partial(self._rest, ascent, starts, notify, map_, fits)
        elif self.moves and not self.fixed and self.rough_tol > self.tol and isinstance(self.model, Fading):
            first = self._ascend(batches, sweep, self.rough_tol)
            fits = self._found_roughly(first, sample, starts, stage, notify, map_)
            fits = [longer(replace(fit, converged=False), ascent, self.max_iter, notify) for fit in fits]
        else:
            fits = self._ascended(ascent, starts, notify, map_, others)
        if self.moves and self.pause:
            fits = self._settled(fits, batches, sweep)
        if not self.moves or any(fit.interrupted or fit.stopped for fit in fits):
            return fits
        try:
            if self.pause and screens and self._is_far_behind(fits):  # all moves of the part are behind them
                return fits
            # a pause on all rows is a glance at starts that were moved on a part: what all say of them is told by then
            chosen = records(fits, self.tol) if self.pause and screens else distinct(fits, self.tol)
            unmoved, widest = crossing and self.model.crosses_unmoved(sample), self._widest(starts)
        except KeyboardInterrupt:
            return [replace(fit, interrupted=True) for fit in fits]
        if crossing:
            options = {"ascent": ascent, "sample": sample, "stage": stage, "tol": self.tol, "screens": screens}
            move = partial(self._moved, **options, rare=rare, notify=notify)
            first, further, again = (partial(move, tier=tier) for tier in (FIRST, FURTHER, ALL))
            crossed = partial(self._crossing, ascent, sample, notify)
            cross = partial(crossed_in_turn, unmoved=unmoved, rest=rest, limit=widest)
            fits = cross(chosen, first, further, again, crossed, self.tol)
            return [*fits, *(others if fits[-1].interrupted or fits[-1].stopped else ())]
        interrupted = stopped = False
        for tier in (FIRST, FURTHER) if isinstance(self.model, Tiered) else (ALL,):
            waiting, moved = chosen, list[Fit]()
            try:
                while waiting and not (moved and (moved[-1].interrupted or moved[-1].stopped)):
                    moved.append(self._moved(waiting[0], ascent, sample, stage, self.tol, screens, rare, notify, tier))
                    waiting = waiting[1:]
                    if self.pause and screens:  # moves on the part are behind them: what others reached is above them
                        waiting = records([highest(moved), *waiting], self.tol)[1:]
            except KeyboardInterrupt:
                interrupted = True
            interrupted = interrupted or any(fit.interrupted for fit in moved)
            stopped, chosen = any(fit.stopped for fit in moved), records([*moved, *waiting], self.tol)
            if interrupted or stopped or (tier == FIRST and self._is_far_behind(chosen)):
                break
        last = replace(chosen[-1], interrupted=interrupted, stopped=stopped)
        # one that was not gone on from may still be the highest
        return [*chosen[:-1], last, *(others if interrupted or stopped else ())]

    def _rest(
        self, ascent: Ascent, starts: Sequence[State], notify: OnIteration | None, map_: Map, fits: list[Fit], end: Fit
    ) -> list[Fit]:
        """Ascents from all starts but the first, whose ascent is in `fits`; none where it ended with enough."""
        if len(starts) < 2 or self._n_living(end.state) >= self.enough:
            return []
        return distinct([*fits, *self._ascended(ascent, starts[1:], notify, map_, before=1)], self.tol)[1:]

    def _crossing(self, ascent: Ascent, sample: Any, notify: OnIteration | None, best: Fit, other: Fit) -> Fit:
        """The best fit, or what is made of it and another one where that is higher."""
        return improve(
            best,
            lambda state: self.model.crossed(state.q, other.state.q, sample, self.limit),
            ascent,
            n_steps=TRIAL_STEPS,
            max_iter=self.max_iter,
            tol=self.tol,
            on_iteration=notify,
            over=self.over,
            journal=self.journal,
        )

    def _is_far_behind(self, fits: Sequence[Fit]) -> bool:
        """Whether further moves, of which there are many, would hardly lead to what was reached before."""
        return bool(highest(fits).elbo < self.least - NATS_BEHIND * fits[0].state.stats.n)

    def _found_roughly(
        self,
        ascent: Ascent,
        sample: Any,
        starts: Sequence[State],
        stage: int,
        notify: OnIteration | None,
        map_: Map,
    ) -> list[Fit]:
        """Starts that still rise, without components which may take a hundred iterations to vanish.

        Others stay: while they rise nobody knows how far. What is without them must gain more than as many iterations
        of the fit itself may have left.
        """
        fits, tol = self._ascended(ascent, starts, notify, map_), TRIAL_STEPS * self.rough_tol
        for number, fit in enumerate(fits):
            if any(one.interrupted or one.stopped for one in fits):
                break
            fits[number] = self._moved(fit, ascent, sample, stage, tol, (), None, notify, FADING)
        return fits

    def _ascended(
        self,
        ascent: Ascent,
        starts: Sequence[State],
        notify: OnIteration | None,
        map_: Map,
        others: list[Fit] | None = None,
        before: int = 0,
    ) -> list[Fit]:
        """Starts to their ends, numbered after those `before`; after a glance, into `others`, those that lead go on."""
        # also of a single start: with more of them it must come to the same end
        n_first = min(self.glance, self.max_iter) if self.moves else 0
        steps = n_first or (min(self.pause or self.max_iter, self.max_iter) if self.moves else self.max_iter)
        fits = ascend_all(starts, lambda start, on: ascent(start, steps, on), notify, map_=map_, before=before)
        if not n_first or any(fit.interrupted or fit.stopped for fit in fits):
            return fits
        ended = list[Fit]()
        if others is not None:
            others.extend(fits)
        for fit in leading_at_glance(fits, self.tol):
            ended.append(fit if fit.converged else longer(fit, ascent, self.max_iter, notify))
            if ended[-1].interrupted or ended[-1].stopped:
                return [*ended, *fits]  # one that was not gone on from may be the highest by now
        return ended

    def _moved(
        self,
        fit: Fit,
        ascent: Ascent,
        sample: Any,
        stage: int,
        tol: float,
        screens: Sequence[Ascent],
        rare: Callable[[State, np.random.Generator], Iterator[Any]] | None,
        notify: OnIteration | None,
        tier: str = ALL,
    ) -> Fit:
        """The fit after moves, which depend on nothing but it: not on how many other starts there were."""
        model, n = self.model, fit.state.stats.n
        if not self.moves or not isinstance(model, Movable):
            return fit
        rng, first = np.random.default_rng([self.seed, stage, fit.trace[-1].restart]), fit.state
        return improve(
            fit,
            # where the first candidates were tried, and none was better, the further ones go on
            lambda state: self._candidates(
                state, sample, rng, tier if tier in (FIRST, FADING) or state is first else ALL
            ),
            ascent,
            screens=screens,
            n_steps=TRIAL_STEPS,
            again=partial(self._candidates, sample=sample, rng=rng, tier=FIRST if tier == FIRST else AGAIN)
            if isinstance(model, Regrouping)
            else None,
            rare=None if rare is None or tier == FIRST else lambda state: rare(state, rng),
            max_iter=self.max_iter,
            tol=tol,
            on_iteration=notify,
            looseness=(lambda q: model.looseness(q, sample, n)) if isinstance(model, Loose) else None,
            over=self.over,
            exact=self.model.exact_local,
            slow=self.slow,
            least_alike=LEAST_ALIKE if self.settles else 0.0,
            journal=self.journal,
            rng=rng,
        )

    def _candidates(self, state: State, sample: Any, rng: np.random.Generator, tier: str = ALL) -> Iterator[Any]:
        model, k = self.model, state.q.n_components
        if not isinstance(model, Movable):
            return
        if tier == FADING:
            yield from self._without_fading(state, sample, rng)
            return
        propose = model.candidates
        if isinstance(model, Tiered) and tier in (FIRST, FURTHER):
            propose = model.first_candidates if tier == FIRST else model.further_candidates
        if isinstance(model, Regrouping) and tier == AGAIN:
            propose = model.candidates_again
        if self.fixed:
            with closed_after(propose(state.q, state.stats, sample, rng, k)) as proposed:
                yield from filter(lambda candidate: candidate.n_components == k, proposed)
            return
        yield from propose(state.q, state.stats, sample, rng, self.limit)
        yield from self._without_dead(state)
        fewest = None if tier == FIRST else self._fewest(state)
        if fewest is not None:
            yield fewest

    def _without_fading(self, state: State, sample: Any, rng: np.random.Generator) -> Iterator[Any]:
        fading = self.model.fading(state.q, state.stats)
        if not fading.any():
            return
        with closed_after(self.model.candidates(state.q, state.stats, sample, rng, self.limit)) as proposed:
            for candidate in proposed:
                if isinstance(candidate, Proposal) and fading[np.delete(np.arange(len(fading)), candidate.of)].all():
                    yield candidate

    def _widest(self, starts: Sequence[State]) -> int:
        """Components of an answer at most: the first start may be one that was given, others are told the limit."""
        return max(self.limit, int(starts[0].q.n_components))

    def _n_living(self, state: State) -> int:
        return int(np.count_nonzero(self.model.importance(state.q, state.stats) > 0))

    def _without_dead(self, state: State) -> Iterator[Any]:
        """What would be published, where some components are dead: moves go on from there if it is better."""
        living = np.flatnonzero(self.model.importance(state.q, state.stats) > 0)
        if 0 < len(living) < state.q.n_components:
            yield Proposal(state.q.only(living), living)

    def _ascend(self, batches: Sequence[Any], sweep: Sweep = serial_sweep, tol: float | None = None) -> Ascent:
        options = {} if tol is None else {"tol": tol}

        def ascent(start: State, steps: int, on: OnIteration | None) -> Fit:
            watch = on if self.over is None else until(self.over, on)
            ascend = partial(self.ascend, batches, max_iter=steps, sweep=sweep, **options)
            return self.journal.ascend(ascend, start, watch)

        return ascent

    def _rare(
        self, badly_explained: Callable[[Any, int], Rows], size: int, state: State, rng: np.random.Generator
    ) -> Iterator[Any]:
        """More components, for rows that the present ones explain badly: too few of a kind to be in the part."""
        if self.fixed or state.q.n_components >= self.limit:
            return iter(())
        rows = badly_explained(state.q, size)
        return islice((q for q in self._candidates(state, rows, rng) if q.n_components > state.q.n_components), N_RARE)
