"""Document 004, cooperative vector quantizer: signs of entropy and divergence, the equations for W, and gamma."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from latens.array import Floats
from latens.datasets import make_images
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result
from latens.experiments.feature_pictures import Learnt, compared
from latens.experiments.printed import vector_quantizer as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["relevance", "run_print", "signs"]


def signs(x: Floats, k: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """F of variational EM and F(Q) of variational Bayes by iteration, as the slides add them up and right."""
    _, path = printed.learn_bayes(x, k, iterations, rng)
    rows = []
    for step, q in enumerate(path, 1):
        inside, divergence = printed.bound(x, q)
        pi, sigma = q.alpha / (q.alpha + q.beta), q.tau**-0.5
        energy = printed.functional(x, q.lam, q.m, pi, sigma)
        entropy = -float(np.sum(xlogy(q.lam, q.lam) + xlogy(1 - q.lam, 1 - q.lam)))
        rows.append((step, energy, energy + 2 * entropy, inside + divergence, inside - divergence))
    values = np.array(rows)
    steps = values[:, 0]
    missing = line_chart(
        [Line(steps, values[:, 2] - values[:, 1], name="right − printed: twice the entropy of the codes")],
        x_label="iteration",
        y_label="nats (log scale)",
        log_y=True,
    )
    em = line_chart(
        [Line(steps, values[:, 1], name="as printed", tone=1), Line(steps, values[:, 2], name="right")],
        x_label="iteration",
        y_label="F of EM (nats)",
        y_range=_late(values[:, 1:3]),
    )
    bayes = line_chart(
        [Line(steps, values[:, 3], name="as printed", tone=1), Line(steps, values[:, 4], name="right, a bound")],
        x_label="iteration",
        y_label="F(Q) of Bayes (nats)",
        y_range=_late(values[:, 3:5]),
    )
    first, last = values[0], values[-1]
    W, right = printed.m_step_w(x, path[-1].lam), -2 * printed.m_step_w(x, path[-1].lam)
    misfit = [float(np.mean((x - path[-1].lam @ one.T) ** 2)) for one in (W, right)]
    table = Numbers.of("signs", ("iteration", "F, print", "F, right", "F(Q), print", "F(Q), right"), rows)
    claims = (
        Claim(
            "slide Functional F",
            "F adds the sum of λ log λ",
            f"it is to be taken off: twice the entropy is missing, {number(float(first[2] - first[1]))} nats after one "
            f"iteration and {number(float(last[2] - last[1]))} at the end",
            "error in the print",
        ),
        Claim(
            "slide Variational approximation",
            "F(Q) adds the divergence of the parameters",
            f"it is to be taken off: the slides' sum is {number(float(last[3] - last[4]))} nats above the bound",
            "error in the print",
        ),
        Claim(
            "slide M step, parameters w",
            "equations with + λ x and a factor 2",
            f"their solution is minus half of the right one; the mean square left is {misfit[0]:.3g} against "
            f"{misfit[1]:.3g}",
            "error in the print",
        ),
    )
    section = Section(
        "Signs of entropy and divergence",
        figures=(
            Figure(em, "F of variational EM: the slides add the negative entropy of the codes.", name="entropy-sign"),
            Figure(missing, "What that costs: much while codes are unsure, little at the end.", name="entropy-missing"),
            Figure(
                bayes,
                "F(Q): the slides add the divergence of the parameters, the bound takes it off.",
                name="divergence-sign",
            ),
        ),
    )
    return Comparison(section, table, claims)


def _late(values: Floats) -> tuple[float, float]:
    late = values[len(values) // 6 :]
    return float(late.min()), float(late.max())


def relevance(x: Floats, truth: Any, k: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """gamma used as the precision that the updates make it, and as the variance that the slides call it."""
    # the true switches and as many that follow nothing: what is asked is which of them a reading keeps
    spare = rng.uniform(0.25, 0.75, (len(x), k - truth.codes.shape[1]))
    start = np.hstack([np.clip(truth.codes, 0.05, 0.95), spare])
    rows, lines, fits = [], [], []
    for tone, reading in enumerate(("variance", "precision")):
        q, path = printed.learn_bayes(x, k, iterations, rng, reading, start)
        bounds = np.array([np.subtract(*printed.bound(x, step)) for step in path])
        used = q.lam.sum(axis=0) >= 1
        fit = Learnt.of(reading, q.m.T[used], truth.components)
        rows.append(
            (
                f"gamma as a {reading}",
                bounds[-1],
                int(used.sum()),
                fit.n_found,
                float(np.sort(q.gamma)[-1] / np.sort(q.gamma)[0]),
            )
        )
        lines.append(Line(np.arange(1, iterations + 1), bounds, name=f"as a {reading}", tone=1 - tone))
        fits.append(fit)
    late = np.concatenate([line.y[iterations // 6 :] for line in lines])
    chart = line_chart(
        lines, x_label="iteration", y_label="bound (nats)", y_range=(float(late.min()), float(late.max()))
    )
    columns = ("reading", "bound (nats)", "sources in use", "true sources found", "largest gamma ÷ smallest")
    gap = float(rows[1][1]) - float(rows[0][1])
    claim = Claim(
        "slide Model Specification",
        "gamma is the variance of W",
        f"its update makes it a precision. Taken as a variance, the bound ends {number(gap)} nats lower and "
        f"{rows[0][2]} "
        f"sources stay in use, {rows[0][3]} of them true; as a precision {rows[1][2]} and {rows[1][3]}",
        "error in the print",
    )
    section = Section(
        "gamma, a precision called a variance",
        figures=(
            Figure(
                chart,
                f"The bound, all signs right, from the same start with {k} sources; {number(gap)} nats apart at the "
                "end.",
                name="gamma-reading",
            ),
            compared(
                "gamma-sources",
                truth.components,
                fits,
                truth.shape,
                "True sources and what either reading recovers, with cosines.",
            ),
        ),
    )
    return Comparison(section, Numbers.of("gamma", columns, rows), (claim,))


def run_print(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
    """VBE and VBM as on the slides, from random codes."""
    x, truth = make_images(
        settings.n_samples, size=settings.size, n_sources=settings.n_sources, noise=settings.noise, random_state=rng
    )
    progress("VBE and VBM as printed")
    q, path = printed.learn_bayes(x, settings.n_components, 100, rng)
    used = q.lam.sum(axis=0) >= 1
    fit = Learnt.of("print", q.m.T[used], truth.components)
    sums = np.array([sum(printed.bound(x, step)) for step in path])
    chart = line_chart(
        [Line(np.arange(1, len(sums) + 1), sums)],
        x_label="iteration",
        y_label="F(Q) as printed",
        y_range=(float(sums[len(sums) // 6 :].min()), float(sums.max())),
    )
    rows = [(k, q.lam[:, k].mean(), q.gamma[k]) for k in range(settings.n_components)]
    return Result(
        (Numbers.of("sources", ("source", "share of rows", "gamma"), rows),),
        (
            Section("F(Q)", figures=(Figure(chart, "As the slides add it up; no bound.", name="functional"),)),
            Section(
                "Recovered sources",
                figures=(compared("sources-print", truth.components, [fit], truth.shape, "From random codes."),),
            ),
        ),
        (
            f"From {settings.n_components} sources and random codes, {int(used.sum())} stay in use and {fit.n_found} "
            "of "
            f"{len(truth.components)} true ones are found.",
        ),
    )
