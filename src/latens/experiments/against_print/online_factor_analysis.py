"""Document 002, chapters 4 and 5: both readings of the warm-up, batch EM, and variants of gradient ascent."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.array import Floats
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result, Verdict
from latens.experiments.printed import online_factor_analysis as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["regression", "run_print", "variants", "warm_up"]

RATES = (1e-4, 1e-3, 1e-2, 1e-1)
LARGEST_RATIO = 10.0  # times the size of the covariance: farther than no model at all


def distance(model: printed.Model, truth: printed.Model) -> float:
    """Relative Frobenius distance of the covariances, as in figure 5.1."""
    if not (np.all(np.isfinite(model.F)) and np.all(np.isfinite(model.psi))):
        return float("nan")
    right = truth.F @ truth.F.T + np.diag(truth.psi)
    return float(np.linalg.norm(model.F @ model.F.T + np.diag(model.psi) - right) / np.linalg.norm(right))


def draw(model: printed.Model, n: int, rng: np.random.Generator) -> Floats:
    """(n, D), rows of a factor model."""
    factors = rng.standard_normal((n, model.F.shape[1])) @ model.F.T
    return model.theta_SWA + factors + np.sqrt(model.psi) * rng.standard_normal((n, len(model.psi)))


def warm_up(d: int, k: int, tops: tuple[float, ...], n: int, n_warm: int, rng: np.random.Generator) -> Comparison:
    """Online EM under both readings of the warm-up, online SGA and batch EM, on the same rows."""
    rows, figures, courses = list[tuple[Any, ...]](), [], dict[float, dict[str, Floats]]()
    for top in tops:
        truth = printed.generate_model(d, k, 1.0, top, rng)
        x, F = draw(truth, n, rng), printed.factors_initialisation(d, k, rng)
        paths = {
            "online EM, all averages": printed.online_em(x, F, n_warm)[1],
            "online EM, the mean alone": printed.online_em(x, F, n_warm, "mean")[1],
            "online SGA": printed.online_sga(x, F, 1e-3, n_warm)[1],
        }
        at = np.unique(np.geomspace(max(2, n_warm // 2), n, 40).astype(int))
        lines = {name: np.array([distance(path[t - 1], truth) for t in at]) for name, path in paths.items()}
        batch = [distance(one, truth) for one in printed.batch_em(x, F, 200)[1]]
        courses[top] = {**lines, "batch EM": np.array(batch)}
        drawn = [Line(at, values, name=name, tone=tone) for tone, (name, values) in enumerate(lines.items())]
        drawn.append(Line(at, np.full(len(at), batch[-1]), dashed=True, name="batch EM, all rows"))
        chart = line_chart(
            drawn, x_label="rows", y_label="relative covariance distance (log scale)", log_y=True, log_x=True
        )
        caption = f"D = {d}, K = {k}, spectrum [1, {top:g}]; F and psi rest for the first {n_warm} rows."
        figures.append(Figure(chart, caption, name=f"warm-up-{top:g}"))
        for name, values in courses[top].items():
            rows.append((f"[1, {top:g}]", name, values[-1] if np.isfinite(values[-1]) else "diverged"))
    columns = ("spectrum", "algorithm", "relative covariance distance at the end")
    return Comparison(
        Section(
            "The warm-up, in both wordings",
            "Section 5.1 lets the running averages go on while F and psi rest; section 6.1 only the running "
            "average. As "
            "a prior: the rows of the warm-up enter A, B and the mean square under the start's F and unit psi, so that "
            "going on from them is a maximum a posteriori step with that many rows of statistics at the start's scale. "
            "Their weight falls as the number of such rows over t. Where only the mean goes on there is no such prior: "
            "the averages begin at 0 and count the rows before them, so that F and psi fall towards 0 when it ends.",
            figures=tuple(figures),
        ),
        Numbers.of("warm-up", columns, rows),
        (_distance_claim(courses[tops[0]], tops[0], d),),
    )


def _distance_claim(lines: dict[str, Floats], top: float, d: int) -> Claim:
    """Whether online EM first moves away from the truth, and from when it is ahead of SGA."""
    said = []
    for name in ("online EM, all averages", "online EM, the mean alone"):
        values = lines[name]
        said.append(
            f"{name}: {values[0]:.3g} at first, {np.nanmax(values):.3g} at its farthest, {values[-1]:.3g} at the end"
        )
    alone = lines["online EM, the mean alone"]
    verdict: Verdict = "agrees in part" if np.nanmax(alone) > 1.05 * alone[0] else "does not come back"
    return Claim(
        "section 5.2",
        "at D = 1000 and [1, 10] the first updates of online EM move away from the truth; it beats SGA for T ≥ 1000",
        f"here D = {d}, [1, {top:g}]. " + "; ".join(said) + f"; SGA {lines['online SGA'][-1]:.3g}",
        verdict,
    )


def variants(d: int, k: int, tops: tuple[float, ...], n: int, n_warm: int, rng: np.random.Generator) -> Comparison:
    """Algorithm 1 with other steps, each at the rate that ends nearest to the truth."""
    rows, figures, best = list[tuple[Any, ...]](), [], dict[float, dict[str, float]]()
    at = np.unique(np.geomspace(n_warm, n, 30).astype(int))
    for top in tops:
        truth = printed.generate_model(d, k, 1.0, top, rng)
        x, F = draw(truth, n, rng), printed.factors_initialisation(d, k, rng)
        lines, best[top] = [], {}
        for tone, name in enumerate(printed.STEPS):
            paths = {rate: printed.online_sga(x, F, rate, n_warm, name)[1] for rate in RATES}
            ends = {rate: distance(path[-1], truth) for rate, path in paths.items()}
            rate = min(RATES, key=lambda one: ends[one] if np.isfinite(ends[one]) else np.inf)
            best[top][name] = ends[rate]
            lost = sum(not np.isfinite(end) or end > LARGEST_RATIO for end in ends.values())
            rows.append(
                (f"[1, {top:g}]", name, rate, ends[rate], ends[1e-3] if np.isfinite(ends[1e-3]) else "NaN", lost)
            )
            values = np.array([distance(paths[rate][t - 1], truth) for t in at])
            lines.append(Line(at, values, name=f"{name}, {rate:g}", tone=tone))
        reached = distance(printed.batch_em(x, F, 300)[0], truth)
        rows.append((f"[1, {top:g}]", "batch EM", "", reached, "", ""))
        lines.append(Line(at, np.full(len(at), reached), dashed=True, name="batch EM, all rows"))
        chart = line_chart(
            lines, x_label="rows", y_label="relative covariance distance (log scale)", log_y=True, log_x=True
        )
        caption = f"D = {d}, K = {k}, spectrum [1, {top:g}]: each variant at its best of {len(RATES)} rates."
        figures.append(Figure(chart, caption, name=f"variants-{top:g}"))
    said = "; ".join(
        f"[1, {top:g}]: " + ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        for top, found in best.items()
    )
    claim = Claim(
        "section 4.1",
        "the gradients can be used with SGD or any of its variants",
        f"relative covariance distance after {n} rows, each at its best rate: {said}",
        "agrees",
    )
    columns = ("spectrum", "variant", "best rate", "distance at it", "distance at .001", "rates lost")
    section = Section("Variants of gradient ascent", figures=tuple(figures))
    return Comparison(section, Numbers.of("variants", columns, rows), (claim,))


def regression(problems: dict[str, tuple[Floats, Floats]]) -> Comparison:
    """beta from the spread of y, beside the precision of what the regression leaves over."""
    rows = []
    for name, (x, y) in problems.items():
        m, S, alpha, beta = printed.regression_posterior(x, y)
        left = float(np.mean((y - x @ m) ** 2))
        rows.append((name, beta, 1 / left, 1 / (left * beta), float(np.sqrt(np.mean(np.diag(S)))), alpha))
    ratios = np.array([float(row[3]) for row in rows])
    claim = Claim(
        "chapter 6",
        "beta is the reciprocal of the variance of y",
        f"that leaves out what the regression explains: the precision of the residuals is {ratios.min():.1f} to "
        f"{ratios.max():.1f} times as large, and the standard deviations of the weights up to "
        f"{number(float(np.sqrt(ratios.max())))} times too wide",
        "error in the print",
    )
    chart = line_chart(
        [
            Line(np.arange(len(rows)), np.array([float(row[1]) for row in rows]), name="as printed", tone=1),
            Line(np.arange(len(rows)), np.array([float(row[2]) for row in rows]), name="of the residuals"),
        ],
        x_label="data set: " + ", ".join(f"{i} {row[0]}" for i, row in enumerate(rows)),
        y_label="noise precision beta (log scale)",
        log_y=True,
    )
    columns = ("data set", "beta, print", "beta, residuals", "ratio", "sd of the weights, print", "alpha")
    section = Section(
        "The noise precision of chapter 6", figures=(Figure(chart, "Both at the same alpha.", name="beta"),)
    )
    return Comparison(section, Numbers.of("beta", columns, rows), (claim,))


def run_print(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
    """Algorithms 1 to 3 and batch EM alone, at the smaller of the document's sizes."""
    progress("Algorithms 1 to 3")
    d, n = min(settings.sizes), min(5000, settings.n_samples[-1])
    part = warm_up(d, settings.n_components, settings.spectra, n, settings.warm_up, rng)
    return Result((), (), (f"Section 5.2: {part.claims[0].found}.",)).beside(part)
