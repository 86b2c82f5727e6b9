"""The columns of every table of intervals."""

from __future__ import annotations

__all__ = ["INTERVAL_COLUMNS"]

INTERVAL_COLUMNS = (
    "parameter",  # as published, without the underscore
    "component",
    "feature",
    "view",
    "estimate",  # in the units of the data, like all numbers here
    "std",
    "lower",
    "upper",
    "sound",  # whether the interval is meant to hold what it claims
    "why",  # if not, the reason
)
