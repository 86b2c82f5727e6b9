"""Whether the number comes out right, and the bound as high as from the truth, on rows drawn from the model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.clocks import cpu_seconds
from benchmarks.library.drawn import MODELS, Problem, in_processes, listed
from benchmarks.setting import Setting
from benchmarks.tables import Count, Row, Table, at_least, at_most

__all__ = ["design", "run", "solve"]

WORTH = 10.0  # nats that every component of a problem is worth
MOST_TRIES = 10  # draws of a problem until its components are
GOAL_RIGHT, GOAL_TIME = 0.95, 3.0
FULL_SIZE, QUICK_SIZE = 100, 6


@dataclass(frozen=True)
class Solved:
    problem: Problem
    fair: bool  # whether every component is worth what it must be
    found: int = 0
    short: float = 0.0  # nats that the fit started at the truth is ahead
    cpu: float = 0.0
    cpu_told: float = 0.0

    @property
    def right(self) -> bool:
        return self.found == self.problem.k and self.short <= max(0.5, 1e-5 * self.problem.n)


def design(name: str) -> list[Problem]:
    """Every problem, fixed before anything is fitted."""
    if name == "full":
        return listed(FULL_SIZE, (1_000, 3_000, 10_000, 30_000, 100_000), (2, 5, 10, 20, 50), range(1, 21), 600_000)
    return listed(QUICK_SIZE, (500,), (2, 5, 10), (1, 2), 10_000)


def run(setting: Setting) -> list[Table]:
    solved = list(in_processes(solve, design(setting.name), setting.jobs))
    rows = [_row(name, [one for one in solved if one.problem.model == name]) for name in MODELS]
    rows.append(_row("all", solved))
    wrong = [one for one in solved if one.fair and not one.right]
    notes = [
        f"{one.problem}: {one.found} found, {one.short:.2f} nats below the fit started at the truth" for one in wrong
    ]
    unfair = sum(not one.fair for one in solved)
    if unfair:
        notes.append(f"{unfair} problems left out: after {MOST_TRIES} draws a component was worth below {WORTH:g} nats")
    return [Table("The number of components of rows drawn from the model", rows, notes)]


def solve(problem: Problem) -> Solved:
    """Fits told nothing and told the number, beside the one started at the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for again in range(MOST_TRIES):
            x, truth = problem.rows(again)
            at_truth = _climbed(problem, x, truth)
            if at_truth.n_components_ != problem.k or _least_worth(problem, x, truth, at_truth.elbo_) < WORTH:
                continue
            cpu, found = cpu_seconds(lambda: problem.fitted(x))  # noqa: B023  (called at once)
            # a fit without any component tells what the only one is worth: a cause of a single column nothing
            if found.n_components_ > 0 or at_truth.elbo_ - found.elbo_ >= WORTH:
                break
        else:
            return Solved(problem, fair=False)
        seconds_given_number, _ = cpu_seconds(lambda: problem.fitted(x, n_components=problem.k))
    return Solved(problem, True, found.n_components_, at_truth.elbo_ - found.elbo_, cpu, seconds_given_number)


def _climbed(problem: Problem, x: np.ndarray, start: np.ndarray) -> Any:
    return problem.fitted(x, n_components=len(start), init=start, moves=False)


def _least_worth(problem: Problem, x: np.ndarray, truth: np.ndarray, bound: float) -> float:
    """How much lower the best fit is that starts from the truth less one component; the only one is not taken away."""
    if problem.k == 1:
        return np.inf
    without = (np.delete(truth, k, axis=0) for k in range(problem.k))
    return float(min(bound - _climbed(problem, x, start).elbo_ for start in without))


def _row(name: str, solved: list[Solved]) -> Row:
    fair = [one for one in solved if one.fair]
    cells = {
        "model": name,
        "right": Count(sum(one.right for one in fair), len(fair)),
        "number right": Count(sum(one.found == one.problem.k for one in fair), len(fair)),
        "most nats short": max((one.short for one in fair), default=0.0),
        "CPU s": sum(one.cpu for one in fair),
        "times told": sum(one.cpu for one in fair) / max(sum(one.cpu_told for one in fair), 1e-9),
    }
    return Row(cells, {"right": at_least(GOAL_RIGHT), "times told": at_most(GOAL_TIME)} if fair else {})
