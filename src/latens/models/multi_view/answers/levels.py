"""Levels in answers about entries, read out of codes that the levels themselves had no part in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods.bernoulli import Categorical
from latens.models.likelihoods.level_read_out import LevelReadOut, regress_levels
from latens.models.multi_view.coefficients import Regressors
from latens.models.multi_view.model import Codes, MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

__all__ = ["with_levels_of_answers", "without_levels_of_answers"]

MOST_ENTRIES = 2**21  # of rows that are looked at for all columns of levels together, but
FEWEST_ROWS = 1_000  # for each

CodesOf = Callable[[Rows], Codes]  # codes of rows under the posterior


def with_levels_of_answers(
    model: MultiView,
    q: MultiViewPosterior,
    parts: Sequence[Rows],
    levels: Mapping[str, Sequence[int]],
    codes_of: CodesOf,
) -> MultiView:
    """The model, whose levels are answered from regressions on the codes of these rows, of many on those of some.

    `levels` says how many levels each column of a view of categories has.
    """
    asked = [view for view in model.views if type(view.likelihood) is Categorical and view.name in levels]
    if not asked:
        return model
    n_columns, width = sum(len(levels[view.name]) for view in asked), parts[0].x.shape[1]
    most = max(FEWEST_ROWS, MOST_ENTRIES // (n_columns * width))
    read_outs = {view.name: _read_out(model, view, q, parts, levels[view.name], most, codes_of) for view in asked}
    return replace(model, views=tuple(_answering(view, read_outs.get(view.name)) for view in model.views))


def without_levels_of_answers(model: MultiView) -> MultiView:
    """The model, whose levels are answered from the loadings of the fit."""
    return replace(model, views=tuple(_answering(view, None, forget=True) for view in model.views))


def _answering(view: View, read_out: LevelReadOut | None, *, forget: bool = False) -> View:
    if type(view.likelihood) is not Categorical or (read_out is None and not forget):
        return view
    return replace(view, likelihood=Categorical(read_out))


def _read_out(
    model: MultiView,
    view: View,
    q: MultiViewPosterior,
    parts: Sequence[Rows],
    sizes: Sequence[int],
    most: int,
    codes_of: CodesOf,
) -> LevelReadOut:
    precision = model.prior(q.n_components).views[view.name].given_precision
    precision = np.broadcast_to(precision, (view.stop - view.start, precision.shape[1]))
    least, coefficients, start = [], [], view.start
    for size in sizes:
        own = slice(start, start + size - 1)
        known = _Known.of(model, q, parts, own, most, codes_of)
        least.append(known.least)
        beside = precision[start - view.start]
        coefficients.append(regress_levels(known.x, known.level, known.weight, size, beside))
        start = own.stop
    return LevelReadOut(np.stack(least), np.concatenate(coefficients), tuple(sizes))


@dataclass(frozen=True, eq=False)
class _Known:
    """What rows that show a column of levels know of their codes without it."""

    x: Floats  # (n, K + G), regressors
    level: Index  # (n,)
    weight: Floats  # (n,)
    least: Floats  # (K, K), covariance of the codes of rows that show most

    @classmethod
    def of(
        cls, model: MultiView, q: MultiViewPosterior, parts: Sequence[Rows], own: slice, most: int, codes_of: CodesOf
    ) -> _Known:
        shown = [np.flatnonzero(_shows(part, own)) for part in parts]
        step = -(-sum(map(len, shown)) // most) or 1
        some = [part.take(rows[::step]) for part, rows in zip(parts, shown, strict=True) if len(rows)]
        means, spreads, counts = [], [], []
        for part in some:
            hidden = _without(part, own)
            at = Regressors.of(model.curved(q, hidden, codes_of(hidden)), model.given(hidden))
            spread = host(at.spread) if at.kind is None else host(at.spread)[host(at.kind)]
            means.append(host(at.mean))
            spreads.append(np.broadcast_to(spread, (len(part), *spread.shape[1:])))
            counts.append(host(hidden.observed))
        entries = np.concatenate(counts)
        return cls(
            np.concatenate(means),
            np.concatenate([_levels(part, own) for part in some]),
            np.concatenate([_weights(part) for part in some]),
            np.concatenate(spreads)[entries == entries.max()].mean(axis=0),
        )


def _weights(rows: Rows) -> Floats:
    return np.ones(len(rows)) if rows.weight is None else host(rows.weight).astype(float)


def _shows(rows: Rows, own: slice) -> NDArray[np.bool_]:
    """(n,), whether rows that count show a column, of which the first yes/no column is seen then."""
    counted = _weights(rows) > 0
    return counted if rows.seen is None else counted & (host(rows.seen[:, own])[:, 0] > 0)


def _without(rows: Rows, own: slice) -> Rows:
    """The same rows, which do not show these columns."""
    xp = array_namespace(rows.x)
    seen = xp.ones_like(rows.x, dtype=xp.bool) if rows.seen is None else xp.asarray(rows.seen, copy=True)
    x = xp.asarray(rows.x, copy=True)
    seen[:, own], x[:, own] = False, 0.0
    return Rows(x, seen, rows.weight, rows.aux)


def _levels(rows: Rows, own: slice) -> Index:
    """(n,), the level that yes/no columns tell in turn."""
    yes = host(rows.x[:, own]) > 0.5
    return np.asarray(np.where(yes.any(axis=1), yes.argmax(axis=1), yes.shape[1]))
