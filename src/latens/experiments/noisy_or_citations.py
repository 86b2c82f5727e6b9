"""Document 004, noisy-OR on citations: communities of authors, found from who is cited together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.datasets import CauseTruth, make_citations
from latens.experiments.experiment import Claim, Experiment, Numbers, Progress, Result
from latens.experiments.feature_pictures import LEAST_COSINE, unscrolled
from latens.metrics import match_components
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.svg import bar_chart, heat_map

__all__ = ["EXPERIMENT"]

MEMBER = 0.2  # chance of being cited by a paper of the community, from which an author counts as a member
N_TOP = 8  # authors named for a community
MOST_AUTHORS = 60
PRINTED = (
    "1: Friedman, Jordan, Lauritzen, Pearl; 3: Scholkopf, Smola, Vapnik, Burges; 4: Ghahramani, Jordan, Hinton, Neal, "
    "Saul, Bishop, Tipping; 5: Frey, Freeman, Murphy, Lauritzen, Pearl, Weiss, Yedidia"
)


@dataclass(frozen=True)
class Settings:
    data: str = ""  # an edge list, paper and cited author on a line, as `latens.read` takes it; empty: generated
    n_samples: int = 5000
    n_authors: int = 40
    n_communities: int = 5
    upper_bound: int = 10
    n_init: int = 3


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, authors, truth = _rows(settings, rng)
    progress(f"{x.shape[0]} papers, {x.shape[1]} authors")
    model = latens.NoisyOr(
        settings.upper_bound, n_profiles=1, n_init=settings.n_init, random_state=int(rng.integers(2**31))
    ).fit(x)
    if truth is None:
        return _of_a_file(model, authors, x)
    match = match_components(model.components_, truth.components)
    rows = [_judged(k, match.index[k], match.similarity[k], model, truth, authors) for k in range(len(truth.names))]
    columns = ("community", "cosine", "members", "found", "wrongly added", "cited most, as found")
    found = match.found(LEAST_COSINE)
    right = sum(row[2] == row[3] and row[4] == 0 for row in rows)
    shared = int(np.sum(np.sum(truth.components > 0, axis=0) > 1))
    both = int(np.sum(np.sum(model.components_ > MEMBER, axis=0)[np.sum(truth.components > 0, axis=0) > 1] > 1))
    note = (
        f"{found} of {len(truth.names)} communities are found (cosine of at least {LEAST_COSINE}), {right} with "
        f"exactly their members; {both} of {shared} authors of two communities are placed in both. "
        f"{model.n_components_} causes are left of {settings.upper_bound}."
    )
    claim = Claim(
        "slide Real-world data mining",
        f"40 authors, about 5000 papers: components reflect communities. {PRINTED}",
        f"the collection is not public. On generated citations of the same size: {note[0].lower()}{note[1:]}",
        "agrees" if found == len(truth.names) else "agrees in part",
    )
    return Result(
        (Numbers.of("communities", columns, rows), _table(model, authors)),
        (_pictures(model, truth, match.index, authors), _usage(model, truth, match.index)),
        (note, "An author with a chance of at least .2 to be cited by a paper of the community counts as a member."),
        (claim,),
    )


def _rows(settings: Settings, rng: np.random.Generator) -> tuple[Any, tuple[str, ...], CauseTruth | None]:
    if settings.data:
        edges = latens.read(settings.data, format="edges").encoded()
        return edges.matrix, tuple(edges.names), None
    x, truth = make_citations(
        settings.n_samples,
        n_authors=settings.n_authors,
        n_communities=settings.n_communities,
        random_state=rng,
    )
    return x, truth.features, truth


def _judged(k: int, j: int, cosine: float, model: Any, truth: CauseTruth, authors: tuple[str, ...]) -> tuple[Any, ...]:
    true = truth.components[k] > 0
    strength = model.components_[j] if j >= 0 else np.zeros(len(authors))
    member = strength >= MEMBER
    top = ", ".join(authors[i] for i in np.argsort(-strength, kind="stable")[: int(member.sum())][:N_TOP])
    return truth.names[k], cosine, int(true.sum()), int(np.sum(true & member)), int(np.sum(member & ~true)), top


def _of_a_file(model: Any, authors: tuple[str, ...], x: Any) -> Result:
    rows = []
    for k, strength in enumerate(model.components_):
        order = np.argsort(-strength, kind="stable")[:N_TOP]
        rows.append((f"community {k}", float(model.usage_[k]), ", ".join(authors[i] for i in order)))
    note = f"{model.n_components_} communities behind {x.shape[0]} rows and {x.shape[1]} columns of the given file."
    values = model.components_[:, np.argsort(np.argmax(model.components_, axis=0), kind="stable")[:MOST_AUTHORS]]
    names = [authors[i] for i in np.argsort(np.argmax(model.components_, axis=0), kind="stable")[:MOST_AUTHORS]]
    chart = heat_map(values, [row[0] for row in rows], names, Scale.of(values))
    figure = Figure(
        chart, "Chance of each column under each community.", wide=True, name="communities", drawing=unscrolled(chart)
    )
    claim = Claim("slide Real-world data mining", f"components reflect communities: {PRINTED}", note, "agrees in part")
    bars = bar_chart([row[0] for row in rows], model.usage_, label="share of the rows")
    figures = (
        Section("Communities", figures=(figure,)),
        Section("Usage", figures=(Figure(bars, "How often each is on.", name="usage"),)),
    )
    return Result((Numbers.of("communities", ("community", "usage", "cited most"), rows),), figures, (note,), (claim,))


def _table(model: Any, authors: tuple[str, ...]) -> Numbers:
    rows = [(author, *model.components_[:, i]) for i, author in enumerate(authors)]
    return Numbers.of("authors", ("author", *(f"cause {k}" for k in range(model.n_components_))), rows)


def _pictures(model: Any, truth: CauseTruth, index: np.ndarray, authors: tuple[str, ...]) -> Section:
    shown = slice(0, MOST_AUTHORS)
    found = np.zeros_like(truth.components)
    found[index >= 0] = model.components_[index[index >= 0]]
    scale, figures = Scale.of(truth.components, found), []
    for name, values in (("true", truth.components), ("found", found)):
        chart = heat_map(values[:, shown], list(truth.names), list(authors[shown]), scale)
        caption = f"Chance that a paper of a community cites an author, {name}; authors by their first community."
        figures.append(Figure(chart, caption, wide=True, name=f"communities-{name}", drawing=unscrolled(chart)))
    return Section("Communities, true and found", figures=tuple(figures))


def _usage(model: Any, truth: CauseTruth, index: np.ndarray) -> Section:
    learnt = np.where(index >= 0, model.usage_[index], 0.0)
    bars = bar_chart(list(truth.names), learnt, label="share of the papers", marks=truth.codes.mean(axis=0))
    return Section(
        "How large they are", figures=(Figure(bars, "As found; the line across is the truth.", name="usage"),)
    )


EXPERIMENT = Experiment(
    name="noisy-or-citations",
    title="noisy-OR: communities of authors, found from who is cited together",
    document="004",
    place="noisy-OR, Real-world data mining (40 authors, about 5000 papers)",
    about=(
        "Which authors a paper cites depends on the communities it belongs to. Draws the communities found from the "
        "citations alone beside the true ones, with their members. With --data an edge list of your own, a paper and a "
        "cited author on each line."
    ),
    settings=Settings(),
    quick=Settings(n_samples=1500, n_init=1),
    run=run,
    graph="noisy-or",
)
