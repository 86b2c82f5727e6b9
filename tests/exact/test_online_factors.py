"""The printed online algorithms of factor analysis, written out; passes over many rows against single steps."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from latens.core import Rows, State
from latens.errors import BoundNotFinite
from latens.experiments.printed import online_factor_analysis as printed
from latens.families.point_normal_gamma import PointNormalGamma
from latens.inference.online import Accumulate, follow
from latens.models.factor_analysis.model import FactorAnalysisPosterior
from latens.models.factor_analysis.online import (
    DIVERGED_BEYOND,
    STEP_RULES,
    OnlineEM,
    OnlineGradient,
    OnlinePosterior,
    OnlineStatistics,
)


def data(rng: np.random.Generator, n: int, d: int, k: int) -> np.ndarray:
    return rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + rng.normal(size=(n, d)) * rng.uniform(0.3, 2, d)


def start(d: int, k: int, rng: np.random.Generator) -> OnlinePosterior:
    loadings = np.linalg.qr(rng.normal(size=(d, k)))[0].T
    return OnlinePosterior(PointNormalGamma(loadings, np.ones(d), 1e-300), np.zeros(d))


def test_online_em_is_the_printed_algorithm() -> None:
    rng = np.random.default_rng(16)
    x, q = data(rng, 60, 5, 2), start(5, 2, rng)
    fit = follow(OnlineEM(5, warm_up=20), [Rows(row[None]) for row in x], State(q), combine=Accumulate())
    f, psi, mean = q.loadings.mean.T, np.ones(5), np.zeros(5)
    a, b, d2 = np.zeros((5, 2)), np.zeros((2, 2)), np.zeros(5)
    for t, row in enumerate(x, 1):
        mean = mean + (row - mean) / t
        d = row - mean
        c = (f / psi[:, None]).T
        sigma = np.linalg.inv(np.eye(2) + c @ f)
        m = sigma @ c @ d
        b = b + (np.outer(m, m) - b) / t
        a = a + (np.outer(d, m) - a) / t
        d2 = d2 + (d**2 - d2) / t
        if t > 20:
            h = sigma + b
            f = a @ np.linalg.inv(h)
            psi = d2 + np.sum((f @ h) * f - 2 * f * a, axis=1)
    assert pytest.approx(f, rel=1e-9) == fit.state.q.loadings.mean.T
    assert fit.state.q.loadings.noise == pytest.approx(psi, rel=1e-9)
    assert fit.state.q.center == pytest.approx(mean)


def test_online_gradient_ascent_is_the_printed_algorithm() -> None:
    rng = np.random.default_rng(17)
    x, q, rate = data(rng, 60, 5, 2), start(5, 2, rng), 0.01
    model = OnlineGradient(5, warm_up=20, learning_rate=rate)
    fit = follow(model, [Rows(row[None]) for row in x], State(q), combine=Accumulate(0.0))
    f, beta, mean, score = q.loadings.mean.T, np.zeros(5), np.zeros(5), 0.0
    for t, row in enumerate(x, 1):
        psi = np.exp(beta)
        score += multivariate_normal(mean, f @ f.T + np.diag(psi)).logpdf(row)
        mean = mean + (row - mean) / t
        d = row - mean
        c = (f / psi[:, None]).T
        sigma = np.linalg.inv(np.eye(2) + c @ f)
        m = sigma @ c @ d
        if t > 20:
            second = sigma + np.outer(m, m)
            up = (np.outer(d, m) - f @ second) / psi[:, None]
            louder = 0.5 * (d**2 - 2 * d * (f @ m) + np.sum((f @ second) * f, axis=1)) / psi**2 - 0.5 / psi
            f, beta = f + rate * up, beta + rate * louder * psi
    assert pytest.approx(f, rel=1e-9) == fit.state.q.loadings.mean.T
    assert fit.state.q.loadings.noise == pytest.approx(np.exp(beta), rel=1e-9)
    assert fit.elbo == pytest.approx(score)


def test_gradient_ascent_that_diverges_stops_at_finite_numbers() -> None:
    rng = np.random.default_rng(18)
    x, q = 1e6 * data(rng, 300, 5, 2), start(5, 2, rng)
    fit = follow(OnlineGradient(5, warm_up=10), [Rows(row[None]) for row in x], State(q), combine=Accumulate(0.0))
    assert fit.state.q.diverged
    assert np.isfinite(fit.state.q.loadings.mean).all()
    assert np.isfinite(fit.elbo)


def one_step(
    model: OnlineEM, q: OnlinePosterior, sums: OnlineStatistics, row: np.ndarray
) -> tuple[OnlinePosterior, OnlineStatistics]:
    """One row in plain array operations, from the model's own projection and density."""
    at, n, d = FactorAnalysisPosterior(q.loadings, q.center), q.count + 1, len(row)
    local, batch = at.projection, Rows(row[None])
    score = q.score + float(model.log_predictive(at, batch, model.local_step(at, batch))[0])
    gap = row - (q.count * q.center + row) / n
    m = gap @ local.weights
    sums = OnlineStatistics(
        n, n * d, sums.x + row, sums.zx + np.outer(m, gap), sums.zz + np.outer(m, m), sums.xx + gap**2, score
    )
    q = replace(q, center=sums.x / n, count=n, score=score)
    if n <= model.warm_up or q.diverged:
        return q, sums
    f, psi = q.loadings.mean, q.loadings.noise
    if isinstance(model, OnlineGradient):
        second = (local.spread + np.outer(m, m)) @ f
        with np.errstate(over="ignore", invalid="ignore"):
            slope = (np.outer(m, gap) - second) / psi
            louder = 0.5 * ((gap**2 + np.sum(f * (second - 2 * np.outer(m, gap)), axis=0)) / psi - 1)
            f, psi = f + model.learning_rate * slope, psi * np.exp(model.learning_rate * louder)
            if not (
                np.all(np.abs(f) < DIVERGED_BEYOND) and np.all((psi > 1 / DIVERGED_BEYOND) & (psi < DIVERGED_BEYOND))
            ):
                return replace(q, diverged=True), sums
    else:
        a, h = sums.zx / n, local.spread + sums.zz / n
        f = np.linalg.solve(h, a)
        psi = np.maximum(sums.xx / n + np.sum((h @ f) * f - 2 * f * a, axis=0), model.floor)
    return replace(q, loadings=PointNormalGamma(f, psi, model.floor)), sums


def step_by_step(model: OnlineEM, q: OnlinePosterior, x: np.ndarray) -> tuple[OnlinePosterior, OnlineStatistics]:
    (k, d), none = q.loadings.mean.shape, 0.0
    sums = OnlineStatistics(none, none, np.zeros(d), np.zeros((k, d)), np.zeros((k, k)), np.zeros(d), none)
    for row in x:
        q, sums = one_step(model, q, sums, row)
    return q, sums


def walked(model: OnlineEM, q: OnlinePosterior, x: np.ndarray, sizes: list[int]) -> tuple[State, list[float]]:
    ends = np.cumsum(sizes)
    batches = [Rows(x[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    fit = follow(model, batches, State(q), combine=Accumulate())
    return fit.state, [event.elbo for event in fit.trace]


def assert_same(state: State, want: tuple[OnlinePosterior, OnlineStatistics], rel: float = 1e-9) -> None:
    q, sums = want
    for name in ("mean", "noise"):
        expected = getattr(q.loadings, name)
        assert getattr(state.q.loadings, name) == pytest.approx(expected, rel=rel, abs=rel * np.abs(expected).max())
    assert state.q.center == pytest.approx(q.center, rel=rel, abs=rel * np.abs(q.center).max())
    assert (state.q.count, state.q.diverged) == (q.count, q.diverged)
    assert state.q.score == pytest.approx(q.score, rel=rel)
    for f in fields(sums):
        expected = np.asarray(getattr(sums, f.name))
        scale = float(np.abs(expected).max())
        assert np.asarray(getattr(state.stats, f.name)) == pytest.approx(expected, rel=rel, abs=rel * scale), f.name


MODELS = {"em": OnlineEM(7, warm_up=40, floor=1e-300), "gradient": OnlineGradient(7, warm_up=40, learning_rate=0.01)}


@pytest.mark.parametrize("sizes", [[400], [39, 1, 1, 359], [1] * 400, [250, 150]])
@pytest.mark.parametrize("name", MODELS)
def test_a_pass_over_many_rows_is_one_step_after_another(name: str, sizes: list[int]) -> None:
    rng = np.random.default_rng(20)
    x, q = 3 + data(rng, 400, 7, 3), start(7, 3, rng)
    state, heights = walked(MODELS[name], q, x, sizes)
    assert_same(state, step_by_step(MODELS[name], q, x))
    assert state.step == 400
    for end, height in zip(np.cumsum(sizes)[::50], heights[::50], strict=True):
        assert height == pytest.approx(step_by_step(MODELS[name], q, x[:end])[0].score, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 2), (150, 12)])
def test_passes_agree_for_few_and_many_columns(name: str, d: int, k: int) -> None:
    rng = np.random.default_rng(21)
    x, q, model = data(rng, 300, d, k), start(d, k, rng), replace(MODELS[name], n_features=d)
    assert_same(walked(model, q, x, [300])[0], step_by_step(model, q, x))


@pytest.mark.parametrize("name", MODELS)
def test_passes_agree_for_columns_of_very_different_size(name: str) -> None:
    """Also where the product of all noises would leave the range of numbers."""
    rng = np.random.default_rng(22)
    x, q = data(rng, 200, 60, 2), start(60, 2, rng)
    units = 10.0 ** np.repeat([-60.0, 60.0, 20.0, 0.0], 15)  # noises of 1e-120 to 1e120
    q = replace(q, loadings=PointNormalGamma(q.loadings.mean * units, units**2, 1e-300))
    model = replace(MODELS[name], n_features=60, floor=1e-300)
    state, _ = walked(model, q, x * units, [120, 80])
    want, _ = step_by_step(model, q, x * units)
    assert state.q.score == pytest.approx(want.score, rel=1e-9)
    assert state.q.loadings.noise == pytest.approx(want.loadings.noise, rel=1e-9)


def test_a_divergence_inside_a_batch_ends_at_the_same_row() -> None:
    rng = np.random.default_rng(23)
    x, q = data(rng, 200, 7, 3), start(7, 3, rng)
    x[120:] *= 1e4
    model = replace(MODELS["gradient"], learning_rate=0.05)
    want = step_by_step(model, q, x)
    assert want[0].diverged
    assert not step_by_step(model, q, x[:120])[0].diverged
    for sizes in ([200], [125, 75]):
        state, _ = walked(model, q, x, sizes)
        assert state.q.diverged
        assert_same(state, want, rel=1e-7)  # the steps before the last one magnify rounding


@pytest.mark.parametrize("name", MODELS)
def test_a_pass_takes_rows_of_any_layout_and_precision_and_leaves_its_start_alone(name: str) -> None:
    rng = np.random.default_rng(24)
    x, q = data(rng, 120, 7, 3).astype(np.float32), start(7, 3, rng)
    before = q.loadings.mean.copy(), q.loadings.noise.copy(), q.center.copy()
    state, _ = walked(MODELS[name], q, np.asfortranarray(x), [60, 60])
    first, _ = walked(MODELS[name], q, x, [60])
    zz = first.stats.zz.copy()
    follow(MODELS[name], [Rows(x[60:])], first, combine=Accumulate())
    assert_same(state, step_by_step(MODELS[name], q, x.astype(float)))
    assert np.array_equal(first.stats.zz, zz)
    for old, new in zip(before, (q.loadings.mean, q.loadings.noise, q.center), strict=True):
        assert np.array_equal(old, new)


def test_rows_beyond_all_numbers_are_refused_by_name() -> None:
    rng = np.random.default_rng(25)
    x, q = data(rng, 60, 7, 3), start(7, 3, rng)
    x[50] = 1e200
    with pytest.raises(BoundNotFinite, match="prequential"):
        walked(MODELS["em"], q, x, [60])


@pytest.mark.parametrize("sizes", [[60], [25, 1, 34]])
@pytest.mark.parametrize("rule", STEP_RULES)
def test_every_rule_of_steps_is_that_of_the_algorithm_written_out(rule: str, sizes: list[int]) -> None:
    rng = np.random.default_rng(20)
    x, q = data(rng, 60, 5, 2), start(5, 2, rng)
    model = OnlineGradient(5, warm_up=20, learning_rate=0.02, step_rule=rule)
    state, _ = walked(model, q, x, sizes)
    expected, _ = printed.online_sga(x, q.loadings.mean.T, 0.02, 20, rule)
    assert pytest.approx(expected.F, rel=1e-9) == state.q.loadings.mean.T
    assert state.q.loadings.noise == pytest.approx(expected.psi, rel=1e-9)
