"""One bug to plant."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Mutant"]


@dataclass(frozen=True)
class Mutant:
    name: str  # what is wrong
    file: str  # below src/latens
    right: str  # stands in the file once
    wrong: str
    tests: str  # arguments of pytest
