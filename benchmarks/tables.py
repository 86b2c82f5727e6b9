"""Aligned tables with a goal beside each figure, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["Count", "Goal", "Row", "Table", "Value", "at_least", "at_most", "save"]


@dataclass(frozen=True)
class Count:
    """How often something succeeded."""

    hits: int
    total: int

    def __float__(self) -> float:
        return self.hits / max(self.total, 1)

    def __str__(self) -> str:
        return f"{self.hits}/{self.total}"


Value = str | int | float | Count | None


@dataclass(frozen=True)
class Goal:
    sign: Literal["<=", ">="]
    bound: float

    def is_met(self, value: Value) -> bool:
        assert isinstance(value, int | float | Count), value
        return float(value) <= self.bound if self.sign == "<=" else float(value) >= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


def at_least(bound: float) -> Goal:
    return Goal(">=", bound)


def at_most(bound: float) -> Goal:
    return Goal("<=", bound)


@dataclass(frozen=True)
class Row:
    cells: Mapping[str, Value]
    goals: Mapping[str, Goal] = field(default_factory=dict)  # by column

    @property
    def goal(self) -> str:
        return ", ".join(f"{column} {goal}" for column, goal in self.goals.items())

    @property
    def verdict(self) -> str:
        if not self.goals:
            return ""
        short = [column for column, goal in self.goals.items() if not goal.is_met(self.cells[column])]
        return f"NOT met: {', '.join(short)}" if short else "met"


@dataclass(frozen=True)
class Table:
    title: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """In the order in which rows bring them up."""
        return list(dict.fromkeys(column for row in self.rows for column in row.cells))

    def __str__(self) -> str:
        judged = any(row.goals for row in self.rows)
        heads = [*self.columns, *(["goal", "verdict"] if judged else [])]
        body = [
            [*(_text(row.cells.get(column)) for column in self.columns), *([row.goal, row.verdict] if judged else [])]
            for row in self.rows
        ]
        widths = [max(len(line[at]) for line in [heads, *body]) for at in range(len(heads))]
        numeric = [at for at, head in enumerate(heads) if any(_is_number(row.cells.get(head)) for row in self.rows)]
        lines = [_aligned(line, widths, numeric) for line in [heads, *body]]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([self.title, *lines[:1], rule, *lines[1:], *(f"  {note}" for note in self.notes)])

    def record(self) -> dict[str, Any]:
        rows = [
            {
                "cells": {name: str(value) if isinstance(value, Count) else value for name, value in row.cells.items()},
                "goals": {name: str(goal) for name, goal in row.goals.items()},
                "verdict": row.verdict,
            }
            for row in self.rows
        ]
        return {"title": self.title, "rows": rows, "notes": self.notes}


def save(path: Path, tables: list[Table], environment: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": environment, "tables": [table.record() for table in tables]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | Count)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else _whole(value)


def _whole(value: Value) -> str:
    return f"{value:.0f}" if isinstance(value, float) else str(value)


def _aligned(cells: list[str], widths: list[int], numeric: list[int]) -> str:
    pairs = enumerate(zip(cells, widths, strict=True))
    return "  ".join(cell.rjust(width) if at in numeric else cell.ljust(width) for at, (cell, width) in pairs).rstrip()
