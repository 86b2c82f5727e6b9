"""What the codes of samples leave unknown of loadings, levels and noise, where all views are complete measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from latens.array import Floats
from latens.array.packed_symmetric import unpacked
from latens.array.transfer import host
from latens.core import Rows
from latens.models.lost_information import CodeTerms, lost_with_normal_codes
from latens.models.multi_view.measured_blocks import shared_by_samples

if TYPE_CHECKING:
    from latens.models.multi_view.model import MultiView, MultiViewPosterior

__all__ = ["code_weights", "lost_information"]


def code_weights(q: MultiViewPosterior) -> Floats:
    """Of each column E[tau w] of codes, and E[tau w w'] of codes and level; last the precisions of codes."""
    k = q.n_components
    columns = [np.hstack([view.scaled[:, :k], view.scaled_pairs]).ravel() for view in q.views.values()]
    return np.concatenate([*columns, q.activity.mean.ravel()])


def lost_information(model: MultiView, q: MultiViewPosterior, batch: Rows, slopes: Floats) -> Floats | None:
    """(P, P), for slopes of `code_weights`; None where samples have gaps, groups or other kinds of entries."""
    if shared_by_samples(model, q) is None or batch.seen is not None or not len(batch):
        return None
    k, d, n_moves = q.n_components, batch.x.shape[1], slopes.shape[1]
    at, moves = (_terms(values, d, k) for values in (code_weights(q)[:, None], slopes))
    here = CodeTerms(at.lead[0], at.shift[0], at.gram[0])
    x = np.asarray(host(batch.x), dtype=np.float64)
    full = np.hstack([x, np.ones((len(x), 1))])
    weight = np.ones(1) if batch.weight is None else np.asarray(host(batch.weight), dtype=np.float64)
    return lost_with_normal_codes(here, moves, (full * weight.reshape(-1, 1)).T @ full) if n_moves else None


def _terms(values: Floats, d: int, k: int) -> CodeTerms:
    """From weights of codes, or their slopes, (m, P)."""
    columns = values[:-k].T.reshape(values.shape[1], d, -1)
    pairs = unpacked(columns[:, :, k:].sum(axis=1), k + 1)  # of codes and the level behind them
    precision = np.eye(k) * values[-k:].T[:, None]
    return CodeTerms(columns[:, :, :k], pairs[:, :k, k], pairs[:, :k, :k] + precision)
