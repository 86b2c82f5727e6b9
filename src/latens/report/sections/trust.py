"""Section about how far to trust the numbers: intervals, hidden cells, how to test stability."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.report.charts.numbers import chance, number
from latens.report.charts.svg import bar_chart
from latens.report.content import Figure, Section, Table
from latens.report.sections.head import stability_command
from latens.report.subject import Entry

__all__ = ["trust"]

MOST_INTERVALS = 60  # rows of the table
MOST_OPEN = 12  # of them that are shown before anybody asks
METHODS = {
    "response": "The intervals count that the hidden values of the rows are known only in part (by response).",
    "gibbs": "The intervals are of draws from the posterior itself (by Gibbs sampling).",
    "bootstrap": "The intervals are of fits to rows drawn anew from these (by bootstrap).",
    "integration": "The intervals count that the precisions are not known exactly (by integration).",
}
FIRST_LISTED = ("weights", "usage", "share", "tails", "noise_variance")  # these stand before the loadings
WORDS_OF_CHANGE = "says otherwise of it"  # of a component that another fit has with other numbers


def trust(entry: Entry) -> Section | None:
    """In full what the verdicts say in short."""
    if not hasattr(entry.model, "posterior_"):
        return None
    notes = [f"Why this model: {entry.why.rstrip('.')}."] if entry.why else []
    notes += [*_cells(entry), *_worth(entry)]
    figures: tuple[Figure, ...] = ()
    if entry.stability is not None:
        notes.append(entry.stability.verdict)
        bars = bar_chart(list(entry.labels), entry.stability.return_rate, label="return rate above chance", reach=1.0)
        figures = (Figure(bars, "How often each component returned in both of two halves of the rows."),)
    elif entry.family != "regression" and entry.n_components:
        typed = stability_command(entry)
        notes.append(Markup("Whether components come back in halves of the rows: {}").format(typed))
    certainty = entry.certainty
    notes += [certainty.note] if certainty.note else []
    table = None
    if certainty.table is not None and len(certainty.table.rows):
        method = METHODS.get(certainty.table.method.split()[0])  # what follows says how far it went
        notes += [method] if method else []
        table = _table(entry)
        if len(certainty.table.rows) > MOST_INTERVALS:
            notes.append(
                f"{MOST_INTERVALS} of {len(certainty.table.rows):,} intervals are shown; {certainty.call} has all."
            )
        if (by_itself := entry.call("model.intervals(X)")) != certainty.call:
            notes.append(f"{by_itself} may choose a method that a page does not wait for, with other intervals.")
    parts = () if table is None else (Section("Intervals one by one", table=table, folded=len(table.rows) > MOST_OPEN),)
    return Section("Can I trust it", notes=tuple(notes), figures=figures, parts=parts, anchor="trust")


def _cells(entry: Entry) -> list[str]:
    cells = entry.hidden_cells
    if cells is None:
        return []
    words = (
        f"{number(cells.n)} cells of rows of this page were hidden, a tenth of each row, and filled from the rest of "
        "the row."
    )
    if np.isfinite(cells.error):
        kind = "Probabilities of yes" if entry.binary else "Numbers"
        words += f" {kind}: root mean squared error {cells.error:.3f} times that of column means."
    if np.isfinite(cells.right):
        words += (
            f" Levels: {100 * cells.right:.1f} % right; the most frequent one would be in {100 * cells.usual:.1f} %."
        )
    if np.isfinite(cells.coverage):
        words += f" {100 * cells.coverage:.1f} % of {number(cells.n_numbers)} numbers lie within their 95 % interval."
    return [words + " The model had seen these rows; new rows are filled somewhat worse."]


def _worth(entry: Entry) -> list[str]:
    """Components that rows hardly ask for."""
    table = entry.certainty.table
    known = () if table is None else getattr(table.components, "rows", ())
    weak = [
        (label, *row[:2]) for label, row in zip(entry.labels, known, strict=False) if np.isfinite(row[1]) and row[1] < 6
    ]
    why = {row[1]: row[9] for row in getattr(table, "rows", ()) if WORDS_OF_CHANGE in row[9]}
    words = []
    for name, component, nats in weak[:8]:
        if component in why:  # there, with other numbers, in the fit that lacks another
            words.append(f"{name}: {why[component]}.")
        elif nats > 0:
            words.append(f"{name} is worth {number(nats)} nats: other fits without it are nearly as likely.")
        else:
            words.append(f"{name} is not needed: a fit without it has a bound {number(-nats)} nats higher.")
    return words


def _table(entry: Entry) -> Table:
    meaningless = _of_levels(entry)
    known = [row for row in entry.certainty.table.rows if row[2] not in meaningless]
    order = sorted(range(len(known)), key=lambda i: (known[i][0] not in FIRST_LISTED, i))[:MOST_INTERVALS]
    rows, labels = [], _labels(entry)
    for i in order:
        parameter, component, feature, view, estimate, _, lower, upper, sound, why = known[i]
        what = " · ".join(part for part in (labels.get(component, component), view, feature) if part)
        form = chance if parameter == "level_probabilities" else number
        ends = [form(float(end)) if np.isfinite(end) else "–" for end in (estimate, lower, upper)]
        rows.append((parameter.replace("_", " "), what, *ends, "sound" if sound else why))
    return Table(
        ("number", "of", "estimate", "lower", "upper", "95 % interval"), tuple(rows), prose=True, sortable=True
    )


def _of_levels(entry: Entry) -> set[str]:
    """Columns of classes whose mean is one of numbers of levels, which nobody asks for."""
    if entry.family != "classes" or entry.profile is None or entry.profile.known_as is None:
        return set()
    return {str(name) for name, kind, *_ in entry.model.profiles_.rows if kind in ("categorical", "ordinal")}


def _labels(entry: Entry) -> dict[str, str]:
    """From the names that a model gives its components to those on the page."""
    if not hasattr(entry.model, "get_feature_names_out") or entry.family == "regression":
        return {}
    return dict(zip(map(str, entry.model.get_feature_names_out()), entry.labels, strict=False))
