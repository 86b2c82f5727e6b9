"""Cells that are hidden from a fitted model, and what it fills them with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latens.array import Floats
from latens.estimators.fitted_parts import fitted_parts
from latens.models.likelihoods.names import MEASUREMENTS

__all__ = ["SHARE", "comparable", "filled_rows", "hide_some", "measured", "of_text"]

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
