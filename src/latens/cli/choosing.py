"""`latens suggest | compare | stability`: which structure, which fit, and whether its components come back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import latens
from latens.cli.apply import load_model, row_options, rows_for
from latens.cli.likelihoods import WITH_KINDS
from latens.cli.reading import FILE, read_table, reading_options, sources
from latens.cli.roles import asked_of, beside, groups_of, role_options
from latens.cli.terminal.console import Progress, open_page, printable
from latens.cli.terminal.failures import Refused, debug_option
from latens.cli.terminal.retyped import retyped
from latens.cli.terminal.targets import new_file
from latens.system.wording import listed

__all__ = ["compare", "stability", "suggest"]


def _answering(command: Any) -> Any:
    """The options that all commands of this file have."""
    for option in (
        debug_option,
        click.option("--quiet", is_flag=True, help="Print the verdict only."),
        click.option("--json", "as_json", is_flag=True, help="Print everything as JSON."),
        click.option("--open", "open_", is_flag=True, help="Open the page in a browser."),
        click.option("--out", type=FILE, help="Write a page."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("file", type=FILE, required=False)
@click.option("--max-time", type=float, help="Seconds for everything.  [default: as long as it takes]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of all random numbers.")
@reading_options
@_answering
def suggest(file: Path | None, max_time: float | None, seed: int, out: Path | None, open_: bool, as_json: bool,
            quiet: bool, **reading: Any) -> None:  # fmt: skip
    """Which structure fills hidden cells best, or none.

    Clusters, classes, factors, switches and sources are tried on the same cells.
    """
    from latens.cli.model_names import model_for

    page = None if out is None else new_file(out)
    options_of_fit = ["--covariates"] * bool(reading["covariates"]) + ["--exposure total"] * _is_total(reading)
    known: dict[str, Any] = {"exposure": None} if _is_total(reading) else {}
    known |= {"covariates": (), "drop": (*reading["drop"], *reading["covariates"])}
    table = read_table(file, **reading | known)
    if len(table.parts) > 1:
        raise Refused("suggest takes one table; several views of the same rows: latens fit --model multi-view.")
    if not (as_json or quiet):
        click.echo(printable(f"{table.source}: {table.sentence()}"))
        if options_of_fit:
            click.echo(f"  structures are tried without {' and '.join(options_of_fit)}; the fit takes them")
    with Progress(quiet=quiet or as_json) as progress:
        progress("trying structures")
        seconds = None if max_time is None else _positive(max_time)
        found = latens.suggest(table, max_time=seconds, random_state=seed, refit=False, progress=progress.structure)
    name = None if found.leader is None else model_for(found.leader, table)
    more = () if name is None else (*_model_that_takes(options_of_fit, name), "--open")
    closing = (
        ""
        if name is None
        else f"next: {retyped(click.get_current_context(), 'fit', only={'file', *reading}, more=more)}"
    )
    record = {"best": found.best, "leader": found.leader, "model": name, "nothing": found.nothing}
    _answer(found, page, open_, as_json, quiet, record, closing)


def _model_that_takes(options_of_fit: list[str], name: str) -> tuple[str, ...]:
    """The model to name to a fit; where options were given that it does not take, the fit chooses one that does."""
    takes = ("multi-view",) if "--covariates" in options_of_fit else WITH_KINDS if options_of_fit else (name,)
    return ("--model", name) if name in takes else ()


def _is_total(reading: Mapping[str, Any]) -> bool:
    """Whether rows are exposed by their sums, which is asked of a model and not of a table."""
    return bool(reading["exposure"] == "total")


@click.command()
@click.argument("models", nargs=-1, type=FILE)
@click.option("--data", "file", type=FILE, help="Rows that no model has seen; without them, bounds are compared.")
@row_options
@_answering
def compare(models: tuple[Path, ...], file: Path | None, out: Path | None, open_: bool, as_json: bool,
            quiet: bool, **reading: Any) -> None:  # fmt: skip
    """Which of several fitted models to prefer.

    By rows that none has seen, or by their bounds.
    """
    if len(models) < 2:
        raise Refused("name two models or more, such as latens compare a.latens b.latens --data test.csv.")
    page = None if out is None else new_file(out)
    fitted = {_label(path, models): load_model(path) for path in models}
    if file is None and not reading["views"]:
        found = latens.compare(fitted)
    else:
        source = sources(file, reading["views"])
        rows = {name: rows_for(model, source, reading)[0] for name, model in fitted.items()}
        asked = asked_of(fitted, reading)
        given = {name: beside(model, source, asked[name]).values for name, model in fitted.items()}
        beside_rows = ("exposure", "covariates", "groups")
        more = {what: {name: each.get(what) for name, each in given.items()} for what in beside_rows}
        found = latens.compare(fitted, X_test=rows, **more)
    _answer(found, page, open_, as_json, quiet, {"best": found.best, "by": found.by}, "")


@click.command()
@click.argument("model", type=FILE)
@click.option("--data", "file", type=FILE, help="The rows of its fit.")
@row_options
@role_options("weights")
@click.option("--samples", type=click.IntRange(min=2), default=50, show_default=True, help="Halves that are fitted.")
@click.option("--max-time", type=float, default=300.0, show_default=True, help="Seconds for everything.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the halves.")
@_answering
def stability(model: Path, file: Path | None, samples: int, max_time: float, seed: int, out: Path | None,
              open_: bool, as_json: bool, quiet: bool, **reading: Any) -> None:  # fmt: skip
    """Whether components return in halves of the rows."""
    page = None if out is None else new_file(out)
    if file is None and not reading["views"]:
        raise Refused(f"name the rows of the fit: latens stability {model} --data FILE, or --view NAME=FILE.")
    fitted, source = load_model(model), sources(file, reading["views"])
    if not hasattr(fitted, "n_components_"):
        raise Refused(f"{model} holds a {type(fitted).__name__}, which has no components.")
    if groups_of(fitted) and reading["groups"] is None:
        raise Refused(
            f"the model was fitted with the groups {listed(groups_of(fitted))}, and halves are fitted as it was; name "
            "their column: --groups COLUMN."
        )
    rows, given = rows_for(fitted, source, reading)[0], beside(fitted, source, reading).values
    with Progress(quiet=quiet or as_json) as progress:
        progress("fitting halves of the rows")
        found = latens.stability(fitted, rows, samples, max_time=_positive(max_time), random_state=seed, **given)
    coverage = None if found.coverage != found.coverage else found.coverage
    limits = None if coverage is None else list(found.coverage_interval)
    record = {
        "coverage": coverage,
        "coverage_interval": limits,
        "hidden_cells": found.n_hidden,
        "pairs": found.n_pairs,
    }
    _answer(found, page, open_, as_json, quiet, record, "")


def _answer(
    found: Any, page: Path | None, open_: bool, as_json: bool, quiet: bool, record: dict[str, Any], closing: str
) -> None:
    """Print what was found, and write its page."""
    written = None if page is None else found.report(page)
    if as_json:
        rows = [dict(zip(found.table.columns, map(_plain, row), strict=True)) for row in found.table.rows]
        files = {} if written is None else {"page": str(written)}
        click.echo(json.dumps({"verdict": found.verdict, **record, "table": rows, "files": files}, indent=1))
    elif quiet:
        click.echo(printable(found.verdict))
    else:
        lines = [str(found), *([] if written is None else [f"page: {written}"]), *([closing] if closing else [])]
        click.echo(printable("\n".join(["", *lines])))
    if open_ and written is not None:
        open_page(written)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _positive(seconds: float) -> float:
    if not seconds > 0:
        raise Refused(f"--max-time {seconds:g} leaves no time; give seconds above 0.")
    return seconds


def _label(path: Path, models: tuple[Path, ...]) -> str:
    """The name of a file, with its folder where two are called alike."""
    return path.stem if sum(other.stem == path.stem for other in models) == 1 else str(path)
