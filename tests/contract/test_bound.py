"""What every bound must satisfy: it rises, it stays below the evidence, and each update is its maximum."""

from __future__ import annotations

import numpy as np
import pytest

from latens.core import Following, Movable, Proposal, Rows, State, without_transients
from latens.inference.ascent import ascend
from tests.contract.cases import CASES, UNMOVED, Case, bound, posterior_midway, random_rows, size_of_terms
from tests.contract.measurements import checks

ROUNDING = 1e-9  # relative to the sum of |terms|
FLAT = 1e-6  # slopes below this are zero to finite differences


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def holes(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_bound_never_falls(case: Case, holes: bool) -> None:
    for seed in range(2):
        assert checks.fall(checks.random_fit(case, case.build, seed, holes)) < ROUNDING


@pytest.mark.slow
def test_bound_never_falls_in_a_thousand_fits(holes: bool) -> None:
    table = list(CASES.values())
    for seed in range(500):
        case = table[seed % len(table)]
        assert checks.fall(checks.random_fit(case, case.build, 10_000 + seed, holes, max_iter=40)) < ROUNDING


def test_bound_is_below_the_exact_evidence(case: Case, holes: bool) -> None:
    for seed in range(case.most_components):  # a component more each time
        gap = checks.gap_to_the_evidence(case, case.build, seed, holes, steps=25)
        assert -1e-9 < gap < 8  # the upper end: it is that evidence it is below


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bound_after_many_steps_is_below_the_exact_evidence(case: Case, holes: bool, seed: int) -> None:
    assert -1e-9 < checks.gap_to_the_evidence(case, case.build, seed, holes) < 8


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_bound_away_from_the_optimum_is_below_the_evidence_too(case: Case, holes: bool, seed: int) -> None:
    assert checks.gap_at_a_start(case, case.build, seed, holes) > -1e-9


def test_exact_rows_make_the_bound_of_point_estimates_the_likelihood(case: Case, holes: bool) -> None:
    rows = random_rows(np.random.default_rng(3), 20, 3, holes=holes, weighted=True)
    model, q = posterior_midway(case, rows, 3, np.random.default_rng(4))
    height = bound(model, q, model.statistics(rows, model.local_step(q, rows)))
    if case.points:
        likelihood = case.log_evidence(model, q, rows)
        assert (height == pytest.approx(likelihood, rel=1e-12)) == case.exact_rows
        assert height <= likelihood + 1e-9


def test_globals_end_at_a_maximum(case: Case, holes: bool) -> None:
    hill = checks.global_hill(case, case.build, holes)
    assert hill.steepest < FLAT, hill.where
    assert hill.gain < ROUNDING
    assert hill.n_coordinates >= 2 + 2 * 3 + 1  # usage, loadings, noise


def test_locals_end_at_a_maximum(case: Case, holes: bool) -> None:
    hill = checks.local_hill(case, case.build, holes)
    assert hill.steepest < FLAT, hill.where
    assert hill.gain < ROUNDING
    assert hill.n_coordinates >= 12


def test_a_warm_local_step_never_lowers_the_bound(case: Case, holes: bool) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, 30, 4, holes=holes, weighted=True)
        model, q = posterior_midway(case, rows, 4, rng)
        local = model.local_step(case.start(model, 4, rows.x, rng), rows)  # settled elsewhere: there is much to gain
        # what was kept of it is worth what one more step under the same q makes of it
        local = model.local_step(q, rows, without_transients(local))
        heights = []
        for _ in range(6):
            stats = model.statistics(rows, local)
            heights.append(bound(model, q, stats))
            local = model.local_step(q, rows, without_transients(local))
        assert np.all(np.diff(heights) >= -ROUNDING * size_of_terms(model, q, stats))


def test_kept_locals_lose_nothing_that_a_local_step_needs(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(7)
    rows = random_rows(rng, 30, 4, holes=holes, weighted=True)
    model, q = posterior_midway(case, rows, 4, rng)
    local = model.local_step(q, rows)
    one, two = (model.statistics(rows, model.local_step(q, rows, warm)) for warm in (local, without_transients(local)))
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
    model, q = posterior_midway(case, rows, 4, rng)
    if not isinstance(getattr(model, "model", model), Movable):
        return  # it proposes none
    local = model.local_step(q, rows)
    stats = model.statistics(rows, local)
    proposals = list(model.candidates(q, stats, Rows(rows.x, rows.seen), rng, 4))
    assert bool(proposals) == (case not in [CASES[name] for name in UNMOVED])
    sizes = set()
    for candidate in proposals:
        sizes.add(candidate.n_components)
        assert 0 <= candidate.n_components <= 4
        starts = [State(candidate.q if isinstance(candidate, Proposal) else candidate)]
        if isinstance(candidate, Proposal) and isinstance(local, Following):
            starts.append(State(candidate.q, None, (local.follow(candidate.of),)))  # with the codes that rows have
        for start in starts:
            fit = ascend(model, [rows], start, max_iter=4, tol=0)
            assert fit.state.q.n_components == candidate.n_components
            assert np.isfinite(fit.elbo)
            assert checks.fall(fit) < ROUNDING
    if case.points:
        assert sizes <= {4}  # a likelihood grows with the number of components and cannot judge it
    else:
        assert min(sizes) < 4
