"""Aligned tables on stdout, and on stderr a line that says what is being worked on."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click

__all__ = ["FitProgress", "Progress", "aligned", "open_page", "printable"]

PLAIN_LETTERS = str.maketrans({"×": "x", "÷": "/", "σ": "sigma", "γ": "gamma", "²": "^2"})
SECONDS_BETWEEN_LINES = 5.0  # seconds between lines of one kind where lines cannot be rewritten


def open_page(path: Path) -> None:
    """Show a page in a browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(path.absolute().as_uri()):
        click.echo(f"no browser could be opened; the page is {path}", err=True)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in columns, the first to the left and the others to the right; a comma breaks a heading.

    Examples
    --------
    >>> print(aligned(("K", "bound (nats), plain"), [("8", "3,155.0")]))
    K  bound (nats)
              plain
    8       3,155.0
    """
    headings = [re.split(r",\s+", name) for name in columns]
    height = max(map(len, headings))
    lines = [[heading[i] if i < len(heading) else "" for heading in headings] for i in range(height)]
    lines += [list(row) for row in rows]
    lines = [[printable(" ".join(cell.splitlines())) for cell in line] for line in lines]
    widths = [max(len(line[j]) for line in lines) for j in range(len(columns))]
    return "\n".join(_line(line, widths) for line in lines)


def printable(text: str) -> str:
    """Text that the terminal can show: ASCII minus signs, and words for characters that its encoding does not have."""
    text = text.replace("−", "-")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(PLAIN_LETTERS).encode(encoding, errors="replace").decode(encoding)
    return text


class Progress:
    """One line on stderr, rewritten on a terminal; in a log, a line for each kind of work and one now and then."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._rewrites = sys.stderr.isatty()
        self._kind, self._shown = "", 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._rewrites and not self._quiet:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __call__(self, text: str) -> None:
        if self._quiet:
            return
        if self._rewrites:
            click.echo(f"\r\x1b[K{text} ...", nl=False, err=True)
            return
        kind, now = re.sub(r"\d+", "", text.partition("  ")[0]), time.monotonic()
        if kind != self._kind or now - self._shown > SECONDS_BETWEEN_LINES:
            self._kind, self._shown = kind, now
            click.echo(f"{text} ...", err=True)

    def structure(self, name: str) -> None:
        """Say which structure is being tried."""
        self(f"trying structures  {name}")


class FitProgress(Progress):
    """The same line about a fit: components, bound, how far of the iterations allowed, time so far and at most left."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._name, self._most = "", 0
        self._began = time.monotonic()
        self._first: tuple[int, float] | None = None  # the first iteration, which pays for the start

    def start(self, name: str, size: int | None, most: int) -> None:
        """Begin with a model of this name, of at most so many components and iterations."""
        self._name, self._most = name, most
        self._began, self._first = time.monotonic(), None
        self(f"fitting {name}" + (f" with at most {size} components" if size else ""))

    def iteration(self, event: Any) -> None:
        """Called after each iteration of a fit."""
        now = time.monotonic()
        if self._first is None or event.step <= self._first[0]:
            self._first = (event.step, now)
        done = event.step - self._first[0]
        share = min(1.0, (event.step + 1) / max(self._most, 1))
        bar = "#" * round(4 * share) + "-" * (4 - round(4 * share))
        left = ""
        if done >= 5:
            rest = (now - self._first[1]) / done * max(0, self._most - event.step - 1)
            left = f", at most {_clock(rest)} left"
        seconds = _clock(now - self._began)
        self(f"fitting {self._name}  K={event.n_components}  bound {event.elbo:,.1f}  {bar}  {seconds}{left}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()
