"""Numbers that say how near a fit is to the truth."""

from __future__ import annotations

from latens.metrics.matching import Match, match_components

__all__ = ["Match", "match_components"]
