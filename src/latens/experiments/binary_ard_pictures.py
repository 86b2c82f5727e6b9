"""The pictures of binary-ard."""

from __future__ import annotations

from typing import Any

import numpy as np

from latens.experiments.binary_ard_fits import Course
from latens.experiments.feature_pictures import Learnt, compared, picture
from latens.report import Figure, Section
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.tiles import Tile
from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart

__all__ = ["by_iteration", "by_size", "factors", "of_the_print", "relevances"]

Ways = dict[int, dict[str, Course]]

NAMES = {"document": "as printed, middle run", "plain": "start from the data", "deletions": "with deletions"}
TONES = {"document": 1, "plain": 2, "deletions": 0}
# share of the iterations after which the axis begins: the first steps would flatten the rest
FIRST_SHARE_LEFT_OUT = 0.25
ITERATIONS_DRAWN = 60  # iterations drawn: what follows is flat
PLAIN_WAYS = {"document": "as printed, middle run", "plain": "start from the data, no deletions"}


def by_size(ways: Ways, random: dict[int, list[Course]], n_true: int) -> Section:
    sizes = np.array(list(ways))

    def lines(read: Any) -> list[Line]:
        return [
            Line(sizes, np.array([float(read(each[way])) for each in ways.values()]), name=name, tone=TONES[way])
            for way, name in NAMES.items()
        ]

    n_runs = len(next(iter(random.values())))
    others = [
        Line(sizes, np.array([each[i].bound for each in random.values()]), faint=True, name="single runs of the print")
        for i in range(n_runs if n_runs > 1 else 0)
    ]
    bound = line_chart(
        [*others, *lines(lambda course: course.bound)], x_label="upper bound K", y_label="bound at the end (nats)"
    )
    truth = Line(sizes, np.full(len(sizes), float(n_true)), dashed=True, name="true number")
    count = line_chart(
        [truth, *lines(lambda course: course.n_in_use)], x_label="upper bound K", y_label="factors in use", whole_y=True
    )
    enough = np.array([k for k in ways if k >= n_true])
    parts = [
        Line(enough, np.array([getattr(ways[k][way], what) for k in enough]), name=name, tone=tone)
        for way, what, name, tone in (
            ("plain", "without_divergences", "no deletions, without divergences", 4),
            ("plain", "bound", "no deletions, the bound", TONES["plain"]),
            ("deletions", "bound", "with deletions, the bound", TONES["deletions"]),
        )
    ]
    return Section(
        "The bound and the effective factors by K",
        figures=(
            Figure(bound, "All constants and all divergences in, so that values compare across K.", name="bound-by-k"),
            Figure(count, "Factors that are still in use when a fit has ended.", name="in-use-by-k"),
            Figure(
                line_chart(parts, x_label="upper bound K", y_label="nats, start from the data"),
                "Where there are factors enough: the bound with and without deletions, and what it would be without "
                "the divergences from the priors, which the document leaves out.",
                name="divergences-by-k",
            ),
        ),
    )


def by_iteration(ways: Ways, traced: tuple[int, ...], cut: float) -> Section:
    figures = []
    for way, title in PLAIN_WAYS.items():
        courses = [ways[k][way] for k in traced]
        lines = [
            _line(course.bounds[:ITERATIONS_DRAWN], f"K = {course.k}", tone) for tone, course in enumerate(courses)
        ]
        late = np.concatenate([course.bounds[int(FIRST_SHARE_LEFT_OUT * len(course.bounds)) :] for course in courses])
        chart = line_chart(
            lines, x_label="iteration", y_label="bound (nats)", y_range=(float(late.min()), float(late.max()))
        )
        caption = f"Figure 9, {title}{_cropped(courses)}: the bound, all terms in. The first steps lie below the axis."
        figures.append(Figure(chart, caption, name=f"bound-{way}"))
    figures.insert(1, _sums([ways[k]["document"] for k in traced]))
    for way, title in PLAIN_WAYS.items():
        courses = [ways[k][way] for k in traced]
        lines = [
            _line(course.n_below(cut)[:ITERATIONS_DRAWN], f"K = {course.k}", tone)
            for tone, course in enumerate(courses)
        ]
        chart = line_chart(lines, x_label="iteration", y_label="effective factors", whole_y=True)
        caption = f"Figure 10, {title}{_cropped(courses)}. Counted as the document does: alpha below {cut:g}."
        figures.append(Figure(chart, caption, name=f"effective-{way}"))
    return Section("Figures 9 and 10: free energy and effective factors by iteration", figures=tuple(figures))


def _sums(courses: list[Course]) -> Figure:
    """What the listing itself reports, and the bound of the same posterior."""
    lines = []
    for tone, course in enumerate(courses):
        sums = course.bounds if course.sums is None else course.sums
        lines.append(_line(sums[:ITERATIONS_DRAWN], f"K = {course.k}", tone))
    drawn = np.concatenate([line.y[int(FIRST_SHARE_LEFT_OUT * len(line.y)) :] for line in lines])
    drawn = drawn[np.isfinite(drawn)]
    chart = line_chart(
        lines, x_label="iteration", y_label="sum of the print (nats)", y_range=(float(drawn.min()), float(drawn.max()))
    )
    ends = [(course.k, float(course.sums[-1]) - course.bound) for course in courses if course.sums is not None]
    gaps = ", ".join(f"{number(gap)} at K = {k}" for k, gap in ends if np.isfinite(gap))
    lost = ", ".join(f"K = {k}" for k, gap in ends if not np.isfinite(gap))
    caption = f"Figure 9 as the listing adds it up. At the end it lies above the bound by {gaps} nats."
    caption += f" It is minus infinity at {lost}, where a factor is used by no row." * bool(lost)
    return Figure(chart, caption, name="sum-print")


def of_the_print(runs: dict[int, Course], shown: Course, truth: Any, cut: float) -> tuple[Section, ...]:
    """Figures 9 to 12 of the listing alone."""
    courses = list(runs.values())
    counts = [_line(course.n_below(cut), f"K = {course.k}", tone) for tone, course in enumerate(courses)]
    paths = np.array(shown.alphas)
    alphas = [_line(paths[:, i], "", 0) for i in range(paths.shape[1])]
    tiles = [Tile(_caption(shown, i), (("", shown.components[i]),)) for i in range(len(shown.components))]
    scale = Scale.of(shown.components)
    return (
        Section("Figure 9", figures=(_sums(courses),)),
        Section(
            "Figures 10 and 11",
            figures=(
                Figure(
                    line_chart(counts, x_label="iteration", y_label="effective factors", whole_y=True),
                    f"Figure 10: alpha below {cut:g}.",
                    name="effective",
                ),
                Figure(
                    line_chart(alphas, x_label="iteration", y_label="alpha (log scale)", log_y=True),
                    f"Figure 11, K = {shown.k}.",
                    name="alpha",
                ),
            ),
        ),
        Section(
            "Figure 12", figures=(picture("factors", tiles, truth.shape, scale, f"The factors from K = {shown.k}."),)
        ),
    )


def relevances(each: dict[str, Course], cut: float) -> Section:
    figures = []
    for way, title in PLAIN_WAYS.items():
        course = each[way]
        paths = np.array(course.alphas)  # (iterations, K)
        lines = [
            _line(paths[:, cause], "in use at the end" if used else "shut off", 0 if used else 1)
            for cause, used in sorted(enumerate(course.in_use), key=lambda item: item[1])
        ]
        steps = np.array([1.0, len(paths)])
        limit = Line(steps, np.full(2, cut), dashed=True, name=f"the document's cut, {cut:g}")
        chart = line_chart([limit, *lines], x_label="iteration", y_label="alpha (log scale)", log_y=True)
        caption = f"Figure 11, K = {course.k}, {title}. One line for each factor: large alpha, small factor."
        figures.append(Figure(chart, caption, name=f"alpha-{way}"))
    return Section("Figure 11: relevances", figures=tuple(figures))


def factors(each: dict[str, Course], truth: Any) -> Section:
    labels = {"document": "print", "plain": "plain", "deletions": "deletions"}
    fits = [Learnt.of(labels[way], course.found, truth.components) for way, course in each.items()]
    k = each["plain"].k
    matched = compared(
        "factors-matched",
        truth.components,
        fits,
        truth.shape,
        f"The true factors, and the best partner of each among those in use from K = {k}: by the print, "
        "from a start in the data, and with deletions. Numbers are cosines.",
    )
    scale = Scale.of(*(course.components for course in each.values()))
    figures = [matched]
    for way, course in each.items():
        order = np.argsort(~course.in_use, kind="stable")
        tiles = [Tile(_caption(course, cause), (("", course.components[cause]),)) for cause in order]
        title = f"{NAMES[way]}: {course.n_in_use}" + f" of {len(order)}" * (len(order) > course.n_in_use) + " in use"
        figures.append(picture(f"factors-{way}", tiles, truth.shape, scale, f"Figure 12, K = {k}, {title}."))
    return Section(f"Figure 12: the factors from K = {k}", figures=tuple(figures))


def _cropped(courses: list[Course]) -> str:
    """Said where a fit goes on beyond what is drawn."""
    return (
        f", the first {ITERATIONS_DRAWN} iterations"
        if any(len(course.bounds) > ITERATIONS_DRAWN for course in courses)
        else ""
    )


def _caption(course: Course, cause: int) -> str:
    if not course.in_use[cause]:
        return f"{cause}, shut off"
    return f"{cause}, on in {number(round(100 * float(course.usage[cause])))} %"


def _line(values: np.ndarray, name: str, tone: int) -> Line:
    return Line(np.arange(1, len(values) + 1), np.asarray(values, dtype=float), name=name, tone=tone)
