"""`latens experiments`: the figures and tables of the source documents, regenerated."""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from latens.cli.terminal.console import Progress, aligned, printable
from latens.cli.terminal.failures import Refused, debug_option
from latens.cli.terminal.targets import new_folder
from latens.errors import AllKept, FewerThanAsked

if TYPE_CHECKING:
    from latens.experiments import Experiment, Result

__all__ = ["experiments"]

HOME = Path("latens-experiments")
WIDTH = 100
ALL = "all"


@click.group()
def experiments() -> None:
    """Regenerate the figures and tables of the source documents."""


@experiments.command("list")
@debug_option
def list_() -> None:
    """Name the experiments by document, each with the figures it regenerates; a star marks those with a print."""
    from latens.experiments import DOCUMENTS, EXPERIMENTS

    width = max(len(experiment.name) for experiment in EXPERIMENTS)
    for number, document in DOCUMENTS.items():
        click.echo(printable(textwrap.fill(f"{document.cited}:", WIDTH)))
        for experiment in EXPERIMENTS:
            if experiment.document == number:
                star = "*" if experiment.printed else " "
                click.echo(printable(f" {star} {experiment.name:{width}}  {experiment.place}"))
    click.echo(
        "\n* --printed runs the document's own listing. `show NAME` says more, `run all --quick` runs all of them."
    )


@experiments.command()
@click.argument("name")
@debug_option
def show(name: str) -> None:
    """Say what an experiment regenerates, and with which settings."""
    from latens.experiments import DOCUMENTS

    experiment = _find(name)
    click.echo(f"{experiment.name}: {experiment.title}")
    click.echo(printable(f"source: {experiment.source}"))
    click.echo(printable(f"        {DOCUMENTS[experiment.document].cited}\n"))
    click.echo(textwrap.fill(experiment.about, WIDTH) + "\n")
    quick = asdict(experiment.quick)
    rows = [(key, _shown(value), _shown(quick[key])) for key, value in asdict(experiment.settings).items()]
    width = max(len(key) for key, _, _ in rows)
    for key, value, small in rows:
        note = f"   (--quick: {small})" if small != value else ""
        click.echo(f"{key:{width}}  {value}{note}")
    for listing in experiment.printed.listings if experiment.printed else ():
        click.echo(f"\nprinted: {listing.place}")
        for repair in listing.repairs:
            click.echo(
                textwrap.fill(f"repair, {repair.where}: {repair.printed}; {repair.run} ({repair.reason})", WIDTH)
            )


@experiments.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to.  [default: latens-experiments/NAME]")
@click.option("--quick", is_flag=True, help="Smaller settings that show the same.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@click.option("--data", type=click.Path(path_type=Path), help="A file to work on, where an experiment takes one.")
@click.option("--printed", is_flag=True, help="Run the document's own listing instead, errors and all.")
@click.option("--quiet", is_flag=True, help="Print the path of the page only.")
@debug_option
def run(name: str, out: Path | None, quick: bool, seed: int, data: Path | None, printed: bool, quiet: bool) -> None:
    """Run an experiment, or all of them: print its main table, write its pictures and numbers."""
    if name == ALL:
        _run_all(new_folder(HOME if out is None else out), quick, seed, data, printed, quiet)
        return
    experiment = _printed(_find(name)) if printed else _find(name)
    folder = new_folder(HOME / experiment.name if out is None else out)
    settings = experiment.quick if quick else experiment.settings
    if data is not None:
        if not hasattr(settings, "data"):
            raise Refused(f"{name} takes no file; leave --data out.")
        settings = replace(settings, data=str(data))
    page, result = _write(experiment, settings, seed, folder, quiet)
    if not quiet:
        table = result.tables[0].shown
        click.echo(aligned(table.columns, table.rows) + "\n")
        click.echo(printable(textwrap.fill(result.notes[0], WIDTH)) + "\n")
    click.echo(printable(str(page)))


def _write(experiment: Experiment[Any], settings: Any, seed: int, folder: Path, quiet: bool) -> tuple[Path, Result]:
    from latens.experiments import write

    with Progress(quiet=quiet) as progress, warnings.catch_warnings():
        # numbers of components are those of the documents: there is no option that would change them
        for doubt in (AllKept, FewerThanAsked):
            warnings.simplefilter("ignore", doubt)
        result = experiment.run(settings, np.random.default_rng(seed), progress)
        progress("writing the page")
        return write(experiment, settings, seed, result, folder), result


def _run_all(folder: Path, quick: bool, seed: int, data: Path | None, printed: bool, quiet: bool) -> None:
    """Every experiment into a folder of its own, and one page that leads to them; one that lacks a package is named."""
    from latens.experiments import EXPERIMENTS, write_index

    if data is not None:
        raise Refused("--data is for one experiment; leave it out, or name that experiment instead of all.")
    chosen = [_printed(one) for one in EXPERIMENTS if one.printed] if printed else list(EXPERIMENTS)
    results: dict[str, tuple[Experiment[Any], Result | str]] = {}
    for experiment in chosen:
        if not quiet:
            click.echo(f"{experiment.name} ...", err=True)
        settings = experiment.quick if quick else experiment.settings
        try:
            result: Result | str = _write(experiment, settings, seed, folder / experiment.name, quiet)[1]
        except ImportError as error:
            if not str(error).startswith("needs "):
                raise
            result = str(error)
        results[experiment.name] = (experiment, result)
        if not quiet:
            first = result if isinstance(result, str) else result.notes[0]
            click.echo(printable(textwrap.fill(f"{experiment.name}: {first}", WIDTH)) + "\n")
    click.echo(printable(str(write_index(results, folder))))


def _find(name: str) -> Experiment[Any]:
    from latens.experiments import find

    try:
        return find(name)
    except ValueError as error:
        raise Refused(str(error)) from error


def _printed(experiment: Experiment[Any]) -> Experiment[Any]:
    from latens.experiments import as_printed

    try:
        return as_printed(experiment)
    except ValueError as error:
        raise Refused(str(error)) from error


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value or "none"
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"
