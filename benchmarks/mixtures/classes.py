"""Latent classes beside StepMix (`pip install stepmix`): CPU time of one iteration, log density of held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import latens
from benchmarks.clocks import cpu_seconds
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, Value, at_least

__all__ = ["run"]

N_CLASSES, N_LEVELS = 5, 4
N_CATEGORICAL, N_BINARY, N_REAL = 7, 6, 7
SHORT, LONG = 4, 24  # iterations
N_ROWS = {"full": 10_000, "quick": 1_000}
HELD_OUT = 5_000
SIZES = {"full": (300, 500, 2_000), "quick": (300,)}
KINDS = ["categorical"] * N_CATEGORICAL + ["bernoulli"] * N_BINARY + ["gaussian"] * N_REAL
NUMBERS_OF_CLASSES = range(2, 9)  # numbers of classes among which StepMix's BIC chooses


def run(setting: Setting) -> list[Table]:
    if find_spec("stepmix") is None:
        return [Table("Latent classes beside StepMix", [], ["stepmix is not installed: pip install stepmix"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_iterations(setting), _held_out(setting)]


def rows(n: int, seed: int, missing: float, distance: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit and rows to be scored, of classes with columns of three kinds."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet(np.full(N_LEVELS, 0.8), (N_CLASSES, N_CATEGORICAL))
    on = rng.uniform(0.1, 0.9, (N_CLASSES, N_BINARY))
    centre = distance * rng.normal(size=(N_CLASSES, N_REAL))
    label = rng.integers(N_CLASSES, size=n + HELD_OUT)
    reached = np.cumsum(chance[label], axis=2)
    levels = np.sum(rng.random((len(label), N_CATEGORICAL, 1)) > reached, axis=2)
    binary = rng.random((len(label), N_BINARY)) < on[label]
    real = centre[label] + rng.normal(size=(len(label), N_REAL))
    x = np.column_stack([np.minimum(levels, N_LEVELS - 1), binary, real])
    x[:n][rng.random((n, x.shape[1])) < missing] = np.nan
    return x[:n], x[n:]


def _ours(k: int, **options: Any) -> latens.LatentClassAnalysis:
    return latens.LatentClassAnalysis(k, likelihoods=dict(enumerate(KINDS)), n_jobs=1, random_state=0, **options)


def _peer(k: int, missing: bool, **options: Any) -> tuple[Any, Callable[[np.ndarray], Any]]:
    """An estimator of StepMix, and the frame that its mixed descriptor takes."""
    import pandas as pd
    from stepmix import StepMix
    from stepmix.utils import get_mixed_descriptor

    names = [f"x{d}" for d in range(len(KINDS))]
    by_kind = {kind: [name for name, own in zip(names, KINDS, strict=True) if own == kind] for kind in set(KINDS)}
    tail = "_nan" if missing else ""

    def frame(x: np.ndarray) -> Any:
        return pd.DataFrame(x, columns=names)

    _, descriptor = get_mixed_descriptor(
        frame(np.zeros((2, len(names)))),
        **{
            f"categorical{tail}": by_kind["categorical"],
            f"binary{tail}": by_kind["bernoulli"],
            f"continuous{tail}": by_kind["gaussian"],
        },
    )
    order = [name for kind in ("categorical", "bernoulli", "gaussian") for name in by_kind[kind]]
    model = StepMix(n_components=k, measurement=descriptor, random_state=0, progress_bar=0, verbose=0, **options)
    return model, lambda x: frame(x)[order]


def _iterations(setting: Setting) -> Table:
    n, found = N_ROWS[setting.name], []
    for missing, goal in ((0.1, 7.0), (0.0, 3.0)):
        x, _ = rows(n, FIRST_SEED, missing)

        def ours(steps: int, x: np.ndarray = x) -> Any:
            return _ours(N_CLASSES, max_iter=steps, tol=0, n_init=1, moves=False).fit(x)

        def peer(steps: int, x: np.ndarray = x, missing: float = missing) -> Any:
            model, frame = _peer(N_CLASSES, missing > 0, max_iter=steps, abs_tol=0, rel_tol=0, n_init=1)
            return model.fit(frame(x))

        least = {name: _least(way, setting.n_repeats) for name, way in (("ours", ours), ("peer", peer))}
        cells: dict[str, Value] = {
            "what": f"{n} x {len(KINDS)}, K = {N_CLASSES}, {100 * missing:.0f} % missing",
            "ms": 1e3 * least["ours"],
            "StepMix ms": 1e3 * least["peer"],
            "times faster": least["peer"] / least["ours"],
        }
        found.append(Row(cells, {"times faster": at_least(goal)}))
    notes = [f"one thread; iterations {SHORT + 1} to {LONG}, least of several"]
    return Table("One iteration of latent classes", found, notes)


def _least(way: Callable[[int], Any], repeats: int) -> float:
    """CPU seconds of one iteration."""
    way(1)
    seconds = []
    for _ in range(repeats):
        short, long = (cpu_seconds(lambda steps=steps: way(steps))[0] for steps in (SHORT, LONG))
        seconds.append((long - short) / (LONG - SHORT))
    return max(min(seconds), 1e-9)


def _held_out(setting: Setting) -> Table:
    """The number of classes found by ours, and chosen by BIC among fits of StepMix, on the same data sets."""
    found = []
    for n in SIZES[setting.name]:
        gaps = []
        for seed in range(setting.n_dear):
            x, new = rows(n, FIRST_SEED + seed, 0.1, distance=0.8)
            ours = _ours(10).fit(x).score(new)
            fits = []
            for k in NUMBERS_OF_CLASSES:
                model, frame = _peer(k, True, n_init=3)
                model.fit(frame(x))
                fits.append((model.bic(frame(x)), float(model.score(frame(new)))))
            gaps.append(ours - min(fits)[1])
        error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0
        gain = float(np.mean(gaps))
        cells: dict[str, Value] = {
            "rows": n,
            "gain (nats a row)": gain,
            "standard error": error,
            "data sets": len(gaps),
        }
        found.append(Row(cells, {"gain (nats a row)": at_least(0.0 if n <= 500 else -error)}))
    notes = [f"{HELD_OUT} new rows, 10 % missing at fit"]
    return Table("Held-out log density above StepMix's best by BIC", found, notes)
