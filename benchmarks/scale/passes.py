"""Passes over rows whose posteriors are not kept, and passes that learn after each batch."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.scale.floors import Shape
from benchmarks.scale.subjects import SUBJECTS
from benchmarks.setting import FIRST_SEED, Setting
from benchmarks.tables import Row, Table, at_least

__all__ = ["Curve", "curves", "online", "row_posteriors"]

SHAPE = Shape(12_000, 12, 4)
SAMPLED = 4096  # rows of the search that precedes stochastic passes, as in `fit`
KEEPING = ("binary", "noisy ICA", "noisy-OR", "views")
ONLINE = ("mixture full", "mixture diag", "mixture Bernoulli", "binary", "noisy ICA", "noisy-OR")


def row_posteriors(setting: Setting) -> list[Table]:
    """Fits of the same rows that keep local posteriors, and that find them anew in each pass."""
    import latens

    rows = []
    for name in KEEPING:
        shape = SHAPE if setting.name == "full" else Shape(1500, 12, 3)
        x = _drawn(name, shape)
        if isinstance(x, dict):
            x["two"] = (x["two"] > 0).astype(float)  # of Gaussian views a local step is exact, and nothing is kept
        data = {key: latens.scan(view, block_rows=2000) for key, view in x.items()} if isinstance(x, dict) else None
        answer = {}
        for how in ("keep", "recompute"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = SUBJECTS[name].make(
                    shape.k, random_state=0, max_iter=300, tol=1e-5, row_posteriors=how, n_jobs=1
                )
                began = time.process_time()
                model.fit(data or latens.scan(x, block_rows=2000))
                answer[how] = model, time.process_time() - began
        gap = (answer["recompute"][0].elbo_ - answer["keep"][0].elbo_) / shape.n
        cells = {
            "model": name,
            "rows": shape.n,
            "recomputed - kept, nats a row": gap,
            "CPU s, kept": answer["keep"][1],
            "CPU s, recomputed": answer["recompute"][1],
            "iterations, kept": answer["keep"][0].n_iter_,
            "iterations, recomputed": answer["recompute"][0].n_iter_,
        }
        print(cells, flush=True)
        rows.append(Row(cells, {"recomputed - kept, nats a row": at_least(-0.001)}))
    return [Table("row_posteriors: recomputed beside kept", rows)]


@dataclass(frozen=True)
class Curve:
    """Bounds of all rows while an online fit goes on, in nats a row."""

    name: str
    seen: list[float]  # passes, 0 after the search on the sample
    bound: list[float]
    batch: float  # of a fit by full iterations
    first: float  # of one iteration from a random start

    def share(self, at: int) -> float:
        """Of the gain of all iterations."""
        return (self.bound[at] - self.first) / (self.batch - self.first)


def online(setting: Setting) -> list[Table]:
    rows = []
    for curve in curves(setting):
        at = {passes: curve.seen.index(passes) for passes in (0.0, 1.0, 2.0)}
        cells = {"model": curve.name, **{f"share after {p:g} passes": curve.share(i) for p, i in at.items()}}
        rows.append(Row(cells, {"share after 2 passes": at_least(0.99)}))
    notes = ["share of the gain of a batch fit over one iteration from a random start; search on 4,096 rows before"]
    return [Table("learning_method='online': bound of all rows against rows seen", rows, notes)]


def curves(setting: Setting) -> list[Curve]:
    shape = SHAPE if setting.name == "full" else Shape(2000, 12, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [_curve(name, shape) for name in (ONLINE if setting.name == "full" else ONLINE[:2])]


def _curve(name: str, shape: Shape) -> Curve:
    """Stochastic passes by hand, on the model and units of a fit to a sample, with the bound of all rows in between."""
    from latens.core import Rows, State
    from latens.inference.online import RobbinsMonro, follow

    x, rng = _drawn(name, shape), np.random.default_rng(FIRST_SEED)
    make = partial(SUBJECTS[name].make, shape.k + 2, random_state=0, n_jobs=1)
    small = make().fit(x[rng.permutation(shape.n)[:SAMPLED]])
    model, units, state = small._model, small._units, small._state
    rows = units.enter(Rows(x))
    known = State(state.q, (shape.n / state.stats.n) * state.stats)
    n_parts, size = 10, 200
    seen, bound = [0.0], [_bound(model, rows, units, state.q)]
    order = np.concatenate([rng.permutation(shape.n), rng.permutation(shape.n)])
    for number, part in enumerate(np.array_split(order, 2 * n_parts)):
        batches = [rows.take(part[at : at + size]) for at in range(0, len(part), size)]
        known = follow(model, batches, known, combine=RobbinsMonro(shape.n, 10.0, 0.7), every=2**62).state
        seen.append((number + 1) / n_parts)
        bound.append(_bound(model, rows, units, known.q))
    first = make(max_iter=1, moves=False, n_init=1, init="random").fit(x).elbo_ / shape.n
    return Curve(name, seen, bound, make().fit(x).elbo_ / shape.n, first)


def _bound(model: Any, rows: Any, units: Any, q: Any) -> float:
    """Nats a row, local posteriors settled for q."""
    from latens.core import Unkept
    from latens.inference.ascent import infer, measure

    _, stats = infer(model, q, rows, Unkept())
    return measure(model, q, stats, 0, 0.0, units.log_scale).elbo / len(rows)


def _drawn(name: str, shape: Shape) -> Any:
    x = SUBJECTS[name].draw(shape, np.random.default_rng(FIRST_SEED))
    if isinstance(x, dict):
        return {key: view.astype(np.float64) for key, view in x.items()}
    return x.astype(np.float64)
