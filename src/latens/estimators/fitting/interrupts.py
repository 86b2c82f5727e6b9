"""Interrupts after the last iteration: the fit is there, and stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from latens.errors import FitInterrupted, warn
from latens.system.interrupts import held_back

__all__ = ["completing", "looking_over"]


@contextmanager
def completing(estimator: Any) -> Iterator[None]:
    """Steps without which a fit is not whole: an interrupt waits until they are done."""
    with held_back() as asked:
        yield
    if asked():
        _tell(estimator, "")


@contextmanager
def looking_over(estimator: Any) -> Iterator[None]:
    """Steps that only say something about a fit: an interrupt ends them."""
    try:
        yield
    except KeyboardInterrupt:
        _tell(estimator, " Warnings about it may be missing.")


def _tell(estimator: Any, words: str) -> None:
    warn(
        FitInterrupted(
            f"{type(estimator).__name__} was interrupted after its last iteration, the {estimator.n_iter_}th; the fit "
            f"is kept and can be used.{words}"
        )
    )
