"""Wide tables back as the views the caller gave, and what a multi-view fit says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn import get_config

from latens.array import Array, Floats
from latens.array.transfer import host
from latens.core import Rows
from latens.estimators.display.strongest import least_strength, strongest
from latens.estimators.frames.raw_frames import in_types_of
from latens.estimators.multi_view.tables.input import from_long, is_plain
from latens.estimators.multi_view.tables.level_columns import LevelColumns, ScaleColumns
from latens.estimators.multi_view.tables.wide import Layout
from latens.models.multi_view.explained import column_variance
from latens.models.multi_view.model import Codes, MultiView, MultiViewPosterior, MultiViewStatistics, View
from latens.system.optional_imports import require
from latens.system.summary_table import Table

__all__ = [
    "as_given",
    "asked_chances",
    "chances_by_name",
    "divided_shares",
    "explained_table",
    "filled",
    "modelled_shares",
    "named_codes",
    "quantile_by_view",
    "quantiles_of",
    "row_labels",
    "spread_by_column",
    "spreads_of_levels",
    "strongest",
]


def as_given(wide: Array, layout: Layout, views: Any, row_names: Sequence[str] | None, *, typed: bool = False) -> Any:
    """The columns of a wide table (n, D) in the kind of container that `views` is.

    One array for one array, a list for a list, a frame with two-level columns for such a frame; else a dict. Views are
    frames where frames were given, under the labels that those have; one frame that was filled (`typed`) has its types.
    """
    views = from_long(views)
    parts = {name: wide[:, columns] for name, columns in zip(layout.views, layout.bounds, strict=True)}
    if is_plain(views):
        only = parts[layout.views[0]]
        if hasattr(views, "schema") and hasattr(views, "columns"):  # of polars
            frame = type(views)(host(only), schema=list(layout.features[0]))
            return in_types_of(views, frame) if typed else frame
        if not hasattr(views, "iloc"):
            return only
        frame = type(views)(only, index=views.index, columns=_column_labels(layout.features[0], views.columns))
        return in_types_of(views, frame) if typed else frame
    rows = row_labels(views, row_names)
    if hasattr(views, "iloc"):
        pandas, labels = require("pandas", "frames"), {tuple(map(str, pair)): pair for pair in views.columns}
        pairs = [(name, each) for name, names in zip(layout.views, layout.features, strict=True) for each in names]
        columns = pandas.MultiIndex.from_tuples([labels.get(pair, pair) for pair in pairs], names=views.columns.names)
        return pandas.DataFrame(host(wide), index=rows, columns=columns)
    several = isinstance(views, list | tuple)
    if several or isinstance(views, Mapping):
        given = dict(zip(layout.views, views, strict=True)) if several else {str(k): v for k, v in views.items()}
        if any(hasattr(view, "iloc") for view in given.values()):
            named = zip(parts.items(), layout.features, strict=True)
            parts = {name: _frame(part, features, rows, given.get(name)) for (name, part), features in named}
    return list(parts.values()) if several else parts


def named_codes(estimator: Any, codes: Array, rows: Any) -> Any:
    """Codes with the names of their samples, where pandas was asked for; else as they are."""
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
    if asked != "pandas" or rows is None:
        return codes
    return require("pandas", "frames").DataFrame(codes if is_numpy_array(codes) else host(codes), index=rows)


def row_labels(views: Any, row_names: Sequence[str] | None) -> Any:
    """The labels that rows of these names have in the frames they came in: numbers or dates, say, rather than text."""
    views = from_long(views)
    if hasattr(views, "iloc") and is_plain(views):
        return views.index
    if row_names is None:
        return None
    tables = views.values() if isinstance(views, Mapping) else views if isinstance(views, list | tuple) else [views]
    labels = {str(label): label for table in tables if hasattr(table, "iloc") for label in table.index}
    return [labels.get(name, name) for name in row_names]


def _frame(part: Array, features: Sequence[str], rows: Any, given: Any) -> Any:
    columns = _column_labels(features, given.columns) if hasattr(given, "iloc") else list(features)
    return require("pandas", "frames").DataFrame(host(part), index=rows, columns=columns)


def _column_labels(features: Sequence[str], given: Any) -> list[Any]:
    """Labels of the columns of a frame in the order of the fit; as they stand where they were matched by place."""
    labels = {str(label): label for label in given}
    return [labels[name] for name in features] if labels.keys() == set(features) else list(given)


def filled(given: Rows, wide: Array, *, spread: bool = False) -> Array:
    """Answers (n, D) where `given` has nothing; elsewhere what it has, or 0 where the answer is a spread."""
    xp = array_namespace(wide)
    here = xp.zeros_like(wide) if spread else given.x
    return here if given.seen is None else xp.where(given.seen, here, wide)


def strongest_features(
    q: MultiViewPosterior, errors: Floats, layout: Layout, chosen: Sequence[str], factors: Sequence[str], n: int
) -> dict[str, list[str]]:
    """For each factor the `n` features of the chosen views of whose variance it surely makes the largest share.

    Not beside their noise alone, which goes to 0 in a column that another one repeats.
    """
    names, least = [], []
    for name, features, at in zip(layout.views, layout.features, layout.bounds, strict=True):
        if name in chosen:
            names += [f"{name}: {feature}" if len(chosen) > 1 else feature for feature in features]
            p = q.views[name]
            least.append(least_strength(p.weights.mean.T / np.sqrt(column_variance(p)), errors[:, at]))
    each = zip(factors, np.concatenate(least, axis=1), strict=True)
    return {factor: [names[d] for d in strongest(row, n)] for factor, row in each}


def spread_by_column(q: MultiViewPosterior, loadings: Mapping[str, Floats], noise: Mapping[str, Floats]) -> Floats:
    """(D,), standard deviations in data units, views side by side; on the scale of its link where there is no unit."""
    parts = [
        np.sum(np.asarray(w) ** 2, axis=0) + noise.get(view, 1 / q.views[view].noise.mean)
        for view, w in loadings.items()
    ]
    return np.asarray(np.sqrt(np.concatenate(parts)))


def divided_shares(total: Floats, per_factor: Floats) -> Floats:
    """(K,), what all factors explain, averaged over views, divided in proportion to what each explains alone."""
    alone = per_factor.mean(axis=(0, 1))
    return np.asarray(total.mean() * alone / max(float(alone.sum()), np.finfo(float).tiny))


def modelled_shares(q: MultiViewPosterior, stats: MultiViewStatistics) -> Floats:
    """(K, D), share of each factor in the variance of a column; they add up to averages over columns, then over views.

    What the model says of factors of variance 1, where `explained_` counts what its samples show.
    """
    n_groups, parts = len(stats.sizes), stats.views.items()
    shares = [part.column_shares(q.views[name], n_groups) for name, part in parts]
    return np.concatenate([each.T / (len(each) * len(shares)) for each in shares], axis=1)


def quantile_by_view(
    given: Rows, mean: Array, side: Array, views: Sequence[View], layout: Layout, level: float
) -> Array:
    """(n, D) as read, the quantile of every missing entry; of categories, without an order, the likeliest level.

    `mean` and `side` (n, D) are expectations and quantiles of all entries; those of levels come from their chances.
    """
    parts = []
    for view in views:
        name, columns = view.name, view.columns
        own = given.columns(columns)
        if name in layout.levels and not isinstance(layout.levels[name], ScaleColumns):
            chances, levels = filled(own, mean[:, columns]), layout.levels[name]
            ordered = view.likelihood.name == "ordinal"  # in files of earlier fits, scales are yes/no columns, too
            parts.append(levels.reached(chances, level) if ordered else levels.contracted(chances))
        else:
            parts.append(filled(own, side[:, columns]))
    return array_namespace(mean).concat(parts, axis=1)


def quantiles_of(model: MultiView, q: MultiViewPosterior, batch: Rows, local: Codes, level: float) -> tuple[Array]:
    """(n, D), what a new value of every entry is below with the chance `level`."""
    parts = [view.likelihood.quantile(*where, level) for view, where in model.predictors(q, batch, local)]
    return (array_namespace(batch.x).concat(parts, axis=1),)


def asked_chances(model: MultiView, q: MultiViewPosterior, batch: Rows, local: Codes) -> tuple[Array, ...]:
    """Expectations (n, D) of all entries, and of each view of scales the chances (n, D, C) of their levels."""
    xp, means, scales = array_namespace(batch.x), [], []
    for view, where in model.predictors(q, batch, local):
        means.append(view.likelihood.expect(*where)[0])
        chances = view.likelihood.level_chances(*where)
        if chances is not None:
            scales.append(xp.stack(chances, axis=2))
    return xp.concat(means, axis=1), *scales


def chances_by_name(layout: Layout, means: Array, scales: Iterable[Array]) -> dict[str, dict[str, Array]]:
    """Chances (n, C) of the levels of each column of levels, by view and column, from `asked_chances`."""
    found, left = {}, iter(scales)
    for view, columns in zip(layout.views, layout.bounds, strict=True):
        own = layout.levels.get(view)
        if isinstance(own, ScaleColumns):
            found[view] = own.by_name(next(left))
        elif isinstance(own, LevelColumns):
            found[view] = own.probabilities(means[:, columns])
    return found


def explained_table(layout: Layout, total: Floats, single: Floats, factors: Sequence[str]) -> Table:
    """Shares of the variance explained: a row for each group and view, a column for each factor, and "total".

    `total` is (G, M), of all factors together; `single` is (G, M, K), of each alone.
    """
    groups = layout.groups or ("all",)
    keys = [(group, view) for group in groups for view in layout.views]
    values = np.concatenate([single.reshape(len(keys), -1), total.reshape(len(keys), 1)], axis=1)
    rows = tuple((*key, *row) for key, row in zip(keys, values.tolist(), strict=True))
    return Table(("group", "view", *map(str, factors), "total"), rows, n_keys=2)


def spreads_of_levels(wide: Array, of_levels: Array, layout: Layout) -> Array:
    """Deviations (n, D): those of categories from one table, those of other columns from the other."""
    parts = []
    for view, bounds, own in zip(layout.views, layout.bounds, layout.as_read.bounds, strict=True):
        categories = view in layout.levels and not isinstance(layout.levels[view], ScaleColumns)
        parts.append(of_levels[:, own] if categories else wide[:, bounds])
    return array_namespace(wide).concat(parts, axis=1)
