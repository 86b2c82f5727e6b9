"""What can go wrong, by name. Every layer may import this one; it imports nothing."""

from __future__ import annotations

__all__ = ["BoundNotFinite", "ElboDecreased", "FileRefused", "FitInterrupted"]


class ElboDecreased(UserWarning):
    """The bound fell by more than rounding explains: a wrong update, or too low a precision."""


class FitInterrupted(UserWarning):
    """A fit was stopped from the keyboard; the best state so far was kept."""


class BoundNotFinite(FloatingPointError):
    """A term of the bound became NaN or infinite; the message names it."""


class FileRefused(ValueError):
    """A file is not a model this version can read safely."""
