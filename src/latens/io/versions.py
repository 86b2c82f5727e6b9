"""Files of earlier versions in the words of the present one: a step for each version, taken one after the other.

A version of the format is a set of names: of records, of their fields, of parameters. A class, field or parameter that
gets another name, or goes, gets a row in the last step if no release wrote the version before it, else a step of its
own. Steps see header and arrays before anything is made of them, so that old classes need not live on. Nothing here
judges a file: what is no header stays as it is, and is refused where it is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from latens.io.views_of_version_2 import measurements_alone

__all__ = ["STEPS", "Step", "upgrade"]

Names = Mapping[str, str]


@dataclass(frozen=True)
class Step:
    """From one version to the next: what is called otherwise, old name to new, and what is left out."""

    estimators: Names = field(default_factory=dict)
    parameters: Mapping[str, Names] = field(default_factory=dict)  # by estimator, as the old version calls it
    attributes: Names = field(default_factory=dict)  # of estimators, those that files hold
    records: Names = field(default_factory=dict)
    fields: Mapping[str, Names] = field(default_factory=dict)  # by record, as the old version calls it
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # fields that are no more, likewise
    change: Callable[[dict[str, Any], list[Any]], None] | None = None  # of header and arrays, before names change


def _sums_as_data(header: dict[str, Any], arrays: list[Any]) -> None:
    """Files up to version 3 hold the sums that stand for all rows of a factor analysis as statistics, not as data."""
    for node in _nodes(header["fitted"]):
        stats = node["fields"].get("stats")
        if node["record"] == "State" and isinstance(stats, dict) and stats.get("record") in ("Scatter", "FewRows"):
            node["fields"].update(stats=None, data=stats)


def _entries_by_column(header: dict[str, Any], arrays: list[Any]) -> None:
    """Files up to version 4 count the observed entries of clusters over all columns, which had one unit.

    With one unit only the sum matters: each column gets the same part of it.
    """
    for node in _nodes(header["fitted"]):
        parts = node["fields"]
        if node["record"] != "ClusterStatistics" or type(parts.get("entries")) not in (int, float):
            continue
        with suppress(AttributeError, IndexError, KeyError, TypeError):
            d = arrays[parts["x"]["array"]].shape[1]
            arrays.append(np.full(d, parts["entries"] / max(d, 1)))
            parts["entries"] = {"array": len(arrays) - 1}


STEPS: dict[int, Step] = {
    1: Step(records={"Fitted": "EstimatorState"}, fields={"Fitted": {"kept": "attributes"}}),
    2: Step(
        parameters={"BayesianLinearRegression": {"alpha": "weight_precision", "beta": "noise_precision"}},
        attributes={"plain_": "_plain", "waiting_": "_waiting"},
        fields={"EstimatorState": {"frame": "units"}},
        records={
            "Frame": "Units",
            "RegressionFrame": "RegressionUnits",
            "Fractions": "PointDirichlet",
            "Known": "KnownGamma",
            "LeastSquares": "PointNormalGamma",
            "Poisson": "SoftplusPoisson",
            "Proportions": "KnownDirichlet",
            "Rate": "PointGamma",
            "Share": "PointBeta",
        },
        dropped={"MultiViewStatistics": ("rest",)},
        change=measurements_alone,
    ),
    3: Step(change=_sums_as_data),
    4: Step(records={"FactorPosterior": "FactorAnalysisPosterior"}, change=_entries_by_column),
    5: Step(fields={"RegressionPosterior": {"along": "axis_variances", "elsewhere": "other_variance"}}),
}


def upgrade(header: dict[str, Any], arrays: list[Any]) -> set[int]:
    """Bring a header and its arrays to the present version, in place.

    Returns
    -------
    set of int
        Numbers of arrays to which nothing refers any more.
    """
    left: set[int] = set()
    while header["version"] in STEPS:
        step = STEPS[header["version"]]
        if step.change is not None:
            step.change(header, arrays)
        estimator = header["estimator"]
        if isinstance(estimator, str):
            header["estimator"] = step.estimators.get(estimator, estimator)
            header["params"] = _renamed(header["params"], step.parameters.get(estimator, {}))
        for node in _nodes(header["fitted"]):
            left.update(_take_step(node, step))
        header["version"] += 1
    return left


def _take_step(node: dict[str, Any], step: Step) -> Iterator[int]:
    """Change one record; yields the arrays that it loses."""
    name, parts = node["record"], node["fields"]
    for dropped in step.dropped.get(name, ()):
        yield from _arrays(parts.pop(dropped, None))
    node["record"] = step.records.get(name, name)
    node["fields"] = parts = _renamed(parts, step.fields.get(name, {}))
    held = parts.get("attributes") if node["record"] == "EstimatorState" else None
    if isinstance(held, dict) and isinstance(held.get("dict"), dict):
        held["dict"] = _renamed(held["dict"], step.attributes)


def _renamed(entries: Any, names: Names) -> Any:
    return {names.get(name, name): entry for name, entry in entries.items()} if isinstance(entries, dict) else entries


def _children(node: Any) -> list[Any]:
    """What stands within a node of `latens.io.encoding`; names that a user gave are no nodes."""
    if isinstance(node, list):
        return node
    if not isinstance(node, dict):
        return []
    inner = next((node[kind] for kind in ("fields", "dict", "tuple") if kind in node), None)
    return list(inner.values()) if isinstance(inner, dict) else inner if isinstance(inner, list) else []


def _walk(root: Any) -> Iterator[Any]:
    """Every node, without recursion: a hostile header may be nested deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(_children(node))


def _nodes(root: Any) -> Iterator[dict[str, Any]]:
    """Every record."""
    for node in _walk(root):
        if isinstance(node, dict) and isinstance(node.get("record"), str) and isinstance(node.get("fields"), dict):
            yield node


def _arrays(root: Any) -> Iterator[int]:
    """The number of every array within a node."""
    for node in _walk(root):
        if isinstance(node, dict) and type(node.get("array")) is int:
            yield node["array"]
