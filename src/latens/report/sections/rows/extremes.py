"""Section with rows a reader would look up: the most typical of each component, and the least probable."""

from __future__ import annotations

import warnings

import numpy as np
from markupsafe import Markup

from latens.diagnose.hidden_entries import filled_rows, of_text
from latens.estimators.mixtures.class_rows import class_rows
from latens.report.charts.heat_table import component_name, signed
from latens.report.charts.numbers import number
from latens.report.content import Section, Table
from latens.report.measures.words import before_one, yes_no_words
from latens.report.subject import Entry

__all__ = ["typical_and_odd"]

UNBROKEN_TEXT = Markup('<span class="whole">{}</span>')  # not broken where it fits a line
TYPICAL, MOST_ODD_ROWS, WHY = 5, 10, 3
LEAST_PROBABILITY_OF_TYPICAL = 0.9  # probability of members that are called typical, unless most are less sure
LEAST_PROBABILITY_OF_LEVEL = 0.5  # probability of a level that makes no row odd
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
            members = members[
                z[members] >= min(LEAST_PROBABILITY_OF_TYPICAL, float(z[members].mean()) if len(members) else 0.0)
            ]
            ends = [members[np.argsort(-density[members], kind="stable")[:TYPICAL]]]
        elif entry.family in ("factors", "views", "sources"):
            ends.append(np.argsort(z, kind="stable")[:TYPICAL])
        parts = [
            Markup(", ").join(UNBROKEN_TEXT.format(f"{sample.label(int(i))} ({_score(z[i], grouped)})") for i in at)
            for at in ends
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
    if sample is None or density is None or len(density) < 2 * MOST_ODD_ROWS:
        return None
    worst = np.argsort(density, kind="stable")[:MOST_ODD_ROWS]
    usual = float(np.median(density))
    names = entry.column_names(sample.values.shape[1])
    gaps, levels = _surprises(entry, worst, names)
    rows = []
    for place, i in enumerate(worst):
        why: list[str] = []
        if gaps is not None:
            far = np.abs(gaps[place])
            for d, (_, chance) in levels[place].items():  # the sd of a number that is as improbable
                far[d] = np.sqrt(-2 * np.log(max(chance, 1e-300))) if chance < LEAST_PROBABILITY_OF_LEVEL else 0.0
            order = np.argsort(-far, kind="stable")[:WHY]
            why = [
                f"{levels[place][d][0]} ({_percent(levels[place][d][1])})"
                if d in levels[place]
                else f"{names[d]} {signed(float(gaps[place, d]))}"
                for d in order
                if far[d] > 0
            ]
        rows.append((UNBROKEN_TEXT.format(sample.label(int(i))), number(float(density[i] - usual)), ", ".join(why)))
    if gaps is None:
        table = Table(("row", "nats"), tuple(row[:2] for row in rows))
        return Section("Least probable", "Log density beside that of the median row.", table=table)
    text = (
        "Log density beside that of the median row, and the columns farthest from what the rest of the row lets the "
        "model expect, in sd"
    )
    text += "; of levels and yes/no, how probable they are there." if any(levels) else "."
    return Section("Least probable", text, table=Table(("row", "nats", "because of"), tuple(rows), prose=True))


Chances = list[dict[int, tuple[str, float]]]  # of each row, by column: the level it shows, and how probable that is


def _surprises(entry: Entry, rows: np.ndarray, names: list[str]) -> tuple[np.ndarray | None, Chances]:
    """How far the entries of these rows are from what a model expects of them.

    Numbers (n, D) in sd, from what the other entries let expect; of many columns, from what all let expect. Levels
    and yes/no by how probable they are.
    """
    sample = entry.sample
    assert sample is not None
    values, spread = sample.values[rows], np.where(sample.spread > 0, sample.spread, np.inf)
    d, width = values.shape[1], spread
    expected = None
    if 1 < d <= MOST_COLUMNS_ALONE and hasattr(entry.model, "impute") and not of_text(entry.model):
        asked = np.repeat(values, d, axis=0)
        asked[np.arange(len(asked)), np.tile(np.arange(d), len(values))] = np.nan
        answers = filled_rows(entry.model, asked)
        if answers is not None:
            expected, std = (np.diagonal(part.reshape(len(values), d, d), axis1=1, axis2=2) for part in answers)
            width = np.where(std > 0, std, spread)
    if expected is None:
        expected = _expected(entry, rows)
    if expected is None:
        return None, [{} for _ in rows]
    gaps = np.asarray(np.nan_to_num((values - expected) / width))
    if entry.family == "classes":
        return gaps, _chances_in_classes(entry, rows)
    return gaps, _chances_of_yes(entry, values, expected, names)


def _chances_in_classes(entry: Entry, rows: np.ndarray) -> Chances:
    """Of columns of levels and of yes/no, in the classes that a row belongs to."""
    sample, found = entry.sample, Chances({} for _ in rows)
    assert sample is not None
    columns = entry.model.columns_
    lines: dict[str, list[np.ndarray]] = {}
    for line in class_rows(entry.model):
        lines.setdefault(line.column, []).append(line.value)
    for d, (name, kind, values) in enumerate(zip(columns.names, columns.kinds, columns.levels, strict=True)):
        chances = sample.codes[rows] @ np.stack(lines[name], axis=1)  # (n, levels), or of yes alone
        if kind == "bernoulli":
            chances, values = np.hstack([1 - chances, chances]), (0.0, 1.0)
        if not values or chances.shape[1] != len(values):
            continue
        for place, value in enumerate(sample.values[rows, d]):
            if value in values:
                at = values.index(value)
                found[place][d] = (f"{name} = {columns.level_name(d, at)}", float(chances[place, at]))
    return found


def _chances_of_yes(entry: Entry, values: np.ndarray, expected: np.ndarray, names: list[str]) -> Chances:
    """Of columns of yes/no, where the model expects a 1 with a probability."""
    layout, d = getattr(entry.model, "layout_", None), values.shape[1]
    yes_no = np.full(d, entry.binary)
    if layout is not None:
        kinds = [str(entry.model.likelihoods_[view]) for view in layout.views]
        yes_no = np.repeat([kind == "bernoulli" for kind in kinds], [len(own) for own in layout.features])
    words, found = yes_no_words(entry, d), Chances({} for _ in values)
    for place, j in zip(*np.nonzero(yes_no & np.isin(values, (0.0, 1.0))), strict=True):
        is_yes, chance = bool(values[place, j]), float(np.clip(expected[place, j], 0.0, 1.0))
        known = words[j]
        if known is None and " = " in names[j]:  # one of the levels of a category
            level = names[j] if is_yes else names[j].replace(" = ", " ≠ ", 1)
        else:
            level = f"{before_one(names[j], known)} = {(known or ('0', '1'))[is_yes]}"
        found[place][j] = (level, chance if is_yes else 1 - chance)
    return found


def _percent(chance: float) -> str:
    return "< 0.01 %" if chance < 1e-4 else f"{100 * chance:.2g} %"


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
