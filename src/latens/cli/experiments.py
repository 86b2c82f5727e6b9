"""`latens experiments`: the figures and tables of the source documents, regenerated."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from latens.cli.console import Progress, aligned, printable
from latens.cli.failures import Refused, debug_option
from latens.cli.targets import new_folder

if TYPE_CHECKING:
    from latens.experiments import Experiment

__all__ = ["experiments"]

HOME = Path("latens-experiments")
WIDTH = 100


@click.group()
def experiments() -> None:
    """Regenerate the figures and tables of the source documents."""


@experiments.command("list")
@debug_option
def list_() -> None:
    """Name the experiments, one a line."""
    from latens.experiments import EXPERIMENTS

    width = max(len(experiment.name) for experiment in EXPERIMENTS)
    for experiment in EXPERIMENTS:
        click.echo(f"{experiment.name:{width}}  {experiment.title}")


@experiments.command()
@click.argument("name")
@debug_option
def show(name: str) -> None:
    """Say what an experiment regenerates, and with which settings."""
    experiment = _find(name)
    click.echo(f"{experiment.name}: {experiment.title}")
    click.echo(f"source: {experiment.source}\n")
    click.echo(textwrap.fill(experiment.about, WIDTH) + "\n")
    quick = asdict(experiment.quick)
    rows = [(key, _shown(value), _shown(quick[key])) for key, value in asdict(experiment.settings).items()]
    width = max(len(key) for key, _, _ in rows)
    for key, value, small in rows:
        note = f"   (--quick: {small})" if small != value else ""
        click.echo(f"{key:{width}}  {value}{note}")


@experiments.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to.  [default: latens-experiments/NAME]")
@click.option("--quick", is_flag=True, help="Smaller settings that show the same.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--data", type=click.Path(path_type=Path), help="A file to work on, where an experiment takes one.")
@click.option("--quiet", is_flag=True, help="Print the path of the page only.")
@debug_option
def run(name: str, out: Path | None, quick: bool, seed: int, data: Path | None, quiet: bool) -> None:
    """Run an experiment: print its main table, write its pictures and numbers."""
    from latens.experiments import write

    experiment = _find(name)
    folder = new_folder(HOME / name if out is None else out)
    settings = experiment.quick if quick else experiment.settings
    if data is not None:
        if not hasattr(settings, "data"):
            raise Refused(f"{name} takes no file; leave --data out.")
        settings = replace(settings, data=str(data))
    with Progress(quiet=quiet) as progress:
        result = experiment.run(settings, np.random.default_rng(seed), progress)
        progress("writing the page")
        page = write(experiment, settings, seed, result, folder)
    if not quiet:
        table = result.tables[0].shown
        click.echo(aligned(table.columns, table.rows) + "\n")
        click.echo(printable(textwrap.fill(result.notes[0], WIDTH)) + "\n")
    click.echo(printable(str(page)))


def _find(name: str) -> Experiment[Any]:
    from latens.experiments import find

    try:
        return find(name)
    except ValueError as error:
        raise Refused(str(error)) from error


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value or "none"
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"
