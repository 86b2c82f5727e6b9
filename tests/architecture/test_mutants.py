"""The catalogue of planted bugs: every row still names a line that stands in the tree, once; and what a run says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, environment, lost, planted, verdict
from tests.mutants.catalogue import MUTANTS

FIRST = MUTANTS[0]


def test_every_planted_bug_still_has_its_line() -> None:
    assert len(MUTANTS) >= 40
    assert lost(list(MUTANTS)) == []


def test_a_row_whose_line_is_gone_is_named() -> None:
    (found,) = lost([replace(FIRST, right="a line that nobody wrote")])
    assert FIRST.name in found
    assert "stands 0 times" in found


def test_a_bug_is_caught_only_by_tests_that_pass_without_it() -> None:
    passed, failed, unending, broken = (0, ""), (1, "E"), (None, ""), (4, "usage")
    assert verdict(FIRST, failed, passed) == "caught"
    assert verdict(FIRST, unending, passed) == "caught"
    assert verdict(FIRST, passed, passed).startswith("PASSED ITS TESTS")
    assert verdict(FIRST, broken, passed).startswith("no verdict, pytest ended with 4")
    assert verdict(FIRST, failed, failed).startswith("no verdict, its tests fail without it")


def test_a_bug_is_in_the_copy_while_its_tests_run_and_no_longer(tmp_path: Path) -> None:
    copy = tmp_path / "src" / "latens" / FIRST.file
    copy.parent.mkdir(parents=True)
    text = (ROOT / "src" / "latens" / FIRST.file).read_text("utf-8")
    copy.write_text(text, "utf-8")
    with planted(FIRST, tmp_path):
        assert FIRST.wrong in copy.read_text("utf-8")
        assert FIRST.right not in copy.read_text("utf-8")
    assert copy.read_text("utf-8") == text


def test_a_copy_is_imported_before_all_else_and_other_folders_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(tmp_path / "packages")]))
    path = environment(tmp_path, None)["PYTHONPATH"].split(os.pathsep)
    assert path == [str(tmp_path / "src"), str(tmp_path / "packages")]
