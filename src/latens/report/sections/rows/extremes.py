"""Section with rows a reader would look up: the most typical of each component, and the least probable."""

from __future__ import annotations

import warnings

import numpy as np

from latens.diagnose.hidden_entries import filled_rows, of_text
from latens.report.charts.heat_table import component_name, signed
from latens.report.charts.numbers import number
from latens.report.content import Section, Table
from latens.report.subject import Entry

__all__ = ["typical_and_odd"]

TYPICAL, ODD, WHY = 5, 10, 3
SURE = 0.9  # probability of members that are called typical, unless most are less sure
MOST_COMPONENTS = 24
MOST_COLUMNS_JOINT = 300  # columns whose covariances are inverted to score rows
MOST_COLUMNS_ALONE = 40  # columns that are hidden one by one


def typical_and_odd(entry: Entry) -> Section | None:
    """Five typical rows of each component by name, and the ten least probable rows with what makes them so."""
    sample = entry.sample
    if sample is None or entry.n_components == 0 or not hasattr(entry.model, "score_samples"):
        return None
    density = _density(entry)
    odd = _odd(entry, density)
    parts = () if odd is None else (odd,)
    return Section("Typical and odd rows", table=_typical(entry, density), parts=parts, anchor="extremes")


def _typical(entry: Entry, density: np.ndarray | None) -> Table:
    sample = entry.sample
    assert sample is not None
    codes, grouped = sample.codes, entry.grouped
    rows = []
    for k, name in enumerate(entry.labels[: min(codes.shape[1], MOST_COMPONENTS)]):
        z = codes[:, k]
        ends = [np.argsort(-z, kind="stable")[:TYPICAL]]
        if grouped and density is not None:  # of sure members, those where rows are densest
            members = np.flatnonzero(np.argmax(codes, axis=1) == k)
            members = members[z[members] >= min(SURE, float(z[members].mean()) if len(members) else 0.0)]
            ends = [members[np.argsort(-density[members], kind="stable")[:TYPICAL]]]
        elif entry.family in ("factors", "views", "sources"):
            ends.append(np.argsort(z, kind="stable")[:TYPICAL])
        parts = [
            ", ".join(f"{sample.label(int(i))}\N{NO-BREAK SPACE}({_score(z[i], grouped)})" for i in at) for at in ends
        ]
        rows.append((component_name(k, name), *parts))
    both = len(rows[0]) > 2 if rows else False
    heads = ("component", "highest", "lowest") if both else ("component", "most typical rows")
    return Table(heads, tuple(rows), prose=True, even=True)


def _score(value: float, grouped: bool) -> str:
    return f"{value:.2f}" if grouped else signed(float(value))


def _density(entry: Entry) -> np.ndarray | None:
    """(n,), log density of the rows looked at; None where it would take too long."""
    sample = entry.sample
    assert sample is not None
    joint = getattr(entry.model, "covariance_type", "") in ("full", "tied")
    if joint and sample.values.shape[1] > MOST_COLUMNS_JOINT:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(entry.model.score_samples(sample.X, **sample.given), dtype=np.float64)


def _odd(entry: Entry, density: np.ndarray | None) -> Section | None:
    """Rows of the smallest log density, and the columns farthest from what the model expects there."""
    sample = entry.sample
    if sample is None or density is None or len(density) < 2 * ODD:
        return None
    worst = np.argsort(density, kind="stable")[:ODD]
    usual = float(np.median(density))
    names = entry.column_names(sample.values.shape[1])
    gaps = _surprises(entry, worst)
    rows = []
    for place, i in enumerate(worst):
        why: list[str] = []
        if gaps is not None:
            order = np.argsort(-np.abs(gaps[place]), kind="stable")[:WHY]
            why = [f"{names[d]} {signed(float(gaps[place, d]))}" for d in order]
        rows.append((sample.label(int(i)), number(float(density[i] - usual)), ", ".join(why)))
    if gaps is None:
        table = Table(("row", "nats"), tuple(row[:2] for row in rows))
        return Section("Least probable", "Log density beside that of the median row.", table=table)
    text = (
        "Log density beside that of the median row, and the columns farthest from what the rest of the row lets the "
        "model expect, in sd."
    )
    return Section("Least probable", text, table=Table(("row", "nats", "because of"), tuple(rows), prose=True))


def _surprises(entry: Entry, rows: np.ndarray) -> np.ndarray | None:
    """(n, D), how far each entry is from what the others let expect; of many columns, from what all let expect."""
    sample = entry.sample
    assert sample is not None
    values, spread = sample.values[rows], np.where(sample.spread > 0, sample.spread, np.inf)
    d = values.shape[1]
    if 1 < d <= MOST_COLUMNS_ALONE and hasattr(entry.model, "impute") and not of_text(entry.model):
        asked = np.repeat(values, d, axis=0)
        asked[np.arange(len(asked)), np.tile(np.arange(d), len(values))] = np.nan
        answers = filled_rows(entry.model, asked)
        if answers is not None:
            mean, std = (np.diagonal(part.reshape(len(values), d, d), axis1=1, axis2=2) for part in answers)
            width = np.where(std > 0, std, spread)
            return np.asarray(np.nan_to_num((values - mean) / width))
    expected = _expected(entry, rows)
    return None if expected is None else np.nan_to_num((values - expected) / spread)


def _expected(entry: Entry, rows: np.ndarray) -> np.ndarray | None:
    """(n, D), what the model expects in these rows; None where that is no table of numbers."""
    model, sample = entry.model, entry.sample
    assert sample is not None
    if not hasattr(model, "inverse_transform"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = model.inverse_transform(np.asarray(sample.codes[rows]))
    wide = np.concatenate(list(expected.values()), axis=1) if isinstance(expected, dict) else np.asarray(expected)
    return np.asarray(wide, dtype=np.float64) if wide.shape[1] == sample.values.shape[1] else None
