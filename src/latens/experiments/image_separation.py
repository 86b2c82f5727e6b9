"""Document 004, "Image Separation Experiment": pictures laid over each other, taken apart again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import latens
from latens.datasets import make_images
from latens.experiments.against_print import image_separation as against
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.feature_pictures import LEAST_COSINE, picture
from latens.experiments.printed import vector_quantizer as printed
from latens.metrics import match_components
from latens.plots.fitted import is_signed
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.tiles import Tile
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, bar_chart, line_chart

if TYPE_CHECKING:
    from latens.estimators.binary_factors import BinaryFactorAnalysis

__all__ = ["EXPERIMENT"]

N_MIXED = 12  # mixed images shown
ON = 0.5  # posterior probability above which a switch counts as on


@dataclass(frozen=True)
class Settings:
    n_samples: int = 600
    size: int = 16  # pixels along a side
    n_sources: int = 8
    noise: float = 0.2
    n_components: int = 16  # upper bound
    n_init: int = 5
    n_print: int = 100  # iterations of the slides' updates


@dataclass(frozen=True)
class Separated:
    """A fit with its components in the order of the true sources; a source without partner is zero."""

    components: np.ndarray  # (K, D)
    cosine: np.ndarray  # (K,)
    usage: np.ndarray  # (K,)
    codes: np.ndarray  # (N, K), 0 or 1
    rebuilt: np.ndarray  # (N, D)
    n_found: int
    spare: np.ndarray  # (n, D), components without a partner


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_images(
        settings.n_samples,
        size=settings.size,
        n_sources=settings.n_sources,
        noise=settings.noise,
        random_state=rng,
    )
    progress(f"separating {len(x)} mixed images")
    model = latens.BinaryFactorAnalysis(settings.n_components, n_init=settings.n_init, random_state=rng).fit(x)
    fit = _separate(model, x, truth)
    return Result(
        tables=(_summary(fit, truth), _iterations(model), _sources(fit, truth), _mixed(fit, x, truth)),
        figures=(_separation(fit, truth), _mixtures(fit, x, truth), _course(model, fit, truth)),
        notes=_notes(settings, model, fit, x, truth),
    ).beside(
        against.signs(x, settings.n_components, settings.n_print, rng),
        against.relevance(x, truth, settings.n_components, settings.n_print, rng),
        claims=(
            Claim(
                "slides Mixed images and Recovered sources",
                "8 sources are recovered from mixed images",
                f"{fit.n_found} of {len(truth.components)} from an upper bound of {settings.n_components}; the "
                "document's "
                "images are not in it, others take their place",
                "agrees" if fit.n_found == len(truth.components) else "agrees in part",
            ),
        ),
    )


def _separate(model: BinaryFactorAnalysis, x: np.ndarray, truth: Any) -> Separated:
    match = match_components(model.components_, truth.components)
    paired, k = match.index >= 0, len(truth.components)
    codes = model.transform(x)
    components, usage, on = np.zeros((k, x.shape[1])), np.zeros(k), np.zeros((len(x), k))
    components[paired] = model.components_[match.index[paired]]
    usage[paired] = model.usage_[match.index[paired]]
    on[:, paired] = codes[:, match.index[paired]] > ON
    spare = np.delete(model.components_, match.index[paired], axis=0)
    return Separated(
        components, match.similarity, usage, on, model.inverse_transform(codes), match.found(LEAST_COSINE), spare
    )


def _right(fit: Separated, truth: Any) -> np.ndarray:
    """(K,), share of the rows in which each switch was read correctly."""
    return np.asarray(np.mean(fit.codes == truth.codes, axis=0))


def _error(fit: Separated, truth: Any) -> np.ndarray:
    """(K,), root mean square error of a pixel."""
    return np.asarray(np.sqrt(np.mean((fit.components - truth.components) ** 2, axis=1)))


def _summary(fit: Separated, truth: Any) -> Numbers:
    rows = list(
        zip(
            range(len(truth.components)),
            fit.cosine,
            _error(fit, truth),
            truth.codes.mean(axis=0),
            fit.usage,
            _right(fit, truth),
            strict=True,
        )
    )
    columns = (
        "source",
        "cosine",
        "pixel error (rms)",
        "share of rows, true",
        "share of rows, learnt",
        "switches right",
    )
    return Numbers.of("summary", columns, rows)


def _iterations(model: BinaryFactorAnalysis) -> Numbers:
    rows = [(i, step.elbo, step.n_components) for i, step in enumerate(model.trace_, 1)]
    return Numbers.of("iterations", ("iteration", "bound", "components"), rows)


def _sources(fit: Separated, truth: Any) -> Numbers:
    pairs = (("true", truth.components), ("recovered", fit.components))
    rows = [(kind, k, *image) for kind, images in pairs for k, image in enumerate(images)]
    return Numbers.of("sources", ("image", "source", *_pixels(truth)), rows)


def _mixed(fit: Separated, x: np.ndarray, truth: Any) -> Numbers:
    kinds = (("mixed", x), ("rebuilt", fit.rebuilt))
    rows = [(kind, i, *image) for kind, images in kinds for i, image in enumerate(images[:N_MIXED])]
    return Numbers.of("mixed-images", ("image", "row", *_pixels(truth)), rows)


def _pixels(truth: Any) -> list[str]:
    return [f"pixel {d}" for d in range(truth.components.shape[1])]


def _separation(fit: Separated, truth: Any) -> Section:
    tiles = [
        Tile(f"source {k}, cosine {fit.cosine[k]:.3f}", (("true", true), ("recovered", learnt)))
        for k, (true, learnt) in enumerate(zip(truth.components, fit.components, strict=True))
    ]
    tiles += [Tile("no such source", (("true", None), ("recovered", image))) for image in fit.spare]
    scale = Scale.of(truth.components, fit.components)
    caption = "The source images, and what was recovered from mixed images alone."
    return Section("Recovered sources", figures=(picture("recovered-sources", tiles, truth.shape, scale, caption),))


def _mixtures(fit: Separated, x: np.ndarray, truth: Any) -> Section:
    tiles = []
    for i in range(min(N_MIXED, len(x))):
        wrong = int(np.sum(fit.codes[i] != truth.codes[i]))
        on = ", ".join(str(k) for k in np.flatnonzero(fit.codes[i])) or "none"
        name = f"row {i}: sources {on}" + f" ({wrong} wrong)" * bool(wrong)
        clean = truth.codes[i] @ truth.components
        tiles.append(Tile(name, (("mixed", x[i]), ("rebuilt", fit.rebuilt[i]), ("without noise", clean))))
    shown = fit.rebuilt[:N_MIXED]
    # noise alone does not make images signed
    scale = Scale(Scale.of(x[:N_MIXED], shown).largest, is_signed(shown))
    caption = (
        "Mixed images as the model sees them, rebuilt from the sources it reads in them (named below), and as they "
        "were before noise was added."
    )
    return Section("Mixed images", figures=(picture("mixed-images", tiles, truth.shape, scale, caption),))


def _course(model: BinaryFactorAnalysis, fit: Separated, truth: Any) -> Section:
    steps = np.arange(1, len(model.trace_) + 1)
    counts = np.array([float(step.n_components) for step in model.trace_])
    wanted = Line(steps, np.full(len(steps), float(len(truth.components))), dashed=True, name="true number")
    late = model.elbo_history_[len(steps) // 4 :]
    bound = line_chart(
        [Line(steps, model.elbo_history_)],
        x_label="iteration",
        y_label="bound (nats)",
        y_range=(float(late.min()), float(late.max())),
    )
    number_left = line_chart(
        [wanted, Line(steps, counts, name="components")], x_label="iteration", y_label="components", whole_y=True
    )
    names = [f"source {k}" for k in range(len(fit.usage))]
    usage = bar_chart(names, fit.usage, label="share of the rows", marks=truth.codes.mean(axis=0))
    return Section(
        "How the number of sources was found",
        figures=(
            Figure(
                bound,
                "The bound by iteration; its first steps lie below the axis, and a jump is an accepted deletion.",
                name="bound",
            ),
            Figure(number_left, "Components in the model; deletions are kept only if the bound rises.", name="number"),
            Figure(usage, "How often each source is on; the line across a bar is the true share.", name="usage"),
        ),
    )


def _notes(
    settings: Settings, model: BinaryFactorAnalysis, fit: Separated, x: np.ndarray, truth: Any
) -> tuple[str, ...]:
    clean = truth.codes @ truth.components
    before, after = (float(np.sqrt(np.mean((images - clean) ** 2))) for images in (x, fit.rebuilt))
    return (
        f"From an upper bound of {settings.n_components}, {model.n_components_} components are left; {fit.n_found} of "
        f"{len(truth.components)} sources are found (cosine of at least {LEAST_COSINE}), the worst with cosine "
        f"{fit.cosine.min():.3f}.",
        f"Of the {fit.codes.size} switches, {number(100 * float(np.mean(_right(fit, truth))))} % are read correctly. "
        f"Rebuilt images are {number(after)} from the clean ones (rms of a pixel), the mixed images {number(before)}.",
        f"The learnt noise has standard deviation {number(float(np.sqrt(model.noise_variance_)))}, the true one "
        f"{number(float(np.sqrt(truth.noise_variance)))}; the bound ends at {number(model.elbo_)} nats.",
        "The slides' own sums, and what they become with the right signs, stand beside each other below.",
    )


EXPERIMENT = Experiment(
    name="image-separation",
    title="image separation: source pictures recovered from their noisy sums, and their number found",
    document="004",
    place='"Image Separation Experiment", mixed images and recovered sources',
    about=(
        "Eight pictures are laid over each other, each switched on or off in every mixed image, and noise is added. "
        "Relevance determination from an upper bound finds how many pictures there are and what they look like. Draws "
        "the recovered sources beside the true ones, mixed images with their reconstruction, the bound and the number "
        "of components by iteration, and how often each source is on."
    ),
    settings=Settings(),
    quick=Settings(n_samples=300, n_init=3, n_print=40),
    run=run,
    printed=Print(printed.LISTINGS, against.run_print),
    graph="binary-factors",
)
