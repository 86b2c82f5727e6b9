"""Document 002: the algorithms against their lines written out entry by entry."""

from __future__ import annotations

import math

import numpy as np
import pytest

import latens
from latens.experiments.printed import online_factor_analysis as printed

CLOSE = {"rel": 1e-10, "abs": 1e-10}
T, D, K = 6, 5, 2


def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(T, D)) * np.arange(1, D + 1), printed.factors_initialisation(D, K, rng)


def posterior(d, F, psi) -> tuple[np.ndarray, np.ndarray]:
    precision = np.eye(K)
    for i in range(K):
        for j in range(K):
            precision[i, j] += sum(F[r, i] * F[r, j] / psi[r] for r in range(D))
    Sigma = np.linalg.inv(precision)
    return Sigma, np.array(
        [sum(Sigma[i, j] * F[r, j] / psi[r] * d[r] for j in range(K) for r in range(D)) for i in range(K)]
    )


@pytest.mark.parametrize("warm_up", [0, 2])
def test_gradient_ascent_has_the_numbers_of_algorithm_1(warm_up: int) -> None:
    x, F = problem()
    _, path = printed.online_sga(x, F, 0.05, warm_up)
    psi, mean = np.ones(D), np.zeros(D)
    F = F.copy()
    for t in range(1, T + 1):
        mean = mean + (x[t - 1] - mean) / t
        d = x[t - 1] - mean
        Sigma, m = posterior(d, F, psi)
        if t > warm_up:
            new_F, log_psi = F.copy(), np.log(psi)
            for r in range(D):
                square = sum(F[r, i] * (Sigma[i, j] + m[i] * m[j]) * F[r, j] for i in range(K) for j in range(K))
                slope = (d[r] ** 2 - 2 * d[r] * (F[r] @ m) + square) / (2 * psi[r] ** 2) - 1 / (2 * psi[r])
                log_psi[r] += 0.05 * slope * psi[r]
                for i in range(K):
                    back = sum(F[r, j] * (Sigma[j, i] + m[j] * m[i]) for j in range(K))
                    new_F[r, i] += 0.05 * (d[r] * m[i] - back) / psi[r]
            F, psi = new_F, np.exp(log_psi)
        assert path[t - 1].F == pytest.approx(F, **CLOSE)
        assert path[t - 1].psi == pytest.approx(psi, **CLOSE)
    assert path[-1].theta_SWA == pytest.approx(x.mean(axis=0))


@pytest.mark.parametrize("warm_up_of", ["averages", "mean"])
@pytest.mark.parametrize("warm_up", [2, 3])
def test_online_em_has_the_numbers_of_algorithm_2(warm_up: int, warm_up_of: str) -> None:
    x, F = problem()
    _, path = printed.online_em(x, F, warm_up, warm_up_of)
    psi, mean, F = np.ones(D), np.zeros(D), F.copy()
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    for t in range(1, T + 1):
        mean = mean + (x[t - 1] - mean) / t
        d = x[t - 1] - mean
        Sigma, m = posterior(d, F, psi)
        if t > warm_up or warm_up_of == "averages":
            kept.append((d, m))
        if t > warm_up:  # averages over t rows, those before the warm-up's end being 0 in one reading
            A = sum(np.outer(a, b) for a, b in kept) / t
            H = Sigma + sum(np.outer(b, b) for _, b in kept) / t
            F = A @ np.linalg.inv(H)
            for r in range(D):
                psi[r] = sum(a[r] ** 2 for a, _ in kept) / t - 2 * F[r] @ A[r] + F[r] @ H @ F[r]
        assert path[t - 1].F == pytest.approx(F, **CLOSE)
        assert path[t - 1].psi == pytest.approx(psi, **CLOSE)


def test_algorithm_2_without_a_warm_up_divides_by_zero() -> None:
    """The first row is its own mean, so that d_1 and with it psi are 0."""
    x, F = problem()
    _, path = printed.online_em(x, F)
    assert np.all(path[0].psi == 0)
    assert np.all(np.isnan(path[1].F))


def test_batch_em_has_the_numbers_of_its_equations() -> None:
    x, F = problem()
    _, path = printed.batch_em(x, F, 3)
    psi, d = np.ones(D), x - x.mean(axis=0)
    for step in range(3):
        posteriors = [posterior(row, F, psi) for row in d]
        A = sum(np.outer(row, m) for row, (_, m) in zip(d, posteriors, strict=True)) / T
        H = posteriors[0][0] + sum(np.outer(m, m) for _, m in posteriors) / T
        F = A @ np.linalg.inv(H)
        psi = np.diag(d.T @ d / T - 2 * F @ A.T + F @ H @ F.T).copy()
        assert path[step].F == pytest.approx(F, **CLOSE)
        assert path[step].psi == pytest.approx(psi, **CLOSE)


@pytest.mark.parametrize("solver", ["online-em", "online-sga"])
def test_the_solvers_of_the_library_are_the_algorithms(solver: str) -> None:
    """Same start: an orthonormal F of the estimator's own seed, read back from a fit that ends in the warm-up."""
    x = np.random.default_rng(5).normal(size=(40, D)) * np.arange(1, D + 1)
    resting = latens.FactorAnalysis(K, solver=solver, warm_up=1000, random_state=0).fit(x)
    F = resting._state.q.loadings.mean.T
    moved = latens.FactorAnalysis(K, solver=solver, warm_up=10, learning_rate=0.01, random_state=0).fit(x)
    if solver == "online-em":
        model, _ = printed.online_em(x, F, 10)
    else:
        model, _ = printed.online_sga(x, F, 0.01, 10)
    assert moved.get_covariance() == pytest.approx(model.F @ model.F.T + np.diag(model.psi), rel=1e-9)


def test_a_random_model_has_its_spectrum_and_its_noise() -> None:
    model = printed.generate_model(30, 4, 2.0, 9.0, np.random.default_rng(0))
    spectrum = np.linalg.svd(model.F, compute_uv=False) ** 2
    assert spectrum.min() >= 2 - 1e-9
    assert spectrum.max() <= 9 + 1e-9
    assert 0 <= model.psi.min()
    assert model.psi.max() <= spectrum.max() + 1e-9


def test_the_regression_takes_beta_from_the_spread_of_y() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20) + 3
    m, S, alpha, beta = printed.regression_posterior(X, y)
    assert beta == pytest.approx(1 / (sum((value - y.mean()) ** 2 for value in y) / 20))
    assert alpha == pytest.approx(0.01 * beta * (X[:, 0] @ X[:, 0] + X[:, 1] @ X[:, 1]) / 2)
    precision = np.array([[alpha * (i == j) + beta * X[:, i] @ X[:, j] for j in range(2)] for i in range(2)])
    assert S @ precision == pytest.approx(np.eye(2), abs=1e-10)
    assert precision @ m == pytest.approx(beta * X.T @ y)


GRADIENTS = [np.array([2.0, -1.0]), np.array([1.0, 0.5]), np.array([-3.0, 0.0])]


def test_momentum_goes_on_in_the_direction_of_the_last_step() -> None:
    """Rate .1 and decay .9: .2, then .9 x .2 + .1, then .9 x .28 - .3."""
    step = printed.momentum(0.1)
    steps = [step(gradient)[0] for gradient in GRADIENTS]
    assert steps == pytest.approx([0.2, 0.28, -0.048], abs=1e-12)


def test_adagrad_divides_by_the_root_of_all_squares() -> None:
    step = printed.adagrad(0.1)
    steps = np.array([step(gradient) for gradient in GRADIENTS])
    assert steps[0] == pytest.approx([0.1, -0.1], rel=1e-7)
    assert steps[1] == pytest.approx([0.1 / math.sqrt(5), 0.05 / math.sqrt(1.25)], rel=1e-7)
    assert steps[2] == pytest.approx([-0.3 / math.sqrt(14), 0.0], rel=1e-7)


def test_adam_by_its_averages() -> None:
    step, m, v = printed.adam(0.1), 0.0, 0.0
    for t, gradient in enumerate(GRADIENTS, 1):
        m, v = 0.9 * m + 0.1 * gradient[0], 0.999 * v + 0.001 * gradient[0] ** 2
        expected = 0.1 * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        assert step(gradient)[0] == pytest.approx(expected, rel=1e-12)


def test_an_unknown_variant_is_refused() -> None:
    x, F = problem()
    with pytest.raises(ValueError, match="variant is 'newton'; choose one of sgd, momentum, adagrad, adam"):
        printed.online_sga(x, F, variant="newton")


def test_an_unknown_reading_of_the_warm_up_is_refused() -> None:
    x, F = problem()
    with pytest.raises(ValueError, match="warm_up_of is 'sums'; choose one of averages, mean"):
        printed.online_em(x, F, 2, "sums")
    assert math.isfinite(printed.online_em(x, F, 2)[0].psi.sum())
