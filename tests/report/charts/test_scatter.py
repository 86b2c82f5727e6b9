"""Points in the plane."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from latens.report.charts.scatter import Points, scatter_chart


def test_every_point_lies_inside_and_every_centre_has_a_cross() -> None:
    rng = np.random.default_rng(0)
    groups = [Points(rng.normal(size=(30, 2)) * 100 + 5000 * k, k, np.full(2, 5000.0 * k), 200.0) for k in range(3)]
    chart = ElementTree.fromstring(scatter_chart(groups, x_label="a<b", y_label="y"))
    _, _, width, height = map(float, chart.attrib["viewBox"].split())
    dots = [one for one in chart.iter("circle") if one.attrib["class"] == "dot"]
    assert len(dots) == 90
    for dot in dots:
        assert 0 <= float(dot.attrib["cx"]) <= width
        assert 0 <= float(dot.attrib["cy"]) <= height
    assert len(list(chart.iter("path"))) == 3
    assert len([one for one in chart.iter("circle") if one.attrib["class"] == "axis"]) == 3
    assert {group.attrib["class"] for group in chart.iter("g")} == {"tone0", "tone1", "tone2"}


def test_both_axes_have_one_scale_so_that_rings_are_round() -> None:
    corners = np.array([[0.0, 0.0], [40.0, 0.0], [0.0, 10.0]])
    chart = ElementTree.fromstring(scatter_chart([Points(corners, 0, corners[0], 5.0)], x_label="a", y_label="b"))
    *dots, ring = chart.iter("circle")
    (x0, y0), (x1, _), (_, y2) = ((float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in dots)
    assert (x1 - x0) / 40 == pytest.approx((y0 - y2) / 10, rel=0.01)
    assert float(ring.attrib["r"]) == pytest.approx(5 * (x1 - x0) / 40, rel=0.01)


def test_points_that_do_not_vary_and_very_many_are_drawn_too() -> None:
    assert scatter_chart([Points(np.ones((4, 2)))], x_label="a", y_label="b").count("<circle") == 4
    many = Points(np.random.default_rng(1).normal(size=(50_000, 2)))
    assert scatter_chart([many], x_label="a", y_label="b").count("<circle") <= 2000
