"""Noisy-OR against formulas written out: states one by one, draws of the globals, and the bound that is none."""

from __future__ import annotations

import itertools

import array_api_strict as strict
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from latens.array.kernels.noisy_or.jensen_numba import LEAST_WEIGHT, count_lit, weigh_ones
from latens.array.kernels.noisy_or.states import improve, score_all, score_kept, share_all, share_kept, sum_states
from latens.core import Rows
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.models.noisy_or.jensen import JensenNoisyOr
from latens.models.noisy_or.model import CausePosterior, NoisyOrCauses
from tests.contract.measurements.evidence import states
from tests.contract.models import noisy_or_cases

K, D, P = 4, 6, 3


def log_lit(t: np.ndarray) -> np.ndarray:
    return np.log(-np.expm1(-t))


def posterior(seed: int, points: bool = False) -> CausePosterior:
    model = NoisyOrCauses(D, points=points, n_profiles=P)
    return noisy_or_cases.start(model, K, np.zeros((1, D)), np.random.default_rng(seed))


def binary(seed: int, n: int = 30) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, D)) < 0.4).astype(float)


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_scores_are_log_joints_with_expected_logarithms(points: bool, holes: bool) -> None:
    """sum over profiles and attributions of e^<log ...>, one state and one attribution at a time."""
    q, x = posterior(1, points), binary(2, 5)
    seen = np.random.default_rng(3).random(x.shape) < 0.7 if holes else np.ones(x.shape, bool)
    x = np.where(seen, x, 0.0)
    (on, off), (lit, dark), (leaks, silent) = (np.exp(part.mean_log) for part in (q.usage, q.causes, q.leak))
    weight = np.exp(q.profiles.mean_log)
    expected = np.zeros((len(x), 2**K))
    codes = states(K)[:, ::-1]  # the library counts the first cause fastest
    for i, (c, code) in itertools.product(range(len(x)), enumerate(codes)):
        value = sum(weight[p] * np.prod(np.where(code > 0, on[p], off[p])) for p in range(P))
        for j in np.flatnonzero(seen[i]):
            sources = [(leaks[j], silent[j]), *((lit[k, j], dark[k, j]) for k in range(K) if code[k])]
            nobody = np.prod([b for _, b in sources])
            anybody = sum(np.prod([pair[y] for pair, y in zip(sources, who, strict=True)])
                          for who in itertools.product((0, 1), repeat=len(sources)) if min(who) == 0)  # fmt: skip
            value *= anybody if x[i, j] else nobody
        expected[i, c] = np.log(value)
    mask = seen.astype(float) if holes else np.ones((1, D))
    assert score_all(q.expected, x, mask) == pytest.approx(expected, rel=1e-10)
    words = np.tile(np.arange(2**K), (len(x), 1))
    rows = Rows(x, seen if holes else None)
    assert score_kept(q.expected, x, mask, rows.ones, words) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("rows_at_once", [1000, 7], ids=["at-once", "in-slices"])
def test_the_compiled_form_is_the_plain_one(holes: bool, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latens.array.kernels.noisy_or.states.PLAIN_FLOATS", rows_at_once * 3 * K * D)
    q, x = posterior(4), binary(5)
    mask = (np.random.default_rng(6).random(x.shape) < 0.7).astype(float) if holes else np.ones((1, D))
    x = x * mask
    ones, words = Rows(x).ones, np.zeros((len(x), 5), np.int64)
    fast = improve(q.expected, x, mask, ones, words, 3, 3)
    slow = improve(q.expected, *map(strict.asarray, (x, mask)), None, strict.asarray(words), 3, 3)
    order, other = np.argsort(-fast[1], axis=1), np.argsort(-np.asarray(slow[1]), axis=1)
    sorted_states = np.take_along_axis(fast[0], order, axis=1)
    assert np.array_equal(sorted_states, np.take_along_axis(np.asarray(slow[0]), other, axis=1))
    assert np.sort(fast[1]) == pytest.approx(np.sort(np.asarray(slow[1])), rel=1e-12)
    mass = softmax(fast[1], axis=1)
    one = share_kept(q.expected, x, ones, fast[0], mass)
    two = share_kept(q.expected, strict.asarray(x), None, *map(strict.asarray, (fast[0], mass)))
    for name in ("used", "on", "caused", "leaked"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-10), name


@pytest.mark.parametrize("holes", [False, True])
def test_the_sum_over_sets_of_ones_is_the_sum_over_all_states(holes: bool) -> None:
    q, x = posterior(4), binary(5)
    mask = (np.random.default_rng(6).random(x.shape) < 0.7).astype(float) if holes else np.ones((1, D))
    x = x * mask
    x[0] = 0.0
    expected = logsumexp(score_all(q.at_means, x, mask), axis=1)
    assert sum_states(q.at_means, x, mask, Rows(x).ones) == pytest.approx(expected, rel=1e-12)
    assert sum_states(q.at_means, csr_array(x), mask, Rows(x).ones) == pytest.approx(expected, rel=1e-12)


def test_rows_of_too_many_ones_are_left_to_the_best_states(monkeypatch: pytest.MonkeyPatch) -> None:
    import latens.array.kernels.noisy_or.states as states
    import latens.models.noisy_or.model as module

    q, x = posterior(4), binary(5)
    model = NoisyOrCauses(D, n_profiles=P, most_exact=0, n_states=3)
    local, whole = model.local_step(q, Rows(x)), logsumexp(score_all(q.at_means, x, np.ones((1, D))), axis=1)
    monkeypatch.setattr(module, "MOST_ENUMERATED", 0)
    assert model.log_predictive(q, Rows(x), local) == pytest.approx(whole, rel=1e-12)
    monkeypatch.setattr(states, "MOST_WORK", 2 * 4 * K * P)  # rows of at most two ones
    some = model.log_predictive(q, Rows(x), local)
    few = x.sum(axis=1) <= 2
    assert few.any()
    assert some[few] == pytest.approx(whole[few], rel=1e-12)
    assert np.all(some <= whole + 1e-12)
    assert np.all(
        some >= logsumexp(score_kept(q.at_means, x, np.ones((1, D)), Rows(x).ones, local.words), axis=1) - 1e-12
    )


def test_compiled_weights_climb_the_bound_as_the_plain_steps_do() -> None:
    """r_k <- r_k (dF/dr_k)^2, normalised, or with the slope itself once F fell, against the same in arrays."""
    rng = np.random.default_rng(0)
    k, d, n = 5, 7, 40
    x = (rng.random((n, d)) < 0.4).astype(float)
    bounds, columns = Rows(x).ones
    rate, leak = rng.gamma(0.3, 1.0, size=(d, k)) + 1e-9, rng.uniform(0.001, 0.1, d)
    drive, on = rng.normal(size=(n, k)), rng.uniform(0.01, 0.99, size=(n, k))
    weight = rng.dirichlet(np.ones(k), len(columns))
    mine, chance = weight.copy(), on.copy()
    weigh_ones(bounds, columns, rate, leak, drive, chance, mine, 1, 3)
    owner = np.repeat(np.arange(n), np.diff(bounds))
    log_lit = lambda t: np.log(-np.expm1(-t))  # noqa: E731
    shares, base = weight.copy(), log_lit(leak[columns])[:, None]
    gain = lambda r: log_lit(leak[columns][:, None] + rate[columns] / r) - base  # noqa: E731
    power = np.full((len(columns), 1), 2)
    for _ in range(3):
        t = np.minimum(rate[columns] / shares, 600.0)
        slope = on[owner] * (gain(shares) - t / np.expm1(leak[columns][:, None] + t))
        new = shares * np.maximum(slope, 0.0) ** power
        new = np.maximum(new / new.sum(axis=1, keepdims=True), LEAST_WEIGHT)
        new /= new.sum(axis=1, keepdims=True)
        better = np.sum(on[owner] * (new * gain(new) - shares * gain(shares)), axis=1) >= 0
        shares = np.where(better[:, None], new, shares)
        power[~better] = 1
    assert mine == pytest.approx(shares, rel=1e-6, abs=1e-9)
    field = drive.copy()
    np.add.at(field, owner, rate[columns] + shares * gain(shares))
    assert chance == pytest.approx(1 / (1 + np.exp(-field)), rel=1e-6)
    caused, leaked, level = np.zeros((d, k)), np.zeros(d), np.empty(n)
    count_lit(bounds, columns, rate, leak, chance, mine, np.full(n, 2.0), caused, leaked, level)
    inside = leak[columns][:, None] + rate[columns] / mine
    lit, dark = -np.expm1(-inside), -np.expm1(-leak[columns])[:, None]
    causes, leaks = np.zeros((d, k)), np.zeros(d)
    np.add.at(causes, columns, 2 * chance[owner] * rate[columns] / lit)
    np.add.at(
        leaks, columns, 2 * leak[columns] * np.sum(mine * (chance[owner] / lit + (1 - chance[owner]) / dark), axis=1)
    )
    assert caused == pytest.approx(causes, rel=1e-9)
    assert leaked == pytest.approx(leaks, rel=1e-9)
    rows = np.zeros(n)
    more = np.sum(mine * chance[owner] * (np.log(lit) + inside - base - leak[columns][:, None]), axis=1)
    np.add.at(rows, owner, base[:, 0] + leak[columns] + more)
    assert level == pytest.approx(rows, rel=1e-9)


def test_flips_that_may_reach_everything_keep_the_best_states() -> None:
    q, x = posterior(7), binary(8)
    every = score_all(q.expected, x, np.ones((1, D)))
    _, score = improve(q.expected, x, np.ones((1, D)), Rows(x).ones, np.zeros((len(x), 6), np.int64), 6, 8)
    assert np.sort(score)[:, ::-1] == pytest.approx(np.sort(every)[:, :-7:-1], rel=1e-10)


def test_rounds_of_flips_end_only_where_none_finds_more() -> None:
    q, x = posterior(7), binary(8)
    words = np.zeros((len(x), 6), np.int64)
    together, score = improve(q.expected, x, np.ones((1, D)), Rows(x).ones, words, 2, 7)
    for _ in range(7):
        words, one_by_one = improve(q.expected, x, np.ones((1, D)), Rows(x).ones, words, 2, 1)
    assert np.array_equal(np.sort(words), np.sort(together))
    assert np.sort(one_by_one) == pytest.approx(np.sort(score), rel=1e-12)


def test_shares_over_all_states_do_not_depend_on_how_they_are_listed() -> None:
    q, x = posterior(9), binary(10)
    chance = softmax(score_all(q.expected, x, np.ones((1, D))), axis=1)
    words = np.tile(np.arange(2**K), (len(x), 1))
    listed, table, sparse = (
        share_kept(q.expected, x, Rows(x).ones, words, chance),
        share_all(q.expected, x, chance),
        share_all(q.expected, csr_array(x), chance),
    )
    for name in ("used", "on", "caused", "leaked"):
        assert getattr(table, name) == pytest.approx(getattr(listed, name), rel=1e-9), name
        assert getattr(sparse, name) == pytest.approx(getattr(table, name), rel=1e-12), name
    # every one has a cause, and more than one may claim it
    assert np.all(listed.caused.sum(axis=0) + listed.leaked >= x.sum(axis=0) - 1e-9)


def test_one_step_of_maximum_likelihood_is_the_closed_form() -> None:
    """p_kj <- p_kj sum_{x=1} E[s_k / P(x=1|s)] / sum E[s_k], and alike for the leak, usage and profiles."""
    q, x = posterior(11, points=True), binary(12)
    model = NoisyOrCauses(D, points=True, n_profiles=P, most_exact=8)
    after = model.global_step(q, model.statistics(Rows(x), model.local_step(q, Rows(x))))
    joints, codes = noisy_or_cases.row_log_joints(q, x, np.ones(x.shape, bool)), states(K)
    chance = softmax(joints, axis=1)
    lit = 1 - (1 - q.leak.mean) * np.prod(np.where(codes[:, :, None] > 0, 1 - q.causes.mean, 1.0), axis=1)
    ratio = (x.T @ chance) / lit.T  # (D, C)
    on = chance.sum(axis=0) @ codes
    assert after.causes.mean == pytest.approx(q.causes.mean * (ratio @ codes).T / on[:, None], rel=1e-10)
    assert after.leak.mean == pytest.approx(q.leak.mean * ratio.sum(axis=1) / len(x), rel=1e-10)
    assert after.mean_usage == pytest.approx(on / len(x), rel=1e-10)


def test_predictive_probability_is_the_average_over_draws_of_the_globals() -> None:
    model, q = NoisyOrCauses(D, n_profiles=P), posterior(13)
    rng, x = np.random.default_rng(14), binary(15, 4)
    log_density = model.log_predictive(q, Rows(x), model.local_step(q, Rows(x)))
    seen = np.ones(x.shape, bool)
    draws = np.exp([logsumexp(noisy_or_cases.row_log_joints(q.sample(rng), x, seen), axis=1) for _ in range(6000)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - np.exp(log_density)) < 5 * error)
    assert np.all(error < 0.1 * draws.mean(axis=0))


def test_bound_with_all_states_is_the_evidence_less_what_the_globals_cost() -> None:
    """With globals known almost surely, the bound of one row is its log probability."""
    rng, x = np.random.default_rng(16), binary(17, 3)
    sure = 1e9
    betas = (Beta(sure * (p := rng.uniform(0.1, 0.9, shape)), sure * (1 - p)) for shape in ((P, K), (K, D), (D,)))
    q = CausePosterior(Dirichlet(sure * rng.dirichlet(np.ones(P))), *betas)
    model = NoisyOrCauses(D, n_profiles=P)
    bounds = model.row_bounds(q, Rows(x), model.local_step(q, Rows(x)))
    exact = logsumexp(noisy_or_cases.row_log_joints(q, x, np.ones(x.shape, bool)), axis=1)
    assert bounds == pytest.approx(exact, rel=1e-6)


def test_the_printed_bound_without_a_leak_is_false() -> None:
    """theta = (1, .8), weights (.5, .5), only the first cause on: it claims more than the truth."""
    theta, weight, s = np.array([1.0, 0.8]), np.array([0.5, 0.5]), np.array([1.0, 0.0])
    printed = np.sum(weight * s * log_lit(theta / weight))
    truth = log_lit(s @ theta)
    assert printed == pytest.approx(-0.073, abs=5e-4)
    assert truth == pytest.approx(-0.459, abs=5e-4)
    assert printed > truth


def test_the_bound_with_a_leak_holds_for_every_state_and_weight() -> None:
    rng = np.random.default_rng(18)
    for _ in range(2000):
        theta, leak = rng.exponential(1.5, 3), rng.exponential(0.3)
        weight, s = rng.dirichlet(np.full(3, 0.5)) + 1e-9, (rng.random(3) < 0.5).astype(float)
        weight /= weight.sum()
        right = np.sum(weight * (s * log_lit(leak + theta / weight) + (1 - s) * log_lit(np.array(leak))))
        assert right <= log_lit(leak + s @ theta) + 1e-12


def test_jensen_is_looser_than_the_exact_posterior_at_the_same_point() -> None:
    rng, x = np.random.default_rng(19), binary(20)
    model = JensenNoisyOr(D, points=True)
    q = noisy_or_cases.jensen_start(model, 3, x, rng)
    local = model.local_step(q, Rows(x))
    for _ in range(50):
        local = model.local_step(q, Rows(x), local)
    exact = logsumexp(noisy_or_cases.row_log_joints(q.points, x, np.ones(x.shape, bool)), axis=1)
    gap = exact - model.row_bounds(q, Rows(x), local)
    assert gap.min() > -1e-10
    assert 0.01 < gap.mean() < 3
    assert local.weight.sum(axis=1) == pytest.approx(1)


def test_the_evidence_of_the_tests_is_the_sum_over_all_data_sets() -> None:
    """It adds up to one over every data set of two rows and two columns: nothing is left out or counted twice."""
    model, q = NoisyOrCauses(2, n_profiles=2, **noisy_or_cases.PRIORS), posterior(21)
    every = [np.array(flat, float).reshape(2, 2) for flat in itertools.product((0, 1), repeat=4)]
    assert sum(np.exp(noisy_or_cases.log_evidence(model, q.only(np.array([0])), Rows(x))) for x in every) == (
        pytest.approx(1, rel=1e-10)
    )
