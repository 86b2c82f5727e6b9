"""What every bound must satisfy: it rises, it stays below the evidence, and each update is its maximum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from latens.core import Rows, State, kept
from latens.inference.ascent import ascend
from tests.contract.cases import CASES, Case, bound, midway, random_rows, settled, size_of_terms
from tests.contract.coordinates import curves, slope

ROUNDING = 1e-9  # relative to the sum of |terms|
FLAT = 1e-6  # slopes below this are zero to finite differences


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def holes(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def fall(fit: Any) -> float:
    """The largest fall of the bound in a trace, relative to the sum of |terms|."""
    sizes = np.array([sum(map(abs, event.terms.values())) for event in fit.trace])
    return float(np.max(-np.diff([event.elbo for event in fit.trace]) / sizes[1:], initial=0.0))


def random_fit(case: Case, seed: int, holes: bool, **options: Any) -> tuple[Any, Rows, Any]:
    rng = np.random.default_rng(seed)
    n, d, k = rng.integers(5, 60), rng.integers(1, 6), rng.integers(1, 6)
    rows = random_rows(rng, n, d, holes=holes, weighted=bool(rng.integers(2)))
    model = case.build(int(d))
    start = State(case.start(model, int(k), rows.x, rng))
    return model, rows, ascend(model, [rows[: n // 3], rows[n // 3 :]], start, **options)


def tiny_rows(rng: np.random.Generator, k: int, holes: bool) -> Rows:
    """Few enough to enumerate all their codes at once, one of them counted twice or not at all."""
    n, d = (4, 3) if k == 1 else (4, 2)
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 3)
    seen = np.ones((n, d), bool)
    seen[rng.integers(n), rng.integers(d)] = False
    weight = np.ones(n)
    weight[-1] = 2.0 if k == 1 else 0.0
    return Rows(np.where(seen, x, 0.0), seen, weight) if holes else Rows(x, None, weight)


def test_bound_never_falls(case: Case, holes: bool) -> None:
    assert max(fall(random_fit(case, seed, holes, max_iter=25, tol=0)[2]) for seed in range(6)) < ROUNDING


@pytest.mark.slow
def test_bound_never_falls_in_a_thousand_fits(holes: bool) -> None:
    table = list(CASES.values())
    falls = [
        fall(random_fit(table[seed % len(table)], 10_000 + seed, holes, max_iter=40, tol=0)[2]) for seed in range(500)
    ]
    assert max(falls) < ROUNDING


@pytest.mark.parametrize("seed", range(4))
def test_bound_is_below_the_exact_evidence(case: Case, holes: bool, seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    k = 1 + seed % case.most_components
    rows = tiny_rows(rng, k, holes)
    model = case.build(rows.x.shape[1])
    start = State(case.start(model, k, rows.x, rng))
    fit = ascend(model, [rows[:1], rows[1:]], start, max_iter=300, tol=1e-12)
    exact = case.log_evidence(model, fit.state.q, rows)
    assert fit.elbo <= exact + 1e-9 * max(1.0, abs(exact))
    assert fit.elbo > exact - 8  # and it is that evidence it is below


@pytest.mark.parametrize("seed", range(3))
def test_bound_away_from_the_optimum_is_below_the_evidence_too(case: Case, holes: bool, seed: int) -> None:
    rng = np.random.default_rng(2000 + seed)
    rows = tiny_rows(rng, 1, holes)
    model = case.build(rows.x.shape[1])
    q = case.start(model, 1, rows.x, rng)
    stats = model.statistics(rows, model.local_step(q, rows))
    assert bound(model, q, stats) <= case.log_evidence(model, q, rows) + 1e-9


def test_exact_rows_make_the_bound_of_point_estimates_the_likelihood(case: Case, holes: bool) -> None:
    if not (case.points and case.exact_rows):
        return
    rows = random_rows(np.random.default_rng(3), 20, 3, holes=holes, weighted=True)
    model, q = midway(case, rows, 3, np.random.default_rng(4))
    stats = model.statistics(rows, model.local_step(q, rows))
    assert bound(model, q, stats) == pytest.approx(case.log_evidence(model, q, rows), rel=1e-12)


def test_globals_end_at_a_maximum(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 40, 3, holes=holes, weighted=True)
    model, q = midway(case, rows, 2, rng)
    stats = model.statistics(rows, model.local_step(q, rows))
    for _ in range(400):
        q = model.global_step(q, stats)

    def height(at: Any) -> float:
        return bound(model, at, stats)

    top, scale = height(q), size_of_terms(model, q, stats)
    found = 0
    for name, curve in curves(q):
        found += 1
        assert abs(slope(height, curve)) < FLAT * max(1.0, scale / 100), name
        assert max(height(curve(0.05)), height(curve(-0.05))) <= top + ROUNDING * scale, name
    assert found >= len(q.usage.mean) + q.loadings.mean.size


def test_locals_end_at_a_maximum(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(6)
    rows = random_rows(rng, 12, 3, holes=holes, weighted=True)
    model, q = midway(case, rows, 3, rng)
    local = settled(model, q, rows)

    def height(at: Any) -> float:
        return bound(model, q, model.statistics(rows, at))

    top, scale = height(local), size_of_terms(model, q, model.statistics(rows, local))
    found = 0
    for name, curve in curves(local):
        found += 1
        assert abs(slope(height, curve)) < FLAT * max(1.0, scale / 100), name
        assert max(height(curve(0.3)), height(curve(-0.3))) <= top + ROUNDING * scale, name
    assert found >= 12


def test_a_warm_local_step_never_lowers_the_bound(case: Case, holes: bool) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, 30, 4, holes=holes, weighted=True)
        model, q = midway(case, rows, 4, rng)
        local = model.local_step(case.start(model, 4, rows.x, rng), rows)  # settled elsewhere: there is much to gain
        # what was kept of it is worth what one more step under the same q makes of it
        local = model.local_step(q, rows, kept(local))
        heights = []
        for _ in range(6):
            stats = model.statistics(rows, local)
            heights.append(bound(model, q, stats))
            local = model.local_step(q, rows, kept(local))
        assert np.all(np.diff(heights) >= -ROUNDING * size_of_terms(model, q, stats))


def test_kept_locals_lose_nothing_that_a_local_step_needs(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(7)
    rows = random_rows(rng, 30, 4, holes=holes, weighted=True)
    model, q = midway(case, rows, 4, rng)
    local = model.local_step(q, rows)
    one, two = (model.statistics(rows, model.local_step(q, rows, warm)) for warm in (local, kept(local)))
    assert bound(model, q, one) == bound(model, q, two)


def test_without_data_the_bound_is_at_most_zero(case: Case) -> None:
    """The evidence of no data is 1. A prior with a prior of its own leaves a gap, any other leaves none."""
    model, row = case.build(3), Rows(np.ones((1, 3)))
    q = model.prior(2)
    nothing = 0.0 * model.statistics(row, model.local_step(q, row))
    height = bound(model, q, nothing)
    if case.hierarchical:
        assert -10 < height <= 0
    else:
        assert height == pytest.approx(0, abs=1e-12)


def test_candidates_are_posteriors_the_model_can_go_on_from(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(8)
    rows = random_rows(rng, 60, 4, holes=holes, weighted=False)
    model, q = midway(case, rows, 4, rng)
    stats = model.statistics(rows, model.local_step(q, rows))
    proposals = list(model.candidates(q, stats, Rows(rows.x, rows.seen), rng, 4))
    assert proposals
    sizes = set()
    for candidate in proposals:
        sizes.add(candidate.n_components)
        assert 1 <= candidate.n_components <= 4
        fit = ascend(model, [rows], State(candidate), max_iter=4, tol=0)
        assert fit.state.q.n_components == candidate.n_components
        assert np.isfinite(fit.elbo)
        assert fall(fit) < ROUNDING
    if case.points:
        assert sizes == {4}  # a likelihood grows with the number of components and cannot judge it
    else:
        assert min(sizes) < 4
