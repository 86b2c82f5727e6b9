"""What was typed, as a command to type again and as lines of Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from shlex import join
from typing import Any

import click
from click.core import ParameterSource

__all__ = ["read_call", "retyped", "retyped_options"]


def retyped(
    context: click.Context, name: str, *, only: Collection[str] | None = None, more: tuple[str, ...] = ()
) -> str:
    """The command `latens NAME` with the arguments and options of a context that were given, and `more` after them.

    `only` keeps the parameters of these names: those that another command has too.
    """
    words = ["latens", name]
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if context.get_parameter_source(parameter.name or "") is not ParameterSource.COMMANDLINE:
            continue
        if only is not None and parameter.name not in only:
            continue
        if isinstance(parameter, click.Argument):
            words[2:2] = [str(part) for part in (given if isinstance(given, tuple) else (given,))]
            continue
        option = max(parameter.opts, key=len)
        if getattr(parameter, "is_flag", False):
            words.append(option)
            continue
        for value in given if isinstance(given, tuple) else (given,):
            text = str(value)
            words += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return join([*words, *more])


def retyped_options(context: click.Context, only: Collection[str]) -> str:
    """The options of these names that were given, as they may be typed after another command."""
    return retyped(context, "", only=only).removeprefix("latens ''").strip()


def read_call(source: Any, options: Mapping[str, Any], function: str = "latens.read", *more: str) -> str:
    """The call of `latens.read` that takes a file as the command did; options at their defaults are left out.

    `function` is another one that reads, `more` what it takes after the file.
    """
    where = {name: str(path) for name, path in source.items()} if isinstance(source, dict) else str(source)
    given = [f"{name}={value!r}" for name, value in options.items() if value not in (None, (), [], False, "auto")]
    return f"{function}({', '.join([repr(where), *more, *given])})"
