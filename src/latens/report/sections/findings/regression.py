"""Sections about a regression: its weights, and how sure they are."""

from __future__ import annotations

import numpy as np

from latens.report.charts.intervals import interval_chart
from latens.report.charts.numbers import number
from latens.report.charts.plane import plane_chart
from latens.report.content import Figure, Section, Table
from latens.report.subject import Entry

__all__ = ["predictions", "weights"]

MOST_ODD_ROWS = 10  # rows farthest from their prediction

MOST_DRAWN, MOST_LISTED = 24, 200  # of the columns; a page with more of them is not read


def weights(entry: Entry) -> Section | None:
    """Precisions, all weights in a table, and the surest ones as intervals."""
    model = entry.model
    if not hasattr(model, "coef_std_"):
        return None
    centres, errors = np.asarray(model.coef_), np.asarray(model.coef_std_)
    names = entry.columns or [f"column {i}" for i in range(len(centres))]
    surest = np.argsort(-np.abs(centres) / np.maximum(errors, np.finfo(float).tiny), kind="stable")
    listed, drawn = np.sort(surest[:MOST_LISTED]), np.sort(surest[:MOST_DRAWN])
    rows = [
        (names[i], number(float(centres[i])), number(float(errors[i])), number(float(centres[i] / errors[i])))
        for i in listed
    ]
    rows.append(("intercept", number(float(model.intercept_)), "", ""))
    spread = model.column_spread_
    per = " per s.d. of a column" if model.standardize else ""
    facts = {f"precision of the weights{per}": model.weight_precision_}
    facts["precision of the noise"] = model.noise_precision_
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
        f"{MOST_LISTED} of {len(centres):,} are shown." if len(centres) > MOST_LISTED else "",
        facts=tuple((name, number(float(value))) for name, value in facts.items()),
        figures=(Figure(chart, note),),
        table=Table(("column", "weight", "s.d.", "weight / s.d."), tuple(rows), sortable=True),
        anchor="components",
    )


def predictions(entry: Entry) -> Section | None:
    """Observed against predicted targets, residuals, and R2; needs the targets."""
    sample = entry.sample
    if entry.family != "regression" or sample is None or entry.y is None:
        return None
    y = np.asarray(entry.y, dtype=np.float64)[sample.index]
    guess, spread = (np.asarray(part, dtype=np.float64) for part in entry.model.predict(sample.X, return_std=True))
    rest = y - guess
    left = float(np.sum(rest**2) / max(float(np.sum((y - y.mean()) ** 2)), np.finfo(float).tiny))
    inside = float(np.mean(np.abs(rest) <= 1.96 * spread))
    facts = (
        ("R²", f"{1 - left:.3f}"),
        ("residual s.d.", number(float(rest.std()))),
        ("targets within their 95 % interval", f"{100 * inside:.1f} %"),
    )
    tone = np.where(np.abs(rest) > 1.96 * spread, 1, 0)
    seen = plane_chart(guess, y, tone, x_label="predicted", y_label="observed")
    left_over = plane_chart(guess, rest, tone, x_label="predicted", y_label="residual")
    note = "Orange: outside its 95 % interval."
    worst = np.argsort(-np.abs(rest / spread), kind="stable")[:MOST_ODD_ROWS]
    rows = tuple((sample.label(int(i)), *(number(float(v[i])) for v in (y, guess, rest))) for i in worst)
    return Section(
        "Predictions on these rows",
        "The model was fitted to them, so that R² on new rows is smaller.",
        facts=facts,
        figures=(Figure(seen, "Observed against predicted. " + note), Figure(left_over, "Residuals. " + note)),
        table=Table(("farthest row", "observed", "predicted", "residual"), rows, sortable=True),
        anchor="predictions",
    )
