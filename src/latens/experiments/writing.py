"""A result as files: one page, every picture on its own, every table as CSV, and all numbers as JSON."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import latens
from latens.experiments.documents import DOCUMENTS
from latens.experiments.experiment import Experiment, Numbers, Print, Result
from latens.report import Figure, Section, Table, write_page
from latens.report.charts.graphs import graph_chart
from latens.report.charts.svg_export import draw
from latens.report.graphical_models import GRAPHS

__all__ = ["PAGE", "capitalised", "listings_of", "write"]

PAGE, NUMBERS = "index.html", "numbers.json"
MOST_ROWS, MOST_COLUMNS = 40, 9  # rows and columns up to which a table is shown on the page


def write(experiment: Experiment[Any], settings: Any, seed: int, result: Result, folder: Path) -> Path:
    """Fill a folder, made where it is missing, and return the path of its page.

    All files are drawn up beside it first and then put in place, so that a failure leaves nothing behind.
    """
    folder = folder.expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        _write_all(experiment, settings, seed, result, draft)
        for file in sorted(draft.iterdir()):
            os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder / PAGE


def _write_all(experiment: Experiment[Any], settings: Any, seed: int, result: Result, folder: Path) -> None:
    chosen = {**asdict(settings), "seed": seed}
    for table in result.tables:
        _write_csv(table, folder / f"{table.name}.csv")
    shown = (*([_graph(experiment.graph)] if experiment.graph else []), *result.figures)
    for section in shown:
        for figure in section.figures:
            (folder / f"{figure.name}.svg").write_text(draw(figure), encoding="utf-8")
    numbers = {
        "experiment": experiment.name,
        "source": experiment.source,
        "version": latens.__version__,
        "settings": {**chosen, **({"data": Path(chosen["data"]).name} if "data" in chosen else {})},
        "notes": result.notes,
        "claims": [asdict(claim) for claim in result.claims],
        "tables": {table.name: {"columns": table.columns, "rows": table.rows} for table in result.tables},
    }
    text = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / NUMBERS).write_text(text + "\n", encoding="utf-8")
    write_page(_page(experiment, result, chosen), folder / PAGE, capitalised(experiment.title))


def _page(experiment: Experiment[Any], result: Result, chosen: dict[str, Any]) -> list[Section]:
    document = DOCUMENTS[experiment.document]
    source = f"{capitalised(document.cited)}: {experiment.place}. {experiment.about}"
    rows = tuple((name, _setting(Path(value).name if name == "data" else value)) for name, value in chosen.items())
    small = [one for one in result.tables[1:] if len(one.rows) <= MOST_ROWS and len(one.columns) <= MOST_COLUMNS]
    more = tuple(Section(capitalised(one.name), table=one.shown) for one in small)
    return [
        Section("In short", source, notes=result.notes, table=result.tables[0].shown),
        *([_claims(result)] if result.claims else []),
        *([_graph(experiment.graph)] if experiment.graph else []),
        *result.figures,
        *([Section("More numbers", parts=more)] if more else []),
        Section(
            "Settings",
            "Every picture is also a file of its own beside this page, and the numbers behind them are there as CSV "
            f"and, all in one, as {NUMBERS}.",
            table=Table(("setting", "value"), rows),
        ),
    ]


def _claims(result: Result) -> Section:
    rows = tuple((one.place, one.reported, one.found, one.verdict) for one in result.claims)
    return Section(
        "What the document reports, and what comes out here",
        table=Table(("where", "the document", "this run", "verdict"), rows, prose=True, even=True),
    )


def _graph(name: str) -> Section:
    caption = (
        "Filled: observed. Open: unknown, of each row inside the frame of the rows and shared outside it. A dot is "
        "given."
    )
    return Section("The model", figures=(Figure(graph_chart(GRAPHS[name]), caption, name=f"graph-{name}"),))


def listings_of(printed: Print[Any]) -> Section:
    """What was mended so that the listings run, and what is wrong in them and was kept."""
    repairs = tuple(
        (f"{one.place}: {repair.where}", repair.printed, repair.run, repair.reason)
        for one in printed.listings
        for repair in one.repairs
    )
    notes = tuple(f"Kept although it is wrong: {error}." for one in printed.listings for error in one.errors)
    columns = ("where", "printed", "run here", "because")
    table = Table(columns, repairs, prose=True, even=True) if repairs else None
    return Section("Repairs", "Names, order of updates and errors are those of the print.", notes=notes, table=table)


def _setting(value: Any) -> str:
    if isinstance(value, str):
        return value or "none"
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"


def _write_csv(table: Numbers, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
