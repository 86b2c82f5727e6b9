"""Files and folders that a reader can take in: of the library, its tests and its benchmarks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FILE = 600
MOST_SIBLINGS = 12

# lists of equals, which nobody reads through: a family, experiment, data set or benchmark is found by its name
EQUALS = {
    "src/latens/families",
    "src/latens/experiments",
    "src/latens/datasets",
    "benchmarks/library",
}


def files() -> list[Path]:
    folders = ("src/latens", "tests", "benchmarks")
    return [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_file_is_too_long() -> None:
    lengths = {str(path): len((ROOT / path).read_text("utf-8").splitlines()) for path in files()}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_folder_has_more_than_a_dozen_files_side_by_side() -> None:
    """`__init__.py` says what a folder is and is not counted."""
    siblings = Counter(str(path.parent) for path in files() if path.name != "__init__.py")
    assert {folder: n for folder, n in siblings.items() if n > MOST_SIBLINGS and folder not in EQUALS} == {}


def test_tests_and_benchmarks_that_are_named_exist() -> None:
    """On pages, in the list of long cases and in that of planted bugs."""
    pages = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]
    lists = [ROOT / "tests" / "long_cases.txt", ROOT / "tests" / "mutants" / "catalogue.py"]
    absent = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in [*pages, *lists]
        for name in re.findall(r"\b(?:tests|benchmarks)/[\w/]+(?:\.\w+)?", page.read_text("utf-8"))
        if not (ROOT / name).exists()
    ]
    assert absent == []
