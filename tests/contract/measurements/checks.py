"""The contract's measurements, each a number that is zero or of one sign for a right model.

They take a case and a model, so that tests can hand in a model with a planted error and watch the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latens.core import Rows, State
from latens.inference.ascent import advance, ascend
from tests.contract.cases import Case, bound, posterior_midway, random_rows, settled, size_of_terms
from tests.contract.measurements.coordinates import curves, slope


def fall(fit: Any) -> float:
    """The largest fall of the bound in a trace, relative to the sum of |terms|."""
    sizes = np.array([sum(map(abs, event.terms.values())) for event in fit.trace])
    return float(np.max(-np.diff([event.elbo for event in fit.trace]) / sizes[1:], initial=0.0))


def random_fit(case: Case, model_for: Callable[[int], Any], seed: int, holes: bool, max_iter: int = 25) -> Any:
    """A fit of random rows of random shape, in two blocks, with or without weights."""
    rng = np.random.default_rng(seed)
    n, d, k = (int(rng.integers(*ends)) for ends in ((5, 60), (1, 6), (1, 6)))
    rows = random_rows(rng, n, d, holes=holes, weighted=bool(rng.integers(2)))
    model = model_for(d)
    start = State(case.start(model, k, rows.x, rng))
    return ascend(model, [rows[: n // 3], rows[n // 3 :]], start, max_iter=max_iter, tol=0)


def tiny_rows(rng: np.random.Generator, k: int, holes: bool) -> Rows:
    """Few enough to enumerate all their codes at once, one of them counted twice or not at all."""
    n, d = (4, 3) if k == 1 else (4, 2)
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 3)
    seen = np.ones((n, d), bool)
    seen[rng.integers(n), rng.integers(d)] = False
    weight = np.ones(n)
    weight[-1] = 2.0 if k == 1 else 0.0
    return Rows(np.where(seen, x, 0.0), seen, weight) if holes else Rows(x, None, weight)


def gap_to_the_evidence(case: Case, model_for: Callable[[int], Any], seed: int, holes: bool, steps: int = 100) -> float:
    """Evidence less bound after some steps, in nats: never negative."""
    rng = np.random.default_rng(1000 + seed)
    k = 1 + seed % case.most_components
    rows = tiny_rows(rng, k, holes)
    model = model_for(rows.x.shape[1])
    start = State(case.start(model, k, rows.x, rng))
    fit = ascend(model, [rows[:1], rows[1:]], start, max_iter=steps, tol=1e-12)
    return case.log_evidence(model, fit.state.q, rows) - fit.elbo


def gap_at_a_start(case: Case, model_for: Callable[[int], Any], seed: int, holes: bool) -> float:
    """The same far from any optimum, where a wrong term has nothing to hide behind."""
    rng = np.random.default_rng(2000 + seed)
    rows = tiny_rows(rng, 1, holes)
    model = model_for(rows.x.shape[1])
    q = case.start(model, 1, rows.x, rng)
    stats = model.statistics(rows, model.local_step(q, rows))
    return case.log_evidence(model, q, rows) - bound(model, q, stats)


def mismatch_of_rows(case: Case, model_for: Callable[[int], Any], holes: bool) -> float:
    """Weighted row bounds against the data terms, relative."""
    rng = np.random.default_rng(15)
    other_rows = random_rows(rng, 30, 4, holes=not holes, weighted=True)
    asked = random_rows(rng, 30, 4, holes=holes, weighted=True)
    model, q = posterior_midway(case, other_rows, 3, rng, model_for(4))
    local = model.local_step(q, asked)
    terms = model.data_terms(q, model.statistics(asked, local))
    gap = model.row_bounds(q, asked, local) @ asked.weight - sum(terms.values())
    return float(abs(gap) / sum(map(abs, terms.values())))


class Hill:
    """How steep the bound is at a point, and how far one coordinate's step can climb; both relative to rounding."""

    def __init__(self, height: Callable[[Any], float], top: Any, scale: float, reach: float) -> None:
        self.steepest = self.gain = 0.0
        self.n_coordinates, self.where = 0, ""
        peak = height(top)
        for name, curve in curves(top):
            self.n_coordinates += 1
            steep = abs(slope(height, curve)) / max(1.0, scale / 100)
            if steep > self.steepest:
                self.steepest, self.where = steep, name
            gain = max(height(curve(reach)), height(curve(-reach))) - peak
            self.gain = max(self.gain, gain / scale)


def global_hill(case: Case, model_for: Callable[[int], Any], holes: bool) -> Hill:
    """The bound about a posterior whose global steps have settled, the statistics fixed."""
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 40, 3, holes=holes, weighted=True)
    model, q = posterior_midway(case, rows, 2, rng, model_for(3))
    stats = model.statistics(rows, model.local_step(q, rows))
    heights: list[float] = []
    for _ in range(400):
        q, stats = advance(model, q, stats)
        heights.append(bound(model, q, stats))
        if heights[-20:] == heights[-1:] * 20:  # settled to the last digit
            break
    return Hill(lambda at: bound(model, at, stats), q, size_of_terms(model, q, stats), 0.05)


def local_hill(case: Case, model_for: Callable[[int], Any], holes: bool) -> Hill:
    """The bound about a settled local posterior, the globals fixed."""
    rng = np.random.default_rng(6)
    rows = random_rows(rng, 6, 3, holes=holes, weighted=True)
    model, q = posterior_midway(case, rows, 3, rng, model_for(3))
    local = settled(model, q, rows)
    scale = size_of_terms(model, q, model.statistics(rows, local))
    return Hill(lambda at: bound(model, q, model.statistics(rows, at)), local, scale, 0.3)
