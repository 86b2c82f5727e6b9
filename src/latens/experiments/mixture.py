"""Document 001: a Bayesian mixture of Gaussians by coordinate ascent, from its random starts and from ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import latens
from latens.core import Rows, State
from latens.datasets import make_mixture
from latens.experiments.against_print import mixture as against
from latens.experiments.experiment import Experiment, Numbers, Print, Progress, Result
from latens.experiments.printed import mixture as printed
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.normal_means import NormalMeans
from latens.inference.ascent import ascend
from latens.models.mixture.model import Mixture, MixturePosterior
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.scatter import Points, scatter_chart
from latens.report.charts.svg import Line, line_chart

if TYPE_CHECKING:
    from latens.estimators.mixtures.gaussian import GaussianMixture

__all__ = ["EXPERIMENT"]

TOL = 1e-8  # nats per row
REACHED_WITHIN = 1e-3  # nats per row below the best bound that count as having reached it


@dataclass(frozen=True)
class Settings:
    n_samples: int = 500
    n_features: int = 2
    n_components: int = 5
    sigma: float = 5.0  # standard deviation of the centres; rows have 1 about them
    n_starts: int = 10


@dataclass(frozen=True)
class Start:
    """Where one of the document's random starts ends."""

    name: str
    history: np.ndarray  # bound by iteration
    means: np.ndarray  # (K, D)
    labels: np.ndarray  # (N,)
    printed: float  # what the document's sum says of the same posterior

    @property
    def bound(self) -> float:
        return float(self.history[-1])


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    k, d = settings.n_components, settings.n_features
    x, truth = make_mixture(settings.n_samples, n_components=k, n_features=d, spread=settings.sigma, random_state=rng)
    starts = []
    for i in range(1, settings.n_starts + 1):
        progress(f"random start {i} of {settings.n_starts}")
        starts.append(_from_document(f"random {i}", settings, x, rng))
    progress("start by k-means++, with moves")
    ours = _fitted(settings, x, init="auto", moves=True, random_state=rng)
    goal = _fitted(settings, x, init=truth.means, moves=False)
    best = max(starts, key=lambda start: start.bound)
    return Result(
        tables=(_summary(starts, ours, goal, len(x)), _courses(starts, ours)),
        figures=(_pictures(x, truth, best, ours), _course(starts, ours)),
        notes=_notes(starts, ours, goal, settings, len(x)),
    ).beside(
        against.sign_and_stop(x, k, settings.sigma, settings.n_starts, rng),
        against.overflow(x, k, settings.sigma, settings.n_starts, rng),
    )


def _printed(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    progress("the program as printed")
    return against.run_print(rng, settings.n_samples, settings.n_starts)


def _from_document(name: str, settings: Settings, x: np.ndarray, rng: np.random.Generator) -> Start:
    """Centres from Normal(0, 1) and variances from its square, whatever the data."""
    (_, d), k, prior = x.shape, settings.n_components, settings.sigma**2
    model = Mixture(KnownDirichlet(np.ones(1)), NormalMeans(np.ones((1, 1)), np.zeros((1, d)), np.full((1, 1), prior)))
    clusters = NormalMeans(np.ones((k, 1)), rng.normal(size=(k, d)), rng.normal(size=(k, 1)) ** 2)
    start = State(MixturePosterior(KnownDirichlet(np.full(k, 1 / k)), clusters))
    fit = ascend(model, [Rows(x)], start, max_iter=1000, tol=TOL)
    q, history = fit.state.q.clusters, np.array([event.elbo for event in fit.trace])
    # the prior's quadratic term enters the document's sum with the wrong sign: twice that term too much
    excess = float(np.sum(d * q.spread[:, 0] + np.sum(q.mean**2, axis=1))) / prior
    labels = np.argmax(model.local_step(fit.state.q, Rows(x)).mean, axis=1)
    return Start(name, history, q.mean, labels, float(history[-1]) + excess)


def _fitted(settings: Settings, x: np.ndarray, **options: Any) -> GaussianMixture:
    """The document's model through the estimator: known variance, equal weights, centres about 0."""
    model: GaussianMixture = latens.GaussianMixture(
        settings.n_components,
        covariance_type="known",
        weight_prior="uniform",
        noise_variance=1.0,
        mean_prior_variance=settings.sigma**2,
        mean_prior=np.zeros(x.shape[1]),
        n_init=1,
        tol=TOL,
        max_iter=1000,
        **options,
    )
    return model.fit(x)


def _summary(starts: list[Start], ours: GaussianMixture, goal: GaussianMixture, n: int) -> Numbers:
    top = max(ours.elbo_, goal.elbo_, *(start.bound for start in starts))
    reached = sum(start.bound > top - REACHED_WITHIN * n for start in starts)
    bounds = [start.bound for start in starts]
    rows = [
        ("random starts, best", max(bounds), f"{reached} of {len(starts)}"),
        ("random starts, middle", float(np.median(bounds)), ""),
        ("k-means++ and moves", ours.elbo_, f"{int(ours.elbo_ > top - REACHED_WITHIN * n)} of 1"),
        ("started at the true centres", goal.elbo_, f"{int(goal.elbo_ > top - REACHED_WITHIN * n)} of 1"),
    ]
    return Numbers.of("summary", ("start", "bound (nats)", "reached the best bound"), rows)


def _courses(starts: list[Start], ours: GaussianMixture) -> Numbers:
    named = [(start.name, start.history) for start in starts] + [("latens", ours.elbo_history_)]
    rows = [(name, i + 1, bound) for name, history in named for i, bound in enumerate(history)]
    return Numbers.of("iterations", ("start", "iteration", "bound"), rows)


def _pictures(x: np.ndarray, truth: Any, best: Start, ours: GaussianMixture) -> Section:
    return Section(
        "Clusters",
        "The first two columns. A cross marks a centre, a ring two standard deviations of a row about it.",
        figures=(
            Figure(_scatter(x, truth.labels, truth.means), "Figure 1. True clusters and centres.", name="true-data"),
            Figure(
                _scatter(x, best.labels, best.means),
                "Figure 2. The posterior of the best random start: the most probable cluster of each row.",
                name="posterior",
            ),
            Figure(
                _scatter(x, ours.predict(x), ours.means_),
                "The same from a k-means++ start, with moves accepted by the bound.",
                name="posterior-moves",
            ),
        ),
    )


def _scatter(x: np.ndarray, labels: np.ndarray, means: np.ndarray) -> Any:
    order = np.argsort(means[:, 0], kind="stable")  # the same tones in every picture, from left to right
    groups = [Points(x[labels == k][:, :2], tone, means[k, :2], 2.0) for tone, k in enumerate(order)]
    return scatter_chart([group for group in groups if len(group.places)], x_label="x0", y_label="x1")


def _course(starts: list[Start], ours: GaussianMixture) -> Section:
    best = max(starts, key=lambda start: start.bound)
    lines = [_line(start.history, name="other random starts", faint=True) for start in starts if start is not best]
    lines += [_line(best.history, name="best random start"), _line(ours.elbo_history_, name="latens", tone=1)]
    low = min(np.percentile(start.history, 10) for start in starts)
    high = max(ours.elbo_, best.bound)
    chart = line_chart(lines, x_label="iteration", y_label="ELBO (nats)", y_range=(low, high))
    return Section("Bound", figures=(Figure(chart, "Figure 3. The bound by iteration.", name="elbo"),))


def _line(history: np.ndarray, **style: Any) -> Line:
    return Line(np.arange(1, len(history) + 1.0), history, **style)


def _notes(
    starts: list[Start], ours: GaussianMixture, goal: GaussianMixture, settings: Settings, n: int
) -> tuple[str, ...]:
    best = max(starts, key=lambda start: start.bound)
    top = max(ours.elbo_, goal.elbo_, best.bound)
    reached = sum(start.bound > top - REACHED_WITHIN * n for start in starts)
    return (
        f"{reached} of {len(starts)} random starts reach the highest bound found; the fit by k-means++ and moves is "
        f"{number(top - ours.elbo_)} nats below it, and one started at the true centres {number(top - goal.elbo_)}.",
        f"The document's sum has the prior's quadratic term with the wrong sign. Of the best random start's posterior "
        f"it says {number(best.printed)} nats; the bound is {number(best.bound)}.",
        f"The document passes the standard deviation of the centres, {number(settings.sigma)}, where its variance is "
        f"asked for; here the variance is {number(settings.sigma**2)}. Its exponentials overflow for data far from 0 "
        "and its loop ends on any decrease; here neither can happen.",
    )


EXPERIMENT = Experiment(
    name="mixture",
    title="Bayesian mixture of Gaussians by coordinate ascent",
    document="001",
    place="figures 1 to 3",
    about="Rows about five centres are clustered under the document's model, from ten of its random starts and from "
    "a k-means++ start with moves.",
    settings=Settings(),
    quick=Settings(n_samples=200, n_starts=4),
    run=run,
    printed=Print((printed.LISTING,), _printed),
    graph="known-mixture",
)
