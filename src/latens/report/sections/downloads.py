"""Tables to take along from a page: scores of the rows and the rows with their holes filled, as CSV inside links."""

from __future__ import annotations

import csv
import io
import warnings
from base64 import b64encode
from collections.abc import Iterable, Sequence
from shlex import join, quote, split
from typing import Any

import numpy as np
from markupsafe import Markup

from latens.diagnose.hidden_entries import filled_rows
from latens.report.subject import Entry

__all__ = ["downloads"]

MOST_LETTERS = 200_000  # of a table inside the page
LINK = Markup('<a download="{}" href="data:text/csv;charset=utf-8;base64,{}">{}</a>')
LINKS = Markup('<p class="downloads">{}</p>')


def downloads(entry: Entry) -> list[Markup]:
    """A paragraph of links, or what to type where a table is too long for the page; nothing without rows."""
    sample = entry.sample
    if sample is None or entry.family == "regression":
        return []
    index = [sample.label(i).removeprefix("row ") for i in range(len(sample))]
    tables = [("scores.csv", "scores as CSV", "transform", _scores(entry))]
    if not np.isfinite(sample.values).all():
        tables.append(("filled.csv", "filled table as CSV", "impute", _filled(entry)))
    items = []
    for file, words, act, table in tables:
        if table is None:
            continue
        text = _as_csv(("row", *table[0]), index, table[1]) if sample.whole else ""
        if text and len(text) <= MOST_LETTERS:
            items.append(
                LINK.format(file, b64encode(text.encode("utf-8", errors="backslashreplace")).decode("ascii"), words)
            )
        else:
            items.append(Markup("<span>{}: {}</span> ").format(words, _typed(entry, act, file)))
    return [LINKS.format(Markup().join(items))] if items else []


def _typed(entry: Entry, act: str, file: str) -> str:
    words = split(entry.rows_options) or [entry.source]
    if "--weights" in words:  # of the fit alone
        at = words.index("--weights")
        words = words[:at] + words[at + 2 :]
    rows = join(word for word in words if word != "--data")  # these commands take one file as it is
    if entry.model_file and entry.source:
        return f"latens {act} {quote(entry.model_file)} {rows} --out {file}"
    return entry.call(f"model.{act}(X)", of_fit=False)


def _scores(entry: Entry) -> tuple[Sequence[str], Iterable[Sequence[Any]]] | None:
    """Names of the components and the codes of each row."""
    codes = None if entry.sample is None else entry.sample.codes
    return None if codes is None or not codes.shape[1] else (entry.labels, codes)


def _filled(entry: Entry) -> tuple[Sequence[str], Iterable[Sequence[Any]]] | None:
    """Columns and rows with what the model expects in their holes."""
    sample, model = entry.sample, entry.model
    assert sample is not None
    if not hasattr(model, "impute"):
        return None
    if entry.family == "classes" and model.columns_.table is not None:  # levels as text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = model.impute(sample.X, **sample.given)
        return [str(name) for name in frame.columns], frame.itertuples(index=False)
    answer = filled_rows(model, np.asarray(sample.values, dtype=np.float64), sample.given)
    return None if answer is None else (entry.column_names(sample.values.shape[1]), answer[0])


def _as_csv(heads: Sequence[str], index: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    for name, row in zip(index, rows, strict=True):
        writer.writerow([name, *(f"{value:.6g}" if isinstance(value, float | np.floating) else value for value in row)])
        if text.tell() > MOST_LETTERS:
            break
    return text.getvalue()
