"""Time, recovery and memory of multi-view fits beside mofapy2."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds, in_new_process
from benchmarks.library.large import peak_memory
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Count, Goal, Row, Table, Value, at_least, at_most
from benchmarks.views.problems import Problem, correlations, problem, subspace
from latens.experiments.mofapy2_peer import is_installed, mofapy2_factors

__all__ = ["fit_and_tell", "iterations", "memory", "rare_binaries", "recovery"]

FASTER = {"a": 10.0, "b": 6.0, "c": 5.0, "d": 25.0}
SECONDS = {"a": 0.8, "d": 8.0}
CHILD = "import sys; from benchmarks.views.contest import fit_and_tell; fit_and_tell(*sys.argv[1:])"
MIB = 2**20


def iterations(setting: Setting) -> list[Table]:
    """CPU time of one iteration: long runs less short ones, least of several."""
    rows = []
    for case, goal in FASTER.items():
        p = problem(case, FIRST_SEED, setting.name == "quick")
        # the start of a fit varies by as much as some iterations, and tries up to 30 itself
        short, long = (30, 70) if case == "d" else (30, 230)

        def ours(steps: int, p: Problem = p) -> Any:
            model = latens.MultiViewFactorAnalysis(p.n_components, random_state=0, moves=False, tol=0, max_iter=steps)
            return model.set_params(n_jobs=1, likelihoods=p.truth.likelihoods).fit(p.views)

        def peer(steps: int, p: Problem = p) -> Any:
            return mofapy2_factors(p.views, p.truth.likelihoods, p.n_components, 0, iterations=steps)

        cells: dict[str, Value] = {"case": case, "ms": 1e3 * _each(ours, short, long, setting.n_repeats)}
        goals: dict[str, Goal] = {}
        if is_installed():
            # it may settle, and stop, in a longer run
            ends, times = ((2, 6), 1) if case == "d" else ((5, 45), setting.n_repeats)
            cells["mofapy2 ms"] = 1e3 * _each(peer, *ends, times)
            cells["times faster"] = float(cells["mofapy2 ms"]) / float(cells["ms"])  # type: ignore[arg-type]
            goals["times faster"] = at_least(goal)
        rows.append(Row(cells, goals))
    notes = [
        "one thread, double precision, all factors kept, the bound in every iteration; mofapy2 0.7.5 with "
        "spike-and-slab loadings"
    ]
    return [Table("One iteration of multi-view factor analysis", rows, notes)]


def recovery(setting: Setting) -> list[Table]:
    """Default fits on fresh seeds: factors found, and the time it took."""
    rows = []
    small = setting.name == "quick"
    _default(problem("c", 0, small=True))  # loads and compiles what there is
    for case, n_seeds in {"a": 20, "b": 10, "c": 10, "d": 5}.items():
        seeds = range(FIRST_SEED, FIRST_SEED + (1 if small else n_seeds))
        problems = (problem(case, seed, small) for seed in seeds)
        fits = [(*cpu_seconds(lambda p=p: _default(p)), p) for p in problems]
        found = [correlations(p.truth.codes, model.scores_) for _, model, p in fits]
        cells: dict[str, Value] = {
            "case": case,
            "seeds": len(fits),
            "least correlation": float(min(map(np.mean, found))),  # mean over factors, as mofapy2's is quoted
            "least of a factor": float(min(map(np.min, found))),
            "number right": Count(sum(m.n_components_ == p.truth.codes.shape[1] for _, m, p in fits), len(fits)),
            "most CPU s": max(seconds for seconds, _, _ in fits),
            "falls": sum(int(np.sum(np.diff(m.elbo_history_) < -1e-9 * abs(m.elbo_))) for _, m, _ in fits),
        }
        goals = {"least correlation": at_least(0.99), "falls": at_most(0)}
        if case in SECONDS:
            goals["most CPU s"] = at_most(SECONDS[case])
        rows.append(Row(cells, goals))
    rows += [_peer_row(case, setting) for case in ("a",) if is_installed()]
    dense = []
    for seed in range(FIRST_SEED, FIRST_SEED + (1 if small else 10)):
        p = problem("a", seed, small, sparsity=1.0)
        seconds, model = cpu_seconds(lambda p=p: _default(p))
        dense.append((subspace(p.truth.codes, model.scores_), model.n_components_, seconds))
    spaces, numbers, times = zip(*dense, strict=True)
    cells = {
        "case": "a, dense loadings",
        "seeds": len(dense),
        "least subspace": min(spaces),
        "number right": Count(sum(k == p.truth.codes.shape[1] for k in numbers), len(dense)),
        "most CPU s": max(times),
    }
    rows.append(Row(cells, {"least subspace": at_least(0.99)}))
    notes = ["dense loadings leave factors that share their views free to rotate: their subspace is what can be found"]
    return [Table("Default fits of multi-view factor analysis", rows, notes)]


def rare_binaries(setting: Setting) -> list[Table]:
    """Log-loss of a binary view in which 8 % are ones, over entries that were hidden."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + (1 if setting.name == "quick" else 5)):
        views, truth = latens.datasets.make_multiview(
            500,
            (200, 100),
            ("gaussian", "bernoulli"),
            n_factors=3,
            missing=0.1,
            rate=0.08,
            random_state=seed,
        )
        name = list(views)[1]
        hidden, y = truth.missing[name], truth.complete[name]
        model = _default(Problem(views, truth, 6))
        ours = _log_loss(y[hidden], model.impute(views)[name][hidden])
        best = _log_loss(y[hidden], truth.expected[name][hidden])
        rows.append(
            Row({"seed": seed, "log-loss": ours, "truth": best, "excess": ours - best}, {"excess": at_most(0.03)})
        )
    return [Table("Rare binary entries, hidden and predicted", rows)]


def memory(setting: Setting) -> list[Table]:
    """Peak beyond the data of a whole fit, in a process of its own."""
    rows = []
    for who in ("latens", *(["mofapy2"] if is_installed() else [])):
        answer = in_new_process(CHILD, who, setting.name, OMP_NUM_THREADS="1")
        cells: dict[str, Value] = {
            "fit": who,
            "data MiB": float(answer["data"]),
            "beyond MiB": float(answer["peak"]),
            "of data": answer["peak"] / answer["data"],
        }
        rows.append(Row(cells, {"of data": at_most(1.5)} if who == "latens" else {}))
    return [Table("Memory of a fit of case d", rows, ["mofapy2 runs two iterations only"])]


def fit_and_tell(who: str, size: str) -> None:
    """In a process of its own: what a fit holds at most beyond what was there before."""
    warm = problem("a", 0, small=True)
    p = problem("d", FIRST_SEED, size == "quick")
    data = sum(view.nbytes for view in p.views.values()) / MIB
    p.truth.complete.clear()
    p.truth.expected.clear()
    p.truth.missing.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if who == "latens":
            _default(warm)
        else:
            mofapy2_factors(warm.views, warm.truth.likelihoods, 2, 0, iterations=2)
        before = _reset_peak()
        if who == "latens":
            _default(p)
        else:
            mofapy2_factors(p.views, p.truth.likelihoods, p.n_components, 0, iterations=2)
    print(json.dumps({"data": data, "peak": (peak_memory() - before) / MIB}))


def _reset_peak() -> int:
    """Forget the peak that making the data left, where the system lets one; bytes held now."""
    handle = Path("/proc/self/clear_refs")
    if handle.exists():
        handle.write_text("5")
    return peak_memory()


def _default(p: Problem) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return latens.MultiViewFactorAnalysis(
            p.n_components, likelihoods=p.truth.likelihoods, random_state=0, n_jobs=1
        ).fit(p.views)


def _each(way: Callable[[int], Any], short: int, long: int, repeats: int) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        way(short)
        seconds = [cpu_seconds(lambda: way(long))[0] - cpu_seconds(lambda: way(short))[0] for _ in range(repeats)]
    return max(min(seconds) / (long - short), 1e-9)


def _peer_row(case: str, setting: Setting) -> Row:
    small = setting.name == "quick"
    notes = []
    for seed in range(FIRST_SEED, FIRST_SEED + (1 if small else 3)):
        p = problem(case, seed, small)
        notes.append((mofapy2_factors(p.views, p.truth.likelihoods, p.n_components, seed), p))
    found = [correlations(p.truth.codes, fit.scores) for fit, p in notes]
    return Row(
        {
            "case": f"{case}, mofapy2",
            "seeds": len(notes),
            "least correlation": float(min(map(np.mean, found))),
            "least of a factor": float(min(map(np.min, found))),
            "most CPU s": max(fit.seconds for fit, _ in notes),
            "falls": sum(int(np.sum(np.diff(fit.elbo) < -1e-9 * abs(fit.elbo[-1]))) for fit, _ in notes),
        }
    )


def _log_loss(y: np.ndarray, chance: np.ndarray) -> float:
    chance = np.clip(chance, 1e-12, 1 - 1e-12)
    return float(-np.mean(y * np.log(chance) + (1 - y) * np.log1p(-chance)))
