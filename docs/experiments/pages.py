"""Small pages of the documentation from runs of the experiments.

    latens experiments run NAME --out RUNS/NAME          for each experiment
    python docs/experiments/pages.py RUNS

Each page holds what the experiment's own page says in words and numbers, and a few of its pictures; the whole page with
all of them is written by the experiment itself.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from latens.experiments import EXPERIMENTS
from latens.experiments.documents import DOCUMENTS
from latens.experiments.experiment import Experiment, Numbers

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
MOST_ROWS, MOST_COLUMNS = 24, 8  # of a table that is shown
MOST_BYTES = 40_000  # of a picture
CHOSEN = {
    "binary-ard": ("bound-by-k", "in-use-by-k"),
    "binary-factors": ("features", "free-energy"),
    "binary-sigma": ("free-energy", "gain"),
    "digits-nets": ("several", "calibration-several"),
    "image-separation": ("entropy-sign", "usage"),
    "mixture": ("posterior", "elbo-print"),
    "model-choice": ("found", "density"),
    "multi-view": ("log-odds-bound", "plug-in"),
    "multi-view-omics": ("explained-0", "bound"),
    "noisy-ica": ("joint-scales", "alpha-rule-posterior"),
    "noisy-or-citations": ("communities-true", "communities-found"),
    "noisy-or-images": ("pictures", "collapse"),
    "noisy-or-text": ("usage",),
    "online-fa": ("covariance-40-10", "variants-100"),
    "regression-posterior": ("beta", "kl-housing"),
    "uci-nets": ("methods-yacht", "pairs-yacht"),
    "weight-posterior": ("divergence",),
    "weight-uncertainty": ("line",),
}


def main(runs: Path) -> None:
    """Write a page for each run, and the list of them."""
    PICTURES.mkdir(exist_ok=True)
    written = {}
    for experiment in EXPERIMENTS:
        folder = runs / experiment.name
        if (folder / "numbers.json").is_file():
            numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
            (HERE / f"{experiment.name}.md").write_text(_page(experiment, numbers, folder), encoding="utf-8")
            written[experiment.name] = numbers
    (HERE / "README.md").write_text(_index(written), encoding="utf-8")


def _page(experiment: Experiment[Any], numbers: dict[str, Any], folder: Path) -> str:
    document = DOCUMENTS[experiment.document]
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f"{document.cited[:1].upper()}{document.cited[1:]}: {experiment.place}. {experiment.about}",
        *(f"- {note}" for note in numbers["notes"]),
    ]
    for name in _pictures(experiment.name, folder):
        parts.append(f"![{name}](pictures/{experiment.name}-{name}.svg)")
    if numbers["claims"]:
        rows = [(one["place"], one["reported"], one["found"], one["verdict"]) for one in numbers["claims"]]
        heads = ("where", "the document", "here", "verdict")
        parts += ["## What the document reports, and what comes out", _table(heads, rows)]
    for name, table in numbers["tables"].items():
        if len(table["rows"]) <= MOST_ROWS and len(table["columns"]) <= MOST_COLUMNS:
            shown = Numbers.of(name, table["columns"], table["rows"]).shown
            parts += [f"## {name}", _table(shown.columns, shown.rows)]
    chosen = ", ".join(f"{key} = {value}" for key, value in numbers["settings"].items() if key != "data")
    size = "at the document's size" if _is_whole(experiment, numbers) else "smaller than the document's"
    command = f"latens experiments run {experiment.name}" + (
        " --data FOLDER" if numbers["settings"].get("data") else ""
    )
    parts.append(f"Written from a run {size}, `{command} --seed {numbers['settings']['seed']}` with {chosen}.")
    return _joined(parts)


def _is_whole(experiment: Experiment[Any], numbers: dict[str, Any]) -> bool:
    """Whether nothing but the data and the seed was chosen otherwise than for the experiment itself."""
    usual = json.loads(json.dumps(asdict(experiment.settings)))
    return all(numbers["settings"].get(key) == value for key, value in usual.items() if key != "data")


def _pictures(name: str, folder: Path) -> list[str]:
    """Copy the chosen pictures that are there and small, and tell which."""
    found = []
    for picture in CHOSEN.get(name, ()):
        file = folder / f"{picture}.svg"
        if file.is_file() and file.stat().st_size <= MOST_BYTES:
            shutil.copyfile(file, PICTURES / f"{name}-{picture}.svg")
            found.append(picture)
    return found


def _index(written: dict[str, dict[str, Any]]) -> str:
    parts = [
        "# The experiments",
        "One page for each experiment on the [source documents](../documents.md), in words and numbers, from a run at "
        "the document's size where the last column says so. `latens experiments run NAME` writes the whole page with "
        "all pictures, `latens experiments run all --quick` smaller ones of all experiments in minutes.",
    ]
    for number, document in DOCUMENTS.items():
        own = [one for one in EXPERIMENTS if one.document == number and one.name in written]
        if own:
            parts.append(f"## {number}: {document.title}")
            parts.append(
                _table(("experiment", "place", "verdicts", "size"), [_row(one, written[one.name]) for one in own])
            )
    parts.append("```{toctree}\n:hidden:\n\n" + "\n".join(written) + "\n```")
    return _joined(parts)


def _row(experiment: Experiment[Any], numbers: dict[str, Any]) -> tuple[str, ...]:
    verdicts = [claim["verdict"] for claim in numbers["claims"]]
    counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    size = "whole" if _is_whole(experiment, numbers) else "smaller"
    return f"[{experiment.name}]({experiment.name}.md)", experiment.place, counted, size


def _table(columns: Any, rows: Any) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _joined(parts: list[str]) -> str:
    """Paragraphs apart, points of a list below each other."""
    text = ""
    for one in parts:
        listed = one.startswith("- ") and text.rsplit("\n", 1)[-1].startswith("- ")
        text += ("\n" if listed else "\n\n" if text else "") + one
    return text + "\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
