"""Noisy ICA against quadrature, Monte Carlo and importance sampling: nothing here shares the model's formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats as dist
from scipy.integrate import quad
from scipy.special import digamma, gammaln, logsumexp

from latens.core import Rows, State
from latens.inference.ascent import advance, ascend
from latens.inference.local_fixed_point import local_fixed_point
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_ica.posteriors import Shapes
from latens.models.noisy_ica.priors import FEWEST_DEGREES, GAUSSIAN, best_split, scale_slack
from latens.models.noisy_ica.turns import Turning, best_turn
from latens.models.student_tails import best_tail
from tests.contract.cases import bound
from tests.contract.models.ica_cases import start


@pytest.mark.parametrize("tails", [0.7, 3.0, 12.0])
@pytest.mark.parametrize("z", [0.0, 0.4, -3.0])
def test_a_scale_mixture_of_normals_is_a_student_t(tails: float, z: float) -> None:
    """What `prices` multiplies is E[log p(z, u)]: its exponential at a point integrates over u to Student's density."""
    one, log_u, alone, square, _ = Shapes(np.array([tails]), np.zeros(1)).prices()[:, 0]

    def joint(u: float) -> float:
        return float(np.exp(one + log_u * np.log(u) + alone * u + square * u * z * z))

    integral = quad(joint, 0, 1, limit=200)[0] + quad(joint, 1, np.inf, limit=200)[0]
    assert integral == pytest.approx(dist.t.pdf(z, tails), rel=1e-6)


def test_a_source_of_two_levels_has_unit_variance_and_light_tails() -> None:
    shapes = Shapes(np.array([5.0]), np.array([0.8]))
    one, _, _, square, signed = shapes.prices()[:, 0]
    z = np.linspace(-8, 8, 20001)
    density = np.exp(one + square * z**2) * (np.exp(signed * z) + np.exp(-signed * z))
    step = z[1] - z[0]
    assert density.sum() * step == pytest.approx(1, abs=1e-10)
    assert (density * z**2).sum() * step == pytest.approx(1, abs=1e-10)
    assert (density * z**4).sum() * step - 3 == pytest.approx(-2 * 0.8**4, abs=1e-9)


def test_drawn_sources_follow_their_distributions() -> None:
    shapes = Shapes(np.array([4.0, 30.0]), np.array([0.0, 0.9]))
    z = shapes.draw(20_000, np.random.default_rng(0))
    assert dist.kstest(z[:, 0], dist.t(4.0).cdf).pvalue > 1e-3
    low, high = dist.norm(-0.9, np.sqrt(0.19)), dist.norm(0.9, np.sqrt(0.19))
    assert dist.kstest(z[:, 1], lambda at: 0.5 * low.cdf(at) + 0.5 * high.cdf(at)).pvalue > 1e-3


def test_tails_solve_the_digamma_equation() -> None:
    tails = np.array([0.21, 0.5, 1.0, 3.0, 10.0, 19.0])
    assert best_tail(digamma(tails / 2) - np.log(tails / 2) - 1, FEWEST_DEGREES, GAUSSIAN) == pytest.approx(
        tails, rel=1e-10
    )
    assert best_tail(np.array([-1.0 - 1e-9, -50.0]), FEWEST_DEGREES, GAUSSIAN) == pytest.approx([GAUSSIAN, 0.2])


def test_the_levels_are_where_their_likelihood_is_highest() -> None:
    signed, square = np.array([[0.7, 1.0], [0.1, 1.0], [0.9, 0.9], [1.4, 2.5], [0.0, 1.0]]).T
    m = np.linspace(1e-3, 1 - 1e-6, 400_001)[:, None]
    height = -0.5 * np.log(1 - m**2) - 0.5 * (square - 2 * m * signed + m**2) / (1 - m**2)
    assert best_split(signed, square) == pytest.approx(m[np.argmax(height, axis=0), 0], abs=1e-5)


@pytest.mark.parametrize("columns", [0, 4, 40])
@pytest.mark.parametrize("sizes_only", [False, True])
def test_a_turn_ends_where_no_other_is_higher(columns: int, sizes_only: bool) -> None:
    """Against the three terms written out from the turn itself, and against slopes by differences."""
    rng = np.random.default_rng(1)
    n, k, relevance = 50.0, 3, (0.5, 0.3)
    roots, loadings = rng.normal(size=(k, k, 6)), rng.normal(size=(k, 8))
    quadratic, linear = n * roots @ np.swapaxes(roots, 1, 2) / 6, n * rng.normal(size=(k, k)) * 0.3
    gram = loadings @ loadings.T

    def height(turn: np.ndarray) -> float:
        back = np.linalg.inv(turn)
        sizes = np.diagonal(back.T @ gram @ back)
        sources = np.sum(linear * turn) - 0.5 * sum(t @ m @ t for t, m in zip(turn, quadratic, strict=True))
        cost = (relevance[0] + columns / 2) * np.sum(np.log(relevance[1] + sizes / 2))
        return float((n - columns) * np.log(abs(np.linalg.det(turn))) + sources - cost)

    turning = Turning(n, quadratic, linear, gram, columns, relevance)
    turn = best_turn(turning, 1, 0.0, sizes_only=sizes_only)
    moved = turning.turned(turn)
    assert moved is not None
    assert moved.height - turning.height == pytest.approx(height(turn) - height(np.eye(k)), rel=1e-9)
    assert moved.height > turning.height
    for _ in range(60):
        turn = best_turn(turning.turned(turn) or turning, 5, 0.0, sizes_only=sizes_only) @ turn
    free = np.eye(k, dtype=bool) if sizes_only else np.ones((k, k), dtype=bool)
    for j, i in np.argwhere(free):
        step = np.zeros((k, k))
        step[j, i] = 1e-5
        above, behind = height(turn + step @ turn), height(turn - step @ turn)
        assert (above - behind) / 2e-5 == pytest.approx(0, abs=0.05)
    assert np.all(turn[~free] == 0)


def fitted(
    kinds: str, holes: bool, n_steps: int, *, diagonal: bool = False
) -> tuple[NoisyIca, IcaPosterior, Rows, Any]:
    rng = np.random.default_rng(3)
    n, d = 6, 3
    x = rng.standard_t(3, size=(n, 2)) @ rng.normal(size=(2, d)) + 0.5 * rng.normal(size=(n, d)) + 1.0
    seen = rng.random((n, d)) < 0.8 if holes else None
    rows = Rows(x if seen is None else np.where(seen, x, 0.0), seen)
    model = NoisyIca(d, noise=(3.0, 2.0), relevance=(3.0, 2.0), intercept=True, diagonal=diagonal)
    fit = ascend(model, [rows], State(start(kinds, model, 2, x, rng)), max_iter=n_steps, tol=0)
    return model, fit.state.q, rows, local_fixed_point(model, fit.state.q, rows)


def normal_log(x: Any, mean: Any, variance: Any) -> Any:
    return -0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance))


def gamma_log(x: Any, shape: Any, rate: Any) -> Any:
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def drawn(mean: np.ndarray, covariance: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A vector of a joint normal, and its log density."""
    root, noise = np.linalg.cholesky(covariance), rng.normal(size=len(mean))
    level = np.sum(np.log(np.diagonal(root))) + 0.5 * len(mean) * np.log(2 * np.pi)
    return mean + root @ noise, float(-0.5 * noise @ noise - level)


def log_ratios(model: NoisyIca, q: IcaPosterior, rows: Rows, local: Any, n_draws: int) -> np.ndarray:
    """log p(everything, rows) - log q(everything) at draws from q, from densities alone."""
    rng = np.random.default_rng(4)
    return np.array([_log_ratio(model, q, rows, local, rng) for _ in range(n_draws)])


def _log_ratio(model: NoisyIca, q: IcaPosterior, rows: Rows, local: Any, rng: np.random.Generator) -> float:
    w, k, (n, d) = q.loadings, q.n_components, rows.x.shape
    seen = np.ones((n, d), bool) if rows.seen is None else rows.seen
    gamma = rng.gamma(w.alpha.shape, 1 / w.alpha.rate)
    tau = rng.gamma(w.weights.shape, 1 / w.weights.rate)
    total = np.sum(gamma_log(gamma, *model.relevance) - gamma_log(gamma, w.alpha.shape, w.alpha.rate))
    total += np.sum(gamma_log(tau, *model.noise) - gamma_log(tau, w.weights.shape, w.weights.rate))
    precision, a = np.broadcast_to(w.weights.precision, (d, k + 1, k + 1)), np.empty((k + 1, d))
    for i in range(d):
        a[:, i], density = drawn(w.mean[:, i], np.linalg.inv(precision[i]) / tau[i], rng)
        total += np.sum(normal_log(a[:, i], 0, 1 / (tau[i] * gamma))) - density
    light, half, split = q.shapes.split > 0, 0.5 * q.shapes.tails, q.shapes.split
    for row in range(n):
        centre, sign = local.centre[row], np.zeros(k)
        if light.any():
            chance = local.signs.chance[row]
            state = rng.choice(len(chance), p=chance / chance.sum())
            sign[light] = 2.0 * ((state >> np.arange(light.sum())) & 1) - 1
            centre = centre + local.lean[row] @ sign[light]
            total += -light.sum() * np.log(2) - np.log(chance[state])
        z, density = drawn(centre, local.spread.matrix[row], rng)
        u = np.where(light, 1.0, rng.gamma(local.shape, 1 / local.rate[row]))
        heavy = gamma_log(u, half, half) - gamma_log(u, local.shape, local.rate[row]) + normal_log(z, 0, 1 / u)
        total += np.sum(np.where(light, normal_log(z, sign * split, 1 - split**2), heavy)) - density
        total += np.sum(normal_log(rows.x[row], np.append(z, 1.0) @ a, 1 / tau)[seen[row]])
    return float(total)


@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "mean-field"])
@pytest.mark.parametrize(("kinds", "holes"), [("heavy", False), ("heavy", True), ("mixed", True)])
def test_the_bound_is_an_average_over_draws_from_the_posterior(kinds: str, holes: bool, diagonal: bool) -> None:
    """Within three standard errors; and it is below the evidence that the same draws estimate by importance."""
    if diagonal and kinds == "mixed":
        return  # mean field knows heavy tails only
    model, q, rows, local = fitted(kinds, holes, 20, diagonal=diagonal)
    height = bound(model, q, model.statistics(rows, local))
    ratios = log_ratios(model, q, rows, local, 1500)
    error = ratios.std() / np.sqrt(len(ratios))
    assert error < 0.2
    assert abs(ratios.mean() - height) < 3 * error
    assert logsumexp(ratios) - np.log(len(ratios)) > height


@pytest.mark.parametrize("shift", [np.zeros((2, 0)), np.array([[0.7], [-1.1]])], ids=["turn", "turn and shift"])
def test_a_turn_changes_no_row_likelihood_and_is_what_the_statistics_follow(shift: np.ndarray) -> None:
    """Statistics carried to a turned posterior are those of turned local posteriors: the bound agrees."""
    rng = np.random.default_rng(5)
    model = NoisyIca(4, noise=(2.0, 1.0), relevance=(2.0, 1.0), intercept=True)
    rows = Rows(rng.standard_t(3, size=(40, 2)) @ rng.normal(size=(2, 4)) * 3 + rng.normal(size=(40, 4)))
    q = start("mixed", model, 2, rows.x, rng)
    local = model.local_step(q, rows)
    turn = np.array([[1.2, 0.4], [-0.3, 0.9]])
    moved = replace(
        local,
        centre=local.centre @ turn.T + shift.sum(axis=1),
        lean=turn @ local.lean,
        spread=replace(local.spread, matrix=turn @ local.spread.matrix @ turn.T),
    )
    one, two = model.statistics(rows, local).turned(np.hstack([turn, shift])), model.statistics(rows, moved)
    for name in ("zz", "zx", "second", "uzz", "zs", "entropy", "u", "log_u", "z", "uz", "s"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-10), name


def test_turns_unfreeze_the_ascent_where_noise_is_low() -> None:
    rng = np.random.default_rng(6)
    mixing = rng.normal(size=(3, 8))
    x = rng.standard_t(3, size=(1000, 3)) @ mixing + 0.03 * rng.normal(size=(1000, 8))
    gaps = {}
    for n_turns in (0, 5):
        model = NoisyIca(8, noise=(1e-3, 1e-3), n_turns=n_turns)
        q = start("heavy", model, 3, x, np.random.default_rng(0))
        rotated = np.linalg.qr(rng.normal(size=(3, 3)))[0] @ mixing  # the right space, the wrong axes
        q = replace(q, loadings=replace(q.loadings, weights=replace(q.loadings.weights, mean=rotated)))
        found = ascend(model, [Rows(x)], State(q), max_iter=80, tol=0).state.q.loadings.mean
        gain = np.abs(np.linalg.pinv(found.T) @ mixing.T)
        gaps[n_turns] = float(np.mean(np.sort(gain / gain.max(axis=1, keepdims=True), axis=1)[:, :-1]))
    assert gaps[5] < 0.05
    assert gaps[0] > 3 * gaps[5]


@pytest.mark.parametrize("intercept", [False, True], ids=["turn", "turn and shift"])
def test_a_global_step_with_its_turn_never_lowers_the_bound(intercept: bool) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.standard_t(3, size=(60, 3)) @ rng.normal(size=(3, 5)) + 0.2 * rng.normal(size=(60, 5))
        model = NoisyIca(5, noise=(1e-3, 1e-3), intercept=intercept)
        q = start("mixed", model, 3, x, rng)
        stats = model.statistics(Rows(x), model.local_step(q, Rows(x)))
        new, carried = advance(model, q, stats)
        assert not np.allclose(new.turn, np.eye(3, 3 + intercept))
        assert bound(model, new, carried) > bound(model, q, stats)


def test_an_intercept_moves_with_its_sources_where_noise_is_low() -> None:
    """Sources that are skewed and heavy: their mode, where a Student-t has it, is far from the mean of the rows."""
    rng = np.random.default_rng(7)
    x = rng.exponential(size=(400, 3)) ** 2 @ rng.normal(size=(3, 8)) + 0.01 * rng.normal(size=(400, 8))
    short, long = (
        ascend(model, [Rows(x)], State(start("heavy", model, 3, x, np.random.default_rng(0))), max_iter=n, tol=0).elbo
        for model, n in [(NoisyIca(8, intercept=True), 60), (NoisyIca(8, intercept=True), 600)]
    )
    assert long - short < 1.0


def test_the_slack_of_scales_is_the_gap_of_jensen() -> None:
    """Against E[log Student-t(z)] by a fine grid, less the bound with the best factor of the scale."""
    tails, mean, variance = np.array([3.0, 12.0]), np.array([[0.4, -2.0]]), np.array([[0.8, 0.3]])
    z = np.linspace(-12, 12, 200_001)
    for k in range(2):
        density = np.exp(-0.5 * (z - mean[0, k]) ** 2 / variance[0, k]) / np.sqrt(2 * np.pi * variance[0, k])
        exact = np.trapezoid(density * dist.t.logpdf(z, tails[k]), z)
        square = mean[0, k] ** 2 + variance[0, k]
        bound = dist.t.logpdf(np.sqrt(square), tails[k])  # what the best q(u) makes of it
        assert scale_slack(tails, mean, variance)[k] == pytest.approx(exact - bound, abs=1e-6)
    assert np.all(scale_slack(tails, mean, 1e-12 * variance) < 1e-9)
