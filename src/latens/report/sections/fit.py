"""Sections about the course of a fit: the bound, or what stands for it, by iteration, and its terms at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from latens.report.charts.numbers import number
from latens.report.charts.svg import Line, line_chart
from latens.report.content import Figure, Section, Table
from latens.report.sections.curve import Curve, curve_of
from latens.report.subject import Entry
from latens.system.memory import in_words, peak_memory

__all__ = ["details"]

FEWEST_ITERATIONS = 5  # iterations; below it nothing is cut off
ROUNDING = 1e-12  # of a bound: what changes by less does not change


def details(entry: Entry) -> Section | None:
    """How the fit went, folded: few readers need it."""
    parts = tuple(part for part in (bound(entry), terms(entry)) if part is not None)
    if not parts:
        return None
    model = entry.model
    facts = [("iterations", number(int(model.n_iter_))), ("seconds", number(entry.duration))]
    seed = getattr(model, "random_state", None)
    facts += [("seed", str(seed))] if isinstance(seed, int) else []
    facts += [("restarts", number(len({step.restart for step in model.trace_})))] if len(model.trace_) else []
    peak = peak_memory()
    facts += [("peak memory", in_words(peak))] if peak else []
    facts += [("SHA-256 of the data", entry.data_hash)] if entry.data_hash else []
    return Section("Details of the fit", facts=tuple(facts), parts=parts, anchor="details", folded=True)


def bound(entry: Entry) -> Section | None:
    """The bound by iteration, its gain where a fit maximises it, and the number of components where that changed."""
    history = np.asarray(getattr(entry.model, "elbo_history_", ()), dtype=np.float64)  # (n_iter,)
    if len(history) == 0:
        return None
    steps, curve = np.arange(1, len(history) + 1), curve_of(entry.model)
    if np.ptp(history) <= ROUNDING * np.max(np.abs(history)):
        return Section(_title(curve), f"{curve.meaning} The first iteration already gave it.")
    figures = [_trace(history, steps, _other_restarts(entry.model.trace_), curve)]
    gains = np.diff(history)
    if curve.is_maximised and np.any(gains > 0):
        chart = line_chart([Line(steps[1:], gains)], x_label="iteration", y_label="gain (nats, log scale)", log_y=True)
        figures.append(Figure(chart, f"What each iteration added to the {curve.name}."))
    alive = np.array([step.n_components for step in _last_restart(entry.model.trace_)], dtype=np.float64)
    if len(np.unique(alive)) > 1:
        line = Line(np.arange(1, len(alive) + 1), alive)
        chart = line_chart([line], x_label="iteration", y_label="components", whole_y=True)
        figures.append(Figure(chart, "Components in use after each iteration."))
    return Section(_title(curve), figures=tuple(figures))


def terms(entry: Entry) -> Section | None:
    """The named terms of the bound at the last iteration, where it has several."""
    trace, curve = entry.model.trace_, curve_of(entry.model)
    if len(trace) == 0 or not curve.is_maximised:
        return None
    last = trace[-1]
    rows = [(name.replace("_", " "), number(float(value))) for name, value in last.terms.items()]
    rows.append(("sum", number(float(last.elbo))))
    return Section(
        f"Terms of the {curve.name}", "In nats, at the last iteration.", table=Table(("term", "nats"), tuple(rows))
    )


def _title(curve: Curve) -> str:
    return curve.name[0].upper() + curve.name[1:]


def _trace(history: np.ndarray, steps: np.ndarray, others: list[Line], curve: Curve) -> Figure:
    """The axis begins where the steep first tenth has ended: otherwise it would flatten all that follows."""
    skipped = math.ceil(len(history) / 10) if len(history) >= FEWEST_ITERATIONS else 0
    late = history[skipped:]
    low = float(late.min())
    caption = curve.meaning
    if float(history.min()) < low:
        caption += f" It began at {number(float(history[0]))}, below the axis."
    if others:
        caption += " The faint lines are other restarts."
    chart = line_chart(
        [*others, Line(steps, history)],
        x_label="iteration",
        y_label=f"{curve.name} (nats)",
        y_range=(low, float(late.max())),
    )
    return Figure(chart, caption)


def _last_restart(trace: Sequence[Any]) -> list[Any]:
    """The iterations of the run that was kept, which is the one the trace ends with."""
    return [step for step in trace if step.restart == trace[-1].restart]


def _other_restarts(trace: Sequence[Any]) -> list[Line]:
    lines = []
    for restart in sorted({step.restart for step in trace} - {step.restart for step in trace[-1:]}):
        values = np.array([step.elbo for step in trace if step.restart == restart], dtype=np.float64)
        lines.append(Line(np.arange(1, len(values) + 1), values, faint=True))
    return lines
