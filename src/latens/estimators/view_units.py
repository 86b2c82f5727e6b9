"""From wide tables to the units of a multi-view model, and from its posterior back to those of the data.

Each factor points the way its strongest loading is positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import Rows
from latens.estimators.frame import Frame
from latens.estimators.views import Layout, WideTable
from latens.models.multi_view import MultiViewPosterior

__all__ = ["frame_of_rows", "frame_of_views", "in_data_units", "signs", "ungrouped"]


def frame_of_rows(rows: Rows, layout: Layout, likelihoods: Mapping[str, str]) -> Frame:
    """Gaussian views about their means, each in its own unit; the others as they are."""
    frames = []
    for columns, kind in zip(layout.bounds, likelihoods.values(), strict=True):
        real = kind == "gaussian"
        frames.append(Frame.of(rows.columns(columns), centred=real, scaled=real))
    if layout.groups:
        frames.append(Frame(np.zeros(1), 0))
    return Frame.joined(frames)


def signs(q: MultiViewPosterior) -> Floats:
    """(K,), which way each factor is published: its strongest loading, beside the noise, is positive."""
    loadings = np.concatenate([view.weights.mean * np.sqrt(view.noise.mean)[:, None] for view in q.views.values()])
    largest = np.take_along_axis(loadings, np.argmax(np.abs(loadings), axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def frame_of_views(frame: Frame, layout: Layout) -> Frame:
    """That of the columns of the views, without the column of the groups."""
    d = layout.n_columns
    return Frame(frame.origin[:d], np.broadcast_to(frame.exponent, frame.origin.shape)[:d])


def in_data_units(
    q: MultiViewPosterior, sign: Floats, layout: Layout, frame: Frame, likelihoods: Mapping[str, str]
) -> dict[str, Any]:
    """Loadings (K, D_m), inclusion probabilities, levels (G, D_m) and noise (D_m,) by view."""
    views = {name: (view, columns) for (name, view), columns in zip(q.views.items(), layout.bounds, strict=True)}
    scale = np.broadcast_to(frame.scale, frame.origin.shape)
    public: dict[str, Any] = {
        "components": {n: (v.weights.mean * sign).T * scale[c] for n, (v, c) in views.items()},
        "inclusion": {n: v.weights.on.T for n, (v, c) in views.items()},
        "intercepts": {n: v.offsets.mean.T * scale[c] + frame.origin[c] for n, (v, c) in views.items()},
        "noise_variance": {
            n: scale[c] ** 2 / v.noise.mean for n, (v, c) in views.items() if likelihoods[n] == "gaussian"
        },
    }
    if len(layout.groups) > 1:
        public["activity"] = 1 / q.activity.mean
    return public


def ungrouped(table: WideTable) -> WideTable:
    """Without the column of a group that all samples share."""
    if not table.layout.groups:
        return table
    columns, rows = slice(0, table.layout.n_columns), table.rows
    seen = None if rows.seen is None else rows.seen[:, columns]
    return WideTable(Rows(rows.x[:, columns], seen, rows.weight), replace(table.layout, groups=()), table.row_names)
