"""Document 004, noisy-OR: the structure behind binary images, found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens
from latens.datasets import make_noisy_or
from latens.estimators.fitted_parts import fitted_parts
from latens.experiments.against_print import noisy_or as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.feature_pictures import Learnt, compared, picture
from latens.experiments.printed import noisy_or as printed
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.tiles import Tile
from latens.report.charts.svg import Line, line_chart

__all__ = ["EXPERIMENT"]

N_ROWS = 12  # images shown


@dataclass(frozen=True)
class Settings:
    n_samples: int = 10_000
    activity: float = 0.25
    failure: float = 0.1
    leak: float = 0.001
    n_components: int = 8
    n_init: int = 5
    n_jensen: int = 500  # rows for the document's bound, which is slow


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_noisy_or(
        settings.n_samples,
        activity=settings.activity,
        failure=settings.failure,
        leak=settings.leak,
        random_state=rng,
    )
    fits: dict[str, Any] = {}
    for label, options in (("Bayes", {"prior": "ard"}), ("ML", {"prior": "ml"})):
        progress(f"{label}, {len(x)} images")
        fits[label] = latens.NoisyOr(
            settings.n_components, n_init=settings.n_init, random_state=rng, n_profiles=1, **options
        ).fit(x)
    progress(f"Jensen's bound, {settings.n_jensen} images")
    fits["Jensen"] = latens.NoisyOr(
        settings.n_components, prior="ml", e_step="jensen", n_init=1, tol=1e-3, moves=False, random_state=rng
    ).fit(x[: settings.n_jensen])
    learnt = [Learnt.of(label, model.components_, truth.components) for label, model in fits.items()]
    rows = []
    for fit in learnt:
        model = fits[fit.label]
        n = settings.n_jensen if fit.label == "Jensen" else len(x)
        rows.append((fit.label, n, fit.n_found, model.n_components_, model.elbo_ / n, model.score(x[:n])))
    columns = ("fit", "rows", "pictures found", "causes", "bound per row", "log probability per row")
    gap = rows[2][5] - rows[2][4]
    return Result(
        tables=(
            Numbers.of("summary", columns, rows),
            Numbers.of("pictures", ("picture", *(f"cosine, {fit.label}" for fit in learnt)), _cosines(truth, learnt)),
        ),
        figures=(_pictures(truth, learnt), _rows(fits["Bayes"], x, truth), _course(fits)),
        notes=(
            f"Bayes finds {learnt[0].n_found} of {len(truth.components)} pictures, maximum likelihood "
            f"{learnt[1].n_found} and Jensen's bound {learnt[2].n_found}.",
            f"Jensen's bound lies {gap:.2f} nats per row below the log probability of the same fit; the sums over all "
            "states of the other two are exact.",
            "The document's images are not public; eight overlapping pictures of 8 x 8 pixels take their place.",
        ),
    ).beside(
        against.tangent(),
        against.jensen(300, 6, rng),
        against.collapse(x[: settings.n_jensen], truth, settings.n_components, rng),
        against.search(x[: settings.n_jensen], truth.codes[: settings.n_jensen], 60, rng),
        claims=(
            Claim(
                "slide Structure recovery",
                "true pictures are recovered from scrambled and noisy ones",
                f"{learnt[0].n_found}, {learnt[1].n_found} and {learnt[2].n_found} of {len(truth.components)} by "
                "Bayes, "
                "maximum likelihood and Jensen's bound with a leak",
                "agrees" if learnt[0].n_found == len(truth.components) else "agrees in part",
            ),
        ),
    )


def _cosines(truth: Any, learnt: list[Learnt]) -> list[tuple[object, ...]]:
    return [(name, *(fit.cosine[k] for fit in learnt)) for k, name in enumerate(truth.names)]


def _pictures(truth: Any, learnt: list[Learnt]) -> Section:
    caption = "Each true picture as activation probabilities, and what each fit made of it, with its cosine."
    return Section("Pictures", figures=(compared("pictures", truth.components, learnt, truth.shape, caption),))


def _rows(model: Any, x: np.ndarray, truth: Any) -> Section:
    rebuilt = model.inverse_transform(model.transform(x[:N_ROWS]))
    tiles = [
        Tile(f"row {i}", (("given", given), ("expected", again)))
        for i, (given, again) in enumerate(zip(x, rebuilt, strict=False))
    ]
    caption = "Images as given, and the chance of each pixel to be lit under the causes the model takes to be on."
    return Section("Rows", figures=(picture("rows", tiles, truth.shape, Scale.of(x, rebuilt), caption),))


def _course(fits: dict[str, Any]) -> Section:
    lines = [
        Line(
            np.arange(1, len(model.elbo_history_) + 1),
            model.elbo_history_ / fitted_parts(model).state.stats.n,
            faint=label == "ML",
            dashed=label == "Jensen",
            name=label,
        )
        for label, model in fits.items()
    ]
    chart = line_chart(lines, x_label="iteration", y_label="bound, nats per row")
    caption = "The bound by iteration on all rows; restarts were judged on a sample before. It never falls."
    return Section("Course of the fits", figures=(Figure(chart, caption, name="bound"),))


EXPERIMENT = Experiment(
    name="noisy-or-images",
    title="noisy-OR: the pictures behind binary images, found by three bounds",
    document="004",
    place="noisy-OR, structure recovery",
    about=(
        "Eight overlapping pictures light the pixels of 8 x 8 images: each is on with probability .25, each of its "
        "pixels fails with probability .1, and a pixel is lit by nothing with probability .001. Draws the pictures "
        "found by variational Bayes, by maximum likelihood and by the document's Jensen bound (with the leak it "
        "lacks) beside the true ones, some images with their expectation, and the bounds by iteration."
    ),
    settings=Settings(),
    quick=Settings(n_samples=600, n_init=2, n_jensen=150),
    run=run,
    printed=Print((printed.LISTING,), against.run_print),
    graph="noisy-or",
)
