"""The noise of counts in answers about entries: as large as rows show it to be, where codes are as sure as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from latens.array import Array
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods import Columns
from latens.models.likelihoods.counts import Counts
from latens.models.multi_view.model import Codes, MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

__all__ = ["with_noise_of_answers"]

MOST_ENTRIES = 2**20  # that are looked at: columns of a thousand rows are told to a few hundredths
ROUNDS = 2  # the less noise there is, the surer codes are


def with_noise_of_answers(
    model: MultiView, q: MultiViewPosterior, parts: Sequence[Rows], codes: Sequence[Codes]
) -> MultiView:
    """The model, whose counts are answered with the noise of these rows; of many, with that of some of the parts."""
    if not any(isinstance(view.likelihood, Counts) for view in model.views):
        return model
    step = 1 + sum(part.x.shape[0] * part.x.shape[1] for part in parts) // MOST_ENTRIES
    pairs = list(zip(parts, codes, strict=True))[::step]
    counts = [view for view in model.views if isinstance(view.likelihood, Counts)]
    rows = [_joined([part.columns(view.columns) for part, _ in pairs]) for view in counts]
    for _ in range(ROUNDS):
        places = zip(*(model.predictors(q, *pair, counts) for pair in pairs), strict=True)
        counts = [_answering(own, part) for own, part in zip(places, rows, strict=True)]
        found = {view.name: view for view in counts}
        model = replace(model, views=tuple(found.get(view.name, view) for view in model.views))
    return model


def _answering(places: Sequence[tuple[View, tuple[Array, Array, Columns]]], rows: Rows) -> View:
    """A view of counts, given what is known of eta in each part of its rows."""
    view, (_, _, columns) = places[0]
    mean, variance = (np.concatenate([host(place[side]) for _, place in places]) for side in (0, 1))
    offsets = [place[2].offset for _, place in places]
    if offsets[0] is not None:
        columns = replace(columns, offset=np.concatenate([host(offset) for offset in offsets]))
    likelihood = cast("Counts", view.likelihood).answering(rows, mean, variance, columns, view.noise)
    return replace(view, likelihood=likelihood)


def _joined(parts: Sequence[Rows]) -> Rows:
    """In this machine's memory."""
    shown = [np.broadcast_to(host(part.mask), part.x.shape) > 0 for part in parts]
    seen = None if all(part.seen is None for part in parts) else np.concatenate(shown)
    weight = None if parts[0].weight is None else np.concatenate([host(part.weight) for part in parts])
    return Rows(np.concatenate([host(part.x) for part in parts]), seen, weight)
