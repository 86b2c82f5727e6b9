"""Pictures of a fitted model, drawn with matplotlib: each takes the model and an optional Axes and returns the Axes.

matplotlib is imported when the first picture is drawn (`pip install 'latens[plot]'`).
"""

from __future__ import annotations

from latens.plots.choices import ranking, return_rates, sweep
from latens.plots.of_components.bars import usage
from latens.plots.of_components.explained import variance_explained
from latens.plots.of_components.pictures import components
from latens.plots.of_components.ranges import intervals
from latens.plots.of_components.strongest import loadings, top_features
from latens.plots.of_rows.calibrated import calibration
from latens.plots.of_rows.data import data_heatmap, data_overview
from latens.plots.of_rows.groups import clusters
from latens.plots.of_rows.rows import scores, sources
from latens.plots.traces import bound

__all__ = [
    "bound",
    "calibration",
    "clusters",
    "components",
    "data_heatmap",
    "data_overview",
    "intervals",
    "loadings",
    "ranking",
    "return_rates",
    "scores",
    "sources",
    "sweep",
    "top_features",
    "usage",
    "variance_explained",
]
