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
    bounded = any(np.isfinite(row[-1]) for row in found.rows[:MOST_TESTS])
    rows = []
    for factor, column, test, effect, _, adjusted, n, low, high in found.rows[:MOST_TESTS]:
        k = int(factor)
        rows.append(
            (
                component_name(k, names[k]),
                column,
                test,
                f"{effect:+.2f}".replace("-", MINUS) if test == PEARSON else f"{effect:.2f}",  # a share has no sign
                *((_span(test, low, high),) if bounded else ()),
                f"{adjusted:.2g}",
                f"{n:,}",
            )
        )
    text = (
        "Pearson's correlation for numbers; for labels the Kruskal-Wallis test, whose effect is the share of the "
        "ranks' variance between labels. p is adjusted for all tests (Benjamini and Hochberg)."
    )
    interval = ("95 % interval",) if bounded else ()
    heads = ("component", "known", "test", "effect", *interval, "adjusted p", "rows")
    return Section(
        "Against what you know", text, table=Table(heads, tuple(rows), prose=True, sortable=True), anchor="known"
    )


def _span(test: str, low: float, high: float) -> str:
    """The interval of an effect; shares have no sign."""
    if not np.isfinite([low, high]).all():
        return ""
    return f"[{signed(low)}, {signed(high)}]" if test == PEARSON else f"[{low:.2f}, {high:.2f}]"
