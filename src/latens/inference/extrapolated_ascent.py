"""Coordinate ascent in leaps: to the optimum itself, where plain iterations would take hundreds.

Coordinate ascent nears an optimum by steps that shrink linearly, each direction by its own share of missing
information: of close clusters and of ICA's sources each step may be 95 % of the one before. The last few steps tell
where they lead (reduced rank extrapolation): the mixture of steps that is shortest, of their ends. A leap goes there
in free coordinates, in which no posterior leaves its domain, plain iterations go on from it, and if the bound is lower
they go on from where they were. What stands at an end of its range takes no steps, and no leap moves it.

References: Eddy (1979); Smith, Ford & Sidi (1987).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import B, Fit, Iteration, L, Q, S, State, Steps, Stretching
from latens.core.coordinates import Chart
from latens.inference.ascent import ascend
from latens.inference.sweep import Sweep, serial_sweep

__all__ = ["ascend_in_leaps", "has_settled", "settled", "size_of_terms"]

ITERATIONS_BETWEEN_LEAPS = 7  # iterations between leaps
# of a coordinate: steps that seem to lead further, such as to a variance times e, are not the last ones
LARGEST_STEP = 1.0
RIDGE = 1e-6  # of all squared steps: steps that go the same way are not told apart by their rounding
TIMES_ROUNDING = 32.0  # of a coordinate's rounding, that its longest step must be to be one


def ascend_in_leaps(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    start: State,
    *,
    max_iter: int,
    tol: float,
    enough: Callable[[float, float], bool],
    sweep: Sweep = serial_sweep,
    log_scale: float | Floats = 0.0,
) -> Fit:
    """Alternate local and global steps, with leaps, until an iteration gains less than `tol` nats per row.

    `enough` is given what a plain iteration gained and the bound after it, and may end the ascent. The trace is of the
    iterations since the last leap.
    """
    state, before, left = start, None, max_iter
    between = (
        max_iter if isinstance(model, Stretching) else ITERATIONS_BETWEEN_LEAPS
    )  # steps that are stretched lead elsewhere
    while True:
        watch = _Watch(enough, None if before is None else before.elbo)
        n_steps = min(between, left)
        fit = ascend(
            model,
            batches,
            state,
            max_iter=n_steps,
            tol=tol,
            log_scale=log_scale,
            sweep=sweep,
            on_iteration=watch,
            leaps=False,
        )
        left -= len(fit.trace)
        if before is not None and watch.fell:
            fit = before
        elif watch.ended or fit.converged or fit.interrupted:
            return fit
        if left <= 0:
            return fit
        limit = None if watch.fell else _leap(watch.points)
        state, before = (fit.state, None) if limit is None else (replace(fit.state, q=limit, stats=None), fit)


def settled(
    model: Steps[B, Q, L, S],
    batches: Sequence[Any],
    start: State,
    nats: float,
    max_iter: int,
    over: Callable[[], bool] | None,
    sweep: Sweep,
    log_scale: float | Floats,
) -> Fit:
    """Where leaps lead from a state that has statistics, until an iteration gains so few nats or time is over."""
    return ascend_in_leaps(
        model,
        batches,
        start,
        max_iter=max_iter,
        tol=nats / max(start.stats.n, 1.0),
        enough=lambda gain, _: gain < nats or (over is not None and over()),
        sweep=sweep,
        log_scale=log_scale,
    )


@dataclass
class _Watch:
    """Of the iterations from one leap to the next: posteriors, and whether to stop."""

    enough: Callable[[float, float], bool]
    floor: float | None  # the bound before the leap, where there was one
    points: list[Any] = field(default_factory=list)
    last: float = -np.inf
    fell: bool = False
    ended: bool = False

    def __call__(self, event: Iteration) -> bool:
        if not self.points:
            self.fell = self.floor is not None and event.elbo < self.floor
        else:
            self.ended = self.enough(event.elbo - self.last, event.elbo)
        self.last = event.elbo
        self.points.append(event.posterior)
        return self.fell or self.ended


def _leap(points: Sequence[Any]) -> Any | None:
    """Where the steps between posteriors lead; None where they do not tell."""
    chart = Chart.sized(points[-1])
    trail = [each for each in map(chart.coordinates, points) if each is not None]
    if not chart.size or len(trail) < len(points):
        return None
    ends = np.stack(trail)
    steps = np.diff(ends, axis=0)  # a few numbers for each coordinate: what is made of them takes their place
    # what goes no further than rounding takes it says nothing, and next to an end of a range it may take longest steps
    longest = np.maximum(steps.max(axis=0), -steps.min(axis=0))
    moving = longest > TIMES_ROUNDING * chart.rounding
    if not moving.any():
        return None
    steps[:, ~moving] = 0.0
    steps /= longest[moving].max()
    products = steps @ steps.T
    products += RIDGE * np.trace(products) * np.eye(len(products))
    shares = np.linalg.solve(products, np.ones(len(products)))
    way = (shares / shares.sum()) @ ends[1:]
    way[~moving] = 0.0
    far = np.abs(way).max()
    return chart.at(way / max(far / LARGEST_STEP, 1.0)) if np.isfinite(far) else None


def size_of_terms(fit: Fit) -> float:
    """Of the terms of the bound, whatever the unit of the rows."""
    return sum(abs(term) for name, term in fit.trace[-1].terms.items() if name != "scale")


def has_settled(fit: Fit, tol: float) -> bool:
    """Whether the last iteration of a fit that converged gained less than a smaller tolerance asks for, too."""
    if not fit.converged or len(fit.trace) < 2 or not tol > 0:
        return False
    return bool(abs(fit.trace[-1].elbo - fit.trace[-2].elbo) < tol * max(fit.state.stats.n, 1.0))
