"""Writing a page: pixels, and files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

from latens.report import Figure, Section, write_page
from latens.report.charts.images.pixels import Scale, data_uri
from tests.report.reading import decode


def test_signed_values_are_blue_or_red_and_zero_is_white() -> None:
    values = np.array([[-1.0, 0.0, 1.0]])
    (blue, white, red) = Scale.of(values).paint(values)[0].astype(int)
    assert blue[2] > blue[0]
    assert red[0] > red[2]
    np.testing.assert_array_equal(white, [255, 255, 255])


def test_missing_entries_have_a_colour_of_their_own() -> None:
    values = np.array([[np.nan, 0.0, 1.0, -1.0]])
    missing, *others = Scale.of(values).paint(values)[0].tolist()
    assert missing not in others


def test_every_image_decodes_to_what_was_encoded() -> None:
    colours = np.random.default_rng(0).integers(0, 256, size=(5, 7, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decode(data_uri(colours)), colours)


def test_a_failure_while_rendering_leaves_the_older_page_untouched(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("older")

    class Broken:
        def __html__(self) -> str:
            raise RuntimeError("cannot be drawn")

    with pytest.raises(RuntimeError, match="cannot be drawn"):
        write_page([Section("Broken", figures=(Figure(Broken()),))], path, "Broken")  # type: ignore[arg-type]
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_writing_leaves_the_older_page_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("older")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_page([Section("Fit")], path, "Fit")
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_an_older_page_is_replaced_and_the_path_returned(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("older")
    assert write_page([Section("Fit", figures=(Figure(Markup("<i>new</i>")),))], path, "Fit") == path.resolve()
    assert "<i>new</i>" in path.read_text()


def test_impossible_paths_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"does not exist, so .* cannot be written there"):
        write_page([], tmp_path / "nowhere" / "page.html", "Fit")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        write_page([], tmp_path, "Fit")
