"""Views whose columns are of several kinds: each kind is a view of its own in the fit, and answers put them together.

`likelihoods={"clinic": {"age": "gaussian", "visits": "poisson"}}` makes the views "clinic (gaussian)" and
"clinic (poisson)": loadings of measurements and of logarithms have no unit in common, so they share no prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace

from latens.array import Array
from latens.estimators.multi_view.tables.input import ViewTable, columns_at, is_several, numbered, read_views
from latens.intake.kind_guess import guess_kind
from latens.models.likelihoods import Likelihood
from latens.system.wording import listed

if TYPE_CHECKING:
    from latens.estimators.multi_view.tables.wide import Layout

__all__ = ["joined", "split_like", "split_views"]


def split_views(
    views: Any, likelihoods: Mapping[Any, Any], layer: Any, use_var: str | None
) -> tuple[tuple[ViewTable, ...], dict[str, Any], dict[str, tuple[str, ...]]]:
    """The views of a fit by kind, their likelihoods as far as given, and the columns of views that were split."""
    if is_several(views):
        raise ValueError("likelihoods names columns of views, which MuData does not take; give a dict of tables.")
    given = {str(view): kind for view, kind in likelihoods.items()}
    parts, kinds, wholes = list[ViewTable](), dict[str, Any](), dict[str, tuple[str, ...]]()
    for view in read_views(views, layer, use_var):
        chosen = given.pop(view.name, None)
        if not isinstance(chosen, Mapping):
            parts.append(view)
            kinds |= {} if chosen is None else {view.name: chosen}
            continue
        names = view.columns or numbered(view.name, view.shape[1])
        wholes[view.name] = names
        for kind, at in _by_kind(view, names, chosen).items():
            part = f"{view.name} ({kind if isinstance(kind, str) else kind.name})"
            parts.append(_part(view, part, names, at))
            kinds[part] = kind
    if given:
        raise ValueError(f"likelihoods names the view(s) {listed(list(given))}; there are {listed(list(wholes))}.")
    return tuple(parts), kinds, wholes


def split_like(views: Any, layout: Layout, layer: Any, use_var: str | None) -> tuple[ViewTable, ...]:
    """Views of new samples, divided by kind of column as those of the fit were; columns that are absent stay out."""
    owners = _owners(layout)
    parts = list[ViewTable]()
    for view in read_views(views, layer, use_var, list(dict.fromkeys(owners.values()))):
        if view.name not in layout.wholes:
            parts.append(view)
            continue
        names = view.columns or layout.wholes[view.name]
        if len(names) != view.shape[1]:
            raise ValueError(f"view {view.name!r} has {view.shape[1]} columns; the model was fitted with {len(names)}.")
        strange = [name for name in names if name not in layout.wholes[view.name]]
        if strange:
            raise ValueError(f"view {view.name!r} has the unknown column(s) {listed(strange)}; leave them out.")
        for part, features in zip(layout.views, layout.features, strict=True):
            at = [j for j, name in enumerate(names) if name in features]
            if owners[part] == view.name and at:
                parts.append(_part(view, part, names, at))
    return tuple(parts)


def joined(wide: Array, layout: Layout) -> tuple[Array, Layout]:
    """A table (n, D) of the views of a fit, and its layout, with views that were split put together again."""
    if not layout.wholes:
        return wide, layout
    owners, bounds = _owners(layout), dict(zip(layout.views, layout.bounds, strict=True))
    place = {
        (owners[view], name): bounds[view].start + j
        for view, own in zip(layout.views, layout.features, strict=True)
        for j, name in enumerate(own)
    }
    features = {
        owner: layout.wholes.get(owner) or layout.features[layout.views.index(owner)]
        for owner in dict.fromkeys(owners.values())
    }
    order = [place[owner, name] for owner, own in features.items() for name in own]
    merged = replace(layout, views=tuple(features), features=tuple(features.values()), wholes={})
    xp = array_namespace(wide)
    return xp.stack([wide[:, at] for at in order], axis=1), merged


def _owners(layout: Layout) -> dict[str, str]:
    """The view, as given, that each view of the fit is a part of."""
    return {view: next((w for w in layout.wholes if view.startswith(f"{w} (")), view) for view in layout.views}


def _by_kind(view: ViewTable, names: Sequence[str], chosen: Mapping[Any, Any]) -> dict[Any, list[int]]:
    """Columns of each kind, as given or guessed."""
    kinds = {str(name): kind for name, kind in chosen.items()}
    strange = [name for name in kinds if name not in names]
    if strange:
        raise ValueError(
            f"likelihoods[{view.name!r}] names the column(s) {listed(strange)}; there are {listed(list(names))}."
        )
    found: dict[Any, list[int]] = {}
    for j, name in enumerate(names):
        kind = kinds.get(name)
        if kind is None:
            values = view.numbers(np.float64, np.array([j]))[:, 0]
            kind = guess_kind(values[~np.isnan(values)])
        if not isinstance(kind, str | Likelihood):
            raise ValueError(f"likelihoods[{view.name!r}][{name!r}]={kind!r} is no name of a likelihood.")
        found.setdefault(next((own for own in found if own is kind or own == kind), kind), []).append(j)
    return found


def _part(view: ViewTable, name: str, names: Sequence[str], at: list[int]) -> ViewTable:
    table = columns_at(view.table, np.array(at))
    return replace(view, name=name, table=table, shape=(view.shape[0], len(at)), columns=tuple(names[j] for j in at))
