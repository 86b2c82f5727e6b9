"""The noise of counts in answers about entries: as large as rows show it to be, where codes are as sure as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods.counts import Counts
from latens.models.multi_view.model import Codes, MultiView, MultiViewPosterior

__all__ = ["with_noise_of_answers"]

MOST_ENTRIES = 2**20  # that are looked at: columns of a thousand rows are told to a few hundredths
ROUNDS = 2  # the less noise there is, the surer codes are


def with_noise_of_answers(
    model: MultiView, q: MultiViewPosterior, rows: Rows, codes: Callable[[MultiView, MultiViewPosterior, Rows], Codes]
) -> MultiView:
    """The model, whose counts are answered with the noise of these rows; `codes` finds the posterior of theirs."""
    if not any(isinstance(view.likelihood, Counts) for view in model.views):
        return model
    rows = rows.take(np.arange(0, len(rows), 1 + rows.x.shape[0] * rows.x.shape[1] // MOST_ENTRIES))
    local = codes(model, q, rows)
    for _ in range(ROUNDS):
        views = []
        for view, (mean, variance, columns) in model.predictors(q, rows, local):
            kind = view.likelihood
            if isinstance(kind, Counts):
                part = rows.columns(view.columns)
                kind = kind.answering(part, host(mean), host(variance), columns, view.noise)
            views.append(replace(view, likelihood=kind))
        model = replace(model, views=tuple(views))
    return model
