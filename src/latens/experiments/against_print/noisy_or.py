"""Document 004, noisy-OR: Jensen's bound without a leak, the search for theta, and the tangent of the logarithm."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from latens.array import Floats
from latens.datasets import make_noisy_or
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result
from latens.experiments.feature_pictures import Learnt, compared
from latens.experiments.printed import noisy_or as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["collapse", "jensen", "run_print", "search", "tangent"]

LEAK = 0.01  # -log(1 - chance) in the corrected bound


def tangent() -> Comparison:
    """The slide's example: ln x below its tangents, and where such a bound is used here."""
    x = np.linspace(0.05, 6, 200)
    lines = [Line(x, np.log(x), name="ln x")]
    rows = []
    for tone, lam in enumerate((0.25, 0.5, 1.0, 2.0), 1):
        upper = lam * x - np.log(lam) - 1
        lines.append(Line(x, upper, name=f"λ = {lam:g}", tone=tone))
        rows.append((lam, 1 / lam, float(np.min(upper - np.log(x))), float(np.max(upper - np.log(x)))))
    chart = line_chart(lines, x_label="x", y_label="", y_range=(-3.0, 4.0))
    caption = (
        "ln x ≤ λx − ln λ − 1, which touches at x = 1/λ. The best λ is 1/x; with it the bound is the logarithm "
        "itself. Here the same idea bounds log(1 + exp η) of binary and count entries by a parabola that touches at ξ "
        "(Jaakkola's bound), and the log determinant of a covariance by its tangent in the search for noise variances."
    )
    claim = Claim(
        "slide Variational methods",
        "ln x ≤ λx − ln λ − 1",
        f"right: over 200 points the least distance is {min(float(row[2]) for row in rows):.1e}, where x = 1/λ",
        "agrees",
    )
    table = Numbers.of("tangent", ("lambda", "touches at", "least distance", "largest distance"), rows)
    return Comparison(
        Section("A bound with a parameter", figures=(Figure(chart, caption, name="tangent"),)), table, (claim,)
    )


def jensen(n_draws: int, k: int, rng: np.random.Generator) -> Comparison:
    """log P(x = 1 | s) and its bound for random weights, by the number of sources on, without and with a leak."""
    rows = []
    for on in range(1, k + 1):
        excess = np.empty((n_draws, 2))
        for i in range(n_draws):
            theta, q = rng.uniform(0.1, 2.0, k), rng.dirichlet(np.ones(k))
            s = np.zeros(k)
            s[rng.permutation(k)[:on]] = 1.0
            truth = float(printed.log_probability(theta[:, None], s)[0])
            excess[i, 0] = float(printed.jensen(theta[:, None], q[None], s)[0]) - truth
            level = printed.f(np.array(LEAK))
            leaky = level + np.sum(q * s * (printed.f(LEAK + theta / q) - level))
            excess[i, 1] = leaky - printed.f(LEAK + s @ theta)
        rows.append(
            (
                on,
                float(np.mean(excess[:, 0] > 0)),
                excess[:, 0].max(),
                float(np.mean(excess[:, 1] > 0)),
                excess[:, 1].max(),
            )
        )
    values = np.array(rows, dtype=float)
    chart = line_chart(
        [
            Line(values[:, 0], values[:, 1], name="as printed, no leak", tone=1),
            Line(values[:, 0], values[:, 3], name="with a leak"),
        ],
        x_label=f"sources on, of {k}",
        y_label="share above the truth",
        y_range=(0.0, 1.0),
    )
    height = line_chart(
        [
            Line(values[:, 0], values[:, 2], name="as printed, no leak", tone=1),
            Line(values[:, 0], values[:, 4], name="with a leak"),
            Line(values[:, 0], np.zeros(k), dashed=True, name="truth"),
        ],
        x_label=f"sources on, of {k}",
        y_label="highest, nats above the truth",
    )
    claim = Claim(
        "slide Decomposable lower bound",
        "log P(X = 1 | s) ≥ Σ q s log(1 − exp(−θ/q))",
        f"above the truth in {100 * values[:-1, 1].mean():.0f} % of draws with some sources off, by up to "
        f"{values[:, 2].max():.2f} nats: with s = 0 the term drops out instead of being log 0. With a leak it is never "
        "above",
        "error in the print",
    )
    columns = ("sources on", "above, print", "highest, print", "above, leak", "highest, leak")
    section = Section(
        "Jensen's bound without a leak",
        figures=(
            Figure(
                chart,
                f"{n_draws} random weights and shares for each number of sources. A bound is never above.",
                name="jensen-leak",
            ),
            Figure(height, "The worst of them.", name="jensen-height"),
        ),
    )
    return Comparison(section, Numbers.of("jensen", columns, rows), (claim,))


def collapse(x: Floats, truth: Any, k: int, rng: np.random.Generator) -> Comparison:
    """Variational EM of the slides: its functional rises to 0, which says that every image is certain."""
    found = printed.learn(x, k, 12, rng)
    steps = np.arange(1, len(found.functionals) + 1)
    dark = float(np.mean(found.lam.sum(axis=1) < 0.5))
    chart = line_chart(
        [Line(steps, np.maximum(-found.functionals / len(x), 1e-12), tone=1, name="as printed")],
        x_label="iteration",
        y_label="−functional, nats per row (log scale)",
        log_y=True,
    )
    fit = Learnt.of("print", -np.expm1(-found.theta), truth.components)
    claim = Claim(
        "slides of the variational EM",
        "iterate until convergence of F",
        f"F rises to {found.functionals[-1]:.1e} nats: without a leak a row with no source on has bound 0 for every "
        "lit "
        f"pixel, and {100 * dark:.0f} % of the rows end with all sources off; {fit.n_found} of {len(truth.components)} "
        "pictures are found",
        "error in the print",
    )
    rows = [(int(step), float(value)) for step, value in zip(steps, found.functionals, strict=True)]
    figure = Figure(chart, "The functional of the slides; a log probability of 0 would be certainty.", name="collapse")
    section = Section("Variational EM as printed", figures=(figure,))
    return Comparison(section, Numbers.of("collapse", ("iteration", "functional"), rows), (claim,))


def search(x: Floats, codes: Floats, rounds: int, rng: np.random.Generator) -> Comparison:
    """One M step for theta: numerical search, and the step in closed form repeated; same codes and shares."""
    found = _held(x, codes, rng)
    start = rng.uniform(0.1, 1.0, found.theta.shape)
    clock = time.process_time()
    searched, evaluations = printed.search_theta(x, found.lam, start, found.q)
    seconds = time.process_time() - clock
    goal = printed.functional(x, searched, found.pi, found.lam, found.q)
    theta, values = start, [printed.functional(x, start, found.pi, found.lam, found.q)]
    clock = time.process_time()
    for _ in range(rounds):
        theta = closed_form(x, found.lam, theta, found.q)
        values.append(printed.functional(x, theta, found.pi, found.lam, found.q))
    ours = (time.process_time() - clock) / rounds
    left = goal - np.array(values)
    chart = line_chart(
        [
            Line(np.arange(rounds + 1), np.maximum(left, 1e-9), name="closed form"),
            Line(np.arange(rounds + 1), np.full(rounds + 1, 1e-3 * len(x)), dashed=True, name=".001 nat a row"),
        ],
        x_label="steps",
        y_label="nats below the search (log scale)",
        log_y=True,
    )
    near = int(np.argmax(left < 1e-3 * len(x))) if np.any(left < 1e-3 * len(x)) else rounds
    rows = [
        ("numerical search", goal, evaluations, 1e3 * seconds),
        ("closed form, one step", values[1], 1, 1e3 * ours),
        (f"closed form, {near} steps", values[near], near, 1e3 * ours * near),
    ]
    claim = Claim(
        "slide EM vs Variational EM",
        "theta by numerical search",
        f"{evaluations} evaluations over {x.shape[1]} columns, {1e3 * seconds:.0f} ms; a step in closed form takes "
        f"{1e3 * ours:.1f} ms, never falls, and {near} of them come within .001 nat a row of the search",
        "agrees in part",
    )
    table = Numbers.of("theta", ("step", "functional (nats)", "evaluations", "CPU (ms)"), rows)
    figure = Figure(chart, "The same objective, from the same start, with codes and shares held.", name="theta-search")
    return Comparison(Section("The M step for theta", figures=(figure,)), table, (claim,))


def _held(x: Floats, codes: Floats, rng: np.random.Generator) -> printed.Found:
    """Codes near the true ones, and shares that rest for them: left alone, the slides' codes all go to 0."""
    lam = np.clip(codes, 0.05, 0.95)
    theta, q = (
        rng.uniform(0.1, 1.0, (codes.shape[1], x.shape[1])),
        np.full((*x.shape, codes.shape[1]), 1 / codes.shape[1]),
    )
    for _ in range(3):
        q = printed.update_q(lam, theta, q)
        theta, _ = printed.search_theta(x, lam, theta, q)
    return printed.Found(theta, lam.mean(axis=0), lam, q, np.zeros(0), 0)


def closed_form(x: Floats, lam: Floats, theta: Floats, q: Floats) -> Floats:
    """theta = sum over ones of q λ y / sum λ, y = u / (1 − e^−u), u = theta / q: a tangent step, so that it climbs."""
    u = np.maximum(theta.T / q, 1e-300)
    y = u / -np.expm1(-u)
    step = np.einsum("nd,ndk,nk,ndk->kd", x, q, lam, y) / np.maximum(lam.sum(axis=0), 1e-300)[:, None]
    return np.asarray(np.clip(step, printed.LEAST_THETA, printed.MOST_THETA))  # the ends of the search


def run_print(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
    """Variational EM of the slides from random theta, on as many images as Jensen's bound is given."""
    x, truth = make_noisy_or(
        settings.n_jensen, activity=settings.activity, failure=settings.failure, leak=settings.leak, random_state=rng
    )
    progress("variational EM as printed")
    found = printed.learn(x, settings.n_components, 20, rng)
    fit = Learnt.of("print", -np.expm1(-found.theta), truth.components)
    steps = np.arange(1, len(found.functionals) + 1)
    chart = line_chart([Line(steps, found.functionals)], x_label="iteration", y_label="functional (nats)")
    rows = [(k, found.pi[k], fit.cosine[k] if k < len(fit.cosine) else 0.0) for k in range(settings.n_components)]
    return Result(
        (Numbers.of("sources", ("source", "usage", "cosine of the true picture of this number"), rows),),
        (
            Section(
                "What the slides climb", figures=(Figure(chart, "No bound, for want of a leak.", name="functional"),)
            ),
            Section(
                "Pictures",
                figures=(
                    compared("pictures-print", truth.components, [fit], truth.shape or (8, 8), "From random theta."),
                ),
            ),
        ),
        (
            f"From random theta, {fit.n_found} of {len(truth.components)} pictures are found in {len(x)} images; the "
            f"searches for theta evaluated their objective {number(found.n_evaluations)} times.",
        ),
    )
