"""Draws the graphical models of the pages under docs/models; run it after a description has changed."""

from pathlib import Path

from latens.report import Figure
from latens.report.charts.graphs import graph_chart
from latens.report.charts.svg_export import draw
from latens.report.graphical_models import GRAPHS

folder = Path(__file__).parent / "graphs"
folder.mkdir(exist_ok=True)
for name, model in GRAPHS.items():
    (folder / f"{name}.svg").write_text(draw(Figure(graph_chart(model), name=name)), encoding="utf-8")
