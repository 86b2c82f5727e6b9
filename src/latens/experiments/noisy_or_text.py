"""Document 004, noisy-OR: causes behind words, or behind baskets where no text is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.sparse import csr_array

import latens
from latens.datasets import make_baskets
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.experiments.feature_pictures import unscrolled
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.svg import bar_chart, heat_map

__all__ = ["EXPERIMENT"]

N_TOP = 6  # words named per cause
MOST_WORDS = 60  # columns of the picture


@dataclass(frozen=True)
class Settings:
    data: str = ""  # a .mat file with documents (words x documents) and wordlist; empty: generated baskets
    n_samples: int = 5000  # baskets, or documents at most
    n_components: int = 20
    n_profiles: int = 10


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, words, truth = _rows(settings, rng)
    progress(f"{x.shape[0]} rows, {x.shape[1]} columns")
    order = rng.permutation(x.shape[0])
    test, learn = x[order[: len(order) // 5]], x[order[len(order) // 5 :]]
    fits = {}
    for n_profiles in (1, settings.n_profiles):
        progress(f"{settings.n_components} causes, {n_profiles} profiles")
        fits[n_profiles] = latens.NoisyOr(
            settings.n_components, n_profiles=n_profiles, n_init=2, moves=False, tol=5e-4, random_state=rng
        ).fit(learn)
    model = fits[settings.n_profiles]
    scores = {n: fit.score(test) for n, fit in fits.items()}
    best = [[words[j] for j in np.argsort(-row, kind="stable")[:N_TOP]] for row in model.components_]
    rows = [(k, usage, ", ".join(top)) for k, (usage, top) in enumerate(zip(model.usage_, best, strict=True))]
    kind = "documents" if settings.data else "generated baskets"
    return Result(
        tables=(
            Numbers.of("summary", ("cause", "usage", "what it lights most"), rows),
            Numbers.of("held-out", ("profiles", "nats per held-out row"), list(scores.items())),
        ),
        figures=(_causes(model, words), _usage(model, best)),
        notes=(
            f"{model.n_components_} causes are alive in {learn.shape[0]} {kind}; with {settings.n_profiles} profiles a "
            f"held-out row has {scores[settings.n_profiles]:.3f} nats, with one {scores[1]:.3f}.",
            *_found(model, truth),
            "The document's collection of 40 authors and 5,000 papers is not public. "
            + (
                "These are the documents of the given file."
                if settings.data
                else "No file was given (--data), so market baskets were generated: ten occasions, 45 products, three "
                "kinds of customers. They are not text."
            ),
        ),
        claims=(
            Claim(
                "slide Real-world data mining",
                "components reflect communities of authors; words are not tried",
                f"{model.n_components_} causes of {kind}, {scores[settings.n_profiles]:.3f} nats per held-out row",
                "no result in the document",
            ),
        ),
    )


def _rows(settings: Settings, rng: np.random.Generator) -> tuple[Any, list[str], Any]:
    if not settings.data:
        baskets, truth = make_baskets(settings.n_samples, random_state=rng)
        return csr_array(baskets), list(truth.features), truth
    path = Path(settings.data)
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a .mat file that holds documents and wordlist.")
    content = loadmat(path)
    if "documents" not in content or "wordlist" not in content:
        raise ValueError(f"{path} holds {', '.join(content)}; expected documents (words x documents) and wordlist.")
    x = csr_array(content["documents"].T.tocsr().astype(np.float64))
    words = [str(np.ravel(word)[0]) for word in np.ravel(content["wordlist"])]
    return x[np.sort(rng.permutation(x.shape[0])[: settings.n_samples])], words, None


def _found(model: Any, truth: Any) -> tuple[str, ...]:
    if truth is None:
        return ()
    match = latens.metrics.match_components(model.components_, truth.components)
    names = ", ".join(name for name, cosine in zip(truth.names, match.similarity, strict=True) if cosine >= 0.9)
    return (f"Of the {len(truth.names)} occasions, {match.found(0.9)} are found (cosine of at least .9): {names}.",)


def _causes(model: Any, words: list[str]) -> Section:
    often = (model.usage_[:, None] * model.components_).max(axis=0)
    strongest = np.sort(np.argsort(-often, kind="stable")[:MOST_WORDS])
    values = model.components_[:, strongest]
    names = [f"cause {k}" for k in range(len(values))]
    chart = heat_map(values, names, [words[j] for j in strongest], Scale.of(values))
    caption = "How likely each cause, when on, is to light each word; the causes of most ones first."
    figure = Figure(chart, caption, wide=True, name="causes", drawing=unscrolled(chart))
    return Section("Causes", figures=(figure,))


def _usage(model: Any, best: list[list[str]]) -> Section:
    bars = bar_chart([", ".join(top[:2]) for top in best], model.usage_, label="share of the rows")
    return Section("Usage", figures=(Figure(bars, "How often each cause is on, named by two words.", name="usage"),))


EXPERIMENT = Experiment(
    name="noisy-or-text",
    title="noisy-OR: causes found behind words, with their top words",
    document="004",
    place="noisy-OR on words; its own data mining is that of citations",
    about=(
        "Causes behind the words of documents, found without labels: top words per cause, a picture of all causes, "
        "and the probability of held-out rows with independent causes and with profiles. Give --data "
        "20news_w100.mat (16,242 documents, 100 words) or a file like it; without it, market baskets are generated, "
        "since no text comes with the package."
    ),
    settings=Settings(),
    quick=Settings(n_samples=2000, n_components=12, n_profiles=3),
    run=run,
    graph="noisy-or",
)
