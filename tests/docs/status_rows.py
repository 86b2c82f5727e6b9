"""The rows of docs/status.md, and the tests and benchmarks that they name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGE", "ROOT", "Row", "Selection", "benchmarks_of", "rows", "selections_of"]

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "status.md"
DEFAULT_MARKS = "not slow and not extras and not gpu"  # of pyproject.toml
BENCHMARK = re.compile(r"(binary|intervals|library|mixed|mixtures|multi-view|noisy-or|scale|tables|weights)\.[a-z-]+")


@dataclass(frozen=True)
class Row:
    section: str
    cells: tuple[str, ...]

    @property
    def is_promise(self) -> bool:
        """Whether it has a promise, a test or command, a figure and a verdict."""
        return not self.section.startswith(("What is not met", "Faults"))

    @property
    def commands(self) -> str:
        """The cell that names tests and commands."""
        return self.cells[3] if self.section.startswith("Faults") else self.cells[1]


@dataclass(frozen=True)
class Selection:
    """What one command asks pytest for."""

    command: str
    paths: tuple[str, ...]
    words: str
    marks: str


def rows(text: str | None = None) -> list[Row]:
    found, section, heads = list[Row](), "", ("promise", "entry")
    for line in (PAGE.read_text(encoding="utf-8") if text is None else text).splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| ") and not line.startswith(tuple(f"| {head} |" for head in heads)):
            found.append(Row(section, tuple(cell.strip() for cell in line[1:-1].split("|"))))
    return found


def _codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def selections_of(row: Row) -> Iterator[Selection]:
    """Commands of pytest, and files and folders of tests, which stand for all of their tests."""
    for code in _codes(row.commands):
        if not code.startswith(("pytest ", "tests/")):
            continue
        words, paths = {"-k": "", "-m": DEFAULT_MARKS if code.startswith("pytest ") else ""}, list[str]()
        given = iter(shlex.split(code.removeprefix("pytest ")))
        for word in given:
            if word in words:
                words[word] = next(given)
            else:
                paths.append(word)
        if all("." not in path or Path(path.partition("::")[0]).name.startswith("test_") for path in paths):
            yield Selection(code, tuple(paths), words["-k"], words["-m"])


def benchmarks_of(row: Row) -> list[str]:
    """Names of sections: behind `python -m benchmarks`, or by themselves."""
    found = list[str]()
    for code in _codes(row.commands):
        if code.startswith("python -m benchmarks"):
            options = ("--jobs", "--only", "--results")
            words = shlex.split(code)[3:]
            found += [
                word
                for i, word in enumerate(words)
                if not word.startswith("--") and (i == 0 or words[i - 1] not in options)
            ]
        elif BENCHMARK.fullmatch(code):
            found.append(code)
    return [name for name in found if not name.isupper()]
