"""Graphical models: every description is drawn whole, and the documentation shows what is described now."""

from __future__ import annotations

from pathlib import Path

import pytest

from latens.experiments import EXPERIMENTS
from latens.report import Figure
from latens.report.charts.graphs import GraphicalModel, Node, Plate, graph_chart
from latens.report.charts.svg_export import draw
from latens.report.graphical_models import GRAPHS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_arrow_and_frame_is_drawn(name: str) -> None:
    model, chart = GRAPHS[name], graph_chart(GRAPHS[name])
    assert chart.count("<circle") == len(model.nodes)
    assert chart.count("<polygon") == len(model.arrows)
    assert chart.count('class="plate"') == len(model.plates)
    assert all(f">{node.name}<" in chart for node in model.nodes)
    assert sum(node.kind == "observed" for node in model.nodes) == 1
    assert chart.count("node observed") == 1


@pytest.mark.parametrize("name", GRAPHS)
def test_the_documentation_shows_the_description_of_today(name: str) -> None:
    picture = (DOCS / "images" / "graphs" / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == draw(Figure(graph_chart(GRAPHS[name]), name=name)), "run docs/images/graphs.py"


def test_every_page_of_a_model_shows_its_graph() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "models").glob("*.md"))
    assert all(f"images/graphs/{name}.svg" in pages for name in GRAPHS)


def test_experiments_name_graphs_that_exist() -> None:
    assert {one.graph for one in EXPERIMENTS} - {""} <= set(GRAPHS)
    assert sum(bool(one.graph) for one in EXPERIMENTS) >= 12


def test_an_arrow_to_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"noise has no node y; its nodes are \['x'\]"):
        GraphicalModel("noise", (Node("x", (0, 0), "observed"),), (("x", "y"),), ())
    with pytest.raises(ValueError, match="has no node z"):
        GraphicalModel("noise", (Node("x", (0, 0), "observed"),), (), (Plate("rows", ("z",)),))
