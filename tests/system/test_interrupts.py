"""Interrupts that wait."""

from __future__ import annotations

import signal
import threading

import pytest

from latens.system.interrupts import held_back

pytestmark = [
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread"
    ),
    pytest.mark.usefixtures("hears_interrupts"),
]


def test_an_interrupt_waits_for_the_end_of_the_block_and_is_told() -> None:
    with held_back() as asked:
        assert not asked()
        signal.raise_signal(signal.SIGINT)
        done = "the rest of the block"
    assert done
    assert asked()
    with pytest.raises(KeyboardInterrupt):  # as before
        signal.raise_signal(signal.SIGINT)


def test_a_second_interrupt_goes_through() -> None:
    with held_back():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_back() as asked:
            signal.raise_signal(signal.SIGINT)
        assert not asked()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_has_nothing_to_hold_back() -> None:
    said: list[bool] = []

    def work() -> None:
        with held_back() as asked:
            said.append(asked())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == [False]
