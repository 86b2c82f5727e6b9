"""Document 001: its bound with the sign put right, the iterations its stop asks for, and where it overflows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from markupsafe import Markup

import latens
from latens.array import Floats, Index
from latens.experiments.experiment import Claim, Comparison, Numbers, Result
from latens.experiments.printed import mixture as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.scatter import Points, scatter_chart
from latens.report.charts.svg import Line, line_chart

__all__ = ["overflow", "run_print", "sign_and_stop"]

TOL = 1e-8  # nats per row


def right_elbo(data: Floats, found: printed.Found, sigma2: float, mu0: Floats) -> float:
    """The sum with the prior's quadratic term taken off."""
    p = data.shape[1]
    penalty = float(np.sum(p * found.s2 + np.sum((found.m - mu0) ** 2, axis=1))) / sigma2
    return printed.compute_elbo(data, found.phi, found.m, found.s2, sigma2, mu0) - penalty


def sign_and_stop(data: Floats, k: int, sigma: float, n_starts: int, rng: np.random.Generator) -> Comparison:
    """The program's own runs: its sum and the bound by iteration, and how long it goes on after nothing is gained."""
    m0, n = np.zeros(data.shape[1]), len(data)
    courses = []
    for _ in range(n_starts):
        start = printed.random_start(data, k, rng)
        whole = printed.cavi(data, k, sigma, m0, start=start)
        courses.append((whole, _right_course(data, sigma, m0, start, len(whole.elbo) - 1)))
    rows = []
    for i, (whole, right) in enumerate(courses):
        enough = int(np.argmax(right[-1] - right < TOL * n))
        fell = bool(whole.elbo[-1] < whole.elbo[-2]) if len(whole.elbo) > 1 else False
        rows.append((i, whole.elbo[-1], right[-1], whole.elbo[-1] - right[-1], len(whole.elbo) - 1, enough, fell))
    columns = (
        "run",
        "printed sum",
        "bound",
        "difference",
        "iterations, print",
        f"to {TOL:g} nat a row",
        "ended by a fall",
    )
    table = Numbers.of("print", columns, rows)
    best = max(range(n_starts), key=lambda i: courses[i][0].elbo[-1])
    whole, right = courses[best]
    steps = np.arange(len(whole.elbo))
    shown = slice(1, None)
    chart = line_chart(
        [
            Line(steps[shown], whole.elbo[shown], name="as printed", tone=1),
            Line(steps[shown], right[shown], name="right sign"),
        ],
        x_label="iteration",
        y_label="ELBO (nats)",
        y_range=(float(np.percentile(right[shown], 10)), float(whole.elbo[-1])),
    )
    extra = line_chart(
        [
            Line(steps[1:], np.abs(np.diff(right)), name="gain of the bound"),
            Line(steps[1:], np.full(len(steps) - 1, 1e-15), dashed=True, name="the print's stop, 1e-15"),
            Line(
                steps[1:],
                np.full(len(steps) - 1, float(np.spacing(abs(right[-1])))),
                dashed=True,
                name="resolution of the sum",
            ),
        ],
        x_label="iteration",
        y_label="nats (log scale)",
        log_y=True,
    )
    falls = sum(bool(row[-1]) for row in rows)
    more = float(np.mean([float(row[4]) - float(row[5]) for row in rows]))
    difference = float(rows[best][3])
    claims = (
        Claim(
            "figure 3",
            "the ELBO converges around −2000",
            f"the printed sum ends at {number(float(whole.elbo[-1]))} for {n} rows, the bound at "
            f"{number(float(right[-1]))}",
            "agrees" if 1000 < -float(right[-1]) < 4000 else "agrees in part",
        ),
        Claim(
            "assignment 1, first term",
            "the prior's quadratic term is added",
            f"it is to be taken off: the sum is {number(difference)} nats too high at σ² = {sigma:g}",
            "error in the print",
        ),
        Claim(
            "appendix, cavi",
            "stop when the ELBO gains less than 1e-15",
            f"the sum's resolution is {np.spacing(abs(float(right[-1]))):.1e}; a run goes on for {more:.0f} iterations "
            f"after {TOL:g} nat a row, and {falls} of {n_starts} runs end because the sum fell",
            "error in the print",
        ),
    )
    section = Section(
        "The bound as printed, and right",
        figures=(
            Figure(
                chart,
                f"Figure 3 at the document's own σ² = {sigma:g}: best run by the printed sum, the difference "
                f"at the end is {number(difference)} nats.",
                name="elbo-print",
            ),
            Figure(extra, "What each iteration gains, beside the gain at which the print stops.", name="stop"),
        ),
    )
    return Comparison(section, table, claims)


def _right_course(data: Floats, sigma2: float, m0: Floats, start: printed.Start, iterations: int) -> Floats:
    """The right bound along the same updates."""
    bounds = [right_elbo(data, printed.Found(*start, np.zeros(0)), sigma2, m0)]
    m, s2, phi = start
    for _ in range(iterations):
        m, s2, phi = printed.update(data, m, s2, sigma2, m0)
        bounds.append(right_elbo(data, printed.Found(m, s2, phi, np.zeros(0)), sigma2, m0))
    return np.array(bounds)


def overflow(data: Floats, k: int, sigma: float, n_starts: int, rng: np.random.Generator) -> Comparison:
    """Share of runs that end in NaN when the data are moved away from 0."""
    m0 = np.zeros(data.shape[1])
    rows = []
    for shift in (0.0, 10.0, 20.0, 30.0, 40.0):
        moved = data + shift
        lost = sum(np.isnan(printed.cavi(moved, k, sigma, m0, rng=rng).elbo[-1]) for _ in range(n_starts))
        ours: Any = latens.GaussianMixture(
            k,
            covariance_type="known",
            weight_prior="uniform",
            noise_variance=1.0,
            mean_prior_variance=sigma,  # a standard deviation, as the print passes it, so that both have one prior
            mean_prior=m0,
            n_init=1,
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that centres about 0 suit such rows badly is meant
            ours.fit(moved)
        rows.append((shift, lost / n_starts, float(not np.isfinite(ours.elbo_)), ours.elbo_))
    values = np.array(rows)
    chart = line_chart(
        [Line(values[:, 0], values[:, 1], name="as printed", tone=1), Line(values[:, 0], values[:, 2], name="latens")],
        x_label="data moved by",
        y_label="share of runs that end in NaN",
    )
    claim = Claim(
        "appendix, cavi",
        "exponentials without their largest term",
        f"at a shift of 30, {100 * values[3, 1]:.0f} % of the printed runs end in NaN; none of ours",
        "error in the print",
    )
    table = Numbers.of("overflow", ("shift", "NaN, print", "NaN, latens", "bound, latens"), rows)
    figure = Figure(chart, f"{n_starts} random starts of the print at each shift.", name="overflow")
    return Comparison(Section("Data far from 0", figures=(figure,)), table, (claim,))


def run_print(rng: np.random.Generator, n: int, n_starts: int) -> Result:
    """The program alone: its three figures."""
    runs = printed.main(rng, n, n_starts)
    best = runs.found[runs.best_i]
    rows = [
        (i, one.elbo[-1], len(one.elbo) - 1, right_elbo(runs.data, one, 5.0, np.zeros(2)))
        for i, one in enumerate(runs.found)
    ]
    steps = np.arange(len(best.elbo))
    figures = (
        Figure(_scatter(runs.data, runs.categories, runs.means), "Figure 1. True data.", name="true-data"),
        Figure(_scatter(runs.data, np.argmax(best.phi, axis=1), best.m), "Figure 2. Posterior.", name="posterior"),
        Figure(
            line_chart([Line(steps, best.elbo)], x_label="iteration", y_label="ELBO as printed"),
            "Figure 3.",
            name="elbo",
        ),
    )
    return Result(
        (Numbers.of("runs", ("run", "printed sum", "iterations", "bound"), rows),),
        (Section("Figures 1 to 3", figures=figures),),
        (
            f"The best of {n_starts} runs ends at a printed sum of {number(float(best.elbo[-1]))} nats; the document "
            "says "
            f"around −2000. With the right sign it is {number(float(rows[runs.best_i][3]))}.",
        ),
    )


def _scatter(data: Floats, labels: Index, means: Floats) -> Markup:
    order = np.argsort(means[:, 0], kind="stable")
    groups = [Points(data[labels == k], tone, means[k], 0.0) for tone, k in enumerate(order)]
    return scatter_chart([group for group in groups if len(group.places)], x_label="x0", y_label="x1")
