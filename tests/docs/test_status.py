"""docs/status.md is short, and what its rows name is there: tests, benchmarks, commands, pages."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import SECTIONS
from tests.docs.status_rows import PAGE, ROOT, benchmarks_of, rows, selections_of

MOST_LETTERS = {"figure": 500, "verdict": 350}
VERDICTS = ("yes", "no", "in part", "not shown")
PAGES = [ROOT / "docs" / name for name in ("status.md", "tried.md")]


def test_figures_and_verdicts_are_short_and_verdicts_are_verdicts() -> None:
    promises = [row for row in rows() if row.is_promise]
    assert len(promises) > 300
    assert [row.cells for row in promises if len(row.cells) != 4] == []
    for promise, _, figure, verdict in (row.cells for row in promises):
        assert len(figure) <= MOST_LETTERS["figure"], promise
        assert len(verdict) <= MOST_LETTERS["verdict"], promise
        assert re.match(rf"({'|'.join(VERDICTS)})\b", verdict), promise


def test_every_test_that_a_row_names_is_there() -> None:
    named = [path for row in rows() for selection in selections_of(row) for path in selection.paths]
    assert len(named) > 250
    for path in named:
        file, *tests = path.split("::")
        assert (ROOT / file).exists(), path
        if tests:
            functions = {
                node.name
                for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
                if isinstance(node, ast.FunctionDef)
            }
            assert set(tests) <= functions, path


def test_every_benchmark_that_a_row_names_is_there() -> None:
    sections = {section.name for section in SECTIONS}
    groups = {name.partition(".")[0] for name in sections}
    named = {name for row in rows() for name in benchmarks_of(row)}
    assert len(named) > 50
    assert named - sections - groups == set()


def test_every_target_of_make_that_a_row_names_is_there() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert {name for row in rows() for name in re.findall(r"`make ([\w-]+)", row.commands)} - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    links = re.findall(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8"))
    assert links
    for name, anchor in links:
        text = (page.parent / name).read_text(encoding="utf-8")
        headings = [
            re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in re.findall(r"^#+ (.*)", text, re.M)
        ]
        assert not anchor or anchor in headings, (name, anchor)


@pytest.mark.slow
def test_every_command_of_pytest_selects_tests(tmp_path: Path) -> None:
    """One collection of all tests, by which `-k` and `-m` of every command are judged (tests/docs/selections.py)."""
    answer = tmp_path / "selected.json"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "tests.docs.selections", "tests"]
    environment = {**os.environ, "LATENS_SELECTED": str(answer), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=600)
    selected = json.loads(answer.read_text(encoding="utf-8"))
    assert len(selected) > 250
    assert {command: found for command, found in selected.items() if 0 in found.values()} == {}


def test_the_page_says_what_is_not_met_before_all_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.index("## What is not met") < text.index("| promise | test or command | figure | met? |")
    short = [row for row in rows() if row.section == "What is not met"]
    assert {len(row.cells) for row in short} == {4}
    unmet = [row for row in rows() if row.is_promise and not row.cells[3].startswith("yes")]
    assert len(short) >= len(unmet)
