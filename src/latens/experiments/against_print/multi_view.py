"""Document 003: the log odds of a loading as printed and right, and its likelihood at the means beside the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp, xlogy

from latens.array import Floats
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result
from latens.experiments.printed import sparse_factors as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["log_odds", "plug_in", "run_print"]

THETA, ALPHA = 0.3, 1.0
NODES = 61  # of the quadrature over a factor


def log_odds(n: int, d: int, k: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """Both forms of q(s) from the true codes on the same real entries of known precision: bound and loadings found."""
    s = rng.random((d, k)) < THETA
    true, z = s * rng.normal(0, ALPHA**-0.5, (d, k)), rng.standard_normal((n, k))
    tau = np.full((n, d), 4.0)
    y = z @ true.T + rng.standard_normal((n, d)) / np.sqrt(tau)
    alpha = np.full(k, ALPHA)
    wrong = printed.learn(y, tau, k, alpha, THETA, iterations, rng, start=z)
    right = _corrected(y, tau, z, alpha, iterations)
    bounds = [[bound(y, tau, *step, alpha) for step in path] for path in (wrong.path, right)]
    steps = np.arange(1, iterations + 1)
    chart = line_chart(
        [Line(steps, np.array(bounds[0]), name="as printed", tone=1), Line(steps, np.array(bounds[1]), name="right")],
        x_label="iteration",
        y_label="bound (nats)",
        y_range=(min(bounds[0][iterations // 5 :] + bounds[1][iterations // 5 :]), max(bounds[0] + bounds[1])),
    )
    shares_in = [float(np.mean(path[-1][0].gamma > 0.5)) for path in (wrong.path, right)]
    falls = [int(np.sum(np.diff(one) < -1e-8 * np.abs(np.array(one[1:])))) for one in bounds]
    bins = np.linspace(0, 1, 21)
    shares = [np.histogram(path[-1][0].gamma, bins)[0] / (d * k) for path in (wrong.path, right)]
    middle = 0.5 * (bins[1:] + bins[:-1])
    spread = line_chart(
        [Line(middle, shares[0], name="as printed", tone=1), Line(middle, shares[1], name="right")],
        x_label="probability that a loading is there",
        y_label="share of the loadings",
    )
    rows = [
        ("as printed", bounds[0][-1], falls[0], shares_in[0], float(np.mean(s))),
        ("right", bounds[1][-1], falls[1], shares_in[1], float(np.mean(s))),
    ]
    table = Numbers.of("log-odds", ("q(s)", "bound (nats)", "falls of the bound", "loadings kept", "true share"), rows)
    gap = bounds[1][-1] - bounds[0][-1]
    undefined = float(np.mean(np.isnan(wrong.weights.lam)))
    claim = Claim(
        "section 0.1.4, lambda_dk",
        "log alpha and the squared term without their halves, z for z²",
        f"the bound ends {number(gap)} nats lower and falls {falls[0]} times on the way; {100 * shares_in[0]:.0f} % of "
        f"the loadings are kept where {100 * float(np.mean(s)):.0f} % are there, {100 * undefined:.0f} % have no log "
        "odds at all, and the right form keeps "
        f"{100 * shares_in[1]:.0f} %",
        "error in the print",
    )
    section = Section(
        "The log odds of a loading (section 0.1.4)",
        figures=(
            Figure(
                chart,
                f"The same start and order of updates; at the end {number(gap)} nats lie between them.",
                name="log-odds-bound",
            ),
            Figure(spread, "Probabilities of all loadings at the end.", name="log-odds"),
        ),
    )
    return Comparison(section, table, (claim,))


def _corrected(
    y: Floats, tau: Floats, z: Floats, alpha: Floats, iterations: int
) -> list[tuple[printed.Weights, Floats, Floats]]:
    """The updates of the print, with the right log odds."""
    (_, d), k = y.shape, z.shape[1]
    variance = np.ones(z.shape)
    weights = printed.Weights(np.zeros((d, k)), np.ones((d, k)), np.zeros((d, k)), np.full((d, k), 0.5))
    weights, path = _right_weights(y, tau, weights, z, variance, alpha), []
    for _ in range(iterations):
        z, variance = printed.update_codes(y, tau, weights, z)
        weights = _right_weights(y, tau, weights, z, variance, alpha)
        path.append((weights, z, variance))
    return path


def _right_weights(
    y: Floats, tau: Floats, weights: printed.Weights, z: Floats, variance: Floats, alpha: Floats
) -> printed.Weights:
    """logit q(s = 1) = logit theta + (log alpha - log h + g^2 / h) / 2, h = sum tau <z^2> + alpha."""
    mu, sigma2, lam, gamma = (np.array(part) for part in weights)
    for k in range(z.shape[1]):
        mean = gamma * mu
        g = np.sum(tau * (y - z @ mean.T + np.outer(z[:, k], mean[:, k])) * z[:, k : k + 1], axis=0)
        h = tau.T @ (z[:, k] ** 2 + variance[:, k]) + alpha[k]
        mu[:, k], sigma2[:, k] = g / h, 1 / h
        lam[:, k] = np.log(THETA / (1 - THETA)) + 0.5 * (np.log(alpha[k]) - np.log(h) + g**2 / h)
        gamma[:, k] = expit(lam[:, k])
    return printed.Weights(mu, sigma2, lam, gamma)


def bound(y: Floats, tau: Floats, weights: printed.Weights, z: Floats, variance: Floats, alpha: Floats) -> float:
    """A lower bound of log p(y | tau, alpha, theta), all constants in."""
    mean, g = z @ weights.mean.T, weights.gamma
    square = mean**2 + (z**2 + variance) @ weights.square.T - z**2 @ (weights.mean**2).T
    data = np.sum(0.5 * np.log(tau / (2 * np.pi)) - 0.5 * tau * (y**2 - 2 * y * mean + square))
    codes = 0.5 * np.sum(1 + np.log(variance) - variance - z**2)
    slab = 0.5 * np.sum(g * (1 + np.log(alpha * weights.sigma2) - alpha * (weights.mu**2 + weights.sigma2)))
    switch = np.sum(xlogy(g, THETA) - xlogy(g, g) + xlogy(1 - g, 1 - THETA) - xlogy(1 - g, 1 - g))
    return float(data + codes + slab + switch)


def plug_in(n: int, d: int, rng: np.random.Generator) -> Comparison:
    """Binary entries of one factor with known weights: evidence by quadrature, Jaakkola's bound, the print's sum."""
    z, sign = rng.standard_normal(n), rng.choice([-1.0, 1.0], d)
    draws = rng.random((n, d))
    rows = []
    for size in (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        w = size * sign
        y = (draws < expit(np.outer(z, w))).astype(float)
        rows.append((size, _evidence(y, w), *_sums(y, w)))
    values = np.array(rows)
    chart = line_chart(
        [
            Line(values[:, 0], values[:, 3] - values[:, 1], name="as printed, at the means", tone=1),
            Line(values[:, 0], values[:, 2] - values[:, 1], name="Jaakkola's bound"),
            Line(values[:, 0], np.zeros(len(values)), dashed=True, name="evidence"),
        ],
        x_label="size of the weights",
        y_label="nats above the evidence",
    )
    worst = values[np.argmax(values[:, 3] - values[:, 1])]
    claim = Claim(
        "section 0.1.5",
        "the Bernoulli likelihood at the means, in the lower bound",
        f"up to {number(float(worst[3] - worst[1]))} nats above the exact evidence of {number(float(worst[1]))} "
        f"(weights of {worst[0]:g}), so that it bounds nothing; Jaakkola's bound stays below, by "
        f"{number(float(worst[1] - worst[2]))} nats there",
        "error in the print",
    )
    table = Numbers.of("plug-in", ("size of the weights", "evidence", "Jaakkola's bound", "print"), rows)
    caption = f"{n} rows of {d} binary entries, one factor. A bound of the evidence must stay below the dashed line."
    return Comparison(
        Section("The likelihood of the bound (section 0.1.5)", figures=(Figure(chart, caption, name="plug-in"),)),
        table,
        (claim,),
    )


def _evidence(y: Floats, w: Floats) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    eta = np.outer(nodes, w)  # (nodes, d)
    log_p = y @ log_expit(eta).T + (1 - y) @ log_expit(-eta).T  # (n, nodes)
    return float(np.sum(logsumexp(log_p + np.log(weights / weights.sum()), axis=1)))


def _sums(y: Floats, w: Floats) -> tuple[float, float]:
    """Jaakkola's bound and the print's sum at the posterior that maximises the first."""
    xi = np.ones(y.shape)
    for _ in range(500):
        lam = np.tanh(xi / 2) / (4 * xi)
        precision = 1 + 2 * lam @ w**2
        m = ((y - 0.5) @ w) / precision
        xi = np.sqrt(np.outer(m**2 + 1 / precision, w**2))
    eta = np.outer(m, w)
    divergence = 0.5 * np.sum(m**2 + 1 / precision - 1 + np.log(precision))
    jaakkola = np.sum(log_expit(xi) + (y - 0.5) * eta - xi / 2) - divergence
    return float(jaakkola), float(np.sum(y * eta - np.logaddexp(0, eta)) - divergence)


def run_print(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
    """The updates and the likelihood of the document alone."""
    progress("the updates of section 0.1.4")
    parts = (log_odds(120, 40, settings.n_factors, 40, rng), plug_in(40, 6, rng))
    return Result((), (), (f"With the printed log odds {parts[0].claims[0].found}.",)).beside(*parts)
