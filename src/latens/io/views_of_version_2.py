"""Multi-view files of version 2, in which known precisions and groups were columns behind those of the views.

Since version 3 columns are measurements, and rows carry what else is known of them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from latens.models.multi_view.view import GROUP, precision_of

__all__ = ["measurements_alone"]

Node = dict[str, Any]  # of a header: see `latens.io.encoding`


def measurements_alone(header: Node, arrays: list[Any]) -> None:
    """Cut such columns off, and put what they held where it belongs now; what is no such file stays as it is."""
    with suppress(AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError):
        fitted = header["fitted"]["fields"]
        attributes = fitted["attributes"]["dict"]
        columns = _Columns(attributes["layout_"]["fields"])
        frame = fitted["frame"]["fields"]
        units = {name: np.ldexp(1.0, -arrays[frame["exponent"]["array"]][at.start]) for name, at in columns.precise}
        for part in ("origin", "exponent"):
            _replace(frame[part], arrays, arrays[frame[part]["array"]][: columns.n])
        for view in fitted["model"]["fields"]["views"]["tuple"]:
            if view["fields"].pop("given") is not None:
                view["fields"]["precision_unit"] = float(units[view["fields"]["name"]])
        if attributes.get("waiting_") is not None:
            _split_waiting(attributes["waiting_"]["fields"], arrays)


class _Columns:
    """Which columns a table of version 2 has."""

    def __init__(self, layout: Node) -> None:
        views, features = layout["views"]["tuple"], layout["features"]["tuple"]
        sizes = {name: len(names["tuple"]) for name, names in zip(views, features, strict=True)}
        self.n = at = sum(sizes.values())  # of the views
        self.precise: list[tuple[str, slice]] = []
        for name in layout["precise"]["tuple"]:
            self.precise.append((name, slice(at, at + sizes[name])))
            at += sizes[name]
        self.group = at if layout["groups"]["tuple"] else None


def _split_waiting(waiting: Node, arrays: list[Any]) -> None:
    """Samples that wait, which may have groups where the fit had but one."""
    columns, samples = _Columns(waiting["layout"]["fields"]), waiting["samples"]["fields"]
    values, seen = arrays[samples["values"]["array"]], None
    if samples["seen"] is not None:
        seen = arrays[samples["seen"]["array"]]
    known = {}
    for name, at in columns.precise:
        known[precision_of(name)] = values[:, at] if seen is None else np.where(seen[:, at], values[:, at], 0.0)
    if columns.group is not None:
        known[GROUP] = values[:, columns.group]
    waiting["aux"] = {"dict": {name: _added(arrays, part) for name, part in known.items()}}
    _replace(samples["values"], arrays, values[:, : columns.n])
    if seen is not None:
        _replace(samples["seen"], arrays, seen[:, : columns.n])


def _replace(node: Node, arrays: list[Any], values: Any) -> None:
    arrays[node["array"]] = np.ascontiguousarray(values)


def _added(arrays: list[Any], values: Any) -> Node:
    arrays.append(np.ascontiguousarray(values))
    return {"array": len(arrays) - 1}
