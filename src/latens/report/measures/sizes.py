"""How large components are, in shares that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latens.estimators.fitted_parts import component_shares

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Sizes", "sizes_of"]


@dataclass(frozen=True)
class Sizes:
    """Shares of the components, and what they are shares of; together they are `total`."""

    share: np.ndarray  # (K,)
    of: str
    note: str = ""

    @property
    def total(self) -> float:
        return float(self.share.sum())


ROWS = "rows"
VARIANCE = "variance"
ADD_UP = "Shares of the variance of all columns, each in its own standard deviation; they add up to what all explain."
OF_VIEWS = "What all factors explain together, averaged over views, divided in proportion to what each explains alone."


def sizes_of(entry: Entry) -> Sizes | None:
    """Shares of rows for clusters, of the ones for causes of binary rows, else of the variance; None if unknown."""
    share = component_shares(entry.model)
    if share is None:
        known = getattr(entry.model, "share_", None)
        return None if known is None else Sizes(np.asarray(known), VARIANCE, "Shares of the model's variance.")
    if entry.grouped:
        return Sizes(share, ROWS, "Shares of the rows; they add up to 100 %.")
    if entry.family == "causes":
        return Sizes(share, "ones", "Shares of the ones that each cause brought about; the rest leaked.")
    of_views = OF_VIEWS.replace("views", "kinds of columns") if entry.by_kind else OF_VIEWS
    return Sizes(share, VARIANCE, of_views if entry.family == "views" else ADD_UP)
