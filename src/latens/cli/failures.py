"""Errors as one line a user can act on; `--debug` shows where they came from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import click

from latens.errors import FitInterrupted

__all__ = ["FriendlyGroup", "Refused", "debug_option"]

DEBUG = "latens.debug"
F = TypeVar("F", bound=Callable[..., Any])


class Refused(click.ClickException):
    """What was asked for cannot be done; said in one line, without the usage text of a mistyped option."""

    exit_code = 2


class FriendlyGroup(click.Group):
    """Turns what a command raises into one line and exit status 1, and warnings into one line each."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FitInterrupted)  # results of half a fit would mislead
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except FitInterrupted as interruption:
            raise click.Abort from interruption
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:
            if ctx.find_root().meta.get(DEBUG):
                raise
            raise click.ClickException(_one_line(error)) from error


def debug_option(command: F) -> F:
    """Accepted before and after the name of a command, since nobody remembers which."""
    return click.option(
        "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_remember, help="Show tracebacks."
    )(command)


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta[DEBUG] = True


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    known = isinstance(error, OSError | ValueError)
    if known and text:
        return text
    return f"{type(error).__name__}: {text or 'no further words'} (--debug shows where)"
