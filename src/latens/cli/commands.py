"""`latens` and its commands."""

from __future__ import annotations

import json

import click

import latens
from latens.cli.apply import impute, predict, report, score, transform
from latens.cli.choosing import compare, stability, suggest
from latens.cli.demo import demo
from latens.cli.experiments import experiments
from latens.cli.fit import fit
from latens.cli.terminal.console import printable
from latens.cli.terminal.failures import FriendlyGroup, debug_option

__all__ = ["main"]


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(latens.__version__, prog_name="latens", message="%(prog)s %(version)s")
@debug_option
def main() -> None:
    """Hidden causes behind data, with honest uncertainty.

    `latens fit data.csv --open` reads a table and shows what it found; `latens demo` does so with built-in images.
    """


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@debug_option
def models(as_json: bool) -> None:
    """Name the models and what each finds."""
    from latens.cli.model_names import available

    found = available()
    if as_json:
        rows = [{"model": name, "estimator": each.estimator, "finds": each.finds, "takes": list(each.takes)}
                for name, each in found.items()]  # fmt: skip
        click.echo(json.dumps(rows, indent=1))
        return
    width = max(map(len, found))
    for name, each in found.items():
        click.echo(printable(f"{name:{width}}  {each.finds}  (latens.{each.estimator})"))
    click.echo(
        "\nlatens fit FILE --model NAME; without --model it is what fills hidden cells best, and the fit says why."
    )


for command in (fit, transform, predict, impute, score, report, suggest, compare, stability, models, demo, experiments):
    main.add_command(command)
