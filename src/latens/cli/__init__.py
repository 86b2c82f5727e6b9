"""The command line. Only this layer prints."""

from __future__ import annotations

from latens.cli.commands import main

__all__ = ["main"]
