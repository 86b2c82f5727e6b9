"""The walks that the design page lists: their files are those that are called."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.docs.walks import SOURCE, TARGETS, files_called, walks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design.md"


def listed() -> dict[tuple[str, str], list[str]]:
    """Files of every walk on the page."""
    found: dict[tuple[str, str], list[str]] = {}
    for act, name, n, lines in re.findall(r"`(\w+)` of `(\w+)`, (\d+) files:\n\n((?:    .*\n)+)", PAGE.read_text()):
        files = []
        for line in lines.splitlines():
            folder, *stems = line.split()
            files += [f"{folder}/{stem}.py".removeprefix("./") for stem in stems]
        assert len(files) == int(n), (act, name)
        found[name, act] = files
    return found


def as_listed(name: str) -> dict[str, set[str]]:
    """Files of the walks of one estimator on the page, by what is called."""
    return {act: set(files) for (owner, act), files in listed().items() if owner == name}


def test_the_page_has_every_walk_and_its_files_exist() -> None:
    found = listed()
    assert set(found) == {(name, act) for name in TARGETS for act in ("fit", "partial_fit", "transform", "save")}
    assert [path for files in found.values() for path in files if not (SOURCE / path).is_file()] == []


def test_the_page_says_of_every_file_of_a_fit_why_it_is_entered() -> None:
    table = PAGE.read_text().partition("| file | why it is entered |")[2].partition("\n\n")[0]
    named = re.findall(r"`([\w/*]+)`", table)
    files = [path for (_, act), files in listed().items() if act == "fit" for path in files]
    without = [path for path in files if not any(fnmatch(f"/{path}", f"*/{name}.py") for name in named)]
    assert without == []


def test_a_walk_has_the_files_whose_functions_are_called() -> None:
    found = walks("GaussianMixture")
    assert "inference/ascent.py" in found["fit"]
    assert "inference/online.py" in found["partial_fit"]
    assert "inference/local_fixed_point.py" in found["transform"]
    assert "io/archive/writing.py" in found["save"]
    assert "inference/search/moves.py" not in found["transform"]
    assert not any(path.startswith(("array/", "families/", "system/")) for files in found.values() for path in files)
    assert as_listed("GaussianMixture") == {act: set(files) for act, files in found.items()}


@pytest.mark.slow
def test_the_page_has_the_files_that_walks_of_views_enter() -> None:
    found = walks("MultiViewFactorAnalysis")
    assert as_listed("MultiViewFactorAnalysis") == {act: set(files) for act, files in found.items()}


def test_nothing_is_called_where_nothing_is() -> None:
    assert files_called(lambda: None) == []
