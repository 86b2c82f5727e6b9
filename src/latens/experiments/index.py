"""One page for many experiments: by document, each with its first words and a picture that leads to its own page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from latens.experiments.documents import DOCUMENTS
from latens.experiments.experiment import Experiment, Result
from latens.experiments.writing import PAGE, capitalised
from latens.report import Figure, Section, write_page

__all__ = ["write_index"]

LINK = Markup('<a href="{}">{}</a>')
MOST_PICTURES = 2  # pictures of an experiment


def write_index(results: Mapping[str, tuple[Experiment[Any], Result | str]], folder: Path) -> Path:
    """Write `folder`/index.html and return its path.

    Parameters
    ----------
    results : mapping of name to (experiment, its result, or why there is none)
        Pages are expected in folders of these names below `folder`.
    folder : Path
    """
    sections = []
    for number, document in DOCUMENTS.items():
        parts = [_part(name, *outcome) for name, outcome in results.items() if outcome[0].document == number]
        if parts:
            sections.append(
                Section(f"Document {number}: {document.title}", f"By {document.author}.", parts=tuple(parts))
            )
    folder.mkdir(parents=True, exist_ok=True)
    return write_page(sections, folder / PAGE, "The source documents, regenerated")


def _part(name: str, experiment: Experiment[Any], result: Result | str) -> Section:
    title = f"{name}: {experiment.title}"
    if isinstance(result, str):
        return Section(title, capitalised(experiment.place) + ".", notes=(f"Not run: {result}",))
    page = f"{name}/{PAGE}"
    figures = [
        Figure(LINK.format(page, figure.body), figure.caption, figure.wide)
        for section in result.figures
        for figure in section.figures
    ][:MOST_PICTURES]
    counts = {claim.verdict: sum(one.verdict == claim.verdict for one in result.claims) for claim in result.claims}
    verdicts = "; ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    notes = (result.notes[0], *((f"Claims of the document: {verdicts}.",) if verdicts else ()))
    more = Figure(LINK.format(page, "The page of this experiment"), wide=True)
    return Section(title, capitalised(experiment.place) + ".", notes=notes, figures=(*figures, more))
