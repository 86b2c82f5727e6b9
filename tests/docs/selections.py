"""A plugin of pytest: how many tests every command of docs/status.md selects, as JSON in the file LATENS_SELECTED."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from _pytest.mark import KeywordMatcher
from _pytest.mark.expression import Expression

from tests.docs.status_rows import Selection, rows, selections_of


def _below(test: str, path: str) -> bool:
    return test == path or test.startswith((f"{path.rstrip('/')}/", f"{path}::", f"{path}["))


def _selected(selection: Selection, items: list[pytest.Item]) -> dict[str, int]:
    """How many tests of every path have the words and the marks."""
    words = Expression.compile(selection.words) if selection.words else None
    marks = Expression.compile(selection.marks) if selection.marks else None
    found = dict.fromkeys(selection.paths, 0)
    for item in items:
        own = {mark.name for mark in item.iter_markers()}
        if (words is None or words.evaluate(KeywordMatcher.from_item(item))) and (
            marks is None or marks.evaluate(lambda name, /, **_: name in own)  # noqa: B023
        ):
            for path in selection.paths:
                found[path] += _below(item.nodeid, path)
    return found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    selections = {each.command: each for row in rows() for each in selections_of(row)}
    found = {command: _selected(each, items) for command, each in selections.items()}
    Path(os.environ["LATENS_SELECTED"]).write_text(json.dumps(found), encoding="utf-8")
    items.clear()
