"""What several fits share: seconds, and a folder of notes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LEAST_SECONDS", "Budget", "refuse_unseeded"]

LEAST_SECONDS = 0.05  # that a fit is given, however late it is


@dataclass(frozen=True)
class Budget:
    """A number of seconds from now on; None: no limit."""

    seconds: float | None = None
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"max_time={self.seconds!r} leaves no time; give seconds above 0, or None for no limit.")

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - self.began)

    @property
    def over(self) -> bool:
        return self.left <= 0

    def share(self, fits: int, most: float | None = None) -> float | None:
        """Seconds for the next of so many fits that are still to come; None where there is no limit."""
        if self.seconds is None:
            return most
        mine = max(self.left / max(fits, 1), LEAST_SECONDS)
        return mine if most is None else min(mine, most)


def refuse_unseeded(checkpoint: Any, random_state: Any) -> None:
    """A job goes on where it asks the same of the same rows, which a seed says.

    Raises
    ------
    ValueError
        If there are to be notes, but no seed.
    """
    if checkpoint is not None and not isinstance(random_state, int):
        raise ValueError(
            f"checkpoint= goes on where the same rows are drawn again; give random_state a whole number, not "
            f"{random_state!r}."
        )
