"""The catalogue of planted bugs: every row still names a line that stands in the tree, once."""

from __future__ import annotations

from dataclasses import replace

from tests.mutants.__main__ import lost
from tests.mutants.catalogue import MUTANTS


def test_every_planted_bug_still_has_its_line() -> None:
    assert len(MUTANTS) >= 40
    assert lost(list(MUTANTS)) == []


def test_a_row_whose_line_is_gone_is_named() -> None:
    (found,) = lost([replace(MUTANTS[0], right="a line that nobody wrote")])
    assert MUTANTS[0].name in found
    assert "stands 0 times" in found
