"""Sections about what the components are: a line for each, and their table of columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
from markupsafe import Markup

from latens.estimators.display.order_note import order_note
from latens.report.charts.heat_table import LEAST_STRENGTH_WRITTEN, MOST_WIDE, component_name, heat_table, signed
from latens.report.charts.numbers import chance, number, times_usual, told_apart
from latens.report.content import Section, Table
from latens.report.measures.profile import Profile
from latens.report.measures.sample import n_rows_of
from latens.report.subject import Entry

__all__ = ["columns", "listing"]

MOST_COMPONENTS = 64
TOP = 5  # strongest columns listed of a component
MOST_CELLS, MOST_COLUMNS = 6000, 200  # of the table
MOST_HATCHED = 0.5  # share of cells
IN_SIGHT = 22  # rows of it that are seen without scrolling
NOT_SHOWN = "not identified: no row of it shows this column"
LINE = Markup('<span class="top"><span class="{}">{}</span> {}{}</span>')
RANGE = Markup(' <span class="range{}" title="{}">[{}, {}]</span>')
NOTE_ON_SCROLLING = Markup('<p class="on-screen">The table scrolls.</p>')
KEY = Markup(
    '<p class="key"><span class="swatch m5"></span>much less<span class="swatch m3"></span>less'
    '<span class="swatch p3"></span>more<span class="swatch p5"></span>much more{}</p>'
)


def listing(entry: Entry) -> Section | None:
    """One line for each component: number, name, share, size, its strongest columns with sign and interval."""
    k, sizes = entry.n_components, entry.sizes
    if entry.family == "regression" or not hasattr(entry.model, "n_components_") or k == 0 or sizes is None:
        return None
    heads = ["index", "name", f"share of {sizes.of}"]
    extra = _extra_columns(entry)
    profile = entry.profile if entry.image_shape is None else None
    rows = []
    for i in range(min(k, MOST_COMPONENTS)):
        share = f"{100 * sizes.share[i]:.1f} %"
        values = [text[i] for _, text in extra]
        top = [] if profile is None else [_top(entry, profile, i)]
        rows.append((str(i), component_name(i, entry.labels[i]), share, *values, *top))
    heads += [name for name, _ in extra]
    heads += ["strongest columns"] if rows and len(rows[0]) > len(heads) else []
    rows.append(("", "together", f"{100 * sizes.total:.1f} %", *[""] * (len(heads) - 3)))
    text = f"{sizes.note} The index is that of every array of the model"
    order = order_note(entry.model, sizes.share)
    text += f"; components are {order if entry.grouped else order.partition(';')[0]}." if order else "."
    text += " (2×): twice the usual share." if profile is not None and profile.lift is not None else ""
    text += f" {MOST_COMPONENTS} of {k:,} are shown." if k > MOST_COMPONENTS else ""
    data = {"names": entry.labels[:MOST_COMPONENTS]}
    return Section(
        "Components",
        text,
        table=Table(tuple(heads), tuple(rows), prose=True, headed=True),
        anchor="components",
        data=data,
    )


def columns(entry: Entry) -> Section | None:
    """All columns by all components, each column in units of its own standard deviation."""
    profile = entry.profile
    if profile is None or entry.image_shape is not None or entry.family == "regression":
        return None
    if entry.grouped and profile.strength.shape[1] == 1:  # all rows beside all rows
        return None
    k = min(profile.strength.shape[1], MOST_COMPONENTS)
    most = min(MOST_COLUMNS, MOST_CELLS // max(k, 1))
    d = len(profile.columns)
    why, is_shown = _doubts(entry), profile.is_shown
    strength = np.where(is_shown, profile.strength, 0.0)[:, :k]
    keep = np.sort(np.argsort(-np.max(np.abs(strength), axis=1), kind="stable")[:most])
    text = f"Cells are {profile.unit}; "
    text += (
        "point at one for its number."
        if k > MOST_WIDE
        else f"numbers are written from {LEAST_STRENGTH_WRITTEN:g} sd on."
    )
    if d > most:
        text += f" Of {d:,} columns, the {most} with the largest entries."
    if len(why) > MOST_HATCHED * profile.strength.size:  # said once; drawn only where there is nothing to be known
        reason = Counter(why.values()).most_common(1)[0][0]
        text += f" Most intervals are not sound: {reason.replace('of it', 'of these components')}."
        why = {place: reason for place, reason in why.items() if reason.startswith("not identified")}
    text += " Hatched: the interval is not sound." if why else ""
    if not is_shown[keep, :k].all():
        text += f" Hatched without a colour: no row of the {entry.noun(1)} shows the column."
        why |= {(int(i), int(j)): NOT_SHOWN for i, j in np.argwhere(~is_shown)}
    at = {int(column): row for row, column in enumerate(keep)}
    cells = heat_table(
        "column",
        [profile.columns[i] for i in keep],
        entry.labels[:k],
        strength[keep],
        profile.shown[keep, :k],
        {(at[i], j): reason for (i, j), reason in why.items() if i in at},
        None if profile.lift is None else profile.lift[keep, :k],
    )
    narrow = Markup(". {}").format(entry.certainty.note) if entry.certainty.narrow else Markup("")
    hint = NOTE_ON_SCROLLING if len(keep) > IN_SIGHT else Markup("")  # what is too wide says so itself
    return Section("Columns by components", text, body=hint + cells + KEY.format(narrow), anchor="columns")


def _extra_columns(entry: Entry) -> list[tuple[str, list[str]]]:
    model, extra = entry.model, []
    if entry.grouped:
        table = np.asarray(getattr(model, "classification_", np.zeros((0, 0))))
        if table.size:
            counts = table.sum(axis=1)
            sure = np.diagonal(table) / np.maximum(counts, np.finfo(float).tiny)
            rows = n_rows_of(entry.X)
            weighted = bool(rows) and abs(float(counts.sum()) - rows) > 0.5
            extra.append(("rows, weighted" if weighted else "rows", [number(round(float(n))) for n in counts]))
            extra.append(("mean probability", [f"{value:.2f}" for value in sure]))
    elif hasattr(model, "usage_"):
        extra.append(("on in", [f"{100 * float(value):.1f} %" for value in model.usage_]))
    if entry.family == "sources":  # of views it is one of columns
        extra.append(("tails (degrees of freedom)", [number(float(value)) for value in model.tails_]))
    return extra


def _top(entry: Entry, profile: Profile, k: int) -> Markup:
    """The strongest columns of a component: sign, size and interval in units of the column."""
    parts = []
    for d in entry.notable(k, TOP):
        value, shown = float(profile.strength[d, k]), float(profile.shown[d, k])
        lift = np.nan if profile.lift is None else float(profile.lift[d, k])
        form = signed if np.isnan(shown) else number if np.isnan(lift) else chance
        text = signed(value) if np.isnan(shown) else f"{'↑' if value > 0 else '↓'} {form(shown)}"
        ends = entry.ends.get((d, k))
        span = Markup("")
        lower, upper = ("", "") if ends is None else map(form, ends[:2])
        if ends is not None and form is number and lower == upper:
            lower, upper = told_apart(*ends[:2])
        if ends is not None and np.isfinite(ends[:2]).all() and (ends[2] or lower != upper):
            span = RANGE.format("" if ends[2] else " doubt", "" if ends[2] else ends[3], lower, upper)
        name = profile.columns[d] if not np.isfinite(lift) else f"{profile.columns[d]} ({times_usual(lift)}×)"
        parts.append(LINE.format("up" if value > 0 else "down", text, name, span))
    return Markup(" ").join(parts) if parts else Markup("none stands out")


def _doubts(entry: Entry) -> dict[tuple[int, int], str]:
    """By (column, component), why an interval is not sound; mean field is mentioned once, not in every cell."""
    if entry.certainty.narrow:
        return {}
    return {at: ends[3] for at, ends in entry.ends.items() if not ends[2]}
