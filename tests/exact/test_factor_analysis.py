"""Factor analysis against dense algebra, finite differences and draws."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer

from latens.core import Rows
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.factor_analysis import newton
from latens.models.factor_analysis.model import ExactFactors, FactorAnalysisPosterior, Factors
from latens.models.factor_analysis.newton import _Point, best_rank, most_likely
from latens.models.factor_analysis.newton_wide import Root, ThinPoint
from latens.models.factor_analysis.online import TransportFactors
from latens.models.factor_analysis.sums import LowRank, Scatter, summed
from latens.models.factor_analysis.sums_wide import FewRows
from tests.contract.cases import CASES, posterior_midway, random_rows
from tests.contract.models import factor_cases


def data(rng: np.random.Generator, n: int, d: int, k: int) -> np.ndarray:
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)


def log_likelihood(cov: np.ndarray, loadings: np.ndarray, noise: np.ndarray) -> float:
    """Per row and without constants."""
    model = loadings @ loadings.T + np.diag(noise)
    return float(-0.5 * (np.linalg.slogdet(model)[1] + np.trace(np.linalg.solve(model, cov))))


def by_em(cov: np.ndarray, k: int, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    noise = 0.5 * np.diag(cov)
    w, v = np.linalg.eigh(cov)
    loadings = v[:, -k:] * np.sqrt(0.5 * w[-k:])
    for _ in range(n_steps):
        scaled = loadings / noise[:, None]
        spread = np.linalg.inv(np.eye(k) + loadings.T @ scaled)
        weights = scaled @ spread
        a = cov @ weights
        loadings = a @ np.linalg.inv(spread + weights.T @ a)
        noise = np.maximum(np.diag(cov) - np.sum(loadings * a, axis=1), 1e-6 * np.diag(cov))
    return loadings, noise


def point(seed: int, d: int = 9, k: int = 3) -> _Point:
    rng = np.random.default_rng(seed)
    return _Point(np.corrcoef(data(rng, 40, d, k).T), np.log(rng.uniform(0.2, 0.8, d)), k)


@pytest.mark.parametrize("seed", range(4))
def test_slopes_and_curvatures_of_the_profile_likelihood_are_derivatives(seed: int) -> None:
    here, h = point(seed), 1e-5
    bumps = h * np.eye(len(here.log_psi))
    slope = [(here.at(here.log_psi + b).height - here.at(here.log_psi - b).height) / (2 * h) for b in bumps]
    assert here.gradient == pytest.approx(slope, abs=1e-8)
    bend = [(here.at(here.log_psi + b).gradient - here.at(here.log_psi - b).gradient) / (2 * h) for b in bumps]
    assert here.hessian == pytest.approx(np.array(bend), abs=1e-6)
    assert np.linalg.eigvalsh(here.curvature)[0] > -1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_maximum_is_no_lower_than_many_steps_of_em(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, k = int(rng.integers(4, 15)), int(rng.integers(1, 4))
    cov = np.cov(data(rng, int(rng.integers(10, 200)), d, k).T, bias=True)
    loadings, noise = most_likely(cov, k, 1e-6 * np.diag(cov))
    assert log_likelihood(cov, loadings, noise) >= log_likelihood(cov, *by_em(cov, k, 1500)) - 1e-7


def test_the_maximum_is_stationary_for_small_and_for_large_problems() -> None:
    for d in (40, 320):
        cov = np.cov(data(np.random.default_rng(3), 3 * d, d, 4).T, bias=True)
        loadings, noise = most_likely(cov, 4, 1e-6 * np.diag(cov))
        assert np.sum(loadings**2, axis=1) + noise == pytest.approx(np.diag(cov), rel=1e-9)
        inverse = np.linalg.inv(loadings @ loadings.T + np.diag(noise))
        assert inverse @ loadings == pytest.approx(inverse @ cov @ inverse @ loadings, abs=1e-9)


@pytest.mark.parametrize(("strength", "plain"), [(3.0, True), (0.3, False)])
def test_strong_factors_of_many_columns_need_no_curvature(
    strength: float, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps to psi = diag(S - LL') lead to Newton's maximum; of weak factors Newton's steps are taken as before."""
    rng = np.random.default_rng(8)
    x = strength * rng.normal(size=(900, 4)) @ rng.normal(size=(4, 150)) + rng.normal(size=(900, 150))
    cov, newton = np.cov(x.T, bias=True), "latens.models.factor_analysis.newton"
    floor = 1e-8 * np.diag(cov)
    wanted = most_likely(cov, 4, floor)
    monkeypatch.setattr(f"{newton}.MOST_FULL", 50)
    monkeypatch.setattr(f"{newton}.MOST_DENSE", 100)
    steps = []
    step = _Point.step
    monkeypatch.setattr(_Point, "step", lambda self, slope: steps.append(slope) or step(self, slope))
    loadings, noise = most_likely(cov, 4, floor)
    assert log_likelihood(cov, loadings, noise) == pytest.approx(log_likelihood(cov, *wanted), abs=1e-10)
    assert noise == pytest.approx(wanted[1], rel=1e-7)
    assert (not steps) is plain


def test_the_maximum_follows_the_units_of_each_column() -> None:
    rng = np.random.default_rng(4)
    cov, units = np.cov(data(rng, 60, 8, 2).T, bias=True), 10.0 ** rng.integers(-9, 9, 8)
    one = most_likely(cov, 2, 1e-6 * np.diag(cov))
    two = most_likely(cov * units * units[:, None], 2, 1e-6 * np.diag(cov) * units**2)
    assert two[0] / units[:, None] == pytest.approx(one[0], rel=1e-8)
    assert two[1] / units**2 == pytest.approx(one[1], rel=1e-8)


def test_a_noise_that_wants_to_be_zero_ends_on_its_floor() -> None:
    # one factor would need a noise of 1 - .9 * .9 / .7 < 0 in the first column
    corr = np.array([[1, 0.9, 0.9], [0.9, 1, 0.7], [0.9, 0.7, 1]])
    loadings, noise = most_likely(corr, 1, np.full(3, 1e-6))
    assert noise[0] == pytest.approx(1e-6)
    assert noise[1:] == pytest.approx(1 - 0.81, rel=1e-3)
    assert log_likelihood(corr, loadings, noise) >= log_likelihood(corr, *by_em(corr, 1, 5000)) - 1e-7


def test_constant_columns_have_no_factors() -> None:
    x = data(np.random.default_rng(6), 100, 5, 2)
    x[:, 2] = 7.0
    total = summed(Rows(x))
    loadings, noise = most_likely(total.covariance, 2, total.floor)
    assert np.all(loadings[2] == 0)
    assert 0 < noise[2] < 1e-10
    rest = [0, 1, 3, 4]
    alone = most_likely(np.cov(x[:, rest].T, bias=True), 2, total.floor[rest])
    assert loadings[rest] @ loadings[rest].T == pytest.approx(alone[0] @ alone[0].T, rel=1e-6)


def test_the_best_rank_is_the_true_one_with_enough_rows() -> None:
    for k in (1, 3):
        x = data(np.random.default_rng(7 + k), 3000, 12, k)
        cov = np.cov(x.T, bias=True)
        assert best_rank(cov, 3000, 1e-6 * np.diag(cov), 6) == k


def test_ranks_are_compared_without_steps_that_gain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """396 steps to slopes of 1e-5, the last ten or more of many ranks gaining less than .01 nats in all."""
    x, steps = load_breast_cancer().data, []
    monkeypatch.setattr(newton, "_Step", lambda *at, step=newton._Step: steps.append(at) or step(*at))
    corr = np.corrcoef(x.T)
    assert best_rank(corr, len(x), np.full(30, 1e-9), 30, "hannan-quinn") == 22
    assert len(steps) < 340


@pytest.mark.parametrize("name", ["factors-ml", "factors-ard"])
def test_a_covariance_is_as_good_a_batch_as_its_rows(name: str) -> None:
    rng = np.random.default_rng(8)
    rows = random_rows(rng, 40, 5, holes=False, weighted=True)
    model, q = posterior_midway(CASES[name], rows, 3, rng)
    one = model.statistics(rows, model.local_step(q, rows))
    total = summed(rows[:11]) + summed(rows[11:])
    two = model.statistics(total, model.local_step(q, total))
    for f in fields(one):
        assert getattr(two, f.name) == pytest.approx(getattr(one, f.name), rel=1e-10, abs=1e-9), f.name
    assert terms_of(model, q, total) == pytest.approx(model.data_terms(q, one), rel=1e-11)


def test_pairwise_sums_of_complete_rows_are_the_plain_ones() -> None:
    rows = random_rows(np.random.default_rng(9), 30, 4, holes=False, weighted=True)
    masked = replace(rows, seen=np.ones(rows.x.shape, bool))
    one, two = summed(rows), summed(masked[:10]) + summed(rows[10:])
    assert two.covariance == pytest.approx(one.covariance, rel=1e-10)
    assert two.mean == pytest.approx(one.mean)
    assert two.entries == one.entries == pytest.approx(4 * rows.n)


def test_pairwise_covariances_are_those_of_rows_where_both_columns_were_seen() -> None:
    rng = np.random.default_rng(10)
    rows = random_rows(rng, 4000, 3, holes=True, weighted=False)
    cov = summed(rows).covariance
    x = np.where(rows.seen, rows.x, np.nan)
    gap = x - np.nanmean(x, axis=0)
    assert cov == pytest.approx(np.nanmean(gap[:, :, None] * gap[:, None], axis=0), rel=1e-10)


def test_an_indefinite_ratio_is_moved_to_a_covariance_with_the_same_diagonal() -> None:
    corr = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    scatter = Scatter(10.0, np.full((3, 3), 10.0), np.zeros((3, 3)), 10 * corr * np.outer([1, 2, 3], [1, 2, 3]))
    assert np.linalg.eigvalsh(scatter.covariance)[0] > -1e-9
    assert np.diag(scatter.covariance) == pytest.approx([1, 4, 9])


def test_scores_codes_and_imputations_of_points_are_gaussian_conditioning() -> None:
    rng = np.random.default_rng(11)
    rows = random_rows(rng, 20, 4, holes=True, weighted=False)
    model, q = posterior_midway(CASES["factors-ml"], rows, 2, rng)
    w, noise = q.loadings.mean, q.loadings.noise
    cov = w.T @ w + np.diag(noise)
    local = model.local_step(q, rows)
    score, (mean, variance) = model.log_predictive(q, rows, local), model.codes(rows, local)
    filled, spread = model.impute(q, rows, local)
    for i, there in enumerate(rows.seen):
        gap, inner = (rows.x[i] - q.center)[there], np.linalg.inv(cov[np.ix_(there, there)])
        if there.any():
            at = multivariate_normal(q.center[there], cov[np.ix_(there, there)])
            assert score[i] == pytest.approx(at.logpdf(rows.x[i][there]))
        across, back = w[:, there] @ inner, cov[:, there] @ inner
        assert mean[i] == pytest.approx(across @ gap)
        assert variance[i] == pytest.approx(np.diag(np.eye(2) - across @ w[:, there].T))
        hole = ~there
        assert filled[i][hole] == pytest.approx((q.center + back @ gap)[hole])
        assert spread[i][hole] == pytest.approx(np.diag(cov - back @ cov[there])[hole])


@pytest.mark.parametrize("name", ["factors-ml", "factors-ard"])
def test_the_predictive_covariance_is_that_of_draws(name: str) -> None:
    rng = np.random.default_rng(12)
    model, q = posterior_midway(CASES[name], random_rows(rng, 40, 3, holes=False, weighted=False), 2, rng)
    x = np.concatenate([model.draw(q, 20, rng)[0] for _ in range(6000)]) - q.center
    w, noise = q.low_rank
    products = (x[:, :, None] * x[:, None]).reshape(6000, 20, 3, 3).mean(axis=1)
    error = products.std(axis=0) / np.sqrt(6000)
    assert np.all(np.abs(products.mean(axis=0) - w.T @ w - np.diag(noise)) < 5 * error)


def test_without_factors_the_bound_is_that_of_independent_columns() -> None:
    rng = np.random.default_rng(13)
    rows = random_rows(rng, 30, 3, holes=True, weighted=True)
    model, q = posterior_midway(CASES["factors-ard"], rows, 2, rng)
    bare = model.global_step(q.only(np.array([], int)), model.statistics(rows, model.local_step(q, rows)).only([]))
    assert bare.n_components == 0
    local = model.local_step(bare, rows)
    assert model.codes(rows, local)[0].shape == (30, 0)
    terms = model.data_terms(bare, model.statistics(rows, local))
    assert model.row_bounds(bare, rows, local) @ rows.weight == pytest.approx(sum(terms.values()))


def test_carrying_to_the_same_posterior_changes_nothing() -> None:
    rng = np.random.default_rng(14)
    rows = random_rows(rng, 50, 5, holes=False, weighted=True)
    _, q = posterior_midway(CASES["factors-ml"], rows, 2, rng)
    model = TransportFactors(5)
    stats = model.statistics(rows, model.local_step(q, rows))
    assert_same(model.carry(stats, q, q), stats)


def test_carried_statistics_are_exact_where_the_model_knows_the_covariance() -> None:
    rng = np.random.default_rng(15)
    rows = random_rows(rng, 50, 5, holes=False, weighted=True)
    _, old = posterior_midway(CASES["factors-ml"], rows, 2, rng)
    model, new = TransportFactors(5), factor_cases.start(Factors(5), 2, rows.x, rng)
    batch = LowRank(50.0, new.center, *new.low_rank)
    stats, wanted = (model.statistics(batch, q.projection) for q in (old, new))
    assert_same(model.carry(stats, old, new), wanted)
    other = replace(batch, mean=rng.normal(size=5))
    stats, wanted = (model.statistics(other, q.projection) for q in (old, new))
    assert_same(model.carry(stats, old, new).z, wanted.z)  # means are exact wherever they are


def assert_same(one: Any, two: Any) -> None:
    if isinstance(one, np.ndarray):
        assert one == pytest.approx(two, rel=1e-8, abs=1e-8)
        return
    for f in fields(one):
        assert getattr(one, f.name) == pytest.approx(getattr(two, f.name), rel=1e-8, abs=1e-8), f.name


def test_compressed_rows_leave_one_batch_for_the_exact_model() -> None:
    rows = random_rows(np.random.default_rng(19), 30, 4, holes=False, weighted=True)
    total = ExactFactors(4).compress(rows)
    q = FactorAnalysisPosterior(PointNormalGamma(np.zeros((1, 4)), np.ones(4)), np.zeros(4))
    likelihood = multivariate_normal(np.zeros(4), np.eye(4)).logpdf(rows.x) @ rows.weight
    assert sum(terms_of(ExactFactors(4), q, total).values()) == pytest.approx(likelihood)


def terms_of(model: Any, q: FactorAnalysisPosterior, batch: Any) -> dict[str, float]:
    """The terms of the bound that a batch gives under q."""
    return dict(model.data_terms(q, model.statistics(batch, model.local_step(q, batch))))


def few_patterns(n: int = 240, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows that lack one of three sets of columns, the lack depending on what is seen: not completely at random."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(n, 6)) + 3
    seen = np.ones(x.shape, dtype=bool)
    seen[x[:, 0] > 3.5, 3:5] = False
    seen[x[:, 0] < 2.0, 5] = False
    seen[::17] = False
    seen[::17, 1] = True
    return np.where(seen, x, 0.0), seen


@pytest.mark.parametrize("points", [True, False])
def test_sums_of_each_pattern_of_holes_are_as_good_as_the_rows(points: bool) -> None:
    x, seen = few_patterns()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(x))
    batch, model = Rows(x, seen, weight), ExactFactors(6, points=points)
    q = replace(model.prior(2), center=np.full(6, 2.5))
    w = np.random.default_rng(2).normal(size=(2, 6))
    inner = q.loadings
    if points:
        q = replace(q, loadings=replace(inner, mean=w))
    else:
        q = replace(q, loadings=replace(inner, weights=replace(inner.weights, mean=w)))
    rows = Factors(6, points=points)
    wanted = rows.statistics(batch, rows.local_step(q, batch))
    parts = [model.compress(batch[slice(at, at + 50)]) for at in range(0, len(x), 50)]
    total = 2.0 * sum(parts[1:], parts[0])
    assert len(total.patterns.rows) == 4
    found = model.statistics(total, model.local_step(q, total))
    for f in fields(wanted):
        expected = 2.0 * np.broadcast_to(getattr(wanted, f.name), np.shape(getattr(found, f.name)))
        assert getattr(found, f.name) == pytest.approx(expected, rel=1e-9, abs=1e-9), f.name
    assert sum(terms_of(model, q, total).values()) == pytest.approx(2 * sum(rows.data_terms(q, wanted).values()))


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_fewer_than_columns_are_kept_and_say_what_their_sums_say(holes: bool, weighted: bool) -> None:
    rows = random_rows(np.random.default_rng(20), 9, 12, holes=holes, weighted=weighted)
    model = ExactFactors(12)
    parts = [model.compress(rows[slice(at, at + 4)]) for at in range(0, 9, 4)]
    few = 2.0 * (parts[0] + parts[1] + parts[2])
    assert isinstance(few, FewRows)
    assert few.values.shape == (9, 12)
    sums = 2.0 * summed(rows)
    for name in ("n", "entries", "n_rows", "mean", "floor"):
        assert getattr(few, name) == pytest.approx(getattr(sums, name), rel=1e-9, abs=1e-12), name
    q = factor_cases.start(Factors(12), 2, rows.x, np.random.default_rng(1))
    one = Factors(12).statistics(rows, Factors(12).local_step(q, rows))
    two = model.statistics(few, model.local_step(q, few))
    for f in fields(one):
        wanted = 2.0 * np.broadcast_to(getattr(one, f.name), np.shape(getattr(two, f.name)))
        assert getattr(two, f.name) == pytest.approx(wanted, rel=1e-9, abs=1e-9), f.name
    assert terms_of(model, q, few) == pytest.approx(model.data_terms(q, two))
    if not holes:
        assert few.root.rows.T @ few.root.rows == pytest.approx(sums.covariance, abs=1e-12)


def test_rows_as_many_as_their_columns_are_summed() -> None:
    rows = random_rows(np.random.default_rng(21), 30, 12, holes=True, weighted=True)
    model, whole = ExactFactors(12), summed(rows, patterns_too=True)
    few, more, sums = (model.compress(rows[part]) for part in (slice(0, 5), slice(5, 16), slice(16, 30)))
    assert [type(part) for part in (few, more, few + more, sums)] == [FewRows, FewRows, Scatter, Scatter]
    for total in (few + more + sums, few + (more + sums), sums + few + more):
        assert total.xx == pytest.approx(whole.xx)
        assert total.counts == pytest.approx(whole.counts)
        assert total.patterns.xx.sum(axis=0) == pytest.approx(whole.patterns.xx.sum(axis=0))


@pytest.mark.parametrize("seed", range(3))
def test_products_with_the_curvature_are_those_with_the_whole_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = data(rng, 12, 30, 3)
    z = (x - x.mean(axis=0)) / (np.sqrt(12) * x.std(axis=0))
    thin = ThinPoint(Root(z), np.log(rng.uniform(0.2, 0.8, 30)), 3)
    whole, way = _Point(z.T @ z, thin.log_psi, 3), rng.normal(size=30)
    assert thin.height == pytest.approx(whole.height, rel=1e-12)
    assert thin.gradient == pytest.approx(whole.gradient, abs=1e-11)
    assert thin.bent(way) == pytest.approx(whole.hessian @ way, abs=1e-10)
    assert thin.surely_bent(way) == pytest.approx(whole.curvature @ way, abs=1e-10)


@pytest.mark.parametrize(("n", "k", "copies"), [(60, 3, 0), (60, 24, 0), (20, 3, 1), (6, 5, 0), (4, 9, 0)])
def test_the_maximum_for_few_rows_is_that_on_their_covariance(
    n: int, k: int, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heywood cases, more factors than rows, and Lanczos steps included."""
    x = data(np.random.default_rng(k), n, 310, 3)
    x[:, :copies] = x[:, -1:] + 1e-9 * x[:, :copies]
    x[:, 5] = 1.0
    z = (x - x.mean(axis=0)) / np.sqrt(n)
    floor = 1e-6 * np.maximum(np.sum(z**2, axis=0), 1e-9)
    wanted = most_likely(z.T @ z, k, floor)
    for most_rows in (700, 10):
        monkeypatch.setattr("latens.models.factor_analysis.newton_wide.MOST_ROWS", most_rows)
        loadings, noise = most_likely(Root(z), k, floor)
        gained = log_likelihood(z.T @ z, loadings, noise) - log_likelihood(z.T @ z, *wanted)
        assert n * gained > -1e-6
        assert np.array_equal(noise < 1.01 * floor, wanted[1] < 1.01 * floor)


def test_many_patterns_leave_pairwise_sums() -> None:
    rng = np.random.default_rng(3)
    seen = rng.random((300, 12)) < 0.7
    seen[:, 0] = True
    x = np.where(seen, rng.normal(size=seen.shape), 0.0)
    model = ExactFactors(12)
    whole = model.compress(Rows(x, seen))
    assert whole.patterns is None
    some = model.compress(Rows(x[:20], seen[:20]))
    assert some.patterns is not None
    complete = model.compress(Rows(x[:17]))
    assert complete.patterns is None
    assert len((some + complete).patterns.rows) == len(some.patterns.rows) + 1
    assert (some + whole).patterns is None
    assert (some + whole).counts == pytest.approx(some.counts + whole.counts)
