"""Document 000, section 1.4: which model suits the images of shapes? Four of them, judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.datasets import make_shapes
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result, Verdict
from latens.experiments.feature_pictures import LEAST_COSINE, Learnt, compared
from latens.metrics import match_components
from latens.plots.fitted import loadings
from latens.report import Figure, Section
from latens.report.charts.svg import bar_chart

__all__ = ["EXPERIMENT"]

SAID = {
    "binary": "8 features are switched on and off and added up",
    "ICA": "would do a good job: the assumptions are exactly those of ICA",
    "factors": "would not be a good model: the factors are not Gaussian",
    "mixture": "would be a poor model: it clusters images that look similar",
}
NAMES = {
    "binary": "BinaryFactorAnalysis",
    "ICA": "NoisyICA",
    "factors": "FactorAnalysis",
    "mixture": "GaussianMixture",
}


@dataclass(frozen=True)
class Settings:
    n_samples: int = 400
    n_test: int = 2000  # further images, to judge by
    n_components: int = 8
    n_data_sets: int = 10


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    counts: dict[str, list[int]] = {kind: [] for kind in NAMES}
    scores: dict[str, list[float]] = {kind: [] for kind in NAMES}
    shown: list[tuple[Any, list[Learnt]]] = []
    for i in range(settings.n_data_sets):
        progress(f"data set {i + 1} of {settings.n_data_sets}")
        seed = int(rng.integers(2**31))
        x, truth = make_shapes(settings.n_samples + settings.n_test, random_state=seed)
        learn, test = x[: settings.n_samples], x[settings.n_samples :]
        fits = []
        for kind, model in _models(settings.n_components, seed).items():
            fitted = model.fit(learn)
            fits.append(_matched(kind, _features(fitted), truth.components))
            counts[kind].append(fits[-1].n_found)
            scores[kind].append(float(fitted.score(test)))
        shown.append((truth, fits))
    rows = [
        (NAMES[kind], float(np.mean(counts[kind])), min(counts[kind]), max(counts[kind]), float(np.mean(scores[kind])))
        for kind in NAMES
    ]
    columns = ("model", "features found of 8, mean", "fewest", "most", "log density of a new image (nats)")
    truth, pictured = shown[0]
    caption = "Each true feature and what the four models made of it, signs and order matched; numbers are cosines."
    found = np.array([np.mean(counts[kind]) for kind in NAMES])
    density = np.array([np.mean(scores[kind]) for kind in NAMES])
    best = list(NAMES.values())[int(np.argmax(density))]
    bars = bar_chart(
        list(NAMES.values()), found, label=f"features found, mean of {settings.n_data_sets} data sets", reach=8.0
    )
    worst = density - density.min()
    chart = bar_chart(list(NAMES.values()), worst, label="log density of a new image above the worst")
    return Result(
        (Numbers.of("models", columns, rows),),
        (
            Section("Features", figures=(compared("features", truth.components, pictured, truth.shape, caption),)),
            Section(
                "Judged",
                figures=(
                    Figure(bars, f"A feature is found where its cosine is at least {LEAST_COSINE}.", name="found"),
                    Figure(chart, f"On {settings.n_test} images that no model has seen.", name="density"),
                ),
            ),
        ),
        (
            "Features found of 8: " + ", ".join(f"{row[0]} {row[1]:.1f}" for row in rows) + ". The density of new "
            "images "
            f"is highest under {best}.",
        ),
        tuple(_claim(kind, counts, scores) for kind in NAMES),
    )


def _models(k: int, seed: int) -> dict[str, Any]:
    return {
        "binary": latens.BinaryFactorAnalysis(k, random_state=seed),
        "ICA": latens.NoisyICA(k, random_state=seed),
        "factors": latens.FactorAnalysis(k, random_state=seed),
        "mixture": latens.GaussianMixture(k, covariance_type="spherical", random_state=seed),
    }


def _features(model: Any) -> np.ndarray:
    """(K, D), what a model takes images to be made of."""
    return np.asarray(model.means_ if hasattr(model, "means_") else loadings(model))


def _matched(kind: str, features: np.ndarray, true: np.ndarray) -> Learnt:
    """Signs of factors and sources say nothing, so that either may match."""
    match = match_components(features, true, signed=kind in ("ICA", "factors"))
    ordered, there = np.zeros_like(true), match.index >= 0
    ordered[there] = features[match.index[there]]
    if kind in ("ICA", "factors"):
        ordered[there] *= match.sign[there][:, None]
        size = np.linalg.norm(ordered, axis=1, keepdims=True)
        ordered = np.divide(ordered * np.linalg.norm(true, axis=1, keepdims=True), size, where=size > 0, out=ordered)
    return Learnt(kind, ordered, match.similarity)


def _claim(kind: str, counts: dict[str, list[int]], scores: dict[str, list[float]]) -> Claim:
    mean, best = float(np.mean(counts[kind])), float(np.mean(scores["binary"]))
    behind = best - float(np.mean(scores[kind]))
    found = f"{mean:.1f} of 8 features" + f", {behind:.2f} nats an image below binary factors" * (kind != "binary")
    verdict: Verdict = "agrees"
    if kind == "ICA":
        verdict = "agrees" if mean >= 6 else "agrees in part"
    elif kind == "binary":
        verdict = "agrees" if mean > 7.5 else "agrees in part"
    else:
        verdict = "agrees" if mean < 6 and behind > 0 else "does not come back"
    return Claim(f"section 1.4, {NAMES[kind]}", SAID[kind], found, verdict)


EXPERIMENT = Experiment(
    name="model-choice",
    title="factor analysis, ICA, a mixture and binary factors on the images of shapes",
    document="000",
    place="section 1.4, the suitable models",
    about=(
        "The document judges by thought which models suit images made of shapes that are on or off. Here the four are "
        "fitted to the same images: the features that each finds are drawn beside the true ones, and new images judge "
        "the densities."
    ),
    settings=Settings(),
    quick=Settings(n_test=500, n_data_sets=1),
    run=run,
    graph="binary-factors",
)
