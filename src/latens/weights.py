"""The former name of `latens.nets`, kept for one release."""

from __future__ import annotations

import warnings
from typing import Any

from latens import nets

warnings.warn("latens.weights is now latens.nets; write latens.nets instead.", FutureWarning, stacklevel=2)

__all__ = list(nets.__all__)


def __getattr__(name: str) -> Any:
    return getattr(nets, name)


def __dir__() -> list[str]:
    return sorted(__all__)
