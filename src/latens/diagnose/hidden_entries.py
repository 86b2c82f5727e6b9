"""Cells that are hidden from a fitted model, and what it fills them with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.frames.raw_frames import is_frame, level_numbers
from latens.intake import Encoding, RawTable
from latens.models.likelihoods.names import MEASUREMENTS

__all__ = ["SHARE", "MixedFrame", "comparable", "filled_rows", "hide_some", "measured", "mixed_frame", "of_text"]

Mask = NDArray[np.bool_]
SHARE = 0.1  # of the cells


def hide_some(rows: Floats) -> Mask:
    """(n, D), a tenth of the observed cells, at least one left in each row."""
    hide = (np.random.default_rng(0).random(rows.shape) < SHARE) & np.isfinite(rows)
    hide[np.isfinite(rows).sum(axis=1) - hide.sum(axis=1) < 1] = False
    return np.asarray(hide)


def measured(model: Any, d: int) -> Mask:
    """(D,), whether each column is of real numbers."""
    columns = getattr(model, "columns_", None)
    return comparable(model, d) if columns is None else np.array([kind == "gaussian" for kind in columns.kinds])


def of_text(model: Any) -> bool:
    """Whether rows are given as text, so that numbers of levels are no rows."""
    return hasattr(model, "columns_") and model.columns_.table is not None


def comparable(model: Any, d: int) -> Mask:
    """(D,), whether the distance of two entries of a column means something."""
    layout = getattr(model, "layout_", None)
    if layout is not None:
        kinds = model.likelihoods_
        return np.array(
            [str(kinds[v]) in MEASUREMENTS for v, f in zip(layout.views, layout.features, strict=True) for _ in f]
        )
    if hasattr(model, "columns_"):
        return np.array([kind in (*MEASUREMENTS, "bernoulli") for kind in model.columns_.kinds])
    return np.ones(d, dtype=bool)


def filled_rows(model: Any, rows: Floats, given: Mapping[str, Any] | None = None) -> tuple[Floats, Floats] | None:
    """Means and standard deviations (n, D) of all entries, observed ones as they are."""
    layout = getattr(model, "layout_", None)
    asked: Any = rows
    if layout is not None and not fitted_parts(model).one_table:
        asked = {name: rows[:, at] for name, at in zip(layout.views, layout.bounds, strict=True)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            filled = model.impute(asked, return_std=True, **(given or {}))
        except (ValueError, TypeError):  # rows with a group, a precision or an exposure that are not at hand
            return None
    mean, std = (list(part.values()) if isinstance(part, dict) else [part] for part in filled)
    return np.concatenate(mean, axis=1), np.concatenate(std, axis=1)


@dataclass(frozen=True)
class MixedFrame:
    """Columns of a frame of numbers and levels that a model was fitted to, as it is."""

    names: list[str]
    levels: Mask  # (D,), which of them are of levels
    measured: Mask  # (D,), which of them are measurements to the model
    encoding: Encoding

    def numbers(self, X: Any) -> Floats:
        """(n, D) of such a frame, of levels their number."""
        return level_numbers(self.encoding, X)

    def filled(self, model: Any, X: Any, hide: Mask, given: Mapping[str, Any]) -> tuple[Floats, Floats]:
        """Numbers and standard deviations (n, D) of X, cells that `hide` (n, D) names being filled by the model."""
        gappy = _without(self._unwritten(X), self.names, hide)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer, std = model.impute(gappy, return_std=True, **given)
            texts = [name for name, of_levels in zip(self.names, self.levels, strict=True) if of_levels]
            filled = np.array(self.numbers(_replaced(gappy, {name: answer[name] for name in texts})), dtype=float)
        for j in np.flatnonzero(~self.levels).tolist():  # an expected count is no count, which the model would refuse
            filled[hide[:, j], j] = np.asarray(answer[self.names[j]], dtype=float)[hide[:, j]]
        spread = std[self.names] if hasattr(std, "columns") else std
        return filled, np.asarray(spread, dtype=np.float64)

    def limits(
        self, model: Any, X: Any, hide: Mask, given: Mapping[str, Any], tails: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """(n, D) twice: quantiles of measurements of X, cells that `hide` (n, D) names being told by the model."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, found = model.impute(_without(self._unwritten(X), self.names, hide), quantiles=tails, **given)
        low, high = np.full(hide.shape, np.nan), np.full(hide.shape, np.nan)
        for j in np.flatnonzero(self.measured).tolist():
            for out, tail in ((low, tails[0]), (high, tails[1])):
                out[:, j] = np.asarray(found[tail][self.names[j]], dtype=np.float64)
        return low, high

    def _unwritten(self, X: Any) -> Any:
        """The frame with numbers in place of text that means numbers, such as 14 %: text would be filled rounded."""
        texts = dict(
            zip(map(str, X.columns), (values.dtype == object for values in RawTable.of_frame(X).values), strict=True)
        )
        columns, numbers = {}, self.numbers(X)
        for j in np.flatnonzero(~self.levels).tolist():
            name = self.names[j]
            if texts[name]:
                kind = type(X[name])
                columns[name] = kind(numbers[:, j], index=X.index) if hasattr(X, "iloc") else kind(name, numbers[:, j])
        return _replaced(X, columns)


def mixed_frame(model: Any, X: Any) -> MixedFrame | None:
    """How rows are given to a model of text; None where they are given as numbers."""
    if of_text(model):
        kinds = np.array(model.columns_.kinds)
        levels = np.isin(kinds, ["bernoulli", "categorical", "ordinal"])
        return MixedFrame(list(model.columns_.names), levels, np.isin(kinds, MEASUREMENTS), model.columns_.table)
    encodings = getattr(model, "encodings_", None) or {}
    if not hasattr(model, "layout_") or not is_frame(X) or len(encodings) != 1:
        return None
    (encoding,) = encodings.values()
    names = [column.name for column in encoding.columns]
    views = zip(model.layout_.views, model.layout_.features, strict=True)
    levels = np.array([column.kind in ("binary", "category") for column in encoding.columns])
    real = [name for view, own in views if str(model.likelihoods_[view]) in MEASUREMENTS for name in own]
    return MixedFrame(names, levels, np.isin(names, real), encoding)


def _without(X: Any, names: list[str], hide: Mask) -> Any:
    """A frame of pandas or polars without the cells that are to be hidden."""
    if hasattr(X, "iloc"):
        return _replaced(X, {name: X[name].mask(hide[:, j]) for j, name in enumerate(names)})
    return _replaced(X, {name: X[name].set(type(X[name])(hide[:, j]), None) for j, name in enumerate(names)})


def _replaced(X: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with other columns of these names."""
    if hasattr(X, "iloc"):
        return X.assign(**columns)
    return X.with_columns([column.alias(name) for name, column in columns.items()])
