"""`latens` and its commands."""

from __future__ import annotations

import click

import latens
from latens.cli.apply import impute, predict, report, score, transform
from latens.cli.choosing import compare, stability, suggest
from latens.cli.demo import demo
from latens.cli.experiments import experiments
from latens.cli.fit import fit
from latens.cli.models import models
from latens.cli.terminal.failures import FriendlyGroup, debug_option

__all__ = ["main"]


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(latens.__version__, prog_name="latens", message="%(prog)s %(version)s")
@debug_option
def main() -> None:
    """Hidden causes behind data, with honest uncertainty.

    `latens fit data.csv --open` reads a table and shows what it found; `latens demo` does so with built-in images.
    """


for command in (fit, transform, predict, impute, score, report, suggest, compare, stability, models, demo, experiments):
    main.add_command(command)
