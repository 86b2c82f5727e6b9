"""A model whose bound is read from a script, so that drivers can be tested without any mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from latens.core import Fit, Iteration, Rows, State, Statistics


@dataclass(frozen=True)
class Place:
    """A posterior: how many global steps were taken, and from where."""

    at: int = 0
    offset: float = 0.0
    n_components: int = 1


@dataclass(frozen=True)
class Local:
    mean: np.ndarray
    n_steps: int = 0


@dataclass(frozen=True)
class Sums(Statistics):
    n: float
    entries: float
    x: float


@dataclass(frozen=True)
class Scripted:
    """After global step i the bound is heights[i]; the last height stays."""

    heights: Sequence[float]
    exact: bool = False
    pull: float = 0.5  # how far a local step takes a code towards 1

    def local_step(self, q: Place, batch: Rows, warm: Local | None = None) -> Local:
        before = Local(np.zeros((len(batch), 1))) if warm is None else warm
        return Local(before.mean + self.pull * (1 - before.mean), before.n_steps + 1)

    def statistics(self, batch: Rows, local: Local) -> Sums:
        return Sums(batch.n, batch.n * batch.x.shape[1], float(np.sum(batch.x)))

    def global_step(self, q: Place, stats: Sums) -> Place:
        return replace(q, at=q.at + 1)

    def data_terms(self, q: Place, stats: Sums) -> dict[str, float]:
        return {"script": self.heights[min(q.at, len(self.heights)) - 1] + q.offset}

    def global_terms(self, q: Place) -> dict[str, float]:
        return {"constant": 0.0}

    def codes(self, batch: Rows, local: Local) -> tuple[np.ndarray, np.ndarray]:
        return local.mean, 0 * local.mean

    def exact_local(self, q: Place) -> bool:
        return self.exact


def some_rows(n: int = 4) -> Rows:
    return Rows(np.ones((n, 3)))


def fit_at(height: float, q: object = None, *, step: int = 1, restart: int = 0, **flags: bool) -> Fit:
    """A finished fit whose bound is `height`."""
    event = Iteration(step - 1, restart, height, {"script": height}, 1, 0.0)
    return Fit(State(q, Sums(10.0, 30.0, 0.0), None, step), (event,), **{"converged": True, **flags})
