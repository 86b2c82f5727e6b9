"""Random small fits of every kind, in none of which the bound may fall by more than rounding explains."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.peers.source import Floats
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, Value, at_most
from latens import BinaryFactorAnalysis
from latens.errors import ElboDecreased

__all__ = ["run"]

N_TOLD = 5  # cases described in full
SHOWN = ("n_components", "prior", "e_step", "fit_intercept", "noise", "moves")
SLACK = {"float64": 1e-9, "float32": float(np.finfo(np.float32).eps ** 0.5)}


@dataclass(frozen=True)
class Outcome:
    seed: int
    kind: str
    iterations: int = 0
    falls: int = 0
    warned: int = 0
    largest: float = 0.0
    error: bool = False
    note: str = ""  # of a case to look at


@dataclass
class Tally:
    fits: int = 0
    iterations: int = 0
    falls: int = 0  # in the history that the estimator shows
    warned: int = 0  # in any ascent, so also in starts and moves that were not kept
    errors: int = 0
    largest: float = 0.0  # fall relative to the sum of |terms|
    cases: dict[int, str] = field(default_factory=dict)  # by seed

    def add(self, one: Outcome) -> None:
        self.fits += 1
        self.iterations += one.iterations
        self.falls += one.falls
        self.warned += one.warned
        self.errors += one.error
        self.largest = max(self.largest, one.largest)
        if one.note:
            self.cases[one.seed] = one.note


def run(setting: Setting) -> list[Table]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for one in _outcomes(range(FIRST_SEED, FIRST_SEED + setting.n_fits), setting.jobs):
        tallies[one.kind].add(one)
    rows = [_row(name, tally) for name, tally in sorted(tallies.items(), reverse=True)]
    notes = [note for tally in tallies.values() for note in _notes_of(tally)]
    return [Table(f"Falls of the bound over {setting.n_fits} random fits", rows, notes)]


def _outcomes(seeds: range, jobs: int) -> Iterable[Outcome]:
    if jobs == 1:
        return map(fit, seeds)
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(fit, seeds, chunksize=5))


def case(seed: int) -> tuple[Floats, Floats | None, dict[str, Any]]:
    """Rows, weights and settings of one random fit."""
    rng = np.random.default_rng(seed)
    n, d, true_k = int(rng.integers(4, 120)), int(rng.integers(1, 14)), int(rng.integers(1, 7))
    codes = (rng.random((n, true_k)) < rng.uniform(0.1, 0.6)).astype(float)
    parts = rng.normal(size=(true_k, d)) if rng.random() < 0.5 else rng.uniform(0, 1, size=(true_k, d))
    noise = 10.0 ** rng.uniform(-2, 0.5) * rng.normal(size=(n, d))
    x = (codes @ parts + noise + rng.choice([0.0, 0.0, 3.0])) * 10.0 ** rng.uniform(-4, 4)
    if rng.random() < 0.35:
        x[rng.random(x.shape) < rng.uniform(0.02, 0.4)] = np.nan
        x[0] = np.where(np.isnan(x[0]), 0.0, x[0])  # a column needs a value
    e_step = str(rng.choice(["auto", "mean-field", "exact", "truncated"]))
    options = {
        "n_components": int(rng.integers(1, 9 if e_step == "exact" else 15)),
        "prior": str(rng.choice(["ml", "ard"])),
        "e_step": e_step,
        "fit_intercept": bool(rng.random() < 0.4),
        "noise": str(rng.choice(["shared", "diagonal"])),
        "moves": bool(rng.random() < 0.5),
        "init": str(rng.choice(["auto", "random"])),
        "n_init": 2,
        "max_iter": 60,
        "random_state": seed,
        "n_jobs": 1,
    }
    weight = rng.choice([0.5, 1.0, 2.0, 3.7], size=n) if rng.random() < 0.35 else None
    return x.astype("float32" if rng.random() < 0.3 else "float64"), weight, options


def fit(seed: int) -> Outcome:
    x, weight, options = case(seed)
    kind = f"{x.dtype} {options['prior']}"
    model = BinaryFactorAnalysis(**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(x, sample_weight=weight)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            return Outcome(seed, kind, error=True, note=f"{type(error).__name__}: {str(error)[:160]}")
    bound = model.elbo_history_
    sizes = np.array([sum(map(abs, event.terms.values())) for event in model.trace_])
    falls = np.maximum(-np.diff(bound), 0.0) / sizes[1:]
    n_falls, largest = int(np.sum(falls > SLACK[str(x.dtype)])), float(falls.max(initial=0.0))
    warned = sum(issubclass(warning.category, ElboDecreased) for warning in caught)
    note = ""
    if warned or n_falls:
        shown_options = {name: options[name] for name in SHOWN}
        holes = "holes" if np.isnan(x).any() else "whole"
        note = f"{x.dtype} {x.shape} {holes} {shown_options} fall {largest:.1e}"
    return Outcome(seed, kind, len(bound), n_falls, warned, largest, note=note)


def _notes_of(tally: Tally) -> list[str]:
    """The first cases in words, of the others the seeds."""
    cases = [f"seed {seed}: {case_}" for seed, case_ in tally.cases.items()]
    rest = ", ".join(map(str, list(tally.cases)[N_TOLD:]))
    return [*cases[:N_TOLD], *([f"and seeds {rest}"] if rest else [])]


def _row(name: str, tally: Tally) -> Row:
    cells: dict[str, Value] = {
        "fits of": name,
        "allowed": f"{SLACK[name.split()[0]]:.1e}",
        "fits": tally.fits,
        "with a fall": len(tally.cases),
        "iterations": tally.iterations,
        "falls": tally.falls,
        "warned": tally.warned,
        "errors": tally.errors,
        "largest fall": f"{tally.largest:.1e}",
    }
    return Row(cells, {name: at_most(0) for name in ("falls", "warned", "errors")})
