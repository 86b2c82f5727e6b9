"""docs/documents.md itemises the source documents: rows that name what exists, and a verdict each."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import get_args

import latens
from latens.experiments import DOCUMENTS, EXPERIMENTS
from latens.experiments.experiment import Verdict
from latens.experiments.printed import LISTINGS

PAGE = (Path(__file__).parents[2] / "docs" / "documents.md").read_text(encoding="utf-8")
VERDICTS = {*get_args(Verdict), "holds", "not yet built"}
Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0] != "item" and not set(line) <= set("|- "):
            found.append((cells[0], cells[1], cells[2], cells[3]))
    return found


def test_there_are_at_least_99_rows_each_with_a_verdict() -> None:
    assert len(rows()) >= 99
    assert {row[3] for row in rows()} <= VERDICTS
    assert {"holds", "error in the print", "does not come back", "not yet built"} <= {row[3] for row in rows()}


def test_every_document_has_its_title_and_author() -> None:
    headings = [line for line in PAGE.splitlines() if line.startswith("## ")]
    assert [heading[3:6] for heading in headings] == list(DOCUMENTS)
    for name in ("Callum Lau", "Fernando García Sanz", "Scott Brownlie", "Milos Hauskrecht", "Tomas Singliar"):
        assert any(name in heading for heading in headings)


def test_every_experiment_and_every_listing_is_named() -> None:
    for experiment in EXPERIMENTS:
        assert f"`{experiment.name}" in PAGE, experiment.name
    for listing in LISTINGS:
        module = listing.function.__module__
        assert module in PAGE, module


def test_what_rows_name_exists() -> None:
    for path in re.findall(r"`(latens\.[A-Za-z_.]+)", PAGE):
        parts = path.rstrip(".").split(".")
        thing = latens
        for i, part in enumerate(parts[1:], 1):
            try:
                thing = getattr(thing, part)
            except AttributeError:
                thing = importlib.import_module(".".join(parts[: i + 1]))


def test_figures_of_experiments_are_drawn_under_that_name() -> None:
    """Their names stand in the source of the experiments, whole or as the beginning of a name with a number."""
    folder = Path(latens.__file__).parent / "experiments"
    source = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    named = re.findall(r"figures? ([a-z0-9-]+)(?=[ ,:|])", " ".join(row[2] for row in rows()))
    assert len(named) > 20
    for name in named:
        assert f'"{name}' in source, name
