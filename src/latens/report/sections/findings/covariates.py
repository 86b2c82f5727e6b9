"""Section about covariates of a model of several views: what each adds to the columns."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from latens.estimators.fitted_parts import column_spread
from latens.report.charts.numbers import MINUS, number
from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["covariates"]

TOP = 5  # columns listed of a covariate
LINE = Markup('<span class="top"><span class="{}">{}</span> {}{}</span>')
RANGE = Markup(' <span class="range{}" title="{}">[{}, {}]</span>')
WORDS = (
    "What a unit of each covariate adds to a column beside the factors, in standard deviations of that column (of "
    "yes/no columns, levels and counts on the scale of their link); a level is compared with the first of its column."
)


def covariates(entry: Entry) -> Section | None:
    """A line for each covariate: the columns that it moves most, with sign and interval."""
    names, found = getattr(entry.model, "covariate_names_", ()), getattr(entry.model, "covariate_coefficients_", None)
    spread = column_spread(entry.model)
    if not names or not found or spread is None:
        return None
    effect = np.concatenate([np.asarray(part, dtype=np.float64) for part in found.values()], axis=1)  # (C, D)
    effect = np.divide(effect, spread, out=np.zeros_like(effect), where=spread > 0)
    columns = entry.column_names(effect.shape[1])
    ends = _ends(entry)
    features = [(view, name) for view, own in _features(entry) for name in own]
    rows = []
    for c, (name, values) in enumerate(zip(names, effect, strict=True)):
        place = f" [{c}]" if len(names) > 1 else ""  # as `intervals` tells them apart
        top = [int(d) for d in np.argsort(-np.abs(values), kind="stable")[:TOP] if values[d]]
        parts = []
        for d in top:
            known = ends.get((features[d][0], f"{features[d][1]}{place}"))
            span = Markup("")
            if known is not None and spread[d] > 0 and np.isfinite(known[:2]).all():
                lower, upper = (_signed(end / spread[d]) for end in known[:2])
                span = RANGE.format("" if known[2] else " doubt", "" if known[2] else known[3], lower, upper)
            parts.append(LINE.format("up" if values[d] > 0 else "down", _signed(values[d]), columns[d], span))
        rows.append((str(name), Markup(" ").join(parts) if parts else "none"))
    table = Table(("covariate", "strongest columns"), tuple(rows), prose=True, headed=True)
    return Section("Covariates", WORDS, table=table, anchor="covariates")


def _features(entry: Entry) -> list[tuple[str, tuple[str, ...]]]:
    layout = entry.model.layout_
    return list(zip(layout.views, layout.features, strict=True))


def _ends(entry: Entry) -> dict[tuple[str, str], tuple[float, float, bool, str]]:
    """By view and feature: ends in data units, whether they are sound, and why not."""
    table = entry.certainty.table
    if table is None:
        return {}
    return {
        (view, feature): (lower, upper, sound, why)
        for parameter, _, feature, view, _, _, lower, upper, sound, why in table.rows
        if parameter == "covariate_coefficients"
    }


def _signed(value: float) -> str:
    return ("+" if value > 0 else MINUS) + number(abs(float(value)))
