"""What a model says about rows: densities that integrate to one, imputations, draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from latens.core import Rows
from tests.contract.cases import CASES, Case, posterior_midway, random_rows, settled
from tests.contract.measurements.evidence import observed, row_log_joints, states, with_ones

BINARY = [name for name in CASES if name.startswith("binary")]  # all cases: test_all_answers
# one E step of each kind of loadings
ONE_OF_EACH = [name for name in BINARY if "-exact" in name or name.endswith("truncated-intercept-diagonal")]


@pytest.fixture(params=BINARY)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def holes(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def density(model: Any, q: Any, rows: Rows) -> np.ndarray:
    return np.exp(model.log_predictive(q, rows, model.local_step(q, rows)))


def stretched(n: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for integrals over the whole line, with heavy tails."""
    u = (np.arange(n) + 0.5) / n * np.pi - np.pi / 2
    return size * np.tan(u), size * np.pi / n / np.cos(u) ** 2


def test_predictive_density_integrates_to_one(case: Case) -> None:
    rng = np.random.default_rng(21)
    model, q = posterior_midway(case, random_rows(rng, 25, 1, holes=False, weighted=True), 2, rng)
    x, mass = stretched(4000, 3.0)
    assert density(model, q, Rows(x[:, None])) @ mass == pytest.approx(1, abs=1e-6)


def test_a_hole_is_an_integral_over_what_it_may_hold(case: Case) -> None:
    rng = np.random.default_rng(22)
    model, q = posterior_midway(case, random_rows(rng, 25, 2, holes=True, weighted=True), 2, rng)
    x, mass = stretched(4000, 3.0)
    for value in (-1.3, 0.4):
        full = density(model, q, Rows(np.column_stack([np.full_like(x, value), x]))) @ mass
        gappy = density(model, q, Rows(np.array([[value, 0.0]]), np.array([[True, False]])))
        assert gappy == pytest.approx(full, rel=1e-6)


def test_predictive_density_is_above_the_row_bound(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(23)
    rows = random_rows(rng, 40, 4, holes=holes, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    local = model.local_step(q, rows)
    assert not model.score_is_bound(q)
    gap = model.log_predictive(q, rows, local) - model.row_bounds(q, rows, local)
    assert gap.min() > -1e-10
    if case.points and case.exact_rows:
        assert gap == pytest.approx(0, abs=1e-10)
    else:
        assert gap.max() > 1e-6


@pytest.mark.parametrize("case", ONE_OF_EACH, indirect=True)
def test_predictive_density_is_the_likelihood_averaged_over_the_posterior(case: Case, holes: bool) -> None:
    """Against draws of the globals, each a point whose likelihood is enumerated; for points, exactly that.

    The density sums over all states, whatever the E step.
    """
    rng = np.random.default_rng(24)
    rows = random_rows(rng, 8, 3, holes=holes, weighted=False)
    model, q = posterior_midway(case, random_rows(rng, 40, 3, holes=holes, weighted=False), 2, rng)
    log_density = model.log_predictive(q, rows, model.local_step(q, rows))
    x, seen = observed(rows)
    if case.points:
        assert log_density == pytest.approx(logsumexp(row_log_joints(model, q, x, seen), axis=1), rel=1e-11)
        return
    draws = np.exp([logsumexp(row_log_joints(model, q.sample(rng), x, seen), axis=1) for _ in range(4000)])
    mean, error = draws.mean(axis=0), draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(mean - np.exp(log_density)) < 5 * error)
    assert np.all(error < 0.1 * mean)


def test_score_is_the_row_bound_where_states_are_too_many(case: Case) -> None:
    rng = np.random.default_rng(25)
    rows = random_rows(rng, 20, 3, holes=False, weighted=False)
    model = case.build(3)
    q = case.start(model, 13, rows.x, rng)
    assert model.score_is_bound(q)
    local = model.local_step(q, rows)
    assert np.array_equal(model.log_predictive(q, rows, local), model.row_bounds(q, rows, local))


def row_posteriors(local: Any, k: int) -> np.ndarray:
    """(n, 2^K), the local posterior written out over all states."""
    codes = states(k)
    if not hasattr(local, "chance"):
        return np.prod(np.where(codes > 0, local.mean[:, None], 1 - local.mean[:, None]), axis=2)
    bits = np.broadcast_to(local.bits, (*local.chance.shape, k))
    alike = np.all(bits[:, :, None] == codes[None, None], axis=3)
    return np.sum(local.chance[:, :, None] * alike, axis=1)


def test_codes_are_moments_of_the_local_posterior_and_imputations_of_the_predictive(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(26)
    rows = random_rows(rng, 30, 4, holes=holes, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    local = model.local_step(q, rows)
    chance, codes = row_posteriors(local, 3), states(3)
    assert chance.sum(axis=1) == pytest.approx(1, abs=1e-12)
    mean, variance = model.codes(rows, local)
    assert mean == pytest.approx(chance @ codes, abs=1e-12)
    assert variance == pytest.approx(chance @ codes - (chance @ codes) ** 2, abs=1e-12)

    z, w = with_ones(codes, model.intercept), q.loadings
    noise = np.broadcast_to(w.mean_noise, (4,))
    spread = np.broadcast_to(w.spread, (4, *w.spread.shape[1:]))
    centre = z @ w.mean
    square = centre**2 + noise * np.einsum("ci,dij,cj->cd", z, spread, z) + noise
    usage = codes @ np.log(q.usage.mean) + (1 - codes) @ np.log1p(-q.usage.mean)
    chance = softmax(w.log_density(z, rows.x, rows.mask) + usage, axis=1)  # of E[p(row, state)]
    filled, variance = model.impute(q, rows, local)
    assert filled == pytest.approx(chance @ centre, rel=1e-10, abs=1e-12)
    assert variance == pytest.approx(chance @ square - filled**2, rel=1e-9)


def test_imputation_by_point_estimates_is_the_conditional_mean_and_variance(case: Case) -> None:
    if not (case.points and case.exact_rows):
        return
    rng = np.random.default_rng(27)
    rows = random_rows(rng, 30, 4, holes=True, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    chance = softmax(row_log_joints(model, q, *observed(rows)), axis=1)
    centre = with_ones(states(3), model.intercept) @ q.loadings.mean
    filled, variance = model.impute(q, rows, model.local_step(q, rows))
    assert filled == pytest.approx(chance @ centre, rel=1e-9, abs=1e-11)
    assert variance == pytest.approx(chance @ centre**2 - filled**2 + q.loadings.noise, rel=1e-8)


def test_exact_rows_are_the_posterior_of_codes(case: Case, holes: bool) -> None:
    if not (case.points and case.exact_rows):
        return
    rng = np.random.default_rng(28)
    rows = random_rows(rng, 30, 4, holes=holes, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    local = model.local_step(q, rows)
    chance = softmax(row_log_joints(model, q, *observed(rows)), axis=1)
    assert row_posteriors(local, 3) == pytest.approx(chance, abs=1e-11)


def test_reconstruction_is_linear_in_the_codes(case: Case) -> None:
    rng = np.random.default_rng(29)
    model, q = posterior_midway(case, random_rows(rng, 30, 4, holes=False, weighted=False), 3, rng)
    codes = rng.random((5, 3))
    assert model.reconstruct(q, codes) == pytest.approx(with_ones(codes, model.intercept) @ q.loadings.mean, rel=1e-12)


def test_draws_have_the_moments_of_the_model(case: Case) -> None:
    """Under many draws of the globals, each used for a few rows."""
    rng = np.random.default_rng(30)
    model, q = posterior_midway(case, random_rows(rng, 40, 2, holes=True, weighted=False), 2, rng)
    drawn = [model.draw(q, 20, rng) for _ in range(1500)]
    x, codes = np.array([x for x, _ in drawn]), np.array([z for _, z in drawn])
    assert set(np.unique(codes)) <= {0.0, 1.0}

    def close(values: np.ndarray, expected: np.ndarray) -> None:
        """Means over draws of the globals within five standard errors."""
        error = values.mean(axis=1).std(axis=0) / np.sqrt(len(values)) + 1e-12
        assert np.all(np.abs(values.mean(axis=(0, 1)) - expected) < 5 * error)

    usage, w = q.usage.mean, q.loadings
    chance = np.prod(np.where(states(2) > 0, usage, 1 - usage), axis=1)
    z = with_ones(states(2), model.intercept)
    noise = np.broadcast_to(w.mean_noise, (2,))
    spread = np.broadcast_to(w.spread, (2, *w.spread.shape[1:]))
    square = (z @ w.mean) ** 2 + noise * np.einsum("ci,dij,cj->cd", z, spread, z) + noise
    close(codes, usage)
    close(x, chance @ z @ w.mean)
    close(x**2, chance @ square)


def test_draws_of_the_globals_are_points(case: Case) -> None:
    rng = np.random.default_rng(31)
    _, q = posterior_midway(case, random_rows(rng, 40, 3, holes=True, weighted=False), 2, rng)
    one, two = q.sample(rng), q.sample(rng)
    assert one.n_components == 2
    assert np.all(one.loadings.spread == 0)
    assert np.array_equal(one.loadings.mean, two.loadings.mean) == case.points
    again = one.sample(rng)
    assert np.array_equal(again.loadings.mean, one.loadings.mean)


def test_only_keeps_components_in_the_given_order(case: Case, holes: bool) -> None:
    rng = np.random.default_rng(32)
    rows = random_rows(rng, 40, 4, holes=holes, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    part = q.only(np.array([2, 0]))
    assert part.n_components == 2
    assert part.usage.mean == pytest.approx(q.usage.mean[[2, 0]])
    codes = np.array([[0.3, 0.8]])
    assert model.reconstruct(part, codes) == pytest.approx(model.reconstruct(q, np.array([[0.8, 0.0, 0.3]])))
    turned = q.only(np.array([1, 2, 0]))
    one, two = settled(model, q, rows, 40), settled(model, turned, rows, 40)
    if case.exact_rows:
        assert two.mean == pytest.approx(one.mean[:, [1, 2, 0]], abs=1e-9)


def test_importance_is_a_share_and_dead_components_have_none(case: Case) -> None:
    rng = np.random.default_rng(33)
    rows = random_rows(rng, 60, 4, holes=False, weighted=False)
    model, q = posterior_midway(case, rows, 3, rng)
    stats = model.statistics(rows, model.local_step(q, rows))
    share = model.importance(q, stats)
    assert share.shape == (3,)
    assert np.all(share >= 0)
    assert share.sum() <= 1
    if not case.points:
        on = stats.on.copy()
        on[1] = 0.2
        from dataclasses import replace

        assert model.importance(q, replace(stats, on=on))[1] == 0
