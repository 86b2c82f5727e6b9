"""Document 002, chapter 6: what the iterates of SGD say about the posterior of a linear regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.estimators.comparisons.peers import diabetes
from latens.experiments.against_print import online_factor_analysis as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.parallel import side_by_side
from latens.experiments.printed import online_factor_analysis as printed
from latens.experiments.uci_sets import SETS, read
from latens.metrics import covariance_distance, gaussian_kl
from latens.nets.algebra.moments import Swag
from latens.nets.langevin.sampler import langevin_path, sgd_path
from latens.report import Figure, Section
from latens.report.charts.svg import Line, line_chart

__all__ = ["EXPERIMENT"]

MEASURES = {
    "kl": "KL from the posterior (nats)",
    "covariance-distance": "relative covariance distance",
    "mean-distance": "relative distance of the mean",
}
Outcomes = dict[str, list[dict[str, np.ndarray]]]  # data set -> trials -> way -> (looks, epoch and measures)
At = Callable[[int, int], Any]  # (begin, end) -> the Gaussian once the rows between are added; None: too few rows


@dataclass(frozen=True)
class Settings:
    n_epochs: int = 1000
    batch_size: int = 32
    n_before: int = 10  # epochs before weights are collected
    ranks: tuple[int, ...] = (1, 2, 3)
    rate: float = 0.01  # of SGD on the mean loss
    n_trials: int = 10
    every: int = 10  # epochs between two looks
    data: str = ""  # folder with uci/NAME/data.csv.gz or NAME/data.csv.gz; none: bundled and generated sets
    n_jobs: int = 0  # processes that share the trials; 0: one for each core


@dataclass(frozen=True)
class Problem:
    """Standardised rows with a last column of ones, and the posterior of the weights."""

    name: str
    x: np.ndarray
    y: np.ndarray
    alpha: float
    beta: float

    @classmethod
    def of(cls, name: str, rows: np.ndarray, target: np.ndarray) -> Problem:
        spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        x = np.hstack([(rows - rows.mean(axis=0)) / spread, np.ones((len(rows), 1))])
        y = (target - target.mean()) / target.std()
        beta = 1 / float(np.var(y))
        return cls(name, x, y, 0.01 * float(np.mean(np.sum(beta * x**2, axis=0))), beta)

    @property
    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        precision = self.alpha * np.eye(self.x.shape[1]) + self.beta * self.x.T @ self.x
        return np.linalg.solve(precision, self.beta * self.x.T @ self.y), np.linalg.inv(precision)

    def gradient(self, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Of minus the log posterior, from some rows, scaled to all."""
        part = self.x[rows]
        size = len(self.x) / len(rows)
        return np.asarray(self.alpha * w + self.beta * size * part.T @ (part @ w - self.y[rows]))


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    outcomes: Outcomes = {}
    sets: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for problem in _problems(settings, rng):
        sets[problem.name] = (problem.x, problem.y)
        progress(f"{problem.name}, {settings.n_trials} trials")
        tasks = [(settings, problem, int(rng.integers(2**31))) for _ in range(settings.n_trials)]
        outcomes[problem.name] = side_by_side(_trial, tasks, settings.n_jobs)
    return Result(
        tables=tuple(_table(outcomes, measure) for measure in MEASURES),
        figures=tuple(_figures(outcomes, settings, measure) for measure in MEASURES),
        notes=_notes(outcomes, settings),
    ).beside(against.regression(sets), claims=_claims(outcomes))


def _printed(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    progress("the posterior of chapter 6")
    part = against.regression({problem.name: (problem.x, problem.y) for problem in _problems(settings, rng)})
    return Result((), (), (f"Chapter 6: {part.claims[0].found}.",)).beside(part)


def _claims(outcomes: Outcomes) -> tuple[Claim, ...]:
    def over(way: str) -> str:
        return " / ".join(f"{_of(outcomes, name, way, 'kl')[:, -1].mean():.2g}" for name in outcomes)

    ways = list(next(iter(outcomes.values()))[0])
    em, sga = ([way for way in ways if way.startswith(solver)][-1] for solver in ("online-em", "online-sga"))
    return (
        Claim(
            "section 6.2, Results",
            "the section is empty",
            f"KL from the posterior in nats over the sets: {em} {over(em)}, {sga} {over(sga)}, Langevin draws "
            f"{over('Langevin')}",
            "no result in the document",
        ),
        Claim(
            "chapter 6",
            "the posterior can be estimated by fitting factor analysis to the iterates of SGD",
            f"their own moments are {over('SGD iterates')} nats from it: iterates of plain SGD are no draws of it",
            "does not come back",
        ),
    )


def _problems(settings: Settings, rng: np.random.Generator) -> Iterator[Problem]:
    for name, (n, d) in SETS.items():
        if settings.data:
            table = read(settings.data, name)
            yield Problem.of(name, table[:, :-1], table[:, -1])
        else:
            mixing = rng.standard_normal((d, d)) * np.geomspace(1, 0.1, d)  # columns that say nearly the same
            x = rng.standard_normal((n, d)) @ mixing
            y = x @ rng.standard_normal(d)
            yield Problem.of(f"like {name}", x, y + 0.5 * y.std() * rng.standard_normal(n))
    if not settings.data:
        yield Problem.of("diabetes", *diabetes())


def _trial(settings: Settings, problem: Problem, seed: int) -> dict[str, np.ndarray]:
    """(looks, epoch and measures) for each way to a Gaussian, on one path of SGD and one of the Langevin sampler."""
    rng = np.random.default_rng(seed)
    n, d = problem.x.shape
    per_epoch = max(1, n // settings.batch_size)
    n_steps = settings.n_epochs * per_epoch
    start: np.ndarray = rng.normal(scale=0.1, size=(d,))
    rate = settings.rate / n

    def batches() -> np.ndarray:
        return rng.integers(n, size=settings.batch_size)

    path = np.array(list(sgd_path(problem.gradient, batches, start, rate, n_steps)))[settings.n_before * per_epoch :]
    draws = np.array(list(langevin_path(problem.gradient, batches, start, rate, n_steps, rng)))
    by_solver: dict[str, At] = {
        "SGD iterates": lambda _, end: _moments(path[:end]),
        "SWAG": _collected(Swag(d, rank=min(20, d)), path, per_epoch),
    }
    for solver in ("online-sga", "online-em"):
        for k in settings.ranks:
            model = latens.FactorAnalysis(k, solver=solver, random_state=int(rng.integers(2**31)))
            by_solver[f"{solver}, K = {k}"] = _followed(model, path)
    sampled: dict[str, At] = {"Langevin": lambda _, end: _moments(draws[:end])}
    for k in settings.ranks:
        sampled[f"Langevin, K = {k}"] = _followed(latens.FactorAnalysis(k), draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that gradient ascent diverges is part of the picture
        outcomes = {}
        for ways, rows in ((by_solver, path), (sampled, draws)):
            step, before = settings.every * per_epoch, n_steps - len(rows)
            ends = range(len(rows) % step or step, len(rows) + 1, step)
            for name, at in ways.items():
                outcomes[name] = _course(at, ends, before, per_epoch, problem.posterior)
        chosen = _distances(latens.FactorAnalysis().fit(draws).to_low_rank(), problem.posterior)
    return {**outcomes, "Langevin, K chosen": np.array([(settings.n_epochs, *chosen)])}


def _moments(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return path.mean(axis=0), np.cov(path.T)


def _followed(model: latens.FactorAnalysis, path: np.ndarray) -> At:
    return lambda begin, end: model.partial_fit(path[begin:end]).to_low_rank()


def _collected(swag: Swag, path: np.ndarray, per_epoch: int) -> At:
    def at(begin: int, end: int) -> Any:
        for weights in path[begin:end:per_epoch]:
            swag.update(weights)
        return swag.to_low_rank() if swag.n > swag.rank else None

    return at


def _course(at: At, ends: range, before: int, per_epoch: int, truth: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """(looks, epoch and measures), the last look after the last row."""
    begins = (0, *ends[:-1])
    return np.array(
        [
            ((before + end) / per_epoch, *_distances(at(begin, end), truth))
            for begin, end in zip(begins, ends, strict=True)
        ]
    )


def _distances(fit: Any, truth: tuple[np.ndarray, np.ndarray]) -> tuple[float, float, float]:
    if fit is None:
        return np.nan, np.nan, np.nan
    mean = fit[0] if isinstance(fit, tuple) else fit.mean
    off = float(np.linalg.norm(mean - truth[0]) / np.linalg.norm(truth[0]))
    return gaussian_kl(fit, truth), covariance_distance(fit, truth[1]), off


def _of(outcomes: Outcomes, name: str, way: str, measure: str) -> np.ndarray:
    """(trials, looks)."""
    return np.array([trial[way][:, 1 + list(MEASURES).index(measure)] for trial in outcomes[name]])


def _table(outcomes: Outcomes, measure: str) -> Numbers:
    """Where each way ends, mean over trials; with its standard error, where there are several."""
    rows, several = [], len(next(iter(outcomes.values()))) > 1
    for way in next(iter(outcomes.values()))[0]:
        cells: list[str | float] = [way]
        for name in outcomes:
            ends = _of(outcomes, name, way, measure)[:, -1]
            cells += [float(ends.mean()), *([float(ends.std(ddof=1) / np.sqrt(len(ends)))] if several else [])]
        rows.append(cells)
    heads = [head for name in outcomes for head in ([name, "± s.e."] if several else [name])]
    return Numbers.of(measure, (MEASURES[measure], *heads), rows)


def _figures(outcomes: Outcomes, settings: Settings, measure: str) -> Section:
    """Means over trials; of the models with K factors, the largest K stands out."""
    figures = []
    for name, trials in outcomes.items():
        lines, tones = [], dict[str, int]()
        for way in trials[0]:
            values = _of(outcomes, name, way, measure).mean(axis=0)
            kind, _, k = way.partition(", K = ")
            if len(values) == 1 or (k and kind == "Langevin"):
                continue  # nearly the same as all moments of its draws
            tone = tones.setdefault(kind, len(tones))
            behind = bool(k) and int(k) != settings.ranks[-1]
            lines.append(Line(trials[0][way][:, 0], values, name="" if behind else way, tone=tone, faint=behind))
        chart = line_chart(lines, x_label="epochs", y_label=MEASURES[measure], log_y=True)
        also = f" Faint: fewer factors than {settings.ranks[-1]}." if len(settings.ranks) > 1 else ""
        figures.append(
            Figure(
                chart,
                f"{name}, {f'mean of {len(trials)} trials' if len(trials) > 1 else 'one trial'}.{also}",
                name=f"{measure}-{name}",
            )
        )
    return Section(f"Along the path: {MEASURES[measure]}", figures=tuple(figures))


def _notes(outcomes: Outcomes, settings: Settings) -> tuple[str, ...]:
    def over(way: str) -> str:
        return " / ".join(f"{_of(outcomes, name, way, 'kl')[:, -1].mean():.2g}" for name in outcomes)

    sets = " / ".join(outcomes)
    notes = [
        f"KL from the true posterior in nats, {sets}: iterates of SGD {over('SGD iterates')}, SWAG {over('SWAG')}, "
        f"preconditioned Langevin with a preconditioner learnt from the same gradients {over('Langevin')}.",
        "Iterates of plain SGD are no draws from the posterior: their covariance is that of a balance between step "
        "size, curvature and gradient noise, and no model of them, however good, can make up for it.",
        f"With {settings.ranks[-1]} factors or fewer the family itself may be too small; choose their number.",
    ]
    if not settings.data:
        notes.append(
            "diabetes is the real set that scikit-learn brings along; the others are generated, with the shapes of the "
            "document's four sets. Name the folder of the real ones with --data."
        )
    return tuple(notes)


EXPERIMENT = Experiment(
    name="regression-posterior",
    title="what SGD iterates say about the posterior of a linear regression",
    document="002",
    place="chapter 6, table 6.1; section 6.2, Results, is empty",
    about=(
        "A linear regression trained by minibatch SGD on four data sets. The posterior of its weights is known, so "
        "that Gaussians fitted to the path can be judged: online gradient ascent and online EM as printed, SWAG, and "
        "draws of a Langevin sampler whose preconditioner is learnt from the gradients. Without --data, on the "
        "diabetes set of scikit-learn and on generated sets of the document's shapes."
    ),
    settings=Settings(),
    quick=Settings(n_epochs=200, n_trials=1, ranks=(3,), n_jobs=1),
    run=run,
    printed=Print(printed.LISTINGS[4:], _printed),
    graph="linear-regression",
)
