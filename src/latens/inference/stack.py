"""Several restarts as one: a model whose components are whole posteriors of another model.

All of them then see a block of rows while it is in cache, and a model that can share work
between posteriors (`Sharing`), such as one matrix product for all their loadings, does.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from latens.array import Floats
from latens.core import Fit, Iteration, Model, Rows, State, Statistics, kept
from latens.errors import ElboDecreased
from latens.inference.ascent import OnIteration, ascend

__all__ = ["Sharing", "climb_stacked"]


@runtime_checkable
class Sharing(Protocol):
    """A model that infers local posteriors under several global ones at less than the sum of their costs."""

    def local_steps(self, qs: Sequence[Any], batch: Rows, warm: Sequence[Any]) -> list[Any]: ...


@dataclass(frozen=True)
class _Stack:
    members: tuple[Any, ...]

    @property
    def n_components(self) -> int:
        return int(max(q.n_components for q in self.members))


@dataclass(frozen=True)
class _Locals:
    members: tuple[Any, ...]


@dataclass(frozen=True)
class _StackStatistics(Statistics):
    n: float
    entries: float
    members: dict[int, Any]


@dataclass(frozen=True)
class _StackedModel:
    model: Model[Any, Any, Any]

    def local_step(self, q: _Stack, batch: Rows, warm: _Locals | None = None) -> _Locals:
        starts = (None,) * len(q.members) if warm is None else warm.members
        if isinstance(self.model, Sharing):
            return _Locals(tuple(self.model.local_steps(q.members, batch, starts)))
        return _Locals(tuple(self.model.local_step(one, batch, w) for one, w in zip(q.members, starts, strict=True)))

    def statistics(self, batch: Rows, local: _Locals) -> _StackStatistics:
        members = {i: self.model.statistics(batch, one) for i, one in enumerate(local.members)}
        return _StackStatistics(members[0].n, members[0].entries, members)

    def global_step(self, q: _Stack, stats: _StackStatistics) -> _Stack:
        return _Stack(tuple(self.model.global_step(one, stats.members[i]) for i, one in enumerate(q.members)))

    def data_terms(self, q: _Stack, stats: _StackStatistics) -> dict[str, float]:
        return self._named(self.model.data_terms(one, stats.members[i]) for i, one in enumerate(q.members))

    def global_terms(self, q: _Stack) -> dict[str, float]:
        return self._named(self.model.global_terms(one) for one in q.members)

    def _named(self, each: Any) -> dict[str, float]:
        return {f"{i}/{name}": value for i, terms in enumerate(each) for name, value in terms.items()}


def climb_stacked(
    model: Model[Any, Any, Any],
    batches: Sequence[Any],
    starts: Sequence[State],
    *,
    slack: float = 1e-9,
    log_scale: float | Floats = 0.0,
    on_iteration: OnIteration | None = None,
    **options: Any,
) -> list[Fit]:
    """Ascend from all starts at once, until none of them gains; one `Fit` for each.

    Callbacks see every restart's iterations, as if they had been climbed one after another.
    """
    events: list[list[Iteration]] = [[] for _ in starts]

    def unstack(event: Iteration) -> bool:
        stop = False
        for i, q in enumerate(event.posterior.members):
            terms = {name.partition("/")[2]: v for name, v in event.terms.items() if name.startswith(f"{i}/")}
            terms["scale"] = event.terms["scale"]
            one = Iteration(event.step, i, sum(terms.values()), terms, q.n_components, event.seconds, q)
            size = sum(map(abs, terms.values()))
            if events[i] and one.elbo < events[i][-1].elbo - slack * size:
                fall = events[i][-1].elbo - one.elbo
                warnings.warn(
                    f"the bound fell by {fall:.3g} at iteration {event.step} of restart {i}",
                    ElboDecreased,
                    stacklevel=2,
                )
            events[i].append(replace(one, posterior=None))
            stop = bool(on_iteration and on_iteration(one)) or stop
        return stop

    start = State(_Stack(tuple(state.q for state in starts)))
    stacked: Any = _StackedModel(model)
    fit = ascend(stacked, batches, start, slack=slack, log_scale=log_scale, on_iteration=unstack, **options)
    return [_member(fit, i, tuple(events[i])) for i in range(len(starts))]


def _member(fit: Fit, i: int, trace: tuple[Iteration, ...]) -> Fit:
    state = fit.state
    locals_ = None if state.locals is None else tuple(kept(block.members[i]) for block in state.locals)
    return replace(fit, state=State(state.q.members[i], state.stats.members[i], locals_, state.step), trace=trace)
