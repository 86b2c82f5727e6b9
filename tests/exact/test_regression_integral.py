"""Regression with its precisions integrated out, beside sums over all of them: usual priors, and given Gammas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import latens


def by_quadrature(
    x: np.ndarray,
    y: np.ndarray,
    alpha: float | None,
    beta: float | None,
    new: np.ndarray,
    alpha_prior: tuple[float, float] | None = None,
    beta_prior: tuple[float, float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Central 95 % of the weights (2, D) and of a new target at one row (2,), by a sum over a grid of both precisions.

    With an intercept. Where alpha is None, (beta / alpha)^1/2 times the standard deviation of a column is half-Cauchy,
    each column being as likely that one, or alpha has a Gamma prior; where beta is None, 1 / beta is its density, or
    that of a Gamma.
    """
    middle, level, n = x.mean(axis=0), y.mean(), len(y)
    z, v, at = x - middle, y - level, new - middle
    centres, scales, targets, widths, heights = [], [], [], [], []
    for log_beta in np.linspace(-9, 7, 97) if beta is None else [np.log(beta)]:
        for log_alpha in np.linspace(-14, 14, 113) if alpha is None else [np.log(alpha)]:
            a, b = np.exp(log_alpha), np.exp(log_beta)
            inverse = np.linalg.inv(a * np.eye(x.shape[1]) + b * z.T @ z)
            m = b * inverse @ z.T @ v
            height = 0.5 * len(m) * log_alpha + 0.5 * np.linalg.slogdet(inverse)[1]
            height += 0.5 * (n - 1) * log_beta - 0.5 * b * np.sum((v - z @ m) ** 2) - 0.5 * a * m @ m
            r = np.sqrt(b / a) * x.std(axis=0)
            if alpha is None and alpha_prior is None:
                height += np.log(np.mean(r / (1 + r * r)))
            for prior, precision in ((alpha_prior, a), (beta_prior, b)):
                height += prior[0] * np.log(precision) - prior[1] * precision if prior else 0.0
            heights.append(height)
            centres.append(m)
            scales.append(np.sqrt(np.diag(inverse)))
            targets.append(level + m @ at)
            widths.append(np.sqrt(at @ inverse @ at + (1 + 1 / n) / b))
    shares = np.exp(np.array(heights) - max(heights))
    shares /= shares.sum()

    def ends(mean: np.ndarray, std: np.ndarray) -> list[float]:
        reach = 200 * std.max()
        return [
            brentq(lambda t, p=p: shares @ norm.cdf((t - mean) / std) - p, mean.min() - reach, mean.max() + reach)
            for p in (0.025, 0.975)
        ]

    weights = [ends(m, s) for m, s in zip(np.array(centres).T, np.array(scales).T, strict=True)]
    return np.array(weights).T, np.array(ends(np.array(targets), np.array(widths)))


@pytest.mark.parametrize("given", [(None, None), (0.5, None), (None, 2.0)])
def test_intervals_are_those_of_a_sum_over_all_precisions(given: tuple) -> None:
    rng = np.random.default_rng(21)
    x = rng.normal(size=(7, 2)) * [1.0, 3.0] + [4.0, -2.0]
    y = x @ [1.0, 0.2] + 3 + 0.6 * rng.normal(size=7)
    new = np.array([[5.0, 1.0]])
    model = latens.BayesianLinearRegression(*("evidence" if each is None else each for each in given)).fit(x, y)
    weights, target = by_quadrature(x, y, *given, new[0])
    table = model.intervals(quantities="coef")
    assert np.array([table["lower"], table["upper"]]) == pytest.approx(weights, abs=1e-3)
    _, std = model.predict(new, return_std=True)
    assert std == pytest.approx([(target[1] - target[0]) / (2 * 1.959964)], rel=2e-3)
    assert model.coef_std_ == pytest.approx((weights[1] - weights[0]) / (2 * 1.959964), rel=2e-3)
    assert np.sqrt(np.diag(model.coef_covariance_)) == pytest.approx(model.coef_std_)
    draws = model.set_params(random_state=0).sample_coef(40_000)
    assert np.quantile(draws, [0.025, 0.975], axis=0) == pytest.approx(weights, rel=0.05, abs=0.05)


PRIORS = [  # last: of how many of the two weights the rows say more than the prior
    ("gamma", "gamma", (2.0, 3.0), (0.3, 4.0), 2),
    ("gamma", "gamma", (0.1, 40.0), None, 2),  # a strong prior of small weights
    ("gamma", "gamma", None, (4.0, 10.0), 1),  # noise of variance 4, worth ten rows; that of the rows is .36
    ("gamma", 2.0, (0.5, 2.0), None, 2),
    (0.5, "gamma", None, (1.0, 6.0), 2),
    ("evidence", "gamma", None, (1.0, 6.0), 2),
]


@pytest.mark.parametrize(("alpha", "beta", "weights", "noise", "n_sound"), PRIORS)
def test_priors_of_precisions_are_integrated_out(
    alpha: float | str,
    beta: float | str,
    weights: tuple[float, float] | None,
    noise: tuple[float, float] | None,
    n_sound: int,
) -> None:
    rng = np.random.default_rng(21)
    x = rng.normal(size=(7, 2)) * [1.0, 3.0] + [4.0, -2.0]
    y = x @ [1.0, 0.2] + 3 + 0.6 * rng.normal(size=7)
    new = np.array([[5.0, 1.0]])
    model = latens.BayesianLinearRegression(
        alpha, beta, weight_variance_prior=weights, noise_variance_prior=noise, random_state=0
    ).fit(x, y)
    numbers = [None if isinstance(each, str) else each for each in (alpha, beta)]
    gammas = [prior and (0.5 * prior[1], 0.5 * prior[1] * prior[0]) for prior in (weights, noise)]
    exact, target = by_quadrature(x, y, *numbers, new[0], *gammas)
    table = model.intervals(quantities="coef")
    assert table.method == "integration"
    assert [bool(why) for why in table["why"]] == [not sound for sound in table["sound"]]
    assert sum(table["sound"]) == n_sound
    assert np.array([table["lower"], table["upper"]]) == pytest.approx(exact, abs=1e-3)
    assert model.predict(new, return_std=True)[1] == pytest.approx([(target[1] - target[0]) / (2 * 1.959964)], rel=2e-3)
    draws = model.sample_posterior(40_000, method="gibbs")
    assert np.quantile(draws["coef"], [0.025, 0.975], axis=0) == pytest.approx(exact, rel=0.05, abs=0.05)


def gibbs(x: np.ndarray, y: np.ndarray, alpha: tuple[float, float], beta: tuple[float, float], n: int) -> np.ndarray:
    """(n, D + 2): weights, intercept and noise precision, one given the others; priors are shapes and rates."""
    rng, z = np.random.default_rng(5), np.column_stack([x, np.ones(len(x))])
    d, w, b, draws = x.shape[1], np.zeros(x.shape[1] + 1), 1.0, []
    for _ in range(n):
        a = rng.gamma(alpha[0] + 0.5 * d) / (alpha[1] + 0.5 * w[:d] @ w[:d])
        inverse = np.linalg.inv(b * z.T @ z + np.diag([a] * d + [0.0]))
        w = rng.multivariate_normal(b * inverse @ z.T @ y, inverse)
        b = rng.gamma(beta[0] + 0.5 * len(y)) / (beta[1] + 0.5 * np.sum((y - z @ w) ** 2))
        draws.append([*w, b])
    return np.array(draws)


@pytest.mark.slow
def test_all_intervals_under_given_priors_are_those_of_a_sampler() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(9, 3))
    y = x @ [1.0, 0.0, -0.5] + 2 + 0.7 * rng.normal(size=9)
    priors = {"weight_variance_prior": (0.5, 3.0), "noise_variance_prior": (1.0, 2.0)}
    model = latens.BayesianLinearRegression("gamma", "gamma", **priors).fit(x, y)
    table = model.intervals(level=0.8)
    drawn = gibbs(x, y, (1.5, 0.75), (1.0, 1.0), 20_000)[500:]
    ends = np.quantile(drawn, [0.1, 0.9], axis=0)
    gap = np.array([table["lower"], table["upper"]]) - ends
    assert np.abs(gap / drawn.std(axis=0)).max() < 0.06
    narrow = model.intervals(method="mean-field", level=0.8)
    assert set(narrow["why"]) == {"precisions taken as known"}
    assert np.all(np.array(narrow["upper"]) < np.array(table["upper"]))


def test_a_prior_as_strong_as_a_number_gives_the_answer_of_the_number() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(12, 3))
    y = x @ [1.0, 0.0, -0.5] + rng.normal(size=12)
    strong = latens.BayesianLinearRegression(
        "gamma", "gamma", weight_variance_prior=(2.0, 1e9), noise_variance_prior=(0.25, 1e9)
    ).fit(x, y)
    known = latens.BayesianLinearRegression(0.5, 4.0).fit(x, y)
    assert strong.coef_std_ == pytest.approx(known.coef_std_, rel=1e-4)
    assert np.array(strong.intervals()["upper"]) == pytest.approx(np.array(known.intervals()["upper"]), rel=1e-4)


def test_a_prior_of_the_noise_tells_what_one_row_does_not() -> None:
    stream = latens.BayesianLinearRegression("gamma", "gamma", noise_variance_prior=(1.0, 5.0))
    stream.partial_fit(np.array([[1.0, 2.0]]), np.array([3.0]))
    assert np.all(np.isfinite(stream.coef_std_))
    plain = latens.BayesianLinearRegression("gamma", "gamma", weight_variance_prior=(1.0, 5.0))
    plain.partial_fit(np.array([[1.0, 2.0]]), np.array([3.0]))
    assert np.all(np.isinf(plain.coef_std_))
