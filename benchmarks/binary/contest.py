"""Several methods on the same data sets, turn by turn, so that a busy moment slows all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from benchmarks.clocks import cpu_seconds
from benchmarks.peers.source import Floats
from benchmarks.setting import FIRST_SEED
from benchmarks.tables import Count, Goal, Row, Table, Value
from latens import BinaryFactorAnalysis
from latens.datasets import make_shapes
from latens.metrics import match_components

__all__ = ["Method", "compare", "ours"]

Fit = Callable[[Floats, int], Floats | tuple[Floats, ...]]  # rows, seed -> components; several: any may be right


@dataclass(frozen=True)
class Method:
    name: str
    fit: Fit
    n_seeds: int
    goals: dict[str, Goal] = field(default_factory=dict)


def ours(x: Floats, seed: int, *, k: int, prior: str) -> Floats:
    """Default settings, on one thread."""
    return np.asarray(BinaryFactorAnalysis(k, prior=prior, random_state=seed, n_jobs=1).fit(x).components_)


def compare(title: str, methods: Sequence[Method], *, signed: bool = False, exact_match: bool = False) -> Table:
    """Count the data sets whose shapes were all found; with `exact_match`, nothing else may be found either."""
    ours(make_shapes(random_state=0)[0], 0, k=12, prior="ard")  # loads the kernels
    trials: dict[str, list[Trial]] = {method.name: [] for method in methods}
    for at in range(max(method.n_seeds for method in methods)):
        seed = FIRST_SEED + at
        x, truth = make_shapes(signed=signed, random_state=seed)
        for method in methods:
            if at < method.n_seeds:
                seconds, answer = cpu_seconds(partial(method.fit, x, seed))
                answers = answer if isinstance(answer, tuple) else (answer,)
                judged = [_judge(seed, seconds, part, truth.components, exact_match) for part in answers]
                trials[method.name].append(max(judged, key=lambda trial: (trial.success, -trial.n_components)))
    head = "exactly 8" if exact_match else "all 8"
    reference = _typical(trials[methods[0].name])
    rows = [_row(method, head, trials[method.name], reference) for method in methods]
    notes = [
        f"{method.name}: "
        + "; ".join(f"seed {trial.seed} {trial}" for trial in trials[method.name] if not trial.success)
        for method in methods
        if method.goals and not all(trial.success for trial in trials[method.name])
    ]
    return Table(title, rows, notes)


@dataclass(frozen=True)
class Trial:
    seed: int
    seconds: float
    found: int  # true components among those learnt
    n_components: int
    success: bool

    def __str__(self) -> str:
        return f"found {self.found} with {self.n_components}"


def _judge(seed: int, seconds: float, components: Floats, true: Floats, exact_match: bool) -> Trial:
    found = match_components(components, true).found() if len(components) else 0
    success = found == len(true) and (not exact_match or len(components) == len(true))
    return Trial(seed, seconds, found, len(components), success)


def _typical(trials: Sequence[Trial]) -> float:
    return float(np.median([trial.seconds for trial in trials]))


def _row(method: Method, head: str, trials: Sequence[Trial], reference: float) -> Row:
    cells: dict[str, Value] = {
        "method": method.name,
        head: Count(sum(trial.success for trial in trials), len(trials)),
        "mean found": float(np.mean([trial.found for trial in trials])),
        "mean causes": float(np.mean([trial.n_components for trial in trials])),
        "CPU s": _typical(trials),
        "worst": max(trial.seconds for trial in trials),
        "x first row": _typical(trials) / reference,
    }
    return Row(cells, method.goals)
