"""Document 002, chapter 6: what the iterates of SGD say about the posterior of a linear regression."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.estimators.peers import diabetes
from latens.experiments.experiment import Experiment, Numbers, Progress, Result
from latens.experiments.parallel import side_by_side
from latens.experiments.uci_sets import SETS, read
from latens.metrics import covariance_distance, gaussian_kl
from latens.report import Figure, Section
from latens.report.svg import Line, line_chart
from latens.weights.langevin import langevin_path, sgd_path
from latens.weights.moments import Swag

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Settings:
    n_epochs: int = 1000
    batch_size: int = 32
    n_before: int = 10  # epochs before weights are collected
    ranks: tuple[int, ...] = (1, 2, 3)
    rate: float = 0.01  # of SGD on the mean loss
    n_trials: int = 10
    n_points: int = 10  # at which the figure looks
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
    told: dict[str, list[dict[str, tuple[float, float]]]] = {}
    courses: dict[str, list[dict[str, np.ndarray]]] = {}
    for problem in _problems(settings, rng):
        progress(f"{problem.name}, {settings.n_trials} trials")
        tasks = [(settings, problem, int(rng.integers(2**31))) for _ in range(settings.n_trials)]
        trials = side_by_side(_trial, tasks, settings.n_jobs)
        told[problem.name], courses[problem.name] = [trial[0] for trial in trials], [trial[1] for trial in trials]
    return Result(
        tables=(_table("kl", told, 0), _table("covariance-distance", told, 1)),
        figures=(_figures(courses),),
        notes=_notes(told, settings),
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


def _trial(
    settings: Settings, problem: Problem, seed: int
) -> tuple[dict[str, tuple[float, float]], dict[str, np.ndarray]]:
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
    swag = Swag(d, rank=min(20, d))
    for weights in path[::per_epoch]:
        swag.update(weights)
    fits: dict[str, Any] = {"SGD iterates": _moments(path), "SWAG": swag, "Langevin": _moments(draws)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in settings.ranks:
            for solver in ("online-sga", "online-em"):
                model = latens.FactorAnalysis(k, solver=solver, random_state=int(rng.integers(2**31)))
                fits[f"{solver}, K = {k}"] = model.fit(path)
            fits[f"Langevin, K = {k}"] = latens.FactorAnalysis(k).fit(draws)
        fits["Langevin, K chosen"] = latens.FactorAnalysis().fit(draws)
    truth = problem.posterior
    answers = {name: (gaussian_kl(fit, truth), covariance_distance(fit, truth[1])) for name, fit in fits.items()}
    return answers, {"SGD iterates": _course(path, truth, settings), "Langevin": _course(draws, truth, settings)}


def _moments(path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return path.mean(axis=0), np.cov(path.T)


def _course(path: np.ndarray, truth: tuple[np.ndarray, np.ndarray], settings: Settings) -> np.ndarray:
    """(n_points,), the divergence after growing parts of a path."""
    ends = np.linspace(0, len(path), settings.n_points + 1).astype(int)[1:]
    return np.array([gaussian_kl(_moments(path[:end]), truth) for end in ends])


def _table(name: str, told: dict[str, list[dict[str, tuple[float, float]]]], which: int) -> Numbers:
    ways = list(next(iter(told.values()))[0])
    rows = []
    for way in ways:
        values = [[trial[way][which] for trial in trials] for trials in told.values()]
        rows.append((way, *(float(np.mean(each)) for each in values)))
    return Numbers.of(name, ("KL from the posterior (nats)" if which == 0 else "relative distance", *told), rows)


def _figures(courses: dict[str, list[dict[str, np.ndarray]]]) -> Section:
    figures = []
    for name, trials in courses.items():
        lines = []
        for tone, way in enumerate(trials[0]):
            values = np.array([trial[way] for trial in trials])
            x = np.arange(1, values.shape[1] + 1) / values.shape[1] * 100
            lines.append(Line(x, values.mean(axis=0), name=way, tone=tone))
            lines += [Line(x, each, tone=tone, faint=True) for each in values]
        chart = line_chart(
            lines, x_label="part of the path used (%)", y_label="KL from the posterior (nats)", log_y=True
        )
        figures.append(Figure(chart, f"{name}: mean and covariance of the weights on the path.", name=f"path-{name}"))
    return Section("Divergence from the true posterior along the path", figures=tuple(figures))


def _notes(told: dict[str, list[dict[str, tuple[float, float]]]], settings: Settings) -> tuple[str, ...]:
    def over(way: str) -> str:
        return " / ".join(f"{np.mean([trial[way][0] for trial in trials]):.2g}" for trials in told.values())

    sets = " / ".join(told)
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
    source="document 002, chapter 6, table 6.1",
    about=(
        "A linear regression trained by minibatch SGD on four data sets. The posterior of its weights is known, so "
        "that Gaussians fitted to the path can be judged: online gradient ascent and online EM as printed, SWAG, and "
        "draws of a Langevin sampler whose preconditioner is learnt from the gradients. Without --data, on the "
        "diabetes set of scikit-learn and on generated sets of the document's shapes."
    ),
    settings=Settings(),
    quick=Settings(n_epochs=200, n_trials=1, ranks=(3,), n_jobs=1),
    run=run,
)
