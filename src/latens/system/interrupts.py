"""Interrupts from the keyboard that wait until what must be whole is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["held_back"]


@contextmanager
def held_back() -> Iterator[Callable[[], bool]]:
    """A block that an interrupt does not break off; what is yielded says whether there was one.

    A second interrupt goes through: somebody does not want to wait. Signals come to the main thread alone, so that
    elsewhere there is nothing to hold back.
    """
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted.is_set
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set() and callable(before):
            before(number, frame)
        interrupted.set()

    if not callable(before):  # ignored, or not Python's to handle
        yield interrupted.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield interrupted.is_set
    finally:
        signal.signal(signal.SIGINT, before)
