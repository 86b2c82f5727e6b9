"""The options by which commands read files, once for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from latens.cli.terminal.failures import Refused
from latens.errors import MissingCodes, MixedNumbers

if TYPE_CHECKING:
    from latens.intake import Intake

__all__ = [
    "FILE",
    "named_missing",
    "named_sheet",
    "read_arguments",
    "read_groups",
    "read_metadata",
    "read_table",
    "reading_options",
    "sources",
]

F = TypeVar("F", bound=Callable[..., Any])
FILE = click.Path(path_type=Path)

_OPTIONS = (
    click.option("--view", "views", multiple=True, metavar="NAME=FILE", help="A table of the same rows; repeat it."),
    click.option("--format", type=click.Choice(["matrix", "transactions", "long", "edges"]), help="How the file lies."),
    click.option("--sep", help="Separator of a text file (found otherwise)."),
    click.option("--sheet", help="Sheet of an Excel file (the first otherwise)."),
    click.option("--index-col", metavar="NAME", help="The column that names the rows."),
    click.option("--columns", multiple=True, metavar="NAMES", help="Keep only these; commas between, or repeat."),
    click.option("--drop", multiple=True, metavar="NAMES", help="Leave these out."),
    click.option("--category", multiple=True, metavar="NAMES", help="Take these as categories, whatever they hold."),
    click.option("--target", metavar="NAME", help="The column to predict; it is kept out of the rows."),
    click.option("--weights", metavar="NAME", help="The column that says how often a row counts."),
    click.option("--exposure", metavar="NAME", help="The column of how much each row was looked at; total: its sum "
                 "(counts of multi-view and latent-classes)."),
    click.option("--covariates", multiple=True, metavar="NAMES", help="Columns that features are regressed on beside "
                 "factors, such as batch or age (multi-view)."),
    click.option("--missing", multiple=True, metavar="WORDS", help="Words or numbers that stand for missing, such as "
                 "refused or -999; none: no number does, however far from the others."),
    click.option("--log1p", multiple=True, metavar="NAMES", help="Take log(1 + value) of these; all: of all numbers."),
    click.option("--transpose", is_flag=True, help="Features are in rows, samples in columns."),
)  # fmt: skip


def reading_options(command: F) -> F:
    """Adds the options that say how files are read."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def sources(file: Path | None, views: tuple[str, ...]) -> Any:
    """The one file, or files by the name of their view."""
    if file is not None and views:
        raise Refused(f"give one file, or several as --view NAME=FILE; {file} is beside --view {views[0]}.")
    if file is None and not views:
        raise Refused(f"name a file to read, such as {_example()}, or several as --view NAME=FILE.")
    if file is not None:
        return file
    named: dict[str, Path] = {}
    for given in views:
        name, equals, path = given.partition("=")
        if not equals or not name or not path:
            raise Refused(f"--view {given} names no view; write --view NAME=FILE, such as --view rna=rna.csv.")
        if name in named:
            raise Refused(f"two views are called {name!r}; give each its own name.")
        named[name] = Path(path)
    return named


def _example() -> str:
    """The command that was typed, with a file to read."""
    context = click.get_current_context(silent=True)
    if context is None or context.command.name is None:
        return "latens fit data.csv"
    model = context.params.get("model")  # a file, or the name of what to fit
    by_option = any("--data" in option.opts for option in context.command.params)
    words = [*([str(model)] if isinstance(model, Path) else []), *(["--data"] if by_option else []), "data.csv"]
    return " ".join(["latens", context.command.name, *words])


def read_table(file: Path | None, groups: str | None = None, **options: Any) -> Intake:
    """The intake of what the options name."""
    from latens.intake import read

    with warnings.catch_warnings():
        for category in (MixedNumbers, MissingCodes):  # what is said of each column says it, with the option to type
            warnings.simplefilter("ignore", category)
        return read(sources(file, options["views"]), **read_arguments(groups=groups, **options))


def read_groups(file: Path | None, named: str, **how: Any) -> Any:
    """Labels of rows from COLUMN of this file, or from FILE:COLUMN."""
    from latens.intake import read

    path, _, column = named.rpartition(":")
    return read(path or file, groups=column, **how).groups()


def read_arguments(*, groups: str | None = None, **options: Any) -> dict[str, Any]:
    """What `latens.read` takes for these options of the command line, apart from files, which are the `views`."""
    options = {name: value for name, value in options.items() if name != "views"}
    for name in ("columns", "drop", "category", "covariates", "log1p"):
        options[name] = _names(options[name])
    return options | {
        "sheet": named_sheet(options.get("sheet")),
        "columns": options["columns"] or None,
        "missing": named_missing(options["missing"]),
        "groups": groups,
    }


def read_metadata(path: Path, missing: tuple[str, ...] = ()) -> Any:
    """A table of what is known of rows: a frame whose row names are those of its first column of unique text.

    `missing` are the words of the option of that name.
    """
    from latens.intake import read

    if not path.exists():
        raise Refused(f"there is no file {path} for --metadata.")
    return read(path, missing=named_missing(missing)).frame


def named_sheet(given: str | None) -> str | int | None:
    """A sheet by its name, or by its number from 1 on."""
    return int(given) - 1 if given and given.isdigit() else given


def named_missing(given: tuple[str, ...]) -> Any:
    """What `latens.read` takes for `--missing`."""
    return _names(given) or "auto"


def _names(given: tuple[str, ...]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",") if name.strip()]
