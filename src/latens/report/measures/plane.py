"""Rows as points: the axes they may be drawn against, and the groups they may be coloured by."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.report.measures.words import before_one, yes_no_words

if TYPE_CHECKING:
    from latens.report.subject import Entry

__all__ = ["Axis", "Colour", "axes_of", "colours_of", "packed"]

MOST_AXES, MOST_COLOURS = 14, 12
MOST_LEVELS = 6  # distinguished by colour; the others share one
N_BINS = 5  # of a number, as colours
MOST_COLUMNS = 400  # columns above which principal directions are those of the strongest


@dataclass(frozen=True)
class Axis:
    """A number of each row; `component` says whose it is, where it is a component's."""

    name: str
    values: np.ndarray  # (n,), NaN where unknown
    component: int | None = None


@dataclass(frozen=True)
class Colour:
    """A group of each row: codes (n,) into levels, -1 where unknown."""

    name: str
    levels: list[str]
    codes: np.ndarray
    ordered: bool = False


def axes_of(entry: Entry) -> list[Axis]:
    """Scores of factors and sources; principal directions and the most telling columns where codes are on or off."""
    sample = entry.sample
    if sample is None:
        return []
    if entry.family in ("factors", "views", "sources"):
        return [Axis(name, z, k) for k, (name, z) in enumerate(zip(entry.labels, sample.codes.T, strict=True))][
            :MOST_AXES
        ]
    values, names = sample.values, entry.column_names(sample.values.shape[1])
    found = _principal(values, sample.spread)
    if entry.profile is not None and entry.image_shape is None and len(entry.profile.columns) == len(names):
        telling = np.argsort(-np.max(np.abs(entry.profile.strength), axis=1), kind="stable")
        found += [Axis(names[d], values[:, d]) for d in telling[: MOST_AXES - len(found)]]
    return found


def colours_of(entry: Entry) -> list[Colour]:
    """Clusters or causes, then what is known about the rows, then columns of few levels."""
    sample = entry.sample
    if sample is None:
        return []
    found = []
    if entry.grouped and sample.codes.shape[1]:
        found.append(Colour(entry.noun(1), *_levelled(entry.labels, np.argmax(sample.codes, axis=1))))
    elif entry.family in ("switches", "causes"):
        found += [
            Colour(name, ["off", "on"], (z > 0.5).astype(int))
            for name, z in zip(entry.labels, sample.codes.T, strict=True)
        ][: MOST_COLOURS // 2]
    found += [colour_of(name, [values[i] for i in sample.index]) for name, values in entry.known.items()]
    if not entry.grouped and entry.family not in ("switches", "causes") and sample.values.shape[1] <= MOST_COLUMNS:
        names = entry.column_names(sample.values.shape[1])
        few = [
            d
            for d in range(len(names))
            if 2 <= len(np.unique(sample.values[np.isfinite(sample.values[:, d]), d])) <= MOST_LEVELS
        ]
        words = yes_no_words(entry, len(names))
        found += [
            colour_of(before_one(names[d], words[d]), [_level(v, words[d]) for v in sample.values[:, d]]) for d in few
        ]
    return found[:MOST_COLOURS]


def _level(value: float, words: tuple[str, str] | None) -> str | None:
    """An entry of a column of few values as its legend has it; None where it is missing."""
    if np.isnan(value):
        return None
    return f"{value:g}" if words is None or value not in (0, 1) else words[int(value)]


def colour_of(name: str, values: list[Any]) -> Colour:
    """Groups from labels, or from numbers in five equal parts.

    Examples
    --------
    >>> colour_of("sex", ["f", None, "m", "f"]).codes.tolist()
    [0, -1, 1, 0]
    >>> colour_of("age", [float(a) for a in range(50)]).levels[0]
    '0 to 9.8'
    """
    there = [value for value in values if value is not None]
    numbers = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in there)
    if numbers and len(set(there)) > MOST_LEVELS:
        x = np.array([np.nan if value is None else float(value) for value in values])
        edges = np.unique(np.nanquantile(x, np.linspace(0, 1, N_BINS + 1)))
        codes = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        levels = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
        return Colour(name, levels, np.where(np.isnan(x), -1, codes), ordered=True)
    texts = [None if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    counts: dict[str, int] = {}
    for text in texts:
        if text is not None:
            counts[text] = counts.get(text, 0) + 1
    known = sorted(counts, key=lambda text: (-counts[text], text))
    at = {text: i for i, text in enumerate(known)}
    return Colour(name, *_levelled(known, np.array([-1 if text is None else at[text] for text in texts])))


def packed(values: np.ndarray) -> dict[str, Any]:
    """Numbers as 16-bit steps between their ends, NaN as the smallest step: for the page's script."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    step = (high - low) / 65000 or 1.0
    steps = np.where(np.isfinite(values), np.round((np.nan_to_num(values) - low) / step), -1) - 32500
    return {"low": low, "step": step, "data": b64encode(steps.astype("<i2").tobytes()).decode("ascii")}


def _levelled(levels: list[str], codes: np.ndarray) -> tuple[list[str], np.ndarray]:
    """At most MOST_LEVELS levels, the most that can be distinguished; the rest are one, "others"."""
    if len(levels) <= MOST_LEVELS:
        return list(levels), codes
    return [*levels[: MOST_LEVELS - 1], "others"], np.minimum(codes, MOST_LEVELS - 1)


def _principal(values: np.ndarray, spread: np.ndarray) -> list[Axis]:
    """The first two principal directions of standardised columns, missing entries at their means."""
    moving = np.flatnonzero(spread > 0)
    if len(moving) < 2 or len(values) < 3:
        return [Axis("row", np.arange(len(values), dtype=float))] if len(moving) < 1 else []
    moving = moving[np.argsort(-spread[moving], kind="stable")[:MOST_COLUMNS]] if len(moving) > MOST_COLUMNS else moving
    x = values[:, moving]
    z = np.nan_to_num((x - np.nanmean(x, axis=0)) / spread[moving])
    _, directions = np.linalg.eigh(z.T @ z)
    share = np.var(z @ directions[:, ::-1][:, :2], axis=0) / np.var(z, axis=0).sum()
    scores = z @ directions[:, ::-1][:, :2]
    scores *= np.where(np.max(scores, axis=0) < -np.min(scores, axis=0), -1, 1)
    return [Axis(f"direction {i + 1} ({100 * share[i]:.0f} % of the variance)", scores[:, i]) for i in range(2)]
