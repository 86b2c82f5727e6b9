"""What a multi-view fit says of the samples it was made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats, Index
from latens.array.transfer import cross_sums, host, like
from latens.core import Rows, State, without_transients
from latens.errors import FollowsTotals, OneFeatureViews, warn
from latens.estimators.frames.views_by_kind import are_kinds
from latens.estimators.multi_view.tables.level_columns import LEVEL_KINDS, ScaleColumns
from latens.estimators.multi_view.tables.wide import WideTable
from latens.estimators.rows.doubts import doubt_columns, doubt_empty
from latens.estimators.rows.units import Units
from latens.inference.local_fixed_point import local_fixed_point
from latens.models.multi_view.answers.levels import with_levels_of_answers
from latens.models.multi_view.answers.noise import with_noise_of_answers
from latens.models.multi_view.explained import Deviances, deviances
from latens.models.multi_view.inclusion.draws import can_draw_inclusion, inclusion_by_draws
from latens.models.multi_view.inclusion.odds import loading_odds
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import GROUP, View
from latens.system.threads import one_blas_thread
from latens.system.wording import listed

__all__ = [
    "ViewFindings",
    "densities_over_groups",
    "doubt_totals",
    "explain",
    "levels",
    "levels_from_sums",
    "with_groups",
]

FEWEST_COLUMNS = 10  # columns of a view from which their total is more than any of them
TOTALS = 0.95  # correlation with a view's row totals from which a factor says nothing else
CODE_TOLERANCE = 1e-3  # to which codes are found that regressions are made on
ONE_WAY = 0.9  # share of what a factor moves that must go one way: of few factors one follows any total by chance


class ViewFindings:
    """Mixed into `MultiViewFactorAnalysis`."""

    if TYPE_CHECKING:
        _model: Any
        _state: State
        _units: Units
        posterior_: Any
        _publish: Callable[..., dict[str, Any]]
        _parts: Callable[[Rows], list[Rows]]
        _rows_in_blocks: Callable[[Any, Mapping[str, Any]], Sequence[Any]]
        layout_: Any
        _covariates: Any

    def _named_sides(self) -> dict[str, tuple[str, ...]]:
        covariates = () if self._covariates is None else self._covariates.names
        return {"intercepts": self.layout_.groups, "covariate_coefficients": covariates}

    def inclusion_probabilities(self, X: Any, **fit_params: Any) -> dict[str, Floats]:
        """How probable it is that each feature belongs to each factor, asked of the rows anew.

        `inclusion_` is what the fit itself believes: of counts it says too little, since the fit bounds their
        likelihood by one that is several times as narrow. Here codes and loadings are drawn one given the other from
        where the fit ended, a few hundred times, so that what is not known of axes, codes, sizes of loadings and the
        share of features that belong to a factor is counted, too: a few tenths of a second, a second for yes/no
        entries. In tables of more than some hundred thousand entries, and of weighted samples, each feature is judged
        by itself instead, by its likelihood and by factor values that it had no part in, with axes as they are. Of a
        factor that the samples do not show, it is the share of features that it may have unseen.

        Parameters
        ----------
        X : as given to `fit`
            The same samples.
        **fit_params
            What `fit` was given besides X, such as `groups` or `sample_weight`.

        Returns
        -------
        dict of ndarray
            (K, D_m) by view, like `inclusion_`. Of Student's t, and where every feature belongs to every factor, they
            are those of the fit.
        """
        check_is_fitted(self)
        with one_blas_thread():
            model, q, parts = self._model, self.posterior_, self._rows_in_blocks(X, fit_params)
            codes = [(part, local_fixed_point(model, q, part)) for part in parts]
            if can_draw_inclusion(model, q, codes):
                odds = inclusion_by_draws(model, q, codes, np.random.default_rng(0))
            else:
                odds = loading_odds(model, q, codes)
        return {name: on.T for name, on in odds.items()}

    def _learn_from(self, entered: Rows) -> tuple[Floats, Deviances]:
        """Codes (n, K) of the rows of a fit, and what they explain, once the noise of answers is learnt from them.

        Rows are in the model's units. More batches of a stream do not change that noise until it is fitted anew.
        """
        parts = self._parts(entered)
        codes = [without_transients(local_fixed_point(self._model, self._state.q, part)) for part in parts]
        self._model = with_noise_of_answers(self._model, self._state.q, parts, codes)
        if self.layout_.levels:
            self._model = self._with_levels_of_answers(parts)
        for name, value in self._publish(self.posterior_, self._state.stats, self._units).items():
            setattr(self, f"{name}_", value)
        means = [each.mean for each in codes]
        return np.concatenate([host(z) for z in means]), explain(self._model, self._state.q, parts, means)

    def _with_levels_of_answers(self, parts: Sequence[Rows]) -> MultiView:
        """The model with answers about levels that are learnt from these rows, in its units."""
        levels = {
            view: tuple(map(len, own.levels))
            for view, own in self.layout_.levels.items()
            if not isinstance(own, ScaleColumns)
        }
        codes_of = partial(local_fixed_point, self._model, self.posterior_, tol=CODE_TOLERANCE, say=False)
        return with_levels_of_answers(self._model, self.posterior_, parts, levels, codes_of)


def doubt_table(table: WideTable, *, by_kind: bool = False) -> None:
    """Warn of views of one feature, unless views are those of kinds of columns, and of samples that show nothing."""
    layout, rows = table.layout, table.rows
    narrow = [name for name, features in zip(layout.views, layout.features, strict=True) if len(features) == 1]
    if narrow and len(layout.views) > 1 and not (by_kind or are_kinds(layout.views)):
        warn(
            OneFeatureViews(
                f"view(s) {listed(narrow)} have one feature each: a factor that is that feature explains all of it, "
                "and views count alike.",
                "Put the feature into another view, or leave it out and ask `associate` about it afterwards.",
            )
        )
    if layout.views != ("x",):  # a plain table was looked at when it was checked
        names = [f"{view}: {name}" for view, own in zip(layout.views, layout.features, strict=True) for name in own]
        doubt_columns(rows, names, container="views")
    doubt_empty(
        rows,
        table.row_names,
        "their factor values are the prior's, 0, as if they were typical",
        "Leave them out, or look at the standard deviations of transform(X, return_std=True).",
        rows_are="samples",
    )


def explain(model: MultiView, q: MultiViewPosterior, parts: list[Rows], codes: list[Array]) -> Deviances:
    """How much of rows in the model's units, block by block, their codes (n, K) explain."""
    usual = levels(model, q, parts)
    return reduce(add, (deviances(model, q, usual, part, z) for part, z in zip(parts, codes, strict=True)))


def levels(model: MultiView, q: MultiViewPosterior, parts: list[Rows]) -> list[Floats]:
    """Of each view the linear predictor (G, D) of its usual values in every group."""
    found = []
    for view in model.views:
        here = [(part, part.columns(view.columns)) for part in parts]
        weighted = [part.weigh(model.members(part)) for part, _ in here]
        sums = reduce(add, (cross_sums(w, own.x) for w, (_, own) in zip(weighted, here, strict=True)))
        counts = reduce(
            add,
            (
                cross_sums(w, own.mask * exposures(view, part) + 0 * own.x[:, :1])
                for w, (part, own) in zip(weighted, here, strict=True)
            ),
        )
        found.append(levels_from_sums(view, q, sums, counts))
    return found


def exposures(view: View, batch: Rows) -> Array | float:
    """(n, 1), by how much more of a sample its counts are made of; 1 where that is not known."""
    offset = view.log_exposure(batch)
    return 1.0 if offset is None else array_namespace(offset).exp(offset)


def levels_from_sums(view: View, q: MultiViewPosterior, sums: Floats, counts: Floats) -> Floats:
    """(G, D), the linear predictor of a view's usual values from sums by group; of an unseen group, those of all."""
    usual = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1e-300 if view.exposed else 1.0)
    level = np.where(counts > 0, sums / np.maximum(counts, 1e-300), usual)
    return view.likelihood.link(level, view.about(q.views[view.name]))


def with_groups(rows: Rows, sizes: Floats, bounds: Callable[[Rows], Array]) -> Rows:
    """The rows with the likeliest group where that is unknown.

    `sizes` (G,) says how common groups are, `bounds` what the log density of rows of known groups is. A sample put
    between groups would be measured against levels that none of them has.
    """
    unknown = _ungrouped_rows(rows)
    if not len(unknown):
        return rows
    group = host(rows.aux[GROUP]).copy()
    group[unknown] = np.argmax(_by_group(rows, unknown, sizes, bounds), axis=1)
    return _in_groups(rows, group)


def densities_over_groups(rows: Rows, sizes: Floats, densities: Callable[[Rows], Array]) -> Array:
    """(n,), log density of each row; where its group is unknown, of the mixture of all groups."""
    unknown = _ungrouped_rows(rows)
    if not len(unknown):
        return densities(rows)
    found = host(densities(_in_groups(rows, np.nan_to_num(host(rows.aux[GROUP])))))
    found[unknown] = logsumexp(_by_group(rows, unknown, sizes, densities), axis=1)
    return like(found, rows.x)


def _ungrouped_rows(rows: Rows) -> Index:
    """Numbers of the rows whose group is unknown."""
    return np.flatnonzero(np.isnan(host(rows.aux[GROUP])))


def _by_group(rows: Rows, which: Index, sizes: Floats, densities: Callable[[Rows], Array]) -> Floats:
    """(n, G), log chance of each group times the density of those rows in it."""
    asked = replace(rows, weight=None).take(which)
    by_group = [host(densities(_in_groups(asked, np.full(len(which), float(g))))) for g in range(len(sizes))]
    share = sizes / sizes.sum()
    # a group of the fit may have had no sample that counts
    common = np.where(sizes > 0, np.log(np.maximum(share, np.finfo(float).tiny)), -np.inf)
    return np.stack(by_group, axis=1) + common


def _in_groups(rows: Rows, group: Floats) -> Rows:
    return replace(rows, aux={**rows.aux, GROUP: like(group, rows.x)})


def doubt_totals(model: MultiView, units: Units, rows: Rows, codes: Floats) -> None:
    """Warn of a factor, a column of `codes` (n, K), that is nothing but the row totals of a view."""
    scale = np.broadcast_to(units.scale, units.origin.shape)
    for view in model.views:
        part, columns = rows.columns(view.columns), view.columns
        there = host(part.present) > 0
        if columns.stop - columns.start < FEWEST_COLUMNS or there.sum() < 3 or view.likelihood.name in LEVEL_KINDS:
            continue
        level = host(part.mask @ like(units.origin[columns], part.x))
        totals = (host(part.x @ like(scale[columns], part.x)) + level)[there] / host(part.observed)[there]
        if not totals.std() > 0:
            continue
        for factor, z in enumerate(codes[there].T):
            if z.std() > 0 and abs(np.corrcoef(z, totals)[0, 1]) > TOTALS:
                about = np.where(there, codes[:, factor] - z.mean(), 0.0)
                pulls = host(like(about, part.x) @ part.x) * scale[columns]
                if abs(pulls.sum()) < ONE_WAY * np.abs(pulls).sum():
                    continue
                warn(
                    FollowsTotals(
                        f"factor {factor} all but equals the row totals of view {view.name!r} (correlation above "
                        f"{TOTALS}): how much was measured in each sample, rather than what.",
                        "Divide the rows of the view by their size factors, or take it for what it is.",
                    )
                )
