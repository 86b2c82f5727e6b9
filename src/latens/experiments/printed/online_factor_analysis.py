"""Document 002: factor analysis of a stream by Algorithms 1 and 2, its random models, and a regression's posterior.

theta_t = c + F h_t + eps_t, with psi the diagonal of the noise. Names and order of updates are those of the algorithms.
Chapter 5 lets "running averages (such as the sample mean)" go on during the first 100 rows while F and psi rest;
chapter 6 has "only the running average" go on. `warm_up_of` offers both: "averages" keeps A, B and d2 running with the
mean, "mean" begins them when the warm-up ends, counted by the t of the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from latens.array import Floats
from latens.experiments.printed.listing import Listing, Repair

__all__ = [
    "LISTINGS",
    "STEPS",
    "Model",
    "batch_em",
    "factors_initialisation",
    "generate_model",
    "online_em",
    "online_sga",
    "regression_posterior",
]

WARM_UPS = ("averages", "mean")
Step = Callable[[Floats], Floats]  # from a gradient to the change it brings; it remembers earlier ones
TINY = 1e-8


class Model(NamedTuple):
    theta_SWA: Floats  # (D,)
    F: Floats  # (D, K)
    psi: Floats  # (D,)


def factors_initialisation(D: int, K: int, rng: np.random.Generator) -> Floats:
    """Section 4.3: the orthonormal part of a matrix of standard normal numbers."""
    return np.linalg.qr(rng.standard_normal((D, K)))[0]


def generate_model(D: int, K: int, a: float, b: float, rng: np.random.Generator) -> Model:
    """Algorithm 3: the leading eigenvectors of a random matrix, scaled by the roots of a uniform spectrum."""
    c = rng.standard_normal(D)
    A = rng.standard_normal((D, D))
    V_K = np.linalg.eigh(A @ A.T)[1][:, ::-1][:, :K]
    s2 = rng.uniform(a, b, size=K)
    F = V_K * np.sqrt(s2)
    return Model(c, F, rng.uniform(0.0, s2.max(), size=D))


def sgd(rate: float) -> Step:
    """Lines 12 and 13 of Algorithm 1."""
    return lambda gradient: rate * gradient


def momentum(rate: float, decay: float = 0.9) -> Step:
    """Steps that go on: the change is the gradient and `decay` of the change before."""
    change = np.zeros(1)

    def step(gradient: Floats) -> Floats:
        nonlocal change
        change = decay * change + rate * gradient
        return change

    return step


def adagrad(rate: float) -> Step:
    """Each entry divided by the root of the sum of its squared gradients (Duchi, Hazan and Singer 2011)."""
    squares = np.zeros(1)

    def step(gradient: Floats) -> Floats:
        nonlocal squares
        squares = squares + gradient**2
        return np.asarray(rate * gradient / (np.sqrt(squares) + TINY))

    return step


def adam(rate: float, first: float = 0.9, second: float = 0.999) -> Step:
    """Averages of gradients over the root of averages of their squares, both freed of their start (Kingma, Ba 2015)."""
    mean, squares, t = np.zeros(1), np.zeros(1), 0

    def step(gradient: Floats) -> Floats:
        nonlocal mean, squares, t
        t += 1
        mean = first * mean + (1 - first) * gradient
        squares = second * squares + (1 - second) * gradient**2
        return np.asarray(rate * mean / (1 - first**t) / (np.sqrt(squares / (1 - second**t)) + TINY))

    return step


STEPS: dict[str, Callable[[float], Step]] = {"sgd": sgd, "momentum": momentum, "adagrad": adagrad, "adam": adam}


def online_sga(
    rows: Iterable[Floats], F: Floats, learning_rate: float = 1e-3, warm_up: int = 0, variant: str = "sgd"
) -> tuple[Model, list[Model]]:
    """Algorithm 1, and the model after every row; `variant` names one of `STEPS`, "sgd" being the print's own."""
    if variant not in STEPS:
        raise ValueError(f"variant is {variant!r}; choose one of {', '.join(STEPS)}.")
    step_F, step_beta = STEPS[variant](learning_rate), STEPS[variant](learning_rate)
    F = F.copy()
    psi, theta_bar = np.ones(len(F)), np.zeros(len(F))
    beta = np.log(psi)
    path = []
    with np.errstate(all="ignore"):
        for t, theta_t in enumerate(rows, 1):
            theta_bar = theta_bar + (theta_t - theta_bar) / t
            d_t, Sigma, m_t = infer(theta_t, theta_bar, F, psi)
            if t > warm_up:
                second = F @ (Sigma + np.outer(m_t, m_t))
                grad_F = (np.outer(d_t, m_t) - second) / psi[:, None]  # equation 4.24
                inside = d_t**2 - 2 * d_t * (F @ m_t) + np.sum(second * F, axis=1)
                grad_beta = (inside / (2 * psi**2) - 1 / (2 * psi)) * psi  # equations 4.25 and 4.26
                F = F + step_F(grad_F)
                beta = beta + step_beta(grad_beta)
                psi = np.exp(beta)
            path.append(Model(theta_bar, F, psi))
    return path[-1], path


def online_em(
    rows: Iterable[Floats], F: Floats, warm_up: int = 0, warm_up_of: str = "averages"
) -> tuple[Model, list[Model]]:
    """Algorithm 2, and the model after every row."""
    if warm_up_of not in WARM_UPS:
        raise ValueError(f"warm_up_of is {warm_up_of!r}; choose one of {', '.join(WARM_UPS)}.")
    D, K = F.shape
    F, psi, theta_bar = F.copy(), np.ones(D), np.zeros(D)
    A_bar, B_bar, d2_bar = np.zeros((D, K)), np.zeros((K, K)), np.zeros(D)
    path = []
    with np.errstate(all="ignore"):
        for t, theta_t in enumerate(rows, 1):
            theta_bar = theta_bar + (theta_t - theta_bar) / t
            d_t, Sigma, m_t = infer(theta_t, theta_bar, F, psi)
            if t > warm_up or warm_up_of == "averages":
                B_bar = B_bar + (np.outer(m_t, m_t) - B_bar) / t
                A_bar = A_bar + (np.outer(d_t, m_t) - A_bar) / t
                d2_bar = d2_bar + (d_t**2 - d2_bar) / t
            if t > warm_up:
                H_bar = Sigma + B_bar
                F = np.asarray(np.linalg.solve(H_bar.T, A_bar.T).T, dtype=np.float64)
                psi = d2_bar + np.sum((F @ H_bar) * F - 2 * F * A_bar, axis=1)
            path.append(Model(theta_bar, F, psi))
    return path[-1], path


def infer(theta_t: Floats, theta_bar: Floats, F: Floats, psi: Floats) -> tuple[Floats, Floats, Floats]:
    """Lines 6 to 9 of both algorithms: the deviation of a row, and the posterior of its factors."""
    d_t = theta_t - theta_bar
    C = (F / psi[:, None]).T
    Sigma: Floats = np.asarray(np.linalg.inv(np.eye(F.shape[1]) + C @ F), dtype=np.float64)
    return d_t, Sigma, Sigma @ (C @ d_t)


def batch_em(rows: Floats, F: Floats, iterations: int) -> tuple[Model, list[Model]]:
    """Equations 4.28 to 4.31 on all rows at once, and the model after every iteration."""
    c = rows.mean(axis=0)
    d, T = rows - c, len(rows)
    F, psi = F.copy(), np.ones(rows.shape[1])
    path = []
    for _ in range(iterations):
        C = (F / psi[:, None]).T
        Sigma = np.linalg.inv(np.eye(F.shape[1]) + C @ F)
        m = d @ C.T @ Sigma  # (T, K)
        A, H = d.T @ m / T, Sigma + m.T @ m / T
        F = np.linalg.solve(H.T, A.T).T
        psi = np.mean(d**2, axis=0) - 2 * np.sum(F * A, axis=1) + np.sum((F @ H) * F, axis=1)
        path.append(Model(c, F, psi))
    return path[-1], path


def regression_posterior(X: Floats, y: Floats) -> tuple[Floats, Floats, float, float]:
    """Mean, covariance, alpha and beta of chapter 6: beta from the spread of y, alpha from the mean diagonal."""
    beta = 1 / float(np.var(y))
    alpha = 0.01 * float(np.mean(beta * np.sum(X**2, axis=0)))
    S: Floats = np.asarray(np.linalg.inv(alpha * np.eye(X.shape[1]) + beta * X.T @ X), dtype=np.float64)
    return S @ (beta * X.T @ y), S, alpha, beta


START = Repair("line 1", "F is initialised, section 4.3 says how", "F is given", "the same start for both algorithms")
LISTINGS = (
    Listing(
        "online-sga",
        "002",
        "Algorithm 1",
        online_sga,
        repairs=(START,),
        errors=("a step of .001 in the unit of the data: it diverges where variances are large",),
    ),
    Listing(
        "online-em",
        "002",
        "Algorithm 2",
        online_em,
        repairs=(
            START,
            Repair("section 5.1", "a warm-up, in two wordings", "`warm_up_of` names one", "the text allows both"),
        ),
        errors=(
            "rows of the warm-up enter A and B at unit noise and keep their weight",
            "d_t is taken from the mean that has the row in it: the variance comes out low by (1 + 1/2 + .. + 1/T) / T",
        ),
    ),
    Listing("batch-em", "002", "equations 4.28 to 4.31", batch_em),
    Listing(
        "factor-model",
        "002",
        "Algorithm 3",
        generate_model,
        repairs=(
            Repair(
                "line 6",
                "s2 has D entries and multiplies K columns",
                "s2 has K entries",
                "as the text's spectrum; D entries would scale rows",
            ),
        ),
    ),
    Listing(
        "regression-posterior",
        "002",
        "equations 2.11 to 2.14 with the alpha and beta of chapter 6",
        regression_posterior,
        errors=("beta is the precision of y, not of what the regression leaves over",),
    ),
)
