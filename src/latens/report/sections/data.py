"""Sections about the data and how to get all of this again."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from latens.estimators.display.likelihood_note import were_guessed
from latens.report.charts.numbers import number
from latens.report.content import Section, Table
from latens.report.measures.words import after_one, yes_no_words
from latens.report.sections.downloads import downloads
from latens.report.subject import Entry

__all__ = ["by_column", "constructor_call", "reproduce", "sweep"]

MOST_COLUMNS = 300
MOST_OPEN = 40  # columns of a table that is shown before anybody asks
NOTE_ON_GUESSES = "What columns were taken as was guessed; likelihoods={...} chooses otherwise."
MOST_LETTERS = 200  # of a parameter in a line of Python
ROUNDING = 1e-12  # of a column's sd: means that small are 0
CODE = Markup('<pre class="{}">{}</pre>')


def by_column(entry: Entry) -> Section | None:
    """Kind, missing entries and spread of each column, or what a file's columns were taken for."""
    notes = tuple(entry.data_notes)
    if entry.treatment is not None:
        rows = tuple(tuple(map(_cell, row)) for row in entry.treatment.rows[:MOST_COLUMNS])
        table = Table(tuple(entry.treatment.columns), rows, prose=True, sortable=True)
        many = len(rows) > MOST_OPEN
        words = _cut(len(entry.treatment.rows))
        return Section("Data by column", words, notes=notes, table=table, anchor="data", folded=many)
    sample = entry.sample
    if sample is None or entry.image_shape is not None:
        return Section("Data by column", notes=notes, anchor="data") if notes else None
    values, names = sample.values, entry.column_names(sample.values.shape[1])
    kinds, yes_no = _kinds(entry, len(names)), yes_no_words(entry, len(names))
    rows_ = []
    means = sample.means[:MOST_COLUMNS].copy()
    means[np.abs(means) < ROUNDING * sample.spread[: len(means)]] = 0.0
    for d, name in enumerate(names[:MOST_COLUMNS]):
        missing = f"{100 * float(np.mean(~np.isfinite(values[:, d]))):.1f} %"
        levels = entry.family == "classes" and kinds[d] in ("categorical", "ordinal")  # whose numbers are no values
        moments = ("", "") if levels else (number(float(means[d])), number(float(sample.spread[d])))
        rows_.append((after_one(name, yes_no[d]), kinds[d], missing, *moments))
    table = Table(("column", "taken as", "missing", "mean", "sd"), tuple(rows_), sortable=True)
    text = f"{_cut(len(names))} {NOTE_ON_GUESSES if were_guessed(entry.model) else ''}".strip()
    return Section("Data by column", text, notes=notes, table=table, anchor="data", folded=len(names) > MOST_OPEN)


def sweep(entry: Entry) -> Section | None:
    """The numbers of components that were tried, and their bounds."""
    if len(entry.sweep) < 2:
        return None
    best = max(bound for _, _, bound in entry.sweep)
    rows = tuple((str(asked), str(found), number(bound), number(bound - best)) for asked, found, bound in entry.sweep)
    heads = ("at most", "found", "bound (nats)", "beside the best")
    return Section("How many", "The highest bound was kept.", table=Table(heads, rows), anchor="how-many")


def reproduce(entry: Entry) -> Section | None:
    """The command and the lines of Python that fit this model again, how to cite the package, tables to take along."""
    model = entry.model
    if not hasattr(model, "get_params"):
        return None
    of_file = entry.source.endswith((".csv", ".tsv", ".parquet", ".xlsx"))
    read = f"X = latens.read({entry.source!r}).frame" if of_file else "X = ...  # the rows of this page"
    target = ["y"] if entry.family == "regression" else []
    known = [f"{name} = ...  # as it was given to fit" for name in [*target, *entry.given_to_fit]]
    fit = (f"model = {constructor_call(model)}", entry.call(f"model.fit({', '.join(['X', *target])})"))
    shown = ", ".join(["model", "X", '"page.html"', *("y=y" for _ in target)])
    recipe = entry.recipe or (read, *known, *fit, entry.call(f"latens.report({shown})"))
    imports = [line for line in recipe if line.startswith(("import ", "from "))]
    lines = ["import latens", *imports, "", *(line for line in recipe if line not in imports)]
    command = entry.command or (f"latens fit {entry.source} --report page.html" if of_file else "")
    blocks = [CODE.format("copied", command)] if command else []
    blocks.append(CODE.format("copied python", "\n".join(lines)))
    text = "Cite: The latens developers, latens: variational inference in latent-variable models."
    return Section("Reproduce", text, body=Markup().join([*blocks, *downloads(entry)]), anchor="reproduce")


def constructor_call(model: Any) -> str:
    """The constructor's call with what differs from its defaults; an ellipsis stands for what has no short form."""
    kind = type(model)
    given = model.get_params(deep=False)
    try:
        usual = kind().get_params(deep=False)
    except TypeError:
        usual = {}
    own = [
        f"{name}={repr(value) if _plain(value) else '...'}"
        for name, value in given.items()
        if repr(value) != repr(usual.get(name))
    ]
    return f"latens.{kind.__name__}({', '.join(own)})"


def _plain(value: object) -> bool:
    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return True  # words by column, such as likelihoods, of which none may be left out
    plain = isinstance(value, int | float | str | bool | tuple | list | dict | np.integer | np.floating)
    return plain and len(repr(value)) < MOST_LETTERS


def _kinds(entry: Entry, d: int) -> list[str]:
    if entry.family == "classes":
        return list(entry.model.columns_.kinds)
    if entry.family == "views":
        layout, kinds = entry.model.layout_, entry.model.likelihoods_
        return [str(kinds[v]) for v, names in zip(layout.views, layout.features, strict=True) for _ in names]
    return ["yes/no" if entry.binary else "number"] * d


def _cut(n: int) -> str:
    return f"The first {MOST_COLUMNS} of {n:,} columns." if n > MOST_COLUMNS else ""


def _cell(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
