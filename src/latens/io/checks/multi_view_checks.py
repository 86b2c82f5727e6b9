"""Several views as a file tells of them: its model, its layout and what is known of its samples must agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latens.core import Rows, State
from latens.errors import FileRefused
from latens.estimators.base import living_components
from latens.estimators.multi_view.covariates import Covariates
from latens.estimators.multi_view.tables.wide import Layout
from latens.estimators.multi_view.waiting import Waiting
from latens.io.checks.shape_checks import arrays_with_shapes, check_sizes
from latens.models.likelihoods.bernoulli import Categorical
from latens.models.multi_view.model import MultiView
from latens.models.multi_view.view import COVARIATES, GROUP, exposure_of, precision_of

__all__ = [
    "check_samples",
    "check_views",
    "columns_of_rows",
    "names_of_columns",
    "sizes_of_views",
]

NEEDED_ATTRIBUTES = (
    "layout_",
    "likelihoods_",
    "_plain",
    "deviances_",
)  # of views; what is known of samples may be gone
OF_SAMPLES = ("scores_", "row_names_", "group_of_")


def sizes_of_views(model: MultiView) -> dict[str, int]:
    """What shapes of several views refer to: the columns of each."""
    return {f"d.{number}": view.stop - view.start for number, view in enumerate(model.views)}


def columns_of_rows(attributes: Mapping[str, Any]) -> int:
    """Columns of the rows that the model sees: those of the data, or more where columns of levels are several."""
    return int(attributes["layout_"].n_columns)


def names_of_columns(attributes: Mapping[str, Any]) -> set[str]:
    """Columns whose likelihoods may be given one by one: of views that are split by kind, and of mixed frames."""
    layout = attributes["layout_"]
    return {*layout.wholes, *(name for own in layout.as_read.features for name in own)}


def check_views(model: MultiView, state: State, attributes: Mapping[str, Any], n_features: int) -> None:
    """Refuse views that the model, its posterior and what is kept of the fit do not tell alike."""
    absent = [name for name in NEEDED_ATTRIBUTES if name not in attributes]
    if absent:
        raise FileRefused(f"it tells of views without {', '.join(absent)}.")
    layout, names = attributes["layout_"], tuple(view.name for view in model.views)
    ends = [(columns.start, columns.stop) for columns in layout.bounds]
    if len(set(names)) < len(names) or not names or min(map(len, layout.features), default=0) < 1:
        raise FileRefused("its views are none, or not all different, or without columns.")
    if names != layout.views or [(view.start, view.stop) for view in model.views] != ends:
        raise FileRefused("its model and its layout have different views or columns.")
    if layout.precise != tuple(view.name for view in model.views if view.knows_precision):
        raise FileRefused("its model and its layout have different known precisions.")
    for view in model.views:
        if not view.precision_unit > 0:
            raise FileRefused(f"view {view.name[:40]!r} has precisions in units of {view.precision_unit:g}.")
        if not 0 < view.exposure_unit < np.inf:
            raise FileRefused(f"view {view.name[:40]!r} has exposures in units of {view.exposure_unit:g}.")
    read = layout.as_read.n_columns
    if read != n_features or (attributes["_plain"] and len(names) > 1):
        raise FileRefused(f"its views have {read} columns and its data {n_features}, or it is one table.")
    if len(layout.groups) == 1 or max(1, len(layout.groups)) != model.n_groups:
        raise FileRefused(f"its layout has {len(layout.groups)} group(s) and its model {model.n_groups}.")
    for part in (state.q, state.stats):
        if tuple(part.views) != names:
            raise FileRefused(f"its {type(part).__name__} and its model have different views.")
    if tuple(view.name for view in model.views if view.exposed) != layout.exposed:
        raise FileRefused("its model and its layout have different exposures.")
    for view, counts in layout.usual_counts.items():
        width = len(layout.features[names.index(view)]) if view in layout.exposed else 0
        if len(counts) != width or not all(0 < count < np.inf for count in counts):
            raise FileRefused("usual counts are not those of its views of counts.")
    known = attributes.get("_covariates")
    if model.n_covariates != (0 if known is None else known.n_regressors):
        raise FileRefused(
            f"its model has {model.n_covariates} covariate(s), and what is known of them is not the same."
        )
    if known is not None:
        _check_covariates(known)
    if attributes["likelihoods_"] != {view.name: view.likelihood.name for view in model.views}:
        raise FileRefused("likelihoods_ are not those of its model.")


def _check_read_outs(model: MultiView, state: State, layout: Layout) -> None:
    """Refuse answers about levels that are not those of the columns, or not of the factors that are published."""
    known = {len(living_components(model, state)[0]), state.q.n_components}  # all of them with prune=False
    for view in model.views:
        read_out = view.likelihood.read_out if isinstance(view.likelihood, Categorical) else None
        if read_out is None:
            continue
        levels = layout.levels.get(view.name)
        if levels is None or read_out.sizes != tuple(map(len, levels.levels)):
            raise FileRefused(f"it answers about {read_out.sizes} levels, which view {view.name[:40]!r} does not have.")
        if read_out.least.shape[1] not in known:
            raise FileRefused(f"it answers from {read_out.least.shape[1]} factor(s); expected {min(known)}.")


def _check_covariates(known: Covariates) -> None:
    """Refuse covariates whose columns, levels and numbers do not fit together."""
    if len(known.columns) != len(known.levels) or len(set(known.columns)) < len(known.columns) or not known.columns:
        raise FileRefused("its covariates are none, or not all different, or without levels.")
    if known.mean.shape != (len(known.names),) or known.turn.shape[:-1] != (len(known.names),):
        raise FileRefused(f"its covariates have {len(known.names)} names and numbers of shape {known.turn.shape}.")
    if not (np.isfinite(known.mean).all() and np.isfinite(known.turn).all()):
        raise FileRefused("its covariates have means or turns that are not finite.")


def _check_waiting(waiting: Waiting, layout: Layout, n: float, n_covariates: int) -> None:
    """Refuse samples that wait where they are not those of the fit: of its columns, its groups and its number."""
    own, samples = waiting.layout, waiting.samples
    groups = own.groups if len(own.groups) > 1 else ()
    if replace(own, groups=groups) != layout.as_read or len(set(own.groups)) < len(own.groups):
        raise FileRefused("the samples that wait have other views, columns or groups than its layout.")
    check_sizes([*arrays_with_shapes(samples, "_waiting")], {"d": own.n_columns})
    rows = samples.rows
    if not len(rows) or (rows.weight is not None and not (rows.weight > 0).all()):
        raise FileRefused("the samples that wait are none, or count as none.")
    if not np.isclose(rows.n, n) or not np.isclose(samples.n, n):
        raise FileRefused(f"{samples.n} samples wait, and its fit is of {n}.")
    if rows.seen is not None and rows.x[~rows.seen].any():
        raise FileRefused("the samples that wait have values where they miss them.")
    _check_known(waiting.layout, replace(rows, aux=waiting.aux), n_covariates)


def _check_known(layout: Layout, rows: Rows, n_covariates: int) -> None:
    """Refuse what samples that wait, or are kept, know of themselves where it is not what the layout says."""
    columns = dict(zip(layout.views, layout.bounds, strict=True))
    shapes = {precision_of(name): rows.x[:, columns[name]].shape for name in layout.precise}
    shapes |= {GROUP: (len(rows),)} if layout.groups else {}
    shapes |= {exposure_of(name): (len(rows),) for name in layout.exposed}
    shapes |= {COVARIATES: (len(rows), n_covariates)} if n_covariates else {}
    if {name: values.shape for name, values in rows.aux.items()} != shapes:
        raise FileRefused("the groups, precisions and exposures of the samples that wait are not those of its layout.")
    if layout.groups and not np.isin(rows.aux[GROUP], np.arange(len(layout.groups))).all():
        raise FileRefused(f"the samples that wait are not all in one of {len(layout.groups)} group(s).")
    for name in layout.precise:
        given, part = rows.aux[precision_of(name)], rows.columns(columns[name])
        if (given < 0).any() or ((given == 0) & (part.mask > 0)).any():
            raise FileRefused("the samples that wait have precisions that are not positive.")


def check_samples(model: MultiView, state: State, attributes: Mapping[str, Any]) -> None:
    """Refuse what is stated of the samples of a fit where it has not the shape that the fit would give it."""
    sizes = {"n_groups": model.n_groups, "n_views": len(model.views), "k": state.q.n_components}
    check_sizes([*arrays_with_shapes(attributes["deviances_"], "deviances_")], sizes)
    _check_read_outs(model, state, attributes["layout_"])
    if attributes.get("_waiting") is not None:
        _check_waiting(attributes["_waiting"], attributes["layout_"], state.stats.n, model.n_covariates)
    if attributes.get("stream_") is not None:
        _check_known(attributes["layout_"], attributes["stream_"].reservoir.rows, model.n_covariates)
    stated = [name for name in OF_SAMPLES if name in attributes]
    if not stated:
        return
    if len(stated) < len(OF_SAMPLES):
        raise FileRefused(f"of the samples it tells {', '.join(stated)} alone; expected {', '.join(OF_SAMPLES)}.")
    scores, names, group = (attributes[name] for name in OF_SAMPLES)
    living = len(living_components(model, state)[0])
    if scores.ndim != 2 or scores.shape[1] not in (living, state.q.n_components):  # all of them with prune=False
        raise FileRefused(f"scores_ has shape {scores.shape}; expected (n, {living}), a column for each factor.")
    if names is not None and len(names) != len(scores):
        raise FileRefused(f"row_names_ has {len(names)} names for {len(scores)} samples.")
    if group.shape != (len(scores),) or not ((group >= 0) & (group < model.n_groups)).all():
        raise FileRefused(f"group_of_ does not give each of {len(scores)} samples one of {model.n_groups} group(s).")
