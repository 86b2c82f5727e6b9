"""How large components are, in shares that add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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


def sizes_of(entry: Entry) -> Sizes | None:
    """Shares of rows for clusters, of the ones for causes of binary rows, else of the variance; None if unknown."""
    model = entry.model
    if entry.grouped:
        return Sizes(_of_members(model), ROWS, "Shares of the rows; they add up to 100 %.")
    if entry.family == "views":
        return _of_views(entry)
    known = getattr(model, "share_", None)
    if entry.family == "causes":
        return Sizes(np.asarray(known), "ones", "Shares of the ones that each cause brought about; the rest leaked.")
    exact = _of_rows(entry)
    if exact is not None:
        return Sizes(exact, VARIANCE, ADD_UP)
    return None if known is None else Sizes(np.asarray(known), VARIANCE, "Shares of the model's variance.")


def _of_members(model: Any) -> np.ndarray:
    """(K,), of the rows that were assigned to each; the weights of the model where these are not known."""
    counts = np.asarray(getattr(model, "classification_", np.zeros((0, 0))), dtype=np.float64)
    if not counts.size or not counts.sum() > 0:
        return np.asarray(model.weights_, dtype=np.float64)
    return np.asarray(counts.sum(axis=1) / counts.sum())


def _of_rows(entry: Entry) -> np.ndarray | None:
    """(K,), covariance of what a component adds with what all add, over that of the rows: these sum to a share."""
    sample, loadings = entry.sample, entry.loadings
    if sample is None or loadings is None or len(sample) < 2 or sample.values.shape[1] != loadings.shape[1]:
        return None
    codes = sample.codes
    if codes.shape[1] != len(loadings) or not len(loadings):
        return None
    moving = sample.spread > 0
    scaled = loadings[:, moving] / sample.spread[moving]
    joint = np.atleast_2d(np.cov(codes.T, bias=True)) @ scaled
    return np.asarray(np.sum(scaled * joint, axis=1) / max(int(moving.sum()), 1))


def _of_views(entry: Entry) -> Sizes:
    """The share that all factors explain, averaged over views, divided by what each explains alone."""
    explained = entry.explained
    alone = np.maximum(explained.single, 0.0).mean(axis=(0, 1))
    total = float(np.mean(explained.total))
    share = total * alone / max(float(alone.sum()), np.finfo(float).tiny)
    note = "What all factors explain together, averaged over views, divided in proportion to what each explains alone."
    return Sizes(share, VARIANCE, note)
