"""How much of each view its factors explain, each column of a real view in units of its own standard deviation.

`explained_` of the model is in data units, where a column of large numbers outweighs all others of its view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Explained", "explained_of"]


@dataclass(frozen=True)
class Explained:
    """Shares by group and view, of all factors (G, M) and of each alone (G, M, K)."""

    total: np.ndarray
    single: np.ndarray
    by_column: bool  # whether columns of real views count alike


def explained_of(entry: Entry) -> Explained:
    """Means over columns where rows are at hand and form one group, else the model's own shares."""
    model, sample = entry.model, entry.sample
    total, single = (np.array(model.explained_[name], dtype=np.float64) for name in ("total", "per_factor"))
    loadings = getattr(model, "components_", None)
    if sample is None or not isinstance(loadings, dict) or len(total) > 1 or sample.codes.shape[1] != single.shape[2]:
        return Explained(total, single, by_column=False)
    for m, (view, at) in enumerate(zip(model.layout_.views, model.layout_.bounds, strict=True)):
        if model.likelihoods_[view] in ("gaussian", "student"):
            total[0, m], single[0, m] = _of_view(sample.values[:, at], sample.codes, np.asarray(loadings[view]))
    return Explained(total, single, by_column=True)


def _of_view(values: np.ndarray, codes: np.ndarray, loadings: np.ndarray) -> tuple[float, Any]:
    """Means over columns that vary, of what all factors take from their variance and what each does."""
    seen = np.isfinite(values)
    n = np.maximum(seen.sum(axis=0), 1)
    gaps = np.where(seen, values - np.where(seen, values, 0.0).sum(axis=0) / n, 0.0)
    variance = np.sum(gaps**2, axis=0) / n
    moving = variance > 0
    if not moving.any():
        return 0.0, np.zeros(codes.shape[1])
    left = np.where(seen, gaps - codes @ loadings, 0.0)
    unexplained = np.sum(left**2, axis=0) / n - (left.sum(axis=0) / n) ** 2
    together, spread = (gaps.T @ codes) / n[:, None], seen.T.astype(float) @ codes**2 / n[:, None]
    spread -= (seen.T.astype(float) @ codes / n[:, None]) ** 2
    gain = 2 * loadings.T * together - loadings.T**2 * spread  # (D, K)
    share = np.clip(1 - unexplained[moving] / variance[moving], 0.0, 1.0)
    return float(share.mean()), np.clip(gain[moving] / variance[moving, None], 0.0, 1.0).mean(axis=0)
