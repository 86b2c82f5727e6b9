"""`latens models`: what can be looked for."""

from __future__ import annotations

import json

import click

from latens.cli.terminal.console import printable
from latens.cli.terminal.failures import debug_option

__all__ = ["models"]


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
