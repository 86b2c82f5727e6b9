"""A line on the terminal that says how far a long fit has come."""

from __future__ import annotations

import math
import sys
import time
from contextvars import Token
from types import TracebackType
from typing import TextIO

from latens.core import Iteration
from latens.inference.sweep import BlockCounter, block_counter

__all__ = ["ProgressBar"]

WIDTH = 20
SECONDS_BETWEEN_LINES = 0.2  # seconds between two lines at least


class ProgressBar:
    """Shows iteration, bound, gain per iteration and time left, on one line that is rewritten.

    Within a long pass over the data it shows how many blocks are done, see `inference.sweep.note_blocks`.

    `verbose=0` shows nothing at all; time left assumes that gains go on shrinking as they did.
    """

    def __init__(self, verbose: int, max_iter: int, tol: float, stream: TextIO | None = None) -> None:
        self.active = bool(verbose) and (stream or sys.stderr) is not None  # without a terminal there may be no stderr
        self.max_iter, self.tol = max_iter, tol
        self._stream = stream or sys.stderr
        self._last: Iteration | None = None
        self._gain = math.nan
        self._began = self._shown = 0.0
        self._done = 0
        self._blocks = ""
        self._before: Token[BlockCounter | None] | None = None

    def __enter__(self) -> ProgressBar:
        self._before = block_counter.set(self if self.active else None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is not None:
            block_counter.reset(self._before)
        self._blocks = ""
        if self.active and self._last is not None:
            self._write(self._last)
            self._stream.write("\n")
            self._stream.flush()

    def show(self, event: Iteration) -> None:
        """Note one iteration; the line is rewritten a few times a second at most."""
        if not self.active:
            return
        last, now = self._last, time.perf_counter()
        if last is None or last.restart != event.restart:
            self._began, self._done, self._gain = now - event.seconds, 0, math.nan
        else:
            self._gain = event.elbo - last.elbo
        self._last, self._done, self._blocks = event, self._done + 1, ""
        if now - self._shown > SECONDS_BETWEEN_LINES:
            self._shown = now
            self._write(event)

    def show_blocks(self, done: int, total: int) -> None:
        """Note how far the pass is that is under way."""
        now = time.perf_counter()
        if not self.active or now - self._shown <= SECONDS_BETWEEN_LINES:
            return
        self._shown, self._blocks = now, f"{done}/{total} blocks of a pass"
        if self._last is not None:
            self._write(self._last)
        else:  # the passes that look at the data come before the first iteration
            self._stream.write(f"\r{self._blocks}\x1b[K")
            self._stream.flush()

    def _write(self, event: Iteration) -> None:
        share = min(1.0, self._done / self.max_iter)
        filled = round(share * WIDTH)
        bar = "#" * filled + "." * (WIDTH - filled)
        elapsed = time.perf_counter() - self._began
        left = elapsed / self._done * (self.max_iter - self._done)
        blocks = f"  {self._blocks}" if self._blocks else ""
        gain = "" if math.isnan(self._gain) else f"  gain {self._gain:.3g}"
        self._stream.write(
            f"\rstart {event.restart}  [{bar}] {self._done}/{self.max_iter}  bound {event.elbo:.6g}{gain}"
            f"  {event.n_components} components  at most {_clock(left)} left{blocks}\x1b[K"
        )
        self._stream.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
