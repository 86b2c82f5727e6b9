"""Document 000, section 3: how many factors relevance determination leaves, and what the bound says of K."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.datasets import make_shapes
from latens.experiments import binary_ard_pictures as pictures
from latens.experiments.binary_ard_fits import Course, from_data, from_document, from_truth
from latens.experiments.experiment import Claim, Experiment, Numbers, Print, Progress, Result
from latens.experiments.feature_pictures import Learnt
from latens.experiments.printed import binary_relevance as printed
from latens.report import Section
from latens.report.charts.numbers import number

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Settings:
    n_samples: int = 400
    sizes: tuple[int, ...] = tuple(range(4, 33, 4))  # upper bounds K
    traced: tuple[int, ...] = (4, 8, 16, 24, 32)  # those whose iterations are drawn
    shown: int = 24  # the one whose relevances and factors are drawn
    alpha_cut: float = 1200.0  # the document counts a factor while its alpha is below
    n_starts: int = 5  # runs of the document's listing for each K
    n_print: int = 100  # its iterations
    n_init: int = 5  # restarts of a fit that starts from the data
    max_iter: int = 500
    tol: float = 1e-5  # nats per row


@dataclass(frozen=True)
class Size:
    """All fits with one upper bound."""

    document: list[Course]
    plain: Course
    deletions: Course

    @property
    def middle(self) -> Course:
        return sorted(self.document, key=lambda course: course.bound)[len(self.document) // 2]

    @property
    def ways(self) -> dict[str, Course]:
        return {"document": self.middle, "plain": self.plain, "deletions": self.deletions}


def run(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_shapes(settings.n_samples, random_state=rng)
    sizes: dict[int, Size] = {}
    for i, k in enumerate(settings.sizes):
        progress(f"K = {k} ({i + 1} of {len(settings.sizes)})")
        sizes[k] = _fits(settings, x, k, rng)
    progress("the listing from the true factors")
    near = from_truth(x, truth, settings.shown, rng, settings.n_print)
    ways = {k: size.ways for k, size in sizes.items()}
    random = {k: size.document for k, size in sizes.items()}
    return Result(
        tables=(
            _summary(ways, truth),
            _random_starts(random, truth, settings.alpha_cut),
            _iterations(ways, settings.alpha_cut),
            _relevance(ways[settings.shown]),
            _factors(ways[settings.shown]),
        ),
        figures=(
            pictures.by_size(ways, random, len(truth.components)),
            pictures.by_iteration(ways, settings.traced, settings.alpha_cut),
            pictures.relevances(ways[settings.shown], settings.alpha_cut),
            pictures.factors(ways[settings.shown], truth),
        ),
        notes=_notes(ways, truth, settings),
        claims=_claims(ways, random[settings.shown], near, truth, settings),
    )


def _printed(settings: Settings, rng: np.random.Generator, progress: Progress) -> Result:
    x, truth = make_shapes(settings.n_samples, random_state=rng)
    runs = {}
    for k in settings.traced:
        progress(f"the listing with K = {k}")
        runs[k] = from_document(x, k, rng, settings.n_print)
    rows = [
        (k, _last(run), run.bound, int(run.n_below(settings.alpha_cut)[-1]), run.n_in_use, _n_found(run, truth))
        for k, run in runs.items()
    ]
    columns = ("K", "printed sum (nats)", "bound (nats)", "alpha below the cut", "used by a row", "true found")
    shown = runs[settings.shown if settings.shown in runs else max(runs)]
    sections: tuple[Section, ...] = pictures.of_the_print(runs, shown, truth, settings.alpha_cut)
    most = max(row[5] for row in rows)
    note = (
        f"At most {most} of {len(truth.components)} true factors are found by the listing, from K = {settings.traced}."
    )
    return Result((Numbers.of("print", columns, rows),), sections, (note,))


def _last(course: Course) -> float | str:
    """The printed sum at the end; it is minus infinity once a factor is used by no row at all."""
    value = float(course.sums[-1]) if course.sums is not None else course.bound
    return value if np.isfinite(value) else "−inf"


def _claims(
    ways: dict[int, dict[str, Course]], shown: list[Course], near: Course, truth: Any, settings: Settings
) -> tuple[Claim, ...]:
    """What figures 9 to 12 report; `shown` are the listing's runs with the K of figures 11 and 12."""
    true = len(truth.components)
    runs = {k: each["document"] for k, each in ways.items()}
    sums = {k: _last(run) for k, run in runs.items()}
    bounds = {k: run.bound for k, run in runs.items()}
    counts = {k: int(run.n_below(settings.alpha_cut)[-1]) for k, run in runs.items()}
    above = [k for k in runs if k > true]
    eight = sum(counts[k] == true for k in above)
    largest = [float(run.alphas[-1].max()) for run in shown]
    diverged = sum(alpha > settings.alpha_cut for alpha in largest)
    found = sorted(_n_found(run, truth) for run in shown)
    right = ways[settings.shown]["deletions"]
    lowest = min(bounds, key=lambda k: bounds[k])
    last_values = ", ".join(
        f"K = {k}: {value if isinstance(value, str) else number(value)}" for k, value in sums.items()
    )
    return (
        Claim(
            "figure 9",
            "K = 4 has the lowest free energy, and a larger K a higher one",
            f"the listing's sum ends at {last_values}; with its missing terms the bound is lowest at K = {lowest} and "
            f"{'rises' if list(bounds.values()) == sorted(bounds.values()) else 'does not rise'} with K",
            "agrees"
            if lowest == min(bounds) and list(bounds.values()) == sorted(bounds.values())
            else "agrees in part",
        ),
        Claim(
            "figure 10",
            "for K above 8 the effective factors eventually decrease to 8",
            f"{eight} of {len(above)} runs of the listing with K above {true} end with {true} (counts "
            + ", ".join(f"{counts[k]} from {k}" for k in above)
            + f", after {settings.n_print} iterations). The start is not all of it: from the true factors with "
            f"{settings.shown - true} spare ones the listing finds {_n_found(near, truth)} of {true} and ends with "
            f"{int(near.n_below(settings.alpha_cut)[-1])} alphas below the cut, {number(right.bound - near.bound)} "
            f"nats below {right.n_in_use} factors alone: ascent comes to rest with them, and none of its steps takes a "
            "factor out; deletions that the bound judges do",
            "agrees" if above and eight == len(above) else "does not come back",
        ),
        Claim(
            "figure 11",
            "alphas of factors that are not needed diverge",
            f"at K = {settings.shown} an alpha passes {settings.alpha_cut:g} in {diverged} of {len(shown)} runs of the "
            f"listing; the largest ends between {number(min(largest))} and {number(max(largest))}. Alpha stands still "
            "once no row uses the factor, since its posterior is then its prior",
            "agrees in part" if diverged else "does not come back",
        ),
        Claim(
            "figure 12",
            f"on a good run with K = {settings.shown} all 8 factors are found",
            f"the best of {len(shown)} runs of the listing finds {found[-1]} of {true}, the worst {found[0]}; with "
            f"deletions judged by the bound {_n_found(right, truth)}",
            "agrees" if found[-1] == true else "does not come back",
        ),
    )


def _fits(settings: Settings, x: np.ndarray, k: int, rng: np.random.Generator) -> Size:
    max_iter, tol = settings.max_iter, settings.tol
    seed = int(rng.integers(2**31))  # one for both: they share their starts and differ in deletions alone
    plain, deletions = (
        from_data(x, k, seed, moves=moves, n_init=settings.n_init, max_iter=max_iter, tol=tol)
        for moves in (False, True)
    )
    document = [from_document(x, k, rng, settings.n_print) for _ in range(settings.n_starts)]
    return Size(document, plain, deletions)


def _n_found(course: Course, truth: Any) -> int:
    return Learnt.of("", course.found, truth.components).n_found


def _summary(ways: dict[int, dict[str, Course]], truth: Any) -> Numbers:
    rows = [
        (
            k,
            *(course.bound for course in each.values()),
            *(course.n_in_use for course in each.values()),
            *(_n_found(course, truth) for course in each.values()),
        )
        for k, each in ways.items()
    ]
    starts = ("random", "plain", "deletions")
    columns = [f"{what}, {start}" for what in ("bound (nats)", "in use", "true found") for start in starts]
    return Numbers.of("summary", ("K", *columns), rows)


def _random_starts(random: dict[int, list[Course]], truth: Any, cut: float) -> Numbers:
    rows = [
        (k, i, course.bound, course.n_in_use, int(course.n_below(cut)[-1]), _n_found(course, truth))
        for k, each in random.items()
        for i, course in enumerate(each)
    ]
    return Numbers.of("random-starts", ("K", "run", "bound", "in use", f"alpha below {cut:g}", "true found"), rows)


def _iterations(ways: dict[int, dict[str, Course]], cut: float) -> Numbers:
    """Counts by relevance are left out where deletions changed the causes on the way."""
    rows = [
        (way, k, step, value, *_count(way, course, cut, step))
        for k, each in ways.items()
        for way, course in each.items()
        for step, value in enumerate(course.bounds, 1)
    ]
    return Numbers.of("iterations", ("way", "K", "iteration", "bound", f"alpha below {cut:g}"), rows)


def _count(way: str, course: Course, cut: float, step: int) -> tuple[Any, ...]:
    return ("" if way == "deletions" else int(np.sum(course.alphas[step - 1] < cut)),)


def _relevance(each: dict[str, Course]) -> Numbers:
    rows = [
        (way, course.k, step, cause, value, course.in_use[cause])
        for way, course in each.items()
        if way != "deletions"
        for step, alpha in enumerate(course.alphas, 1)
        for cause, value in enumerate(alpha)
    ]
    return Numbers.of("relevance", ("way", "K", "iteration", "cause", "alpha", "in use at the end"), rows)


def _factors(each: dict[str, Course]) -> Numbers:
    rows = [
        (way, cause, course.usage[cause], course.in_use[cause], *image)
        for way, course in each.items()
        for cause, image in enumerate(course.components)
    ]
    d = next(iter(each.values())).components.shape[1]
    return Numbers.of("factors", ("way", "cause", "usage", "in use", *(f"pixel {i}" for i in range(d))), rows)


def _notes(ways: dict[int, dict[str, Course]], truth: Any, settings: Settings) -> tuple[str, ...]:
    true, largest = len(truth.components), max(ways)
    best = {way: max(ways, key=lambda k: ways[k][way].bound) for way in ("document", "plain")}
    right = [k for k, each in ways.items() if k >= true and each["deletions"].n_in_use == true]
    enough = [k for k in ways if k >= true]
    spread = np.array([ways[k]["deletions"].bound for k in enough])
    at_best, at_largest = ways[best["plain"]]["plain"], ways[largest]["plain"]
    random = ways[settings.shown]["document"]
    return (
        f"With deletions tested by the bound, {len(right)} of {len(enough)} fits with K of at least {true} end with "
        f"exactly {true} factors; {np.sum(max(spread) - spread < 1)} of them reach the highest bound, "
        f"{number(float(max(spread)))} nats, to within a nat.",
        "The document says that a larger K gives a higher free energy. With all terms in, from starts found in the "
        f"data and without deletions, the bound is highest at K = {best['plain']} ({number(at_best.bound)} nats) and "
        f"{number(at_best.bound - at_largest.bound)} nats lower at K = {largest}: spare factors pay for their place.",
        "The document's sum leaves out the divergence of the factors from their prior. Without divergences the same "
        f"two fits have {number(at_best.without_divergences)} and {number(at_largest.without_divergences)} nats: such "
        f"a sum does not see {number(_price(at_best, at_largest))} nats of what the spare factors cost.",
        f"From random starts, by the document's own listing, the middle run (of "
        f"{settings.n_starts}) has {number(ways[min(ways)]['document'].bound)} nats at K = {min(ways)} and its "
        f"highest, {number(ways[best['document']]['document'].bound)}, at K = {best['document']}; a start from the "
        f"data with K = {best['plain']} is {number(at_best.bound - ways[best['document']]['document'].bound)} nats "
        "above.",
        f"At K = {settings.shown} the listing's middle run keeps {random.n_in_use} factors and finds "
        f"{_n_found(random, truth)} of the {true} true ones; the document shows what it calls a good run.",
        "Relevances are precisions of the factors in data units, comparable with the document's alpha. A factor counts "
        "as in use when it is on in at least one row and explains more than its loadings cost; the document counts "
        f"alpha below {settings.alpha_cut:g}.",
        "All fits use the mean-field E step, so that bounds compare across K. Usage and noise have posteriors in ours; "
        "the listing holds points and factorises over factors, and its bound is given at those points.",
    )


def _price(few: Course, many: Course) -> float:
    """What the divergences of `many` cost more than those of `few`."""
    return (many.without_divergences - many.bound) - (few.without_divergences - few.bound)


EXPERIMENT = Experiment(
    name="binary-ard",
    title="relevance determination: free energy, effective factors and relevance traces for K = 4 to 32",
    document="000",
    place="section 3.2, figures 9 to 12",
    about=(
        "The images of shapes again, with relevance determination from an upper bound K on the number of factors, in "
        "three ways: the document's listing as printed; starts found in the data and plain ascent; and the "
        "same starts followed by deletions that are kept only where the bound rises. Draws the bound and the number of "
        "effective factors by K and by iteration, the relevance traces, and the factors found from K = 24."
    ),
    settings=Settings(),
    quick=Settings(sizes=(4, 8, 16, 24), traced=(4, 8, 16, 24), n_starts=1, n_init=2, n_print=40),
    run=run,
    printed=Print((printed.LISTING,), _printed),
    graph="binary-factors",
)
