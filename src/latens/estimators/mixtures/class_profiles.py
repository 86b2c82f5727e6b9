"""What each column is like in each class, as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.mixtures.column_kinds import LEVELS, ColumnKinds
from latens.families.mixed_columns import MixedColumns
from latens.models.likelihoods.names import MEASUREMENTS
from latens.system.summary_table import Table

__all__ = [
    "central_standard_deviations",
    "class_profiles",
    "level_probabilities",
    "named_levels",
    "standard_deviations",
]


def class_profiles(
    classes: list[str], columns: ColumnKinds, clusters: MixedColumns, means: Floats, scale: Floats
) -> Table:
    """One row for each number that describes a column, one column for each class.

    `means` (K, D) and `scale` (D,), by which units of the model become those of the data, are in data units.
    """
    rows = [row for d in range(len(columns.names)) for row in _profile(d, columns, clusters, means, scale)]
    return Table(("column", "kind", "of", *classes), tuple(rows))


def _profile(
    d: int, columns: ColumnKinds, clusters: MixedColumns, means: Floats, scale: Floats
) -> list[tuple[Any, ...]]:
    """The rows about one column."""
    name, kind = columns.names[d], columns.kinds[d]
    part: Any = clusters.parts[kind]
    at = columns.places[kind].index(d)
    if kind in LEVELS:
        start = sum(part.levels[:at])
        chance = part.chance[:, start : start + part.levels[at]].T.tolist()
        return [(name, kind, f"P({columns.level_name(d, i)})", *row) for i, row in enumerate(chance)]
    mean: list[float] = means[:, d].tolist()
    if kind == "bernoulli":
        return [(name, kind, f"P({columns.level_name(d, 1)})", *mean)]
    rows = [(name, kind, "mean", *mean)]
    if kind in MEASUREMENTS:
        width = scale[d] * np.sqrt(part.covariance[:, at])
        rows.append((name, kind, "s.d." if kind == "gaussian" else "scale", *width.tolist()))
    if kind == "student":
        rows.append((name, kind, "degrees of freedom", *[float(part.freedom[at])] * len(means)))
    elif kind == "negative-binomial":
        rows.append((name, kind, "size", *[float(part.size[at])] * len(means)))
    return rows


def standard_deviations(columns: ColumnKinds, clusters: MixedColumns, scale: Floats) -> Floats:
    """(K, M), of the columns with normal noise in each class, in data units."""
    return _standard_deviations(columns, clusters, scale, lambda part: part.covariance)


def central_standard_deviations(columns: ColumnKinds, clusters: MixedColumns, scale: Floats) -> Floats:
    """(K, M), the same in the middle of their posteriors: exp of the expected logarithm."""
    return _standard_deviations(columns, clusters, scale, lambda part: part.central_covariance)


def _standard_deviations(
    columns: ColumnKinds, clusters: MixedColumns, scale: Floats, variance: Callable[[Any], Floats]
) -> Floats:
    """Roots of what stands for the variances."""
    if "gaussian" not in columns.places:
        return np.empty((len(clusters.mean), 0))
    part: Any = clusters.parts["gaussian"]
    places = list(columns.places["gaussian"])
    return np.asarray(scale[places] * np.sqrt(np.broadcast_to(variance(part), part.mean.shape)))


def level_probabilities(columns: ColumnKinds, clusters: MixedColumns) -> Floats:
    """(K, L), the probabilities of all levels in each class, in the order of `named_levels`."""
    parts: list[Any] = [clusters.parts[kind] for kind in LEVELS if kind in columns.places]
    return np.concatenate([np.empty((len(clusters.mean), 0)), *(part.chance for part in parts)], axis=1)


def named_levels(columns: ColumnKinds) -> list[tuple[str, str]]:
    """Column and level of each; those of a scale after those of categories, as the model has them."""
    places = [d for kind in LEVELS for d in columns.places.get(kind, ())]
    return [(columns.names[d], columns.level_name(d, i)) for d in places for i in range(len(columns.levels[d]))]
