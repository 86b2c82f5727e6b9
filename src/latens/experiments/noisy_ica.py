"""Document 000, section 2: independent heavy-tailed sources under sensor noise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t as student

import latens
from latens.datasets import make_ica
from latens.estimators.comparisons.peers import factors_then_fast_ica, fast_ica, picard
from latens.experiments.against_print import noisy_ica as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.printed import noisy_ica as printed
from latens.metrics import amari_distance, source_correlation
from latens.models.noisy_ica.priors import GAUSSIAN
from latens.report import Figure, Section
from latens.report.charts.svg import Line, line_chart

__all__ = ["EXPERIMENT"]

METHODS = ("NoisyICA", "FA, then FastICA", "FastICA", "picard")  # the last where it is installed


@dataclass(frozen=True)
class Settings:
    data: str = ""  # a table of numbers, time in the first column and sensors in the others; empty: generated only
    n_samples: int = 2000
    n_features: int = 16
    n_components: int = 4
    upper_bound: int = 8  # sources to start from, where their number is to be found
    snrs: tuple[float, ...] = (-5.0, 0.0, 5.0, 10.0, 20.0)  # dB
    n_data_sets: int = 3
    n_rule: int = 200  # iterations of the document's rule for the number of sources


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    rows: list[tuple[str | float, ...]] = []
    for noise in ("equal", "unequal"):
        for snr in settings.snrs:
            progress(f"{noise} noise, {snr:g} dB")
            rows += _compare(settings, noise, snr, rng)
    contest = Numbers.of("separation", ("noise", "SNR (dB)", "method", "correlation", "Amari distance"), rows)
    progress("number of sources and tails")
    found = [_find(settings, tails, rng) for tails in (3.0, 5.0, 10.0)]
    columns = ("true degrees of freedom", "learnt, smallest", "learnt, largest", "sources found", "true number")
    figures = [_curves(contest, settings), _densities()]
    tables, notes = [contest, Numbers.of("tails", columns, found)], [_note(contest, settings), _tails_note(found)]
    if settings.data:
        progress("the given recording")
        section, table, note = _recording(settings, rng)
        figures, tables, notes = [*figures, section], [*tables, table], [*notes, note]
    progress("the print beside its correction")
    n, d, k = settings.n_samples, settings.n_features, settings.n_components
    beside = (
        against.mixing(n, d, k, rng),
        against.tails(n, rng),
        against.joint_scales(n, d, k, rng),
        against.number_of_sources(n, d, k, settings.upper_bound, settings.n_rule, rng),
    )
    student_t = Claim(
        "section 2.1 and figure 6",
        "z is Student-t with alpha degrees of freedom",
        "equal to SciPy's density to 1e-12 (a test); the densities are drawn",
        "agrees",
    )
    return Result(tuple(tables), tuple(figures), tuple(notes)).beside(*beside, claims=(student_t,))


def _compare(settings: Settings, noise: str, snr: float, rng: np.random.Generator) -> list[tuple[str | float, ...]]:
    k, scores = settings.n_components, {method: list[tuple[float, float]]() for method in METHODS}
    for _ in range(settings.n_data_sets):
        seed = int(rng.integers(2**31))
        x, truth = make_ica(settings.n_samples, settings.n_features, k, snr=snr, noise=noise, random_state=seed)
        model = latens.NoisyICA(k, random_state=seed).fit(x)
        answers = {
            "NoisyICA": (model.unmixing_, model.transform(x)),
            "FA, then FastICA": factors_then_fast_ica(x, k, seed),
            "FastICA": fast_ica(x, k, seed),
        }
        if (answer := picard(x, k, seed)) is not None:
            answers["picard"] = answer
        for method, (unmixing, sources) in answers.items():
            amari = amari_distance(unmixing, truth.mixing) if len(unmixing) == k else 1.0
            scores[method].append((source_correlation(sources, truth.sources), amari))
    return [(noise, snr, method, *np.mean(scores[method], axis=0)) for method in METHODS if scores[method]]


def _find(settings: Settings, tails: float, rng: np.random.Generator) -> tuple[float, ...]:
    x, truth = make_ica(
        settings.n_samples, settings.n_features, settings.n_components, tails=tails, noise="unequal", random_state=rng
    )
    model = latens.NoisyICA(settings.upper_bound, random_state=rng).fit(x)
    learnt = np.minimum(model.tails_, GAUSSIAN)
    return tails, float(learnt.min()), float(learnt.max()), model.n_components_, truth.mixing.shape[1]


def _curves(contest: Numbers, settings: Settings) -> Section:
    figures = []
    for noise in ("equal", "unequal"):
        lines = [
            Line(
                np.array(settings.snrs),
                np.array([row[3] for row in contest.rows if row[0] == noise and row[2] == method], dtype=float),
                name=method,
                tone=tone,
            )
            for tone, method in enumerate(METHODS)
            if any(row[2] == method for row in contest.rows)
        ]
        figures.append(
            Figure(
                line_chart(lines, x_label="signal to noise (dB)", y_label="mean correlation with true sources"),
                f"Student-t sources of 3 degrees of freedom, {noise} noise variances.",
                name=f"separation-{noise}",
            )
        )
    return Section("Separation over noise", figures=tuple(figures))


def _densities() -> Section:
    x = np.linspace(-6, 6, 241)
    lines = [Line(x, student.pdf(x, a), name=f"{a:g}", tone=tone) for tone, a in enumerate((1.0, 3.0, 10.0, 1000.0))]
    chart = line_chart(lines, x_label="z", y_label="density")
    text = "Figure 6. Student-t densities by degrees of freedom; at 1000 it is a Gaussian to the eye."
    return Section("The prior of a source", figures=(Figure(chart, text, name="student-t"),))


def _recording(settings: Settings, rng: np.random.Generator) -> tuple[Section, Numbers, str]:
    path = Path(settings.data)
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a table of numbers, time in the first column.")
    table = np.loadtxt(path)
    if table.ndim != 2 or table.shape[1] < 3:
        raise ValueError(f"{path} holds an array of shape {table.shape}; expected time and at least two sensors.")
    time, x = table[:, 0], table[:, 1:]
    model = latens.NoisyICA(x.shape[1], random_state=rng).fit(x)
    sources = model.transform(x)
    rows = [
        (k, model.share_[k], "Gaussian or lighter" if np.isinf(tail) else float(tail))
        for k, tail in enumerate(model.tails_)
    ]
    figures = tuple(
        Figure(
            line_chart([Line(time, sources[:, k])], x_label="time (s)", y_label="source"),
            f"Source {k}, {100 * model.share_[k]:.2g} % of the variance.",
            name=f"source-{k}",
        )
        for k in range(model.n_components_)
    )
    note = f"{path.name}: {model.n_components_} sources behind {x.shape[1]} sensors, strongest first."
    return (
        Section("The given recording", figures=figures),
        Numbers.of("recording", ("source", "share", "tails"), rows),
        note,
    )


def _note(contest: Numbers, settings: Settings) -> str:
    at = {(row[0], row[2]): float(row[3]) for row in contest.rows if row[1] == 0.0}
    if not at:
        return "Correlations of estimated with true sources, by signal-to-noise ratio."
    return (
        f"At 0 dB with unequal noise the sources correlate {at['unequal', 'NoisyICA']:.3f} with the truth, against "
        f"{at['unequal', 'FA, then FastICA']:.3f} of factor analysis followed by FastICA and "
        f"{at['unequal', 'FastICA']:.3f} of FastICA alone; with equal noise {at['equal', 'NoisyICA']:.3f}, "
        f"{at['equal', 'FA, then FastICA']:.3f} and {at['equal', 'FastICA']:.3f}."
    )


def _tails_note(found: list[tuple[float, ...]]) -> str:
    right = sum(row[3] == row[4] for row in found)
    return (
        f"The number of sources was found in {right} of {len(found)} data sets, by deletions that the bound "
        "decides. What the document's own equations give stands beside ours below."
    )


EXPERIMENT = Experiment(
    name="noisy-ica",
    title="independent heavy-tailed sources under equal and unequal sensor noise",
    document="000",
    place="section 2, figure 6",
    about=(
        "Generated sensors hear Student-t sources. Draws how well the sources are recovered over the noise level, "
        "beside FastICA, picard where it is installed, and factor analysis followed by FastICA; lists "
        "learnt tails and how many sources were found. With --data also the sources of a recording."
    ),
    settings=Settings(),
    quick=Settings(n_samples=1000, snrs=(0.0, 10.0), n_data_sets=1, n_rule=60),
    run=run,
    printed=Print(printed.LISTINGS, against.run_print),
    graph="noisy-ica",
)
