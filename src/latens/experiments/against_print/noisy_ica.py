"""Document 000, section 2: the mixing matrix, the tails and the number of sources, as printed and put right."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma

import latens
from latens.array import Floats
from latens.datasets import make_ica
from latens.experiments.experiment import Claim, Comparison, Numbers, Progress, Result
from latens.experiments.printed import noisy_ica as printed
from latens.metrics import amari_distance, source_correlation
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["joint_scales", "mixing", "number_of_sources", "run_print", "tails"]

TAILS = (2.0, 4.0, 8.0, 16.0)
NOISY, CLEAR = 0.0, 10.0  # dB
FAMILIES = {"q(z) q(u)": "full", "prod q(z_k, u_k)": "scale-mixture"}  # sources joint; each with its scale (eq. 12)
CUT = 1e3  # degrees above which a tail counts as unbounded
NU = 100.0  # of equation 14: rows that the prior of the loadings is worth
NO_SHARE, LEAST_SHARE = 1e-3, 1e-6  # of the signal: below it a source counts as shut off; the least drawn


def mixing(n: int, d: int, k: int, rng: np.random.Generator) -> Comparison:
    """Equations 15 to 18 see a sensor and no source; a regression on the sources sees both."""
    x, _ = make_ica(n, d, k, noise="unequal", random_state=rng)
    model = latens.NoisyICA(k, random_state=int(rng.integers(2**31))).fit(x)
    rebuilt = model.inverse_transform(model.transform(x))
    rows = []
    for j in range(d):
        mean = printed.update_mixing(x[:, j], 0.0, 1e-3, 1e-3, 1e-3)[0]
        total = float(np.sum((x[:, j] - x[:, j].mean()) ** 2))
        rows.append(
            (
                j,
                round(1 - float(np.sum((x[:, j] - mean) ** 2)) / total, 12) + 0.0,  # 0 but for rounding
                1 - float(np.sum((x[:, j] - rebuilt[:, j]) ** 2)) / total,
            )
        )
    values = np.array(rows, dtype=float)
    chart = line_chart(
        [
            Line(values[:, 0], values[:, 1], name="as printed", tone=1),
            Line(values[:, 0], values[:, 2], name="regression on the sources"),
        ],
        x_label="sensor",
        y_label="share of variance explained",
        y_range=(0.0, 1.0),
    )
    claim = Claim(
        "equations 15 to 18",
        "the posterior of the loadings and noise of a sensor",
        f"the update is that of a mean: it explains {100 * max(0.0, values[:, 1].mean()):.0f} % of the sensors' "
        "variance, the "
        f"regression on the sources {100 * values[:, 2].mean():.0f} %",
        "error in the print",
    )
    section = Section(
        "The mixing matrix (equations 13 to 18)",
        figures=(Figure(chart, "How much of each sensor is explained by what was learnt of it.", name="mixing-print"),),
    )
    return Comparison(
        section, Numbers.of("mixing", ("sensor", "explained, print", "explained, latens"), rows), (claim,)
    )


def tails(n: int, rng: np.random.Generator) -> Comparison:
    """Degrees of freedom from the sources themselves: one row as printed, all rows with one alpha, and each its own."""
    z = np.column_stack([rng.standard_t(nu, size=n) for nu in TAILS])
    single = np.array([_settled(row[None])[0] for row in z[:200]])
    shared, own = _settled(z), np.array([_settled(z[:, [j]])[0] for j in range(len(TAILS))])
    rows = [(nu, float(np.median(single)), float(shared[0]), float(own[j])) for j, nu in enumerate(TAILS)]
    values = np.array(rows)
    chart = line_chart(
        [
            Line(values[:, 0], values[:, 0], dashed=True, name="truth"),
            Line(values[:, 0], np.minimum(values[:, 1], CUT), name="one row, one alpha (print)", tone=1),
            Line(values[:, 0], values[:, 2], name="all rows, one alpha", tone=2),
            Line(values[:, 0], values[:, 3], name="all rows, own alpha"),
        ],
        x_label="true degrees of freedom",
        y_label="learnt (log scale)",
        log_y=True,
    )
    unbounded = float(np.mean(single > CUT))
    off = float(np.max(np.abs(np.log2(own / np.array(TAILS)))))
    claim = Claim(
        "equations 19 to 21",
        "one alpha from a sum over the sources of a row",
        f"without the sum over rows alpha is beyond {CUT:g} in {100 * unbounded:.0f} % of 200 rows, median "
        f"{number(float(np.median(single)))}; with it one alpha for sources of {TAILS[0]:g} to {TAILS[-1]:g} degrees "
        "is "
        f"{shared[0]:.2f}; a sum over rows for each source is within a factor {2**off:.2f} of the truth",
        "error in the print",
    )
    figure = Figure(
        chart,
        f"{n} draws of four sources, known without noise; the median of 200 rows for the print, drawn at 1000 where "
        "it is more.",
        name="tails-print",
    )
    table = Numbers.of("tails-print", ("true", "one row, median", "all rows, shared", "all rows, own"), rows)
    return Comparison(Section("Tails (equations 19 to 21)", figures=(figure,)), table, (claim,))


def _settled(z: Floats) -> Floats:
    """(1,), where the rule and the posterior of u in turn come to rest: the most likely alpha of Student-t values."""

    def loss(log_alpha: float) -> float:
        return -float(np.sum(printed.log_p_z(z, float(np.exp(log_alpha)))))

    grid = np.linspace(np.log(0.1), np.log(10 * CUT), 60)
    best = int(np.argmin([loss(value) for value in grid]))
    ends = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    alpha = float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-6}).x))
    shape, rate = (alpha + 1) / 2, (alpha + z**2) / 2
    return np.array([printed.learn_alpha(digamma(shape) - np.log(rate), shape / rate)])


def joint_scales(n: int, d: int, k: int, rng: np.random.Generator) -> Comparison:
    """Equation 12 holds each source together with its scale; q(z) q(u) holds the sources together. Which is better?"""
    rows: list[tuple[float | str, ...]] = []
    for snr in (NOISY, CLEAR):
        for true in (3.0, 5.0, 10.0):
            seed = int(rng.integers(2**31))
            x, truth = make_ica(n, d, k, snr=snr, tails=true, noise="unequal", random_state=seed)
            for name, covariance in FAMILIES.items():
                model = latens.NoisyICA(
                    k, sources="heavy-tailed", covariance=covariance, moves=False, prune=False, random_state=seed
                ).fit(x)
                learnt = float(np.median(np.minimum(model.tails_, 20.0)))
                amari = amari_distance(model.unmixing_, truth.mixing)
                correlation = source_correlation(model.transform(x), truth.sources)
                rows.append((snr, true, name, learnt, model.elbo_, correlation, amari))
    shown = {name: np.array([row[3] for row in rows if row[0] == NOISY and row[2] == name]) for name in FAMILIES}
    degrees = np.array([3.0, 5.0, 10.0])
    lines = [Line(degrees, degrees, dashed=True, name="truth")]
    lines += [Line(degrees, shown[name], name=name, tone=tone) for tone, name in enumerate(FAMILIES)]
    chart = line_chart(lines, x_label="true degrees of freedom", y_label=f"learnt at {NOISY:g} dB, median of {k}")
    gains = {snr: _gains(rows, snr) for snr in (NOISY, CLEAR)}
    claim = Claim(
        "equation 12",
        "Q(z, u) = prod Q(z_k, u_k), joint in each source and its scale",
        f"at {NOISY:g} dB tails of 3 and 5 degrees are learnt as {shown['prod q(z_k, u_k)'][0]:.1f} and "
        f"{shown['prod q(z_k, u_k)'][1]:.1f}, by q(z) q(u) as {shown['q(z) q(u)'][0]:.1f} and "
        f"{shown['q(z) q(u)'][1]:.1f}; {gains[NOISY]} at {NOISY:g} dB, {gains[CLEAR]} at {CLEAR:g} dB. It mends the "
        "tails and not the mixing, so that sources joint with each other stay the default",
        "agrees in part",
    )
    caption = "Tails learnt from noisy sensors, by the form of the posterior."
    section = Section(
        "Each source with its scale (equation 12)",
        "Equation 12 keeps a source and its scale together and the sources apart; `NoisyICA` keeps the sources "
        'together by default, and each with its scale with `covariance="scale-mixture"`.',
        figures=(Figure(chart, caption, name="joint-scales"),),
    )
    columns = (
        "SNR (dB)",
        "true degrees",
        "posterior",
        "learnt, median",
        "bound (nats)",
        "correlation",
        "Amari distance",
    )
    return Comparison(section, Numbers.of("joint-scales", columns, rows), (claim,))


def _gains(rows: list[tuple[Any, ...]], snr: float) -> str:
    """What equation 12 adds to the bound and to the distance from the mixing, in words."""
    pairs = [[row for row in rows if row[0] == snr and row[2] == name] for name in FAMILIES]
    bounds = [float(two[4] - one[4]) for one, two in zip(*pairs, strict=True)]
    amari = [float(np.mean([row[6] for row in each])) for each in pairs]
    return (
        f"the bound changes by {number(min(bounds))} to {number(max(bounds))} nats and the Amari distance is "
        f"{number(amari[1])} for {number(amari[0])}"
    )


def number_of_sources(n: int, d: int, k: int, upper: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """Section 2.4.2: does alpha_k of a source that is not needed grow? Beside deletions judged by the bound."""
    x, _ = make_ica(n, d, k, noise="unequal", random_state=rng)
    start = int(rng.integers(2**31))
    points, posterior = (
        _Ranked(printed.learn_sources(x, upper, iterations, np.random.default_rng(start), nu)) for nu in (None, NU)
    )
    model = latens.NoisyICA(upper, random_state=int(rng.integers(2**31))).fit(x)
    spare = posterior.share[-1] < NO_SHARE
    grown = bool(spare.any()) and posterior.alpha[-1, spare].min() > posterior.alpha[-1, ~spare].max()
    of_spare = f"{number(float(posterior.alpha[-1, spare].min()))} or more" if spare.any() else "of none"
    claim = Claim(
        "section 2.4.2",
        "alpha_k tends to infinity for sources that are not needed, so that their number is learnt",
        f"from {upper} sources where {k} are true, after {iterations} iterations: with points for the loadings "
        f"{int(np.sum(points.share[-1] >= NO_SHARE))} have more than {NO_SHARE:g} of the signal and the largest alpha "
        f"is {number(float(points.alpha[-1].max()))}; with their posterior (equation 14, nu = {NU:g}) "
        f"{int(np.sum(~spare))} have, and alpha of the others is {of_spare}, of these at most "
        f"{number(float(posterior.alpha[-1, ~spare].max()))}. Without loadings alpha grows by 1 / alpha an iteration, "
        f"to {number(float(np.sqrt(2 * iterations)))} by then: it goes to infinity, but follows the loadings, whose "
        f"prior decides. Deletions judged by the bound leave {model.n_components_}",
        "agrees in part" if grown else "does not come back",
    )
    columns = ("rank", "alpha, points", "share, points", "alpha, posterior", "share, posterior")
    parts = (points.alpha[-1], points.share[-1], posterior.alpha[-1], posterior.share[-1])
    table = Numbers.of("number-rule", columns, [(j, *(float(part[j]) for part in parts)) for j in range(upper)])
    section = Section(
        "The number of sources by u_k ~ Gamma(alpha_k / 2, 1)",
        figures=(*points.drawn(k, "points for the loadings", ""), *posterior.drawn(k, "their posterior", "-posterior")),
    )
    return Comparison(section, table, (claim,))


class _Ranked:
    """Sources by their last share of the signal, the strongest first."""

    def __init__(self, values: printed.Sources) -> None:
        order = np.argsort(-values.variance[-1])
        self.alpha = values.alpha[:, order]  # (iterations, K)
        self.share = (values.variance / values.variance.sum(axis=1, keepdims=True))[:, order]

    def drawn(self, k: int, loadings: str, suffix: str) -> tuple[Figure, Figure]:
        """Alpha and share of each source by iteration, the k strongest apart from the others."""
        alpha = self._chart(self.alpha, k, "alpha (log scale)")
        share = self._chart(np.maximum(self.share, LEAST_SHARE), k, "share of the signal (log scale)")
        return (
            Figure(alpha, f"Alpha by the rule of section 2.4.2, {loadings}.", name=f"alpha-rule{suffix}"),
            Figure(share, f"What each source contributes, {loadings}.", name=f"alpha-rule-share{suffix}"),
        )

    def _chart(self, values: Floats, k: int, label: str) -> Any:
        steps = np.arange(1, len(values) + 1)
        lines = [
            Line(steps, values[:, j], name=f"{k} strongest" if j < k else "others", tone=0 if j < k else 1)
            for j in range(values.shape[1])
        ]
        return line_chart(lines, x_label="iteration", y_label=label, log_y=True)


def run_print(settings: Any, rng: np.random.Generator, progress: Progress) -> Result:
    """The equations of section 2 alone."""
    progress("the equations of section 2")
    parts = (
        mixing(settings.n_samples, settings.n_features, settings.n_components, rng),
        tails(settings.n_samples, rng),
        number_of_sources(
            settings.n_samples, settings.n_features, settings.n_components, settings.upper_bound, 60, rng
        ),
    )
    first = parts[0].claims[0].found
    return Result((), (), (f"Equations 15 to 18: {first}.",)).beside(*parts)
