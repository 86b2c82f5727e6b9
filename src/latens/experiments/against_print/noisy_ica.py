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
CUT = 1e3  # alpha above which the document would call a source shut off


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
                1 - float(np.sum((x[:, j] - mean) ** 2)) / total,
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
        f"{shown['q(z) q(u)'][1]:.1f}; {gains[NOISY]} at {NOISY:g} dB, {gains[CLEAR]} at {CLEAR:g} dB",
        "agrees",
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
        f"its bound is {number(min(bounds))} to {number(max(bounds))} nats higher and the Amari distance "
        f"{number(amari[1])} for {number(amari[0])}"
    )


def number_of_sources(n: int, d: int, k: int, upper: int, iterations: int, rng: np.random.Generator) -> Comparison:
    """Section 2.4.2: does alpha_k of a source that is not needed grow? Beside deletions judged by the bound."""
    x, _ = make_ica(n, d, k, noise="unequal", random_state=rng)
    values = printed.learn_sources(x, upper, iterations, rng)
    model = latens.NoisyICA(upper, random_state=int(rng.integers(2**31))).fit(x)
    steps = np.arange(1, iterations + 1)
    share = values.variance / values.variance.sum(axis=1, keepdims=True)
    order = np.argsort(-share[-1])
    lines = [
        Line(steps, values.alpha[:, j], name=f"{k} strongest" if rank < k else "others", tone=0 if rank < k else 1)
        for rank, j in enumerate(order)
    ]
    chart = line_chart(lines, x_label="iteration", y_label="alpha (log scale)", log_y=True)
    shares = [
        Line(steps, np.maximum(share[:, j], 1e-6), name=f"{k} strongest" if r < k else "others", tone=0 if r < k else 1)
        for r, j in enumerate(order)
    ]
    second = line_chart(shares, x_label="iteration", y_label="share of the signal (log scale)", log_y=True)
    off = int(np.sum(values.alpha[-1] > CUT))
    claim = Claim(
        "section 2.4.2",
        "alpha_k tends to infinity for sources that are not needed, so that their number is learnt",
        f"from {upper} sources where {k} are true, {off} have alpha above {CUT:g} after {iterations} iterations "
        "(largest "
        f"{number(float(values.alpha[-1].max()))}); deletions judged by the bound leave {model.n_components_}",
        "agrees" if upper - off == k else "does not come back",
    )
    rows = [(int(j), values.alpha[-1, j], share[-1, j]) for j in order]
    section = Section(
        "The number of sources by u_k ~ Gamma(alpha_k / 2, 1)",
        figures=(
            Figure(chart, "alpha of each source, by the rule of section 2.4.2.", name="alpha-rule"),
            Figure(second, "What each source contributes to the sensors.", name="alpha-rule-share"),
        ),
    )
    return Comparison(section, Numbers.of("number-rule", ("source", "alpha", "share of the signal"), rows), (claim,))


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
