"""Levels in answers about entries, read out of codes that the levels themselves had no part in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace

from latens.array import Floats, Index
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods.bernoulli import Categorical
from latens.models.likelihoods.level_read_out import LevelReadOut, regress_levels
from latens.models.multi_view.coefficients import Regressors
from latens.models.multi_view.model import Codes, MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

__all__ = ["with_levels_of_answers", "without_levels_of_answers"]

MOST_ENTRIES = 2**21  # that are looked at for all columns of levels together, but
FEWEST_ROWS = 1_000  # of each

Settle = Callable[[Rows, Codes | None], Codes]  # codes of rows under the posterior, from where others were


def with_levels_of_answers(
    model: MultiView, q: MultiViewPosterior, parts: Sequence[Rows], levels: Mapping[str, Sequence[int]], settle: Settle
) -> MultiView:
    """The model, whose levels are answered from regressions on the codes of these rows, or some of them.

    `levels` says how many levels each column of a view of levels has.
    """
    asked = {view.name for view in model.views if type(view.likelihood) is Categorical and view.name in levels}
    if not asked:
        return model
    n_columns = sum(len(levels[name]) for name in asked)
    n, width = sum(map(len, parts)), parts[0].x.shape[1]
    step = -(-n // max(FEWEST_ROWS, MOST_ENTRIES // (n_columns * width)))
    some = [part[slice(None, None, step)] for part in parts]
    codes = [settle(part, None) for part in some]

    def answering(view: View) -> View:
        if view.name not in asked:
            return view
        given = model.prior(q.n_components).views[view.name].given_precision
        least, coefficients, start = [], [], view.start
        for size in levels[view.name]:
            own = slice(start, start + size - 1)
            known = _Known.of(model, q, some, codes, own, settle)
            least.append(known.least)
            precision = given[0] if len(given) == 1 else given[start - view.start]
            coefficients.append(regress_levels(known.x, known.level, known.weight, size, precision))
            start = own.stop
        read_out = LevelReadOut(np.stack(least), np.concatenate(coefficients), tuple(levels[view.name]))
        return replace(view, likelihood=Categorical(read_out))

    return replace(model, views=tuple(answering(view) for view in model.views))


def without_levels_of_answers(model: MultiView) -> MultiView:
    """The model, whose levels are answered from the loadings of the fit."""
    if not any(type(view.likelihood) is Categorical and view.likelihood.read_out for view in model.views):
        return model
    views = (
        replace(view, likelihood=Categorical()) if type(view.likelihood) is Categorical else view
        for view in model.views
    )
    return replace(model, views=tuple(views))


class _Known:
    """What rows that show a column of levels know of their codes without it."""

    def __init__(self, x: Floats, level: Index, weight: Floats, least: Floats) -> None:
        self.x, self.level, self.weight, self.least = x, level, weight, least

    @classmethod
    def of(
        cls,
        model: MultiView,
        q: MultiViewPosterior,
        parts: Sequence[Rows],
        codes: Sequence[Codes],
        own: slice,
        settle: Settle,
    ) -> _Known:
        means, spreads, levels, weights, shown = [], [], [], [], []
        for part, warm in zip(parts, codes, strict=True):
            hidden = _without(part, own)
            local = model.curved(q, hidden, settle(hidden, warm))
            at = Regressors.of(local, model.given(hidden))
            level, there = _levels(part, own)
            weight = np.ones(len(part)) if part.weight is None else host(part.weight)
            there = there & (weight > 0)
            spread = host(at.spread) if at.kind is None else host(at.spread)[host(at.kind)]
            means.append(host(at.mean)[there])
            spreads.append(np.broadcast_to(spread, (len(part), *spread.shape[1:])))
            levels.append(level[there])
            weights.append(weight[there])
            shown.append(host(hidden.observed))
        most = np.concatenate(shown)
        least = np.concatenate(spreads)[most == most.max()].mean(axis=0)
        return cls(np.concatenate(means), np.concatenate(levels), np.concatenate(weights), least)


def _without(rows: Rows, own: slice) -> Rows:
    """Rows that do not show these columns; what was summed of them before is forgotten."""
    xp = array_namespace(rows.x)
    seen = xp.ones_like(rows.x, dtype=xp.bool) if rows.seen is None else xp.asarray(rows.seen, copy=True)
    x = xp.asarray(rows.x, copy=True)
    seen[:, own], x[:, own] = False, 0.0
    return Rows(x, seen, rows.weight, rows.aux)


def _levels(rows: Rows, own: slice) -> tuple[Index, np.ndarray]:
    """(n,) each: the level of a column that yes/no columns tell in turn, and whether it is seen."""
    yes = host(rows.x[:, own]) > 0.5
    there = np.ones(len(yes), bool) if rows.seen is None else host(rows.seen[:, own])[:, 0] > 0
    return np.where(yes.any(axis=1), yes.argmax(axis=1), yes.shape[1]), there
