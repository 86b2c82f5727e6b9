"""Pictures in files of their own, and the parts of charts that experiments need."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

from latens.report import Figure, Section, write_page
from latens.report.charts.images.pixels import Scale
from latens.report.charts.images.sheets import tile_sheet
from latens.report.charts.images.tiles import Tile
from latens.report.charts.svg import LETTER, WIDTH, Line, bar_chart, heat_map, line_chart
from latens.report.charts.svg_export import draw
from tests.report.reading import Page, decode

SVG = "{http://www.w3.org/2000/svg}"


def chart(lines: list[Line]) -> ElementTree.Element:
    return ElementTree.fromstring(draw(Figure(line_chart(lines, x_label="K", y_label="bound"))))


def curve(n: int, **style: object) -> Line:
    return Line(np.arange(n), np.arange(float(n)), **style)  # type: ignore[arg-type]


def test_a_drawing_stands_alone() -> None:
    text = draw(Figure(line_chart([curve(5, name="a < b & c")], x_label="K", y_label="bound")))
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert "var(" not in text
    assert "#2b6a99" in text  # the accent of a light page
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    box = [float(side) for side in root.attrib["viewBox"].split()]
    assert width / height == pytest.approx(box[2] / box[3], rel=0.01)
    assert "a < b & c" in "".join(root.itertext())


def test_html_is_no_drawing() -> None:
    with pytest.raises(ValueError, match="the figure 'grid' is no SVG chart; give it a drawing"):
        draw(Figure(Markup("<div></div>"), name="grid"))


def test_a_figure_with_a_drawing_uses_it() -> None:
    bars = bar_chart(["a"], np.ones(1), label="usage")
    assert draw(Figure(Markup("<div></div>"), drawing=bars)) == draw(Figure(bars))


def test_each_name_is_in_the_key_once_and_data_come_first() -> None:
    lines = [curve(3, name="limit", dashed=True), curve(3, name="runs", tone=1), curve(3, name="runs", tone=1)]
    texts = [element.text for element in chart([*lines, curve(3)]).iter(f"{SVG}text")]
    assert texts[:2] == ["runs", "limit"]
    assert texts.count("runs") == 1


def test_a_chart_without_names_has_no_key_and_its_usual_size() -> None:
    def height(lines: list[Line]) -> float:
        return float(chart(lines).attrib["viewBox"].split()[3])

    assert height([curve(3)]) < height([curve(3, name="a")])


def test_dots_mark_short_curves_only() -> None:
    def dots(lines: list[Line]) -> int:
        return len(list(chart(lines).iter(f"{SVG}circle")))

    assert dots([curve(5), curve(4, faint=True), curve(4, dashed=True)]) == 5
    assert dots([curve(5), curve(100)]) == 0
    assert dots([curve(5)] * 7) == 0


def test_tones_are_those_of_the_lines() -> None:
    groups = [element.get("class") for element in chart([curve(3, tone=2), curve(3, tone=7)]).iter(f"{SVG}g")]
    assert groups == ["tone2", "tone1"]  # tones repeat after the last


def test_whole_numbers_stand_beside_bars_without_decimals() -> None:
    assert ">3<" in bar_chart(["a"], np.array([3]), label="runs")


def test_a_sheet_shows_the_pixels_of_its_tiles() -> None:
    image = np.arange(6.0)
    scale = Scale.of(image)
    sheet = tile_sheet([Tile("one", (("true", image), ("learnt", None)))], (2, 3), scale)
    root = ElementTree.fromstring(draw(Figure(Markup(""), drawing=sheet)))
    picture = decode(next(root.iter(f"{SVG}image")).attrib["href"])
    times = picture.shape[0] // 2
    np.testing.assert_array_equal(picture[::times, ::times], scale.paint(image.reshape(2, 3)))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert texts == ["true", "learnt", "one", "0", "5.00"]
    assert [element.get("class") for element in root.iter(f"{SVG}rect")][1:] == ["edge", "absent", "edge"]


def test_notes_are_a_list_of_escaped_lines(tmp_path: Path) -> None:
    path = write_page([Section("In short", notes=("first", "<b>second</b>"))], tmp_path / "page.html", "Notes")
    page = Page(path)
    assert [tag for tag, _ in page.tags].count("li") == 2
    assert "<b>second</b>" in page.text
    assert page.open == []


def test_the_last_label_below_a_chart_is_whole() -> None:
    x = np.linspace(10.0, 1000.0, 5)
    (label,) = [part for part in chart([Line(x, x / 1000)]).iter(f"{SVG}text") if part.text == "1,000"]
    assert label.attrib["text-anchor"] == "middle"
    assert float(label.attrib["x"]) + LETTER * len("1,000") / 2 <= WIDTH


def height_of(root: ElementTree.Element, point: int) -> float:
    """Where the first curve's point stands on the page: curves are drawn within a frame that has its own origin."""
    (frame,) = root.findall(f"{SVG}svg")
    drawn = next(frame.iter(f"{SVG}polyline")).attrib["points"].split()[point]
    return float(frame.attrib["y"]) + float(drawn.partition(",")[2])


@pytest.mark.parametrize("log_y", [False, True], ids=["linear", "logarithmic"])
def test_labels_beside_a_chart_stand_at_the_heights_of_their_values(log_y: bool) -> None:
    values = {"10⁰": 1.0, "10¹": 10.0, "10²": 100.0} if log_y else {"0": 0.0, "2": 2.0, "4": 4.0}
    line = Line(np.arange(3), np.array(list(values.values())))
    root = ElementTree.fromstring(draw(Figure(line_chart([line], x_label="K", y_label="bound", log_y=log_y))))
    beside = [part for part in root.findall(f"{SVG}text") if part.get("text-anchor") == "end"]
    heights = {part.text: float(part.attrib["y"]) - 4 for part in beside}  # a label's foot is below its middle
    for point, name in enumerate(values):
        assert heights[name] == pytest.approx(height_of(root, point), abs=0.2)
    assert height_of(root, 0) > height_of(root, 2)  # down is where numbers are small


def test_names_beside_bars_and_rows_of_a_heat_map_come_in_their_order() -> None:
    bars = ElementTree.fromstring(draw(Figure(bar_chart(["a", "b"], np.array([1.0, 4.0]), label="usage"))))
    drawn = [part for part in bars.iter(f"{SVG}rect") if part.get("class") == "bar"]
    short, long = sorted(drawn, key=lambda part: float(part.attrib["width"]))
    heights = {part.text: float(part.attrib["y"]) for part in bars.iter(f"{SVG}text")}
    assert float(short.attrib["y"]) < heights["a"] < float(long.attrib["y"]) < heights["b"]
    cells = np.array([[0.0, 0.0], [1.0, 1.0]])
    scale = Scale.of(cells)
    (picture,) = ElementTree.fromstring(heat_map(cells, ["first", "second"], None, scale)).iter("svg")
    places = {part.text: float(part.attrib["y"]) for part in picture.iter("text")}
    assert places["first"] < places["second"]
    painted = decode(next(picture.iter("image")).attrib["href"])
    np.testing.assert_array_equal(painted, scale.paint(cells))


def test_names_beside_a_chart_are_text_and_never_markup() -> None:
    name = "<b>loud</b>"
    cells = np.array([[0.0, 1.0], [1.0, 0.0]])
    for picture in (
        bar_chart([name], np.ones(1), label="usage"),
        heat_map(cells, [name, "other"], None, Scale.of(cells)),
        line_chart([curve(3, name=name)], x_label="K", y_label="bound"),
    ):
        assert "<b>" not in picture
        assert "&lt;b&gt;loud&lt;/b&gt;" in picture


def test_zero_is_white_and_the_largest_value_has_the_darkest_colour() -> None:
    grey = Scale(2.0, signed=False).paint(np.array([[0.0, 1.0, 2.0]]))[0]
    np.testing.assert_array_equal(grey[0], 255)
    assert 255 > grey[1].max() > grey[2].max()
    blue, white, red = Scale(2.0, signed=True).paint(np.array([[-2.0, 0.0, 2.0]]))[0].astype(int)
    np.testing.assert_array_equal(white, 255)
    assert blue[2] > blue[0]
    assert red[0] > red[2]
