"""A logarithmic axis is labelled by the numbers themselves."""

from __future__ import annotations

import re

import numpy as np

from latens.report.charts.svg import Line, line_chart


def labels(chart: str) -> list[str]:
    return re.findall(r'class="tick"[^>]*text-anchor="middle">([^<]+)<', chart)


def test_a_logarithmic_x_axis_shows_numbers_at_even_distances() -> None:
    x = np.array([10.0, 100.0, 1000.0, 10000.0])
    chart = line_chart([Line(x, np.arange(4.0))], x_label="rows", y_label="y", log_x=True)
    assert labels(chart) == ["10¹", "10²", "10³", "10⁴"]
    points = re.search(r'points="([^"]+)"', chart)
    assert points
    places = [float(point.split(",")[0]) for point in points[1].split()]
    np.testing.assert_allclose(np.diff(places), np.diff(places)[0], atol=0.2)


def test_less_than_two_decades_are_written_out() -> None:
    chart = line_chart([Line(np.array([20.0, 400.0]), np.arange(2.0))], x_label="rows", y_label="y", log_x=True)
    assert labels(chart) == ["20", "50", "100", "200"]


def test_one_place_on_a_logarithmic_axis_is_its_number() -> None:
    chart = line_chart([Line(np.array([100.0]), np.ones(1))], x_label="rows", y_label="y", log_x=True)
    assert labels(chart) == ["100"]
