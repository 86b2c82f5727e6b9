"""What a fit carries, reports and ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latens.array.fields import record

__all__ = ["Fit", "Iteration", "State"]


@record
class State:
    """All that a fit needs to go on; `State(q)` is a beginning."""

    q: Any  # global posterior
    stats: Any = None  # Statistics; None: no rows were seen yet
    locals: tuple[Any, ...] | None = None  # one local posterior per block, without its transient fields
    step: int = 0
    data: Any = None  # the batch that stands for all rows seen, of a model that compresses them


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
