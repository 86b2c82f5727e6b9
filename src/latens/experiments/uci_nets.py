"""Document 002's purpose: posteriors over the weights of nets beside SWAG and MultiSWAG, on real regressions.

Every training goes on for the same number of epochs. Where the rate of SGD falls to 0 over the last of them, that of
the others is held before and a snapshot is taken after each epoch, by SWAG, FactorPosterior and online factor analysis
from the same path. The last layer alone has its exact posterior, about the weights that SGD ends at; how much of its
covariance to take is chosen, with the noise, on rows left out.
Predictions are mixtures of Student's t about the outputs of draws, lest a single row decides all; the scale of the
noise has the highest log-likelihood of training rows left out, fold by fold, for each method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp, stdtr

from latens.experiments.collected_weights import (
    LAST_LAYER,
    METHODS,
    SEVERAL,
    SINGLE,
    Collection,
    cost_table,
    last_layer_deviations,
)
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.experiments.small_nets import Data, Nets, outputs
from latens.experiments.uci_sets import SETS, read
from latens.report import Figure, Section
from latens.report.charts.intervals import interval_chart
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart
from latens.system.optional_imports import require

__all__ = ["EXPERIMENT"]

LAST_LAYERS = SEVERAL[LAST_LAYER]
OURS = {
    "FactorPosterior": ("SGD", "SWAG"),
    "MultiPosterior": ("SGD", "SWAG", "MultiSWAG", "several SGD"),
    "several transport": ("MultiSWAG", "several SGD"),
    LAST_LAYER: ("SGD",),
    LAST_LAYERS: ("several SGD", "MultiPosterior"),
}
FREEDOM = 4.0  # degrees of it
LEVELS = np.linspace(0.05, 0.95, 19)  # at which coverage is compared with what was promised
NOISES = np.geomspace(1e-4, 1.0, 25)  # squared scales of the noise tried, the variance of the target being 1


@dataclass(frozen=True)
class Settings:
    n_hidden: int = 50
    n_epochs: int = 200  # at the full rate
    n_cool: int = 150  # epochs over which the rate falls to that of collecting
    n_collect: int = 150  # epochs with a snapshot after each; of SGD, the rate falls to 0 over these and those before
    rate: float = 0.1
    collect_rate: float = 0.02
    decay: float = 1e-4
    batch_size: int = 32
    rank: int = 20
    swag_rank: int = 20
    n_members: int = 3  # trainings of a mixture
    n_splits: int = 10
    n_seeds: int = 2
    n_folds: int = 3
    n_draws: int = 30
    scales: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # of the covariance of the weights; 1 is compared
    sets: str = ", ".join(SETS)
    data: str = ""  # folder with uci/NAME/data.csv.gz and test_mask.csv.gz; none: made-up sets of the same shapes


@dataclass(frozen=True)
class Problem:
    """A data set and its splits."""

    name: str
    x: np.ndarray  # (N, D)
    y: np.ndarray  # (N,)
    tests: np.ndarray  # (splits, N), which rows are tested


class Answers(NamedTuple):
    """What one method says of the test rows of all splits."""

    heights: np.ndarray  # (splits, seeds, scales), log-likelihood of a test row
    chosen: np.ndarray  # (splits, seeds), index of the scale that counts
    places: list[np.ndarray]  # of each test row in its predicted distribution, at that scale, (n,) for each split

    @property
    def height(self) -> np.ndarray:
        """(splits, seeds), at the scale that counts."""
        return np.take_along_axis(self.heights, self.chosen[:, :, None], axis=2)[:, :, 0]

    @property
    def calibration_error(self) -> float:
        """Mean distance between a level and the share of test rows below that quantile."""
        places = np.concatenate(self.places)
        return float(np.mean([abs(np.mean(places <= level) - level) for level in LEVELS]))


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    require("torch", "torch")
    answers: dict[str, dict[str, Answers]] = {}
    costs: list[tuple[str, str, float, float]] = []
    for problem in _problems(settings, rng):
        progress(problem.name)
        answers[problem.name], spent = _compared(settings, problem, int(rng.integers(2**31)))
        costs += spent
    found = {name: {method: each.height for method, each in all_.items()} for name, all_ in answers.items()}
    return Result(
        tables=(
            _summary(found),
            _pairs(found),
            _calibration(answers),
            cost_table(costs),
            _each(found),
            _scales(answers, settings),
        ),
        figures=(_figures(found), _landscapes(answers, settings)),
        notes=(notes := _notes(found, settings)),
        claims=(
            Claim(
                "title",
                "MultiSWAG is to be extended by factor analysis; no such run is in the text",
                notes[0],
                "no result in the document",
            ),
            Claim(
                "title",
                "factor analysis of the path is to make MultiSWAG better",
                notes[1],
                "no result in the document",
            ),
        ),
    )


def _problems(settings: Settings, rng: np.random.Generator) -> Iterator[Problem]:
    for name in settings.sets.split(", "):
        n, d = SETS[name]
        if settings.data:
            table = read(settings.data, name)
            tests = read(settings.data, name, "test_mask.csv.gz").T > 0
            yield Problem(name, table[:, :-1], table[:, -1], tests[: settings.n_splits])
        else:
            x = rng.standard_normal((n, d))
            bends = np.maximum(x @ rng.standard_normal((d, 5)) + rng.standard_normal(5), 0) @ rng.standard_normal(5)
            y = bends / bends.std() + 0.2 * rng.standard_normal(n)
            parts = rng.permutation(n) % 10
            yield Problem(f"like {name}", x, y, parts == np.arange(settings.n_splits)[:, None])


def _compared(
    settings: Settings, problem: Problem, seed: int
) -> tuple[dict[str, Answers], list[tuple[str, str, float, float]]]:
    """Answers of each method, and what each kind costs.

    All nets are trained at once: for each split and seed, `n_members` on all training rows, and as many without each
    of the folds.
    """
    torch = require("torch", "torch")
    source = torch.Generator().manual_seed(seed)
    rng = np.random.default_rng(seed)
    n_splits, n_seeds, groups = len(problem.tests), settings.n_seeds, settings.n_folds + 1
    folds = np.array([_fold(~test, settings.n_folds, rng) for test in problem.tests for _ in range(n_seeds)])
    learnt = np.stack([folds != f for f in range(groups)], axis=1) & (folds >= 0)[:, None]  # 0: no fold
    standard = [_standardised(problem, test) for test in problem.tests]
    shape = (n_splits, n_seeds * groups * settings.n_members)
    x = np.repeat(np.array([each[0] for each in standard], dtype=np.float32), shape[1], axis=0)
    y = np.repeat(np.array([each[1] for each in standard], dtype=np.float32), shape[1], axis=0)
    mask = np.repeat(learnt.reshape(-1, learnt.shape[-1]), settings.n_members, axis=0)
    data = Data.of(x, y[:, :, None], mask)
    draws, collection = _trained(settings, data, source)
    size = (n_splits, n_seeds)
    answers = {method: Answers(np.empty((*size, len(settings.scales))), np.empty(size, int), []) for method in METHODS}
    for run_, fold in enumerate(folds):
        nets = np.arange(groups * settings.n_members).reshape(groups, -1) + run_ * groups * settings.n_members
        places = [fold < 0, *(fold == f for f in range(1, groups))]
        split, each = divmod(run_, n_seeds)
        targets = [standard[split][1][rows] for rows in places]
        for kind in SINGLE:
            predictions = [
                [_predicted(settings, data, draws[kind], net, rows) for net in members]
                for members, rows in zip(nets, places, strict=True)
            ]
            for method, n_mixed in ((kind, 1), (SEVERAL[kind], settings.n_members)):
                mixed = [np.concatenate(group[:n_mixed], axis=1) for group in predictions]
                heights, left_out, noises = _tested(mixed, targets)
                own = int(np.argmax(left_out)) if kind == LAST_LAYER else settings.scales.index(1.0)
                answers[method].heights[split, each] = heights - np.log(standard[split][2])
                answers[method].chosen[split, each] = own
                answers[method].places.append(_placed(mixed[0][own], targets[0], noises[own]))
    return answers, collection.costs(problem.name)


def _fold(trained: np.ndarray, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """(N,): 1 to n_folds for training rows, -1 for the others."""
    folds = np.full(len(trained), -1)
    folds[trained] = 1 + rng.permutation(int(trained.sum())) % n_folds
    return folds


def _standardised(problem: Problem, test: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows and targets in units of the training rows, and the unit of the target."""
    x, y = problem.x, problem.y
    spread = x[~test].std(axis=0)
    unit = float(y[~test].std())
    x = (x - x[~test].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return x, (y - y[~test].mean()) / unit, unit


def _trained(settings: Settings, data: Data, source: Any) -> tuple[dict[str, Any], Collection]:
    """For each kind what its draws are made of: mean (M, 1, weights) and deviations (M, draws, weights)."""
    torch = require("torch", "torch")
    m, n, d = data.x.shape
    nets = Nets.random(m, d, settings.n_hidden, source)
    per_epoch = max(1, n // settings.batch_size)
    steps = {name: getattr(settings, name) * per_epoch for name in ("n_epochs", "n_cool", "n_collect")}
    options: Any = {"batch_size": settings.batch_size, "source": source, "decay": settings.decay}
    nets.train(data, np.full(steps["n_epochs"], settings.rate), **options)
    falling = settings.rate * np.linspace(1, 0, steps["n_cool"] + steps["n_collect"], endpoint=False)
    fallen = nets.copy().train(data, falling, **options)
    nets.train(data, np.linspace(settings.rate, settings.collect_rate, steps["n_cool"]), **options)
    collection = Collection(nets, settings.rank, settings.swag_rank)
    held = np.full(steps["n_collect"], settings.collect_rate)
    nets.train(data, held, per_epoch=per_epoch, after_epoch=collection.take, **options)
    points = fallen.vectors()[:, None]
    last = last_layer_deviations(fallen, data, settings.decay, settings.n_draws, source)
    own = {"SGD": (points, torch.zeros_like(points)), LAST_LAYER: (points, last)}
    return {**own, **collection.draws(settings.n_draws, source)}, collection


def _predicted(settings: Settings, data: Data, made: Any, net: int, rows: np.ndarray) -> np.ndarray:
    """(scales, draws, rows): outputs of one net's draws, its deviations multiplied by the root of each scale."""
    torch = require("torch", "torch")
    mean, deviations = made[0][net], made[1][net]
    x = data.x[net][torch.as_tensor(rows)]
    if len(deviations) == 1:
        return np.repeat(outputs(mean, x, settings.n_hidden)[None, ..., 0], len(settings.scales), axis=0)
    return np.stack([outputs(mean + s**0.5 * deviations, x, settings.n_hidden)[..., 0] for s in settings.scales])


def _tested(predictions: list[np.ndarray], targets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each scale: mean log-likelihood of the first group's rows, with the noise that suits the others best.

    And the log-likelihood of these with it, and that noise.
    """
    found, left_out, noises = [], [], []
    for scale in range(len(predictions[0])):
        pairs = zip(predictions[1:], targets[1:], strict=True)
        held = np.sum([_log_likelihoods(f[scale], y, NOISES).sum(axis=1) for f, y in pairs], axis=0)
        best = int(np.argmax(held))
        found.append(_log_likelihoods(predictions[0][scale], targets[0], NOISES[best : best + 1]).mean())
        left_out.append(held[best])
        noises.append(NOISES[best])
    return np.array(found), np.array(left_out), np.array(noises)


def _placed(f: np.ndarray, y: np.ndarray, noise: float) -> np.ndarray:
    """(n,): probability below each target, of the mixture about outputs f (S, n)."""
    return np.asarray(stdtr(FREEDOM, (y - f) / np.sqrt(noise)).mean(axis=0))


def _log_likelihoods(f: np.ndarray, y: np.ndarray, noises: np.ndarray) -> np.ndarray:
    """(noises, n): of targets under equal mixtures of Student's t about outputs f (S, n)."""
    squares = (y - f) ** 2 / FREEDOM
    constant = gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2) - 0.5 * np.log(FREEDOM * np.pi) - np.log(len(f))
    parts = [logsumexp(-(FREEDOM + 1) / 2 * np.log1p(squares / v), axis=0) - 0.5 * np.log(v) for v in noises]
    return np.asarray(np.array(parts) + constant)


# what it says


def _paired(answers: dict[str, np.ndarray], ours: str, rival: str) -> tuple[float, float, int, int]:
    """Mean difference, its standard error over splits, and how many splits of how many are above 0."""
    gaps = (answers[ours] - answers[rival]).mean(axis=1)  # seeds of one split share its rows
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
    return float(gaps.mean()), error, int((gaps > 0).sum()), len(gaps)


def _summary(found: dict[str, dict[str, np.ndarray]]) -> Numbers:
    rows = [(method, *(answers[method].mean() for answers in found.values())) for method in METHODS]
    return Numbers.of("summary", ("log-likelihood of a test row (nats)", *found), rows)


def _pairs(found: dict[str, dict[str, np.ndarray]]) -> Numbers:
    rows = []
    for name, answers in found.items():
        for ours, rivals in OURS.items():
            for rival in rivals:
                gap, error, wins, n = _paired(answers, ours, rival)
                rows.append((name, ours, rival, gap, error if np.isfinite(error) else "", f"{wins} of {n}"))
    return Numbers.of("pairs", ("set", "ours", "rival", "difference (nats)", "standard error", "splits above 0"), rows)


def _calibration(answers: dict[str, dict[str, Answers]]) -> Numbers:
    rows = [(method, *(each[method].calibration_error for each in answers.values())) for method in METHODS]
    return Numbers.of("calibration", ("mean distance of coverage and level", *answers), rows)


def _each(found: dict[str, dict[str, np.ndarray]]) -> Numbers:
    rows = [
        (name, method, split, seed, value)
        for name, answers in found.items()
        for method, values in answers.items()
        for (split, seed), value in np.ndenumerate(values)
    ]
    return Numbers.of("runs", ("set", "method", "split", "seed", "log-likelihood of a test row (nats)"), rows)


def _scales(answers: dict[str, dict[str, Answers]], settings: Settings) -> Numbers:
    rows = [
        (name, method, scale, value)
        for name, all_ in answers.items()
        for method in METHODS
        if "SGD" not in method
        for scale, value in zip(settings.scales, all_[method].heights.mean(axis=(0, 1)), strict=True)
    ]
    return Numbers.of("scales", ("set", "method", "scale", "log-likelihood of a test row (nats)"), rows)


def _landscapes(answers: dict[str, dict[str, Answers]], settings: Settings) -> Section:
    at, figures = np.log10(settings.scales), []
    shown = {"MultiSWAG": 4, "MultiPosterior": 0, "several transport": 1, LAST_LAYERS: 2}
    for name, all_ in answers.items():
        base = all_["several SGD"].heights
        lines = [
            Line(at, (all_[method].heights - base).mean(axis=(0, 1)), name=method, tone=tone)
            for method, tone in shown.items()
        ]
        label = "log-likelihood of a test row less that of several SGD"
        chart = line_chart(lines, x_label="log10 of the scale", y_label=label)
        caption = f"{name}: the covariance of the weights multiplied by a scale; 0 is each posterior as it is."
        figures.append(Figure(chart, caption, name=f"scales-{name.replace(' ', '-')}"))
    return Section("How much of the covariance", figures=tuple(figures))


def _figures(found: dict[str, dict[str, np.ndarray]]) -> Section:
    against = [(method, "SGD") for method in METHODS[1:]]
    ours = [(each, rival) for each, rivals in OURS.items() for rival in rivals if rival != "SGD"]
    figures = []
    for name, answers in found.items():
        for kind, pairs in (("methods", against), ("pairs", ours)):
            predictions = [_paired(answers, *pair) for pair in pairs]
            chart = interval_chart(
                [f"{one} − {other}" for one, other in pairs],
                np.array([gap for gap, *_ in predictions]),
                np.array([error for _, error, *_ in predictions]),
                label="difference of the log-likelihood of a test row (nats)",
                tones=[int(one not in OURS) for one, _ in pairs],
            )
            caption = f"{name}: mean over the splits, with one and two standard errors. Right of 0 the first is better."
            figures.append(Figure(chart, caption, name=f"{kind}-{name.replace(' ', '-')}"))
    return Section("Paired differences", figures=tuple(figures))


def _notes(found: dict[str, dict[str, np.ndarray]], settings: Settings) -> tuple[str, ...]:
    def over(ours: str, rival: str) -> str:
        return " / ".join(number(_paired(answers, ours, rival)[0]) for answers in found.values())

    notes = [
        f"Differences of the log-likelihood of a test row, {' / '.join(found)}: FactorPosterior less SGD "
        f"{over('FactorPosterior', 'SGD')}; less SWAG {over('FactorPosterior', 'SWAG')}; MultiPosterior less "
        f"MultiSWAG {over('MultiPosterior', 'MultiSWAG')}; less as many trainings by SGD "
        f"{over('MultiPosterior', 'several SGD')}.",
        f"The last layer's posterior about the trained weights, of {settings.n_members} trainings: less as many "
        f"trainings by SGD {over(LAST_LAYERS, 'several SGD')}; less MultiPosterior "
        f"{over(LAST_LAYERS, 'MultiPosterior')}. Transport less MultiSWAG {over('several transport', 'MultiSWAG')}.",
        "All that is collected sees the same snapshots and is taken as it is, with a scale of 1; of the last layer the "
        "scale with the highest log-likelihood of training rows left out is taken. The scale "
        f"of the noise, of Student's t with {FREEDOM:g} degrees of freedom, is chosen for each method by "
        f"{settings.n_folds} folds of the training rows.",
    ]
    if not settings.data:
        notes.append(
            "The data are made up, with the shapes of the four sets; name the folder of the real ones by --data."
        )
    return tuple(notes)


EXPERIMENT = Experiment(
    name="uci-nets",
    title="small nets on four regressions: SGD, SWAG, MultiSWAG and ours",
    document="002",
    place="title: MultiSWAG extended, which its text does not try",
    about=(
        "Nets with one hidden layer are trained on several splits of four regression sets. The log-likelihood of "
        "the test rows under SGD, SWAG and FactorPosterior, and under mixtures of several trainings of each, is "
        "compared split by split; so are online factor analysis of the path, by both algorithms of the document and "
        "by transport, and the posterior of the last layer. Needs torch."
    ),
    settings=Settings(),
    quick=Settings(
        n_hidden=10,
        n_epochs=40,
        n_cool=20,
        n_collect=40,
        n_members=2,
        n_splits=3,
        n_seeds=1,
        n_folds=2,
        n_draws=10,
        sets="yacht",
    ),
    run=run,
)
