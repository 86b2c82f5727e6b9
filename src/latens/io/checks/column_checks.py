"""Whether a file of clusters tells alike, in all its places, what kinds of columns there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latens.array import Floats
from latens.core import State
from latens.errors import FileRefused
from latens.estimators.base import living_components
from latens.estimators.mixtures.column_kinds import ColumnKinds
from latens.families.categorical_columns import CategoricalColumns
from latens.families.mixed_columns import Counts, MixedColumns
from latens.families.normal_columns import NormalColumns
from latens.families.normal_wishart import NormalWishart
from latens.models.mixture.model import Mixture

__all__ = ["check_columns", "check_rounding"]

FAMILIES_OF_ROUNDED = (NormalColumns, NormalWishart)


def check_rounding(rounding: Floats | None, *, known: bool = True) -> None:
    """Refuse variances of rounding that cannot be, or that the model does not know."""
    if rounding is not None and not (known and ((rounding >= 0) & (rounding < np.inf)).all()):
        raise FileRefused("it tells of rounded columns by numbers that cannot be, or of clusters that know of none.")


def check_columns(model: Mixture, state: State, attributes: Mapping[str, Any], n_features: int) -> None:
    """Refuse kinds of columns that the model, its posterior, its sums and what is kept of the fit tell differently."""
    check_rounding(model.rounding, known=isinstance(model.clusters, FAMILIES_OF_ROUNDED))
    kinds, mixed, learnt = attributes.get("columns_"), model.clusters, state.q.clusters
    has_kinds = [kinds is not None, isinstance(mixed, MixedColumns), isinstance(learnt, MixedColumns)]
    if any(has_kinds) != all(has_kinds):
        raise FileRefused("it has kinds of columns in one place and not in another.")
    if kinds is not None and isinstance(mixed, MixedColumns):
        _check_kinds(kinds, mixed, learnt, n_features)
        n_base = sum(part.n_base for part in mixed.parts.values() if isinstance(part, Counts))
        extra = mixed.natural[0].shape[1] - n_features
        if state.stats.base.shape != (n_base,) or state.stats.xx.shape[1:] != (extra,):
            raise FileRefused("its sums are not those of its kinds of columns.")
    table = attributes.get("classification_")
    living = len(living_components(model, state)[0])
    counts = (living, state.q.n_components)  # all of them with prune=False
    if table is not None and (table.shape not in [(k, k) for k in counts] or not (table >= 0).all()):
        raise FileRefused(f"classification_ has shape {table.shape}; expected ({living}, {living}), counts.")
    lost = attributes.get("lost_rows_")
    if lost is not None and (
        lost.shape not in [(2, k) for k in counts] or not (lost >= 0).all() or not isinstance(learnt, NormalWishart)
    ):
        raise FileRefused(f"lost_rows_ has shape {lost.shape}; expected (2, {living}), rows of full covariances.")
    unseen = attributes.get("unseen_rows_")
    if unseen is not None and (
        unseen.shape not in [(k, n_features) for k in counts]
        or not (unseen >= 0).all()
        or not isinstance(learnt, NormalWishart)
    ):
        raise FileRefused(f"unseen_rows_ has shape {unseen.shape}; expected ({living}, {n_features}), counts of rows.")


def _check_kinds(kinds: ColumnKinds, mixed: MixedColumns, learnt: MixedColumns, n_features: int) -> None:
    if len(kinds.names) != n_features or len(set(kinds.names)) < n_features:
        raise FileRefused(f"columns_ does not name each of {n_features} columns.")
    if mixed.columns != kinds.places or learnt.columns != mixed.columns:
        raise FileRefused("its model, its posterior and columns_ have different kinds of columns.")
    sizes = {
        kind: (tuple(len(kinds.levels[d]) for d in at), kind == "ordinal", False)
        for kind, at in kinds.places.items()
        if kind in ("categorical", "ordinal")
    }
    if _levels(mixed) != sizes or _levels(learnt) != sizes:
        raise FileRefused("its model, its posterior and columns_ have different levels.")


def _levels(mixed: MixedColumns) -> dict[str, tuple[tuple[int, ...], bool, bool]]:
    """Of each kind that has levels: how many, whether they are ordered, whether their chances are known."""
    parts = {kind: part for kind, part in mixed.parts.items() if isinstance(part, CategoricalColumns)}
    return {kind: (part.levels, part.ordered, part.known) for kind, part in parts.items()}
