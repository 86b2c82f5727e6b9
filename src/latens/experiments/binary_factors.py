"""Document 000, section 1.6: mean-field EM on the images of shapes, from random starts and from ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.datasets import make_shapes
from latens.experiments.against_print import binary_factors as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.feature_pictures import Learnt, compared, thresholded
from latens.experiments.printed import binary_factors as printed
from latens.report import Figure, Section
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, bar_chart, line_chart

__all__ = ["EXPERIMENT"]

SHORT_NAMES = {"document": "random", "latens": "latens"}  # below a picture
LONG_NAMES = {"document": "the document's listing", "latens": "from the data"}
# share of the iterations after which the axis begins: the first steps would flatten the rest
FIRST_SHARE_LEFT_OUT = 0.15


@dataclass(frozen=True)
class Settings:
    n_samples: int = 400
    n_components: int = 8
    n_starts: int = 50  # runs of either start, all on the same images
    n_print: int = 100  # iterations of the document's listing
    n_init: int = 5  # restarts within one run from our start
    threshold: float = 0.4  # above which a pixel counts as on
    max_iter: int = 500
    tol: float = 1e-5  # nats per row


@dataclass(frozen=True)
class Run:
    bounds: np.ndarray  # (iterations,)
    features: Learnt

    @property
    def bound(self) -> float:
        return float(self.bounds[-1])


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_shapes(settings.n_samples, random_state=rng)
    runs: dict[str, list[Run]] = {"document": [], "latens": []}
    for i in range(settings.n_starts):
        progress(f"random start {i + 1} of {settings.n_starts}")
        runs["document"].append(_from_document(settings, x, truth, rng))
    for i in range(settings.n_starts):
        progress(f"start from the data {i + 1} of {settings.n_starts}")
        runs["latens"].append(_from_latens(settings, x, truth, rng))
    middle = {start: _middle(each) for start, each in runs.items()}
    progress("the print beside its correction")
    k, few = settings.n_components, max(3, settings.n_starts // 2)
    beside = (
        against.equation_8(x, k, min(25, settings.n_print), rng),
        against.starts(x, truth.components, k, few, settings.n_print, rng),
        against.cost(rng, 2000, k, (16, 64, 256, 512)),
    )
    return Result(
        tables=(
            _summary(runs, settings.n_components),
            _free_energies(runs),
            _features(middle, truth, settings.threshold),
        ),
        figures=(
            _bounds(runs, middle),
            _pictures(middle, truth, settings.threshold),
            _how_often(runs, settings.n_components),
        ),
        notes=_notes(runs, middle, settings),
    ).beside(*beside, claims=_claims(runs, middle, settings))


def _printed(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_shapes(settings.n_samples, random_state=rng)
    size = settings.n_components, min(10, settings.n_starts), settings.n_print
    return against.run_print(x, truth.components, truth.shape, *size, rng, progress)


def _from_document(settings: Settings, x: np.ndarray, truth: Any, rng: np.random.Generator) -> Run:
    learnt = printed.learn_bin_factors(x, settings.n_components, settings.n_print, rng)
    return Run(learnt.free_energies, Learnt.of(SHORT_NAMES["document"], learnt.mu.T, truth.components))


def _from_latens(settings: Settings, x: np.ndarray, truth: Any, rng: np.random.Generator) -> Run:
    model = latens.BinaryFactorAnalysis(
        settings.n_components,
        prior="ml",
        e_step="mean-field",
        n_init=settings.n_init,
        max_iter=settings.max_iter,
        tol=settings.tol,
        moves=False,  # so that the two ways differ in their starts alone
        random_state=rng,
    ).fit(x)
    return Run(model.elbo_history_, Learnt.of(SHORT_NAMES["latens"], model.components_, truth.components))


def _middle(runs: list[Run]) -> Run:
    """The median run by features found, then by bound: neither a lucky nor an unlucky one."""
    return sorted(runs, key=lambda run: (run.features.n_found, run.bound))[len(runs) // 2]


def _complete(runs: list[Run], k: int) -> int:
    return sum(run.features.n_found == k for run in runs)


def _summary(runs: dict[str, list[Run]], k: int) -> Numbers:
    rows = []
    for start, each in runs.items():
        middle, best = _middle(each), max(each, key=lambda run: run.bound)
        rows.append(
            (
                LONG_NAMES[start],
                f"{_complete(each, k)} of {len(each)}",
                middle.features.n_found,
                best.features.n_found,
                middle.bound,
                best.bound,
                len(middle.bounds),
            )
        )
    columns = (
        *("start", f"runs finding all {k}", "found, middle run", "found, best run"),
        *("F (nats), middle run", "F (nats), best run", "iterations, middle run"),
    )
    return Numbers.of("summary", columns, rows)


def _free_energies(runs: dict[str, list[Run]]) -> Numbers:
    rows = [
        (start, i, step, value)
        for start, each in runs.items()
        for i, run in enumerate(each)
        for step, value in enumerate(run.bounds, 1)
    ]
    return Numbers.of("free-energy", ("start", "run", "iteration", "free energy"), rows)


def _features(middle: dict[str, Run], truth: Any, threshold: float) -> Numbers:
    true = truth.components
    rows: list[tuple[Any, ...]] = [("truth", k, 1.0, 0, *image) for k, image in enumerate(true)]
    for start, run in middle.items():
        wrong = np.sum((run.features.components > threshold) != (true > 0), axis=1)
        for k, image in enumerate(run.features.components):
            rows.append((start, k, run.features.cosine[k], wrong[k], *image))
    pixels = [f"pixel {d}" for d in range(true.shape[1])]
    return Numbers.of("features", ("start", "feature", "cosine", "wrong pixels above the threshold", *pixels), rows)


def _bounds(runs: dict[str, list[Run]], middle: dict[str, Run]) -> Section:
    def curve(run: Run, **style: Any) -> Line:
        return Line(np.arange(1, len(run.bounds) + 1), run.bounds, **style)

    others = [curve(run, faint=True, name="other random starts") for run in runs["document"]]
    lines = [
        *others,
        curve(middle["document"], name="random start, middle run", tone=1),
        curve(middle["latens"], name="latens, middle run"),
    ]
    late = np.concatenate(
        [run.bounds[int(FIRST_SHARE_LEFT_OUT * len(run.bounds)) :] for each in runs.values() for run in each]
    )
    chart = line_chart(
        lines, x_label="iteration", y_label="free energy (nats)", y_range=(float(late.min()), float(late.max()))
    )
    caption = (
        "A lower bound of the log likelihood at the current estimates, all constants in; it never falls. "
        "Values below the axis belong to the first iterations."
    )
    own = max(10, 2 * len(middle["latens"].bounds))
    first = line_chart(
        [curve(_first(middle["document"], own), tone=1, name="random start"), curve(middle["latens"], name="latens")],
        x_label="iteration",
        y_label="free energy (nats)",
    )
    return Section(
        "Figure 1: free energy per iteration",
        figures=(
            Figure(chart, caption, name="free-energy"),
            Figure(first, f"The first {own} iterations of the two middle runs, in full.", name="free-energy-first"),
        ),
    )


def _first(run: Run, n: int) -> Run:
    return Run(run.bounds[:n], run.features)


def _pictures(middle: dict[str, Run], truth: Any, threshold: float) -> Section:
    fits = [run.features for run in middle.values()]
    learnt = compared(
        "features",
        truth.components,
        fits,
        truth.shape,
        "Figure 2. Each true feature, what the middle run from random starts learnt, and what latens learnt. "
        "Numbers are cosines with the true feature.",
    )
    cut = thresholded(
        "features-thresholded",
        truth.components,
        fits,
        threshold,
        truth.shape,
        f"Figure 3. The same with every pixel above {threshold} set to 1 and the others to 0. "
        "Numbers are pixels on the wrong side.",
    )
    return Section("Figures 2 and 3: the features", figures=(learnt, cut))


def _how_often(runs: dict[str, list[Run]], k: int) -> Section:
    figures = []
    for start, title in (("document", "random starts"), ("latens", "starts from the data")):
        counts = np.bincount([run.features.n_found for run in runs[start]], minlength=k + 1)[::-1]
        bars = bar_chart(
            [f"{n} of {k}" for n in range(k, -1, -1)], counts, label=f"runs, {title}", reach=len(runs[start])
        )
        figures.append(Figure(bars, "How many runs found so many features.", name=f"found-{start}"))
    return Section("How often all features are found", figures=tuple(figures))


def _notes(runs: dict[str, list[Run]], middle: dict[str, Run], settings: Settings) -> tuple[str, ...]:
    k, n = settings.n_components, settings.n_starts
    best = max(run.bound for run in runs["document"])
    below = middle["latens"].bound - middle["document"].bound
    return (
        f"From the document's start {_complete(runs['document'], k)} of {n} runs find all {k} features, and the run in "
        f"the middle finds {middle['document'].features.n_found}: as the document says, one or more are usually "
        f"missing. Starting from parts found in the data, {_complete(runs['latens'], k)} of {n} runs find all {k}.",
        f"The middle run ends {number(below)} nats below ours, the best of all random starts "
        f"{number(middle['latens'].bound - best)} nats. Its runs are those of the document's listing, mended only as "
        "far "
        "as it needs to run.",
        "With point estimates this bound grows with the number of features, so it cannot choose that number: see "
        "binary-ard. Section 1.4 on other models is the experiment model-choice.",
    )


def _claims(runs: dict[str, list[Run]], middle: dict[str, Run], settings: Settings) -> tuple[Claim, ...]:
    k, n = settings.n_components, settings.n_starts
    falls = [float(np.max(-np.diff(run.bounds), initial=0.0)) for run in runs["document"]]
    missing = n - _complete(runs["document"], k)
    found = middle["document"].features.n_found
    return (
        Claim(
            "figure 1",
            "the free energy increases at all times",
            f"the largest fall of {n} runs of the listing is {max(falls):.1e} nats",
            "agrees" if max(falls) < 1e-3 else "agrees in part",
        ),
        Claim(
            "figure 2",
            "7 of 8 features are found; on multiple runs at least one is missing",
            f"{missing} of {n} runs miss at least one, the middle run finds {found}; from starts found in the data "
            f"{_complete(runs['latens'], k)} of {n} find all {k}",
            "agrees" if missing > n / 2 else "agrees in part",
        ),
        Claim(
            "figure 3",
            "a threshold of 0.4 makes the features clearer",
            "features that were found have no wrong pixel after it; one that was not stays wrong (table features)",
            "agrees",
        ),
    )


EXPERIMENT = Experiment(
    name="binary-factors",
    title="mean-field EM finds the hidden shapes: free energy, features, thresholded features",
    document="000",
    place="section 1.6, figures 1 to 3",
    about=(
        "4 x 4 images made of overlapping shapes, learnt by variational EM with a mean-field E step, from the "
        "document's random start (codes, features and usage uniform between 0.25 and 0.75, sigma 1) and from starts "
        "found in the data. Draws the free energy per iteration, the features beside the true ones, the same after "
        "thresholding, and how often all of them are found."
    ),
    settings=Settings(),
    quick=Settings(n_starts=5, n_print=40),
    run=run,
    printed=Print((printed.LISTING,), _printed),
    graph="binary-factors",
)
