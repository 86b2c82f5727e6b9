"""Document 002, chapters 4 and 5: what a few numbers for each weight can say about a posterior over weights.

Snapshots are drawn independently from factor models, so that the truth is known; posteriors see them one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.datasets import make_factor_model
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.metrics import gaussian_kl
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart
from latens.system.optional_imports import require

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Settings:
    n_weights: int = 1000
    n_factors: int = 10
    swag_rank: int = 20
    n_samples: tuple[int, ...] = (20, 50, 100, 300, 1000, 3000)  # snapshots after which to look
    n_models: int = 3
    n_draws: int = 2000


NAMES = ("FactorPosterior", "SWAG", "SWAG, diagonal")


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    found = np.empty((settings.n_models, len(settings.n_samples), len(NAMES)))
    for model in range(settings.n_models):
        progress(f"factor model {model + 1} of {settings.n_models}")
        found[model] = _divergences(settings, rng)
    progress("weights that move as one")
    correlations = _correlations(settings, rng)
    return Result(
        tables=(_summary(found, settings), _each(found, settings), correlations),
        figures=(_figures(found, settings),),
        notes=(notes := _notes(found, settings, correlations)),
        claims=(
            Claim(
                "title and chapter 4",
                "MultiSWAG is to be extended by factor analysis; no such run is in the text",
                notes[0],
                "no result in the document",
            ),
        ),
    )


def _posteriors(module: Any, settings: Settings) -> dict[str, Any]:
    from latens.nets import SWAG, FactorPosterior

    return {
        "FactorPosterior": FactorPosterior(module, rank=settings.n_factors),
        "SWAG": SWAG(module, rank=settings.swag_rank),
        "SWAG, diagonal": SWAG(module, rank=0),
    }


def _divergences(settings: Settings, rng: np.random.Generator) -> np.ndarray:
    """(counts, kinds), KL from the truth to each posterior."""
    torch = require("torch", "torch")
    rows, truth = make_factor_model(
        settings.n_samples[-1], n_features=settings.n_weights, n_components=settings.n_factors, random_state=rng
    )
    module = torch.nn.Linear(settings.n_weights, 1, bias=False)
    posteriors = _posteriors(module, settings)
    found = []
    for n, row in enumerate(rows, 1):
        module.weight.data.copy_(torch.as_tensor(row)[None])
        for posterior in posteriors.values():
            posterior.update()
        if n in settings.n_samples:
            found.append([gaussian_kl(truth, posteriors[name].to_low_rank()) for name in NAMES])
    return np.array(found)


def _correlations(settings: Settings, rng: np.random.Generator) -> Numbers:
    """Two tensors whose weights are one and the same number: correlation of their draws."""
    torch = require("torch", "torch")
    module = torch.nn.Linear(1, 1)
    posteriors = _posteriors(module, settings)
    for value in rng.standard_normal(settings.n_samples[-1]):
        module.weight.data.fill_(value)
        module.bias.data.fill_(value)
        for posterior in posteriors.values():
            posterior.update()
    rows = []
    for name in NAMES:
        draws = [posteriors[name].sample(random_state=rng) for _ in range(settings.n_draws)]
        pairs = np.array([[float(draw["weight"]), float(draw["bias"])] for draw in draws])
        rows.append((name, np.corrcoef(pairs.T)[0, 1], 1.0))
    return Numbers.of("correlation", ("posterior", "correlation of draws", "truth"), rows)


def _summary(found: np.ndarray, settings: Settings) -> Numbers:
    middle = np.median(found, axis=0)
    rows = [(n, *values) for n, values in zip(settings.n_samples, middle, strict=True)]
    return Numbers.of("summary", ("snapshots", *(f"KL (nats), {name}" for name in NAMES)), rows)


def _each(found: np.ndarray, settings: Settings) -> Numbers:
    rows = [
        (model, n, name, found[model, i, j])
        for model in range(len(found))
        for i, n in enumerate(settings.n_samples)
        for j, name in enumerate(NAMES)
    ]
    return Numbers.of("divergences", ("model", "snapshots", "posterior", "KL (nats)"), rows)


def _figures(found: np.ndarray, settings: Settings) -> Section:
    middle, at = np.median(found, axis=0), np.array(settings.n_samples, dtype=float)
    lines = [Line(at, middle[:, j], name=name, tone=j) for j, name in enumerate(NAMES)]
    ratios = found[:, :, 0] / found[:, :, 2]
    shares = [Line(at, ratio, name=f"model {i + 1}", tone=i) for i, ratio in enumerate(ratios)]
    return Section(
        "How near posteriors come to the truth",
        figures=(
            Figure(
                line_chart(
                    lines, x_label="snapshots", y_label="KL from the truth (nats, log scale)", log_y=True, log_x=True
                ),
                f"{settings.n_weights} weights, {settings.n_factors} factors. Each posterior sees the same independent "
                f"snapshots; the middle of {len(found)} models is drawn.",
                name="divergence",
            ),
            Figure(
                line_chart(shares, x_label="snapshots", y_label="KL of factors ÷ KL of the diagonal", log_x=True),
                "Below 1 factors are nearer to the truth than the diagonal. With few snapshots of many weights no "
                "factor can be proven, and the two are the same but for n and n - 1 in the variance.",
                name="gain",
            ),
        ),
    )


def _notes(found: np.ndarray, settings: Settings, correlations: Numbers) -> tuple[str, ...]:
    middle = np.median(found, axis=0)
    first, last = settings.n_samples[0], settings.n_samples[-1]
    early = ", ".join(number(float(value)) for value in middle[0])
    ours, swag = correlations.rows[0], correlations.rows[1]
    return (
        f"After {last} snapshots the divergence is {number(float(middle[-1, 0]))} nats for factors, "
        f"{number(float(middle[-1, 1]))} for SWAG and {number(float(middle[-1, 2]))} for its diagonal form; after "
        f"{first} they are {early}, in this order.",
        "SWAG does not improve with more snapshots: half of its covariance are the last few deviations alone, which "
        "are as noisy after thousands of snapshots as after twenty.",
        f"Two weights in different tensors that are always equal are drawn with correlation {number(float(ours[1]))} "
        f"by factors and {number(float(swag[1]))} by SWAG, half of whose variance is independent by construction.",
        f"Memory for each weight: {2 + settings.n_factors} words for factors, {2 + settings.swag_rank} for SWAG.",
    )


EXPERIMENT = Experiment(
    name="weight-posterior",
    title="posteriors over weights from snapshots: factors beside SWAG",
    document="002",
    place="chapter 4 for the weights of a net, which its title announces and its text does not try",
    about=(
        "Draws independent snapshots of weights from random factor models, feeds them to FactorPosterior, SWAG and "
        "diagonal SWAG, and measures the divergence of each from the truth after more and more snapshots; and whether "
        "weights that move as one across tensors are drawn as one. Needs torch."
    ),
    settings=Settings(),
    quick=Settings(n_weights=200, n_factors=4, swag_rank=8, n_samples=(20, 100, 400), n_models=1, n_draws=500),
    run=run,
)
