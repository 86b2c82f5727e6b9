"""What a fit carries, reports and ends with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from latens.array.fields import record
from latens.core.model import Reducible

__all__ = ["Fit", "Iteration", "State", "Underway", "fewest_of", "transient", "without_transients"]


@record
class State:
    """All that a fit needs to go on; `State(q)` is a beginning."""

    q: Any  # global posterior
    stats: Any = None  # Statistics; None: no rows were seen yet
    locals: tuple[Any, ...] | None = None  # one local posterior per block, without its transient fields
    step: int = 0
    data: Any = None  # the batch that stands for all rows seen, of a model that compresses them
    path: tuple[Any, ...] = ()  # coordinates (2, P) where the last iterations began and ended, of a model that leaps


def fewest_of(model: Any, state: State) -> Any:
    """What is left of a fit's posterior where nothing is found; None where the model does not say."""
    return model.fewest(state.q, state.stats) if isinstance(model, Reducible) else None


@record
class Underway(State):
    """A state in the middle of an ascent whose steps are stretched: what the next of them needs to know."""

    before: Any = None  # the posterior that the last step led away from
    stretch: float = 1.0  # how many times the last step the next may go, 1 being the step as it is

    @property
    def settled(self) -> State:
        """What is left of it when the ascent ends."""
        return State(self.q, self.stats, self.locals, self.step, self.data)


@dataclass(frozen=True)
class Iteration:
    """What one iteration reports to callbacks, progress bars and traces."""

    step: int
    restart: int
    elbo: float  # in nats, in the caller's units
    terms: dict[str, float]
    n_components: int
    seconds: float
    posterior: Any = None  # in model units; traces leave it out, or every iteration's would stay in memory


@dataclass(frozen=True)
class Fit:
    """Outcome of an ascent; the posterior, statistics and locals of `state` belong together."""

    state: State
    trace: tuple[Iteration, ...]
    converged: bool
    interrupted: bool = False
    stopped: bool = False  # a callback asked for it

    @property
    def elbo(self) -> float:
        return self.trace[-1].elbo


def transient() -> Any:
    """A field that q and the kept fields determine: alive from `local_step` to `statistics`, never stored."""
    return field(default=None, metadata={"transient": True})


def without_transients(local: Any) -> Any:
    """The part of a local posterior that outlives its block."""
    transients = {f.name: None for f in fields(local) if f.metadata.get("transient")}
    return replace(local, **transients) if transients else local
