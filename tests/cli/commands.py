"""The command line within a test: what it prints, and with which status it ends."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from latens.cli import main

__all__ = ["call", "done"]


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments: str | Path) -> Result:
    """The same of a command that must succeed."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result
