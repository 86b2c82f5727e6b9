"""Draws of published numbers: named as in the fit, put into their places, stacked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from latens.array import Floats, Index
from latens.core import Mirrored, Turnable
from latens.estimators.intervals.table import PublishedNumber

__all__ = [
    "PosteriorDraws",
    "chosen",
    "filled",
    "mean_squares",
    "named_as_in_fit",
    "of_view",
    "own_stream",
    "stacked",
]


class PosteriorDraws(dict[str, Any]):
    """Draws by name, with what chains say of themselves.

    Attributes
    ----------
    r_hat, effective_size : dict of float
        Of the mean square of each parameter, which does not depend on labels.
    """

    r_hat: dict[str, float]
    effective_size: dict[str, float]


def named_as_in_fit(point: Any, codes: Floats, reference: Floats) -> Any:
    """A draw of the globals with its components in the fit's order; factors in its axes, by the nearest rotation."""
    if isinstance(point, Turnable):
        left, _, right = np.linalg.svd(codes.T @ reference)
        return point.turned(left @ right)
    if isinstance(point, Mirrored):
        order, signs = _matched_with_signs(codes, reference)
        return point.only(order).signed(signs)
    return point.only(_matched(codes, reference))


def _matched_with_signs(codes: Floats, reference: Floats) -> tuple[Index, Floats]:
    """(K,) each, which factor of a draw is each of the fit's, and with which sign: those that go together most."""
    sizes = np.linalg.norm(codes, axis=0)[:, None] * np.linalg.norm(reference, axis=0)
    together = codes.T @ reference / np.maximum(sizes, np.finfo(float).tiny)
    drawn, fitted = linear_sum_assignment(-np.abs(together))
    order = np.asarray(drawn[np.argsort(fitted)])
    return order, np.where(together[order, np.arange(len(order))] < 0, -1.0, 1.0)


def _matched(codes: Floats, reference: Floats) -> Index:
    """(K,), which component of a draw is each of the fit's: those whose codes (n, K) agree in most rows."""
    agreement = codes.T @ reference + (1 - codes).T @ (1 - reference)
    drawn, fitted = linear_sum_assignment(-agreement)
    return np.asarray(drawn[np.argsort(fitted)])


def filled(published: Mapping[str, Any], numbers: list[PublishedNumber], drawn: Floats) -> dict[str, Any]:
    """Publications with the drawn numbers (n, m) in their places; weights add up to 1 again."""
    n = len(drawn)
    wanted = {number.parameter for number in numbers}
    placed: dict[str, Any] = {}
    for name in wanted:
        value = published[name]
        parts = value if isinstance(value, Mapping) else {"": value}
        arrays = {view: np.repeat(np.asarray(part, dtype=float)[None], n, axis=0) for view, part in parts.items()}
        placed[name] = arrays if isinstance(value, Mapping) else arrays[""]
    for i, number in enumerate(numbers):
        target = placed[number.parameter]
        target = target[number.view] if isinstance(target, dict) else target
        target[(slice(None), *number.place)] = drawn[:, i]
        if number.parameter == "covariances" and len(number.place) >= 2 and target.ndim == len(number.place) + 1:
            *first, d, e = number.place
            if target.shape[-1] == target.shape[-2]:
                target[(slice(None), *first, e, d)] = drawn[:, i]
    for name in {"weights"} & wanted:
        placed[name] = placed[name] / placed[name].sum(axis=1, keepdims=True)
    return placed


def stacked(values: list[Any]) -> Any:
    """Values of several draws along a new first axis, name by name where they have names."""
    if isinstance(values[0], Mapping):
        return {name: stacked([value[name] for value in values]) for name in values[0]}
    return np.stack([np.asarray(value) for value in values])


def chosen(drawn: Any, which: Index) -> Any:
    """Some of the draws, view by view where there are several."""
    return {view: part[which] for view, part in drawn.items()} if isinstance(drawn, Mapping) else drawn[which]


def of_view(drawn: Any, view: str) -> Any:
    """The draws of a number that is published by view, or of one that is not."""
    return drawn[view] if isinstance(drawn, Mapping) else drawn


def mean_squares(drawn: Any) -> Floats:
    """(n,), the mean square of all numbers of each draw, which does not depend on labels and signs."""
    parts = drawn.values() if isinstance(drawn, Mapping) else [drawn]
    flat = np.concatenate([np.asarray(part).reshape(len(part), -1) for part in parts], axis=1)
    return np.asarray(np.mean(flat**2, axis=1))


def own_stream(rng: np.random.Generator) -> np.random.Generator:
    """Random numbers that are not those of the seed itself, from which people also make their data."""
    return rng.spawn(1)[0]
