"""Sections about a regression: its weights, and how sure they are."""

from __future__ import annotations

import numpy as np

from latens.report.charts.intervals import interval_chart
from latens.report.charts.numbers import number
from latens.report.content import Figure, Section, Table
from latens.report.subject import Entry

__all__ = ["weights"]

MOST_DRAWN, MOST_TOLD = 24, 200  # of the columns; a page with more of them is not read


def weights(entry: Entry) -> Section | None:
    """Precisions, all weights in a table, and the surest ones as intervals."""
    model = entry.model
    if not hasattr(model, "coef_covariance_"):
        return None
    centres, errors = np.asarray(model.coef_), np.asarray(model.coef_std_)
    names = entry.columns or [f"column {i}" for i in range(len(centres))]
    surest = np.argsort(-np.abs(centres) / np.maximum(errors, np.finfo(float).tiny), kind="stable")
    told, drawn = np.sort(surest[:MOST_TOLD]), np.sort(surest[:MOST_DRAWN])
    rows = [
        (names[i], number(float(centres[i])), number(float(errors[i])), number(float(centres[i] / errors[i])))
        for i in told
    ]
    rows.append(("intercept", number(float(model.intercept_)), "", ""))
    spread = model.column_spread_
    facts = {"precision of the weights": model.weight_precision_, "precision of the noise": model.noise_precision_}
    facts["noise (s.d.)"] = 1 / np.sqrt(model.noise_precision_)
    chart = interval_chart(
        [names[i] for i in drawn],
        (centres * spread)[drawn],
        (errors * spread)[drawn],
        label="weight × spread of column",
    )
    note = "Posterior mean of each weight times the standard deviation of its column, so that all are in units of the "
    note += "target; thick bars are one posterior standard deviation, thin ones two."
    if len(centres) > MOST_DRAWN:
        note += f" Of {len(centres):,} columns, the {MOST_DRAWN} whose weights are surest to differ from 0."
    return Section(
        "Weights",
        f"{MOST_TOLD} of {len(centres):,} are shown." if len(centres) > MOST_TOLD else "",
        facts=tuple((name, number(float(value))) for name, value in facts.items()),
        figures=(Figure(chart, note),),
        table=Table(("column", "weight", "s.d.", "weight / s.d."), tuple(rows)),
    )
