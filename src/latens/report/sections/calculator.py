"""Section in which a reader types a row and sees what the model makes of it, without anything leaving the page."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import numpy as np
from markupsafe import Markup

from latens.report.content import Section
from latens.report.measures.words import yes_no_words
from latens.report.subject import Entry

__all__ = ["calculator"]

MOST_BYTES = 1_000_000
MOST_OPEN = 40  # inputs of a form that is shown before anybody asks
MOST_INPUTS = 200  # a form with more of them is not filled in by hand
EMPTY_PLACE = Markup('<div class="calculator-place"></div><p class="needs-script">This part needs JavaScript.</p>')


def calculator(entry: Entry) -> Section | None:
    """A form for one row; its answer is that of `transform`, or of `predict` for a regression."""
    ask = getattr(entry.model, "calculator", None)
    if (
        ask is None
        or not hasattr(entry.model, "posterior_")
        or (entry.family != "regression" and not entry.n_components)
    ):
        return None
    title = "Calculator"
    formulas = ask()
    if formulas is None:
        return None
    if len(formulas["columns"]) > MOST_INPUTS:
        return Section(
            title, f"Left out: {len(formulas['columns']):,} columns are too many to type.", anchor="calculator"
        )
    words = yes_no_words(entry, len(formulas["columns"]))
    data = {"names": entry.labels, "example": _example(entry), "words": words, **_compact(formulas)}
    size = len(json.dumps(data))
    if size > MOST_BYTES:
        return Section(title, f"Left out: its numbers would take {size / 1e6:.1f} MB of the page.", anchor="calculator")
    text = "Type a row, leave unknown entries empty: the answer is that of model."
    text += "predict(row)." if entry.family == "regression" else "transform(row)."
    many = len(formulas["columns"]) > MOST_OPEN
    return Section(title, text, body=EMPTY_PLACE, anchor="calculator", folded=many, data=data)


def _example(entry: Entry) -> list[float | None] | None:
    """The first row that the page looks at, to start with."""
    if entry.sample is None or not len(entry.sample):
        return None
    return [None if not np.isfinite(value) else float(f"{value:.6g}") for value in entry.sample.values[0]]


def _compact(value: Any) -> Any:
    """Lists of numbers as base64 of little-endian doubles: exact, and half as long."""
    if isinstance(value, dict):
        return {name: _compact(part) for name, part in value.items()}
    if isinstance(value, list) and value and all(isinstance(part, float) for part in value):
        return {"f8": b64encode(np.array(value, dtype="<f8").tobytes()).decode("ascii")}
    return [_compact(part) for part in value] if isinstance(value, list) else value
