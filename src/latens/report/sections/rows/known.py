"""Section that sets components against what else is known of the rows."""

from __future__ import annotations

import numpy as np

from latens.estimators.association import associate
from latens.report.charts.heat_table import component_name, signed
from latens.report.charts.numbers import MINUS
from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["against_known"]

MOST_TESTS = 40  # tests listed
PEARSON = "Pearson"


def against_known(entry: Entry) -> Section | None:
    """Each component against each column of metadata: effect, interval, adjusted p."""
    sample = entry.sample
    if not entry.known or sample is None or not hasattr(entry.model, "transform") or entry.n_components == 0:
        return None
    columns = {name: [values[i] for i in sample.index] for name, values in entry.known.items()}
    names = entry.labels[: sample.codes.shape[1]]
    found = associate(sample.codes, [str(k) for k in range(len(names))], columns)
    numbers = any(test == PEARSON for _, _, test, *_ in found.rows[:MOST_TESTS])
    rows = []
    for factor, column, test, effect, _, adjusted, n in found.rows[:MOST_TESTS]:
        k = int(factor)
        span = _span(test, effect, n)
        rows.append(
            (
                component_name(k, names[k]),
                column,
                test,
                f"{effect:+.2f}".replace("-", MINUS) if test == PEARSON else f"{effect:.2f}",  # a share has no sign
                *((span,) if numbers else ()),
                f"{adjusted:.2g}",
                f"{n:,}",
            )
        )
    text = (
        "Pearson's correlation for numbers, with its 95 % interval; for labels the Kruskal-Wallis test, whose effect "
        "is the share of the ranks' variance between labels. p is adjusted for all tests (Benjamini and Hochberg)."
    )
    interval = ("95 % interval",) if numbers else ()
    heads = ("component", "known", "test", "effect", *interval, "adjusted p", "rows")
    return Section(
        "Against what you know", text, table=Table(heads, tuple(rows), prose=True, sortable=True), anchor="known"
    )


def _span(test: str, effect: float, n: int) -> str:
    """Fisher's interval of a correlation; none for the others."""
    if test != PEARSON or n < 5 or abs(effect) >= 1:
        return ""
    centre, half = np.arctanh(effect), 1.96 / np.sqrt(n - 3)
    return f"[{signed(float(np.tanh(centre - half)))}, {signed(float(np.tanh(centre + half)))}]"
