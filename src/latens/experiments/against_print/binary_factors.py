"""Document 000, section 1: equation 8 as it stands in the text, starts near 0 and 1, and the cost of the M step."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from latens.array import Floats
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result, Verdict
from latens.experiments.feature_pictures import Learnt, compared
from latens.experiments.printed import binary_factors as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, bar_chart, line_chart

__all__ = ["cost", "equation_8", "run_print", "starts"]

RANGES = {"between .25 and .75": (0.25, 0.75), "between 0 and 1": (0.0, 1.0), "within .05 of 0 or 1": None}
EDGE = 0.05
LEAST_CALLS = 5


def equation_8(x: Floats, k: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """The free energy along one run of the listing: as the text has it, as the listing computes it, and right."""
    Lambda, mu, pie, sigma = printed.init_params(len(x), x.shape[1], k, rng)
    rows = []
    for step in range(1, iterations + 1):
        Lambda, stale = printed.mean_field(x, mu, sigma, pie, Lambda, 30)
        safe = np.clip(Lambda, 1e-300, 1 - 1e-16)
        right = printed.free_energy(x, mu, np.sum(mu**2, axis=0), sigma, pie, safe)
        rows.append((step, printed.equation_8(x, mu, sigma, pie, Lambda), stale, right))
        mu, sigma, pie = printed.m_step(x, Lambda, printed.compute_ESS(Lambda))
    table = Numbers.of("equation-8", ("iteration", "equation 8, text", "listing", "right"), rows)
    runs = np.array(rows)
    excess, stale_by = runs[:, 1] - runs[:, 3], float(np.max(np.abs(runs[:, 2] - runs[:, 3])))
    chart = line_chart(
        [
            Line(runs[:, 0], np.abs(excess), name="|equation 8 − F|"),
            Line(runs[:, 0], np.abs(runs[:, 3]), name="|F|", tone=1),
        ],
        x_label="iteration",
        y_label="nats (log scale)",
        log_y=True,
    )
    caption = (
        "Equation 8 of the text divides one logarithm by another where a code is off: log(1 − λ) is then almost 0. It "
        f"ends {number(float(excess[-1]))} nats from the free energy, which is {number(float(runs[-1, 3]))}."
    )
    first = max(1, iterations // 5)
    both = line_chart(
        [
            Line(runs[first:, 0], runs[first:, 2], name="listing", tone=1),
            Line(runs[first:, 0], runs[first:, 3], name="right"),
        ],
        x_label="iteration",
        y_label="free energy (nats)",
    )
    claim = Claim(
        "equation 8",
        "the free energy, with log(1 − π) / log(1 − λ) for codes that are off",
        f"{number(float(excess[-1]))} nats from the free energy after {iterations} iterations; the listing has the "
        f"right logarithm and is {number(stale_by)} nats off at most, since it belongs to the codes before the last "
        "sweep",
        "error in the print",
    )
    section = Section(
        "Equation 8 as printed, and the free energy",
        figures=(
            Figure(chart, caption, name="equation-8"),
            Figure(both, "The listing's value and the free energy of the codes it returns.", name="listing-energy"),
        ),
    )
    return Comparison(section, table, (claim,))


def starts(x: Floats, truth: Floats, k: int, n_starts: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """Section 1.6: does a start away from 0 and 1 give better results? The listing from three kinds of starts."""
    rows, found = [], dict[str, Floats]()
    for name, ends in RANGES.items():
        runs = [
            printed.learn_bin_factors(x, k, iterations, rng, start=_start(x, k, ends, rng)) for _ in range(n_starts)
        ]
        energies = [run.free_energies[-1] for run in runs]
        counts = np.array([_n_found(run.mu, truth) for run in runs], dtype=float)
        broken = sum(not np.isfinite(energy) for energy in energies)
        found[name] = counts
        rows.append((name, float(np.mean(counts)), int(counts.max()), _middle(energies), broken, n_starts))
    columns = ("codes, features and usage", "features found, mean", "most", "F (nats), median", "broken off", "runs")
    table = Numbers.of("starts", columns, rows)
    figures = []
    for i, (name, counts) in enumerate(found.items()):
        tally = np.bincount(counts.astype(int), minlength=k + 1)[::-1]
        bars = bar_chart([f"{n} of {k}" for n in range(k, -1, -1)], tally, label=f"runs, {name}", reach=n_starts)
        figures.append(Figure(bars, f"Features found from starts {name}.", name=f"starts-{i}"))
    inside, edge = float(rows[0][1]), float(rows[2][1])
    higher, more = float(rows[0][3]) > float(rows[2][3]), inside > edge + 0.5
    verdict: Verdict = "agrees" if higher and more else "agrees in part" if higher or more else "does not come back"
    claim = Claim(
        "section 1.6",
        "starts away from 0 and 1 gave much better results",
        f"{inside:.1f} of {k} features on average from starts between .25 and .75, {float(rows[1][1]):.1f} between 0 "
        f"and 1, {edge:.1f} within {EDGE:g} of 0 or 1; medians of F {number(float(rows[0][3]))}, "
        f"{number(float(rows[1][3]))} and {number(float(rows[2][3]))} nats",
        verdict,
    )
    return Comparison(Section("Starts away from 0 and 1 (section 1.6)", figures=tuple(figures)), table, (claim,))


def _start(
    x: Floats, k: int, ends: tuple[float, float] | None, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, float]:
    shapes = ((len(x), k), (x.shape[1], k), (1, k))
    if ends is None:
        values = [rng.uniform(0, EDGE, shape) for shape in shapes]
        drawn = [np.where(rng.random(value.shape) < 0.5, value, 1 - value) for value in values]
    else:
        drawn = [rng.uniform(*ends, shape) for shape in shapes]
    return drawn[0], drawn[1], drawn[2], 1.0


def _middle(values: list[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.median(finite)) if finite else 0.0


def _n_found(mu: Floats, truth: Floats) -> int:
    return Learnt.of("", np.nan_to_num(mu.T), truth).n_found if np.all(np.isfinite(mu)) else 0


def cost(rng: np.random.Generator, n: int, k: int, sizes: tuple[int, ...]) -> Comparison:
    """Section 1.3: the terms of the M step, and CPU time of the one with D squared beside a sum of squares."""
    rows = []
    for d in sizes:
        x = rng.standard_normal((n, d))
        printed_s, ours_s = _seconds(partial(_trace, x)), _seconds(partial(_squares, x))
        count = k**3 + k**2 * n + k * n * d + d**2 * n + k**2 * d
        rows.append((d, count / 1e6, (count - d**2 * n + n * d) / 1e6, 1e3 * printed_s, 1e3 * ours_s))
    columns = ("D", "document (million)", "without D² N (million)", "tr(X'X) as printed (ms)", "sum of squares (ms)")
    table = Numbers.of("cost", columns, rows)
    runs = np.array(rows)
    chart = line_chart(
        [
            Line(runs[:, 0], runs[:, 3], name="tr(X'X) by its matrix, O(D² N)", tone=1),
            Line(runs[:, 0], runs[:, 4], name="sum of squares, O(D N)"),
        ],
        x_label=f"columns D, with N = {n} and K = {k}",
        y_label="CPU time (ms, log scale)",
        log_y=True,
    )
    claim = Claim(
        "section 1.3",
        "the M step costs O(K³ + K²N + KND + D²N + K²D)",
        f"right for the code as given; D²N comes from forming X'X for its trace and is avoidable: "
        f"{runs[-1, 3] / max(runs[-1, 4], 1e-9):.0f} times the time of the sum of squares at D = {sizes[-1]}. Here X'X "
        "is never formed, and a step costs O(K³ + K²N + KND)",
        "agrees in part",
    )
    caption = "The one term of the document's count that its own formula does not need."
    return Comparison(
        Section("Cost of the M step (section 1.3)", figures=(Figure(chart, caption, name="cost"),)), table, (claim,)
    )


def _trace(x: Floats) -> float:
    return float(np.trace(x.T @ x))


def _squares(x: Floats) -> float:
    return float(np.sum(x * x))


def _seconds(work: Callable[[], object], least: float = 0.05) -> float:
    """CPU seconds of one call: the quickest of at least five, for a twentieth of a second."""
    times, begin = list[float](), time.process_time()
    while len(times) < LEAST_CALLS or time.process_time() - begin < least:
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def run_print(
    x: Floats,
    truth: Floats,
    shape: tuple[int, int],
    k: int,
    n_starts: int,
    iterations: int,
    rng: np.random.Generator,
    progress: Progress,
) -> Result:
    """The listing alone: figures 1 to 3."""
    runs = []
    for i in range(n_starts):
        progress(f"the listing, run {i + 1} of {n_starts}")
        runs.append(printed.learn_bin_factors(x, k, iterations, rng))
    counts = [_n_found(run.mu, truth) for run in runs]
    order = sorted(range(n_starts), key=lambda i: (counts[i], runs[i].free_energies[-1]))
    best, middle = order[-1], order[n_starts // 2]
    rows = [
        (i, float(run.free_energies[-1]), run.sigma, count)
        for i, (run, count) in enumerate(zip(runs, counts, strict=True))
    ]
    steps = np.arange(1, iterations + 1)
    lines = [Line(steps, run.free_energies, faint=True, name="other runs") for run in runs]
    lines += [
        Line(steps, runs[middle].free_energies, name="middle run", tone=1),
        Line(steps, runs[best].free_energies, name="best run"),
    ]
    late = np.concatenate([run.free_energies[iterations // 6 :] for run in runs])
    chart = line_chart(
        lines, x_label="iteration", y_label="free energy (nats)", y_range=(float(late.min()), float(late.max()))
    )
    fits = [Learnt.of("middle", runs[middle].mu.T, truth), Learnt.of("best", runs[best].mu.T, truth)]
    full = sum(count == k for count in counts)
    return Result(
        (Numbers.of("runs", ("run", "F (nats)", "sigma", f"features found of {k}"), rows),),
        (
            Section(
                "Figure 1",
                figures=(Figure(chart, "Free energy per iteration; the first ones lie below.", name="free-energy"),),
            ),
            Section(
                "Figure 2",
                figures=(
                    compared("features", truth, fits, shape, "Features of the middle and the best run, with cosines."),
                ),
            ),
        ),
        (f"{full} of {n_starts} runs of the listing find all {k} features; the middle run finds {counts[middle]}.",),
    )
