"""The page about several fits beside each other: a verdict, a picture, a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from latens.diagnose.halves import Stability
from latens.diagnose.numbers import Sweep
from latens.diagnose.result import Ranked, Result
from latens.report.charts.intervals import interval_chart
from latens.report.charts.svg import WIDTH_OF_PAGE, Line, bar_chart, line_chart
from latens.report.content import Figure, Section, Table
from latens.report.page import write_page

__all__ = ["write_result"]


def write_result(result: Result, path: str | os.PathLike[str], title: str | None = None) -> Path:
    """Write what `compare`, `sweep`, `suggest` or `stability` found."""
    heading = title or result.title
    rows = tuple(tuple(_cell(value) for value in row) for row in result.table.rows)
    section = Section(heading, result.verdict, figures=_figures(result), table=Table(result.table.columns, rows))
    return write_page([section], path, heading)


def _figures(result: Result) -> tuple[Figure, ...]:
    if isinstance(result, Sweep):
        line = Line(np.array(list(result.models), dtype=float), np.array(result.heights))
        chart = line_chart([line], x_label="components", y_label=result.label)
        return (Figure(chart, f"The {result.label.partition(' (')[0]} for each number of components."),)
    if isinstance(result, Stability):
        bars = bar_chart(list(result.names), result.return_rate, label="return rate above chance", reach=1.0)
        return (Figure(bars, "How often each component returned in both of two halves of the rows."),)
    ranked: Ranked | None = getattr(result, "ranked", None)
    if ranked is None or not ranked.names:
        return ()
    label = f"{ranked.label}, nats behind the first"
    chart = interval_chart(
        list(ranked.names), np.array(ranked.differences), np.array(ranked.errors), label=label, width=WIDTH_OF_PAGE
    )
    errors = "" if np.isnan(ranked.errors).all() else " Thick lines are one, thin lines two paired standard errors."
    return (Figure(chart, f"How far each is behind the first.{errors}", wide=True),)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.3g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
