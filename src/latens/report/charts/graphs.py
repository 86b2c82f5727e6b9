"""Graphical models as pictures: circles for variables, arrows for dependence, frames for repetition.

A description names nodes by their place on a grid, the arrows between them, and which nodes a frame holds; the same
description serves pages and documentation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from markupsafe import Markup

from latens.report.charts.svg import LETTER, PICTURE, TEXT

__all__ = ["GraphicalModel", "Node", "Plate", "graph_chart"]

Kind = Literal["observed", "row", "shared", "given"]

STEP_X, STEP_Y, MARGIN = 74.0, 78.0, 50.0
RADIUS, DOT, HEAD = 19.0, 4.0, 7.0
CIRCLE = Markup('<circle class="node {}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>')
SHAFT = Markup('<line class="arrow" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
TIP = Markup('<polygon class="head" points="{}"/>')
FRAME = Markup('<rect class="plate" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="6"/>')


@dataclass(frozen=True)
class Node:
    """A variable: observed (filled), unknown of each row, unknown shared by rows, or a number that is given (a dot)."""

    name: str  # shown in the circle, and how arrows and frames refer to it
    at: tuple[float, float]  # column and row of the grid, from the top left
    kind: Kind


@dataclass(frozen=True)
class Plate:
    """A frame around nodes that are repeated."""

    label: str
    nodes: tuple[str, ...]
    above: bool = False  # whether its label stands at the top, where another frame has one at the bottom


@dataclass(frozen=True)
class GraphicalModel:
    """Nodes, arrows (from, to) and frames."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[tuple[str, str], ...]
    plates: tuple[Plate, ...]

    def __post_init__(self) -> None:
        known = {node.name for node in self.nodes}
        used = {name for arrow in self.arrows for name in arrow} | {name for one in self.plates for name in one.nodes}
        if used - known:
            missing = ", ".join(sorted(used - known))
            raise ValueError(f"{self.title} has no node {missing}; its nodes are {sorted(known)}.")


def graph_chart(model: GraphicalModel) -> Markup:
    """The picture of a description.

    Examples
    --------
    >>> noise = Node("x", (0, 0), "observed")
    >>> graph_chart(GraphicalModel("noise", (noise,), (), (Plate("rows n", ("x",)),))).count("<circle")
    1
    """
    place = {node.name: _place(node) for node in model.nodes}
    parts = [_frame(plate, place, i) for i, plate in enumerate(model.plates)]
    radius = {node.name: DOT if node.kind == "given" else RADIUS for node in model.nodes}
    parts += [_arrow(place[a], place[b], radius[a], radius[b]) for a, b in model.arrows]
    for node in model.nodes:
        x, y = place[node.name]
        parts.append(CIRCLE.format(node.kind, x, y, radius[node.name]))
        below = y + 5 if node.kind != "given" else y - 9
        parts.append(TEXT.format("value", x, below, "middle", node.name))
    width = max(x for x, _ in place.values()) + MARGIN + 30
    height = max(y for _, y in place.values()) + MARGIN + 22
    return PICTURE.format(max(width, 260.0), height, f"graphical model of {model.title}", Markup().join(parts))


def _place(node: Node) -> tuple[float, float]:
    return MARGIN + 14 + node.at[0] * STEP_X, MARGIN + node.at[1] * STEP_Y


def _frame(plate: Plate, place: dict[str, tuple[float, float]], depth: int) -> Markup:
    """Around its nodes; frames that overlap differ in size, so that their edges do not lie on each other."""
    points = np.array([place[name] for name in plate.nodes])
    pad = RADIUS + 9 + 5 * (depth % 3)
    low, high = points.min(axis=0) - pad, points.max(axis=0) + pad
    if plate.above:  # room for the label
        low[1] -= 12
    else:
        high[1] += 12
    left = max(low[0], 2.0)
    text = TEXT.format("tick", high[0] - 6, low[1] + 14 if plate.above else high[1] - 5, "end", plate.label)
    wide = max(high[0] - left, LETTER * len(plate.label) + 10)
    return FRAME.format(left, low[1], wide, high[1] - low[1]) + text


def _arrow(start: tuple[float, float], end: tuple[float, float], before: float, after: float) -> Markup:
    a, b = np.array(start), np.array(end)
    unit = (b - a) / np.linalg.norm(b - a)
    tip, tail = b - (after + 1.5) * unit, a + before * unit
    side = np.array([-unit[1], unit[0]]) * 0.45 * HEAD
    back = tip - HEAD * unit
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (tip, back + side, back - side))
    return SHAFT.format(*tail, *back) + TIP.format(corners)
