"""Points in the plane."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

from latens.report.charts.scatter import Points, scatter_chart


def test_every_point_lies_inside_and_every_centre_has_a_cross() -> None:
    rng = np.random.default_rng(0)
    groups = [Points(rng.normal(size=(30, 2)) * 100 + 5000 * k, k, np.full(2, 5000.0 * k), 200.0) for k in range(3)]
    chart = ElementTree.fromstring(scatter_chart(groups, x_label="a<b", y_label="y"))
    _, _, width, height = map(float, chart.attrib["viewBox"].split())
    dots = list(chart.iter("circle"))
    assert len(dots) == 90
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= width
        assert 0 <= float(dot.attrib["cy"]) <= height
    assert len(list(chart.iter("path"))) == 3
    assert len(list(chart.iter("ellipse"))) == 3
    assert {group.attrib["class"] for group in chart.iter("g")} == {"tone0", "tone1", "tone2"}


def test_points_that_do_not_vary_and_very_many_are_drawn_too() -> None:
    assert scatter_chart([Points(np.ones((4, 2)))], x_label="a", y_label="b").count("<circle") == 4
    many = Points(np.random.default_rng(1).normal(size=(50_000, 2)))
    assert scatter_chart([many], x_label="a", y_label="b").count("<circle") <= 2000
