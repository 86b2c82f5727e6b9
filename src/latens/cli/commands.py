"""`latens` and its commands."""

from __future__ import annotations

import click

import latens
from latens.cli.demo import demo
from latens.cli.experiments import experiments
from latens.cli.failures import FriendlyGroup, debug_option

__all__ = ["main"]


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(latens.__version__, prog_name="latens", message="%(prog)s %(version)s")
@debug_option
def main() -> None:
    """Hidden causes behind data, with honest uncertainty.

    `latens demo` shows what that means on built-in images.
    """


main.add_command(demo)
main.add_command(experiments)
