"""Errors as one line a user can act on; `--debug` shows where they came from."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import click

from latens.cli.terminal.remedies import in_options
from latens.errors import FitInterrupted, TableRefused

__all__ = ["STATUS_OF_INTERRUPT", "FriendlyGroup", "Interrupted", "Refused", "debug_option", "one_line"]

DEBUG, TYPED = "latens.debug", "latens.typed"
OF_SEVERAL = ("--missing", "--columns", "--drop", "--category", "--covariates", "--log1p")  # options that take lists
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".npy", ".latens", ".html")
STATUS_OF_INTERRUPT = 130  # exit status, as shells have it
F = TypeVar("F", bound=Callable[..., Any])


class Refused(click.ClickException):
    """What was asked for cannot be done; said in one line, without the usage text of a mistyped option."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Stopped from the keyboard, with nothing to show for it."""

    exit_code = STATUS_OF_INTERRUPT


class FriendlyGroup(click.Group):
    """Turns what a command raises into one line and exit status 1, and warnings into one line each."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for a word about it."""
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Say what was meant by a word that is no command: a file, or a command misspelt."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            raise Refused(self._hint(ctx, word, args[1:]))
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they are wanted, not that of the alphabet."""
        return list(self.commands)

    def _hint(self, ctx: click.Context, word: str, rest: list[str]) -> str:
        from difflib import get_close_matches

        path = Path(word)
        if path.suffix == ".latens":
            return f"{word} is a model; did you mean latens report {word} --data FILE, or latens transform {word} FILE?"
        if path.suffix or path.exists():
            return f"{word} is no command; did you mean latens fit {' '.join([word, *rest])}?"
        names = self.list_commands(ctx)
        close = get_close_matches(word, names, n=1, cutoff=0.5)
        words = f"did you mean latens {close[0]}?" if close else f"there are {', '.join(names)}."
        return f"there is no command {word!r}; {words}"

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FitInterrupted)  # results of half a fit would mislead
                # columns are matched by their names before a model sees them, as sparse rows, which have none
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (FitInterrupted, KeyboardInterrupt) as interruption:
            raise Interrupted("interrupted; there is no answer, and nothing was written.") from interruption
        except click.UsageError as error:
            hint = _several_words(error, ctx.meta.get(TYPED, [])) or _extra_file(error)
            if hint:
                raise Refused(hint) from error
            raise
        except (click.exceptions.Exit, click.ClickException, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.find_root().meta.get(DEBUG):
                raise
            mistake = isinstance(error, TableRefused | FileNotFoundError)
            raise (Refused if mistake else click.ClickException)(_one_line(error)) from error


def _several_words(error: click.UsageError, typed: list[str]) -> str:
    """What to type where words follow the one that an option takes; "" where that is not the mistake.

    >>> _several_words(click.NoSuchOption("-9"), ["fit", "--missing", "k.A.", "-999", "a.csv"])
    '--missing takes one word, and -999 follows it; several go with commas: --missing k.A.,-999, or repeat --missing.'
    """
    is_extra = error.message.startswith("Got unexpected extra argument")
    if not is_extra and not isinstance(error, click.NoSuchOption):
        return ""
    for at, option in enumerate(typed):
        if option not in OF_SEVERAL:
            continue
        following = itertools.takewhile(lambda word: not word.startswith("-") or _is_number(word), typed[at + 2 :])
        words = [word for word in following if Path(word).suffix.lower() not in TABLES and not Path(word).exists()]
        if words and (is_extra or any(map(_is_number, words))):
            several = quote(",".join([typed[at + 1], *words]))
            return (
                f"{option} takes one word, and {' '.join(words)} follows it; several go with commas: {option} "
                f"{several}, or repeat {option}."
            )
    return ""


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?\d+\.?\d*", word) is not None


def _extra_file(error: click.UsageError) -> str:
    """What to type where a file too many was named; "" where that is not the mistake."""
    extra = re.fullmatch(r"Got unexpected extra argument \((.+)\)", error.message)
    if extra is None or error.ctx is None:
        return ""
    command, file = error.ctx.command, extra[1]
    if any("--data" in option.opts for option in command.params):
        return f"latens {command.name} takes rows by an option; did you mean latens {command.name} MODEL --data {file}?"
    if any("--view" in option.opts for option in command.params):
        return (
            f"latens {command.name} takes one file of rows, and {file} is one more; give tables of the same rows as "
            "--view NAME=FILE, and others one by one. Rows that lie in several files are to be put into one first."
        )
    return ""


def debug_option(command: F) -> F:
    """Accepted before and after the name of a command, since nobody remembers which."""
    return click.option(
        "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_remember, help="Show tracebacks."
    )(command)


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta[DEBUG] = True


def one_line(text: str) -> str:
    return " ".join(text.split())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"Warning: {in_options(one_line(str(message)))}", err=True)


def _one_line(error: Exception) -> str:
    text = in_options(one_line(str(error)))
    if isinstance(error, MemoryError):
        return f"not enough memory{text and f' ({text})'}; read fewer columns (--columns) or rows."
    known = isinstance(error, OSError | ValueError | ImportError)
    if known and text:
        return text
    return f"{type(error).__name__}: {text or 'no further words'} (--debug shows where)"
