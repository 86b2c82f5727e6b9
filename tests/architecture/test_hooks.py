"""The hooks of estimators: what the design page lists is what estimators override."""

from __future__ import annotations

import re
from pathlib import Path

import latens
from latens.estimators.base import VariationalTransformer
from tests.estimators.subjects import SUBJECTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design.md"


def hooks_on_the_page() -> set[str]:
    section = PAGE.read_text().split("## Hooks of an estimator")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(_\w+)", row)}


def of_this_library(cls: type) -> list[type]:
    return [each for each in cls.__mro__ if each.__module__.startswith("latens.")]


def test_estimators_override_the_listed_hooks_and_nothing_else() -> None:
    shell = of_this_library(VariationalTransformer)
    members = {name for cls in shell for name in vars(cls) if re.match(r"_[a-z]", name) and "sklearn" not in name}
    fitted = {"_model", "_units", "_state", "_question", "_waiting", "_plain"}
    overridden = {
        name
        for estimator in SUBJECTS
        if issubclass(getattr(latens, estimator), VariationalTransformer)
        for cls in of_this_library(getattr(latens, estimator))
        if cls not in shell
        for name in vars(cls)
        if name in members - fitted
    }
    assert overridden == hooks_on_the_page()
