"""Caller's arrays as rows: dtype and device kept, missing entries found, weights checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from sklearn.utils.validation import _check_sample_weight, validate_data

from latens.array import Array
from latens.array.transfer import host, like
from latens.core import Rows

__all__ = ["check_codes", "check_rows", "is_foreign"]


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library, which stays on its device."""
    return is_array_api_obj(X) and not is_numpy_array(X)


def check_rows(estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool = False, at_least: int = 1) -> Rows:
    """Validate X (n, D) and its weights; NaN becomes a missing entry, a row without entries gets weight 0."""
    if is_foreign(X):
        x = _check_foreign(estimator, X, reset, at_least)
    else:
        if getattr(X, "dtype", None) == np.float16:
            X = X.astype(np.float32)
        x = validate_data(
            estimator,
            X,
            dtype=[np.float64, np.float32],
            reset=reset,
            ensure_all_finite="allow-nan",
            ensure_min_samples=at_least,
        )
    xp = array_namespace(x)
    weight = None if sample_weight is None else _check_weight(sample_weight, x)
    hole = xp.isnan(x)
    if not bool(xp.any(hole)):
        return Rows(x, None, weight)
    some = xp.any(~hole, axis=1)
    if reset and not bool(xp.any(some)):
        raise ValueError(f"X of shape {tuple(x.shape)} holds nothing but NaN; give at least one observed value.")
    if not bool(xp.all(some)):
        # nothing observed, nothing learnt: such a row must not move the usage of the components either
        known = xp.astype(some, x.dtype)
        weight = known if weight is None else weight * known
    return Rows(xp.where(hole, xp.zeros_like(x), x), ~hole, weight)


def check_codes(codes: Any, n_components: int) -> Array:
    """Codes (n, K) for `inverse_transform`."""
    if not is_foreign(codes):
        codes = np.asarray(codes)
        codes = codes.astype(np.float32 if codes.dtype in (np.float16, np.float32) else np.float64)
    if codes.ndim != 2 or codes.shape[1] != n_components:
        raise ValueError(
            f"codes have shape {tuple(codes.shape)}; expected (n, {n_components}), a column for each component."
        )
    return codes


def _check_foreign(estimator: Any, X: Array, reset: bool, at_least: int) -> Array:
    xp, name = array_namespace(X), type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; {name} expects 2, rows x columns. Try X[:, None] or X[None, :].")
    n, d = X.shape
    if n < at_least or d < 1:
        raise ValueError(f"X has shape ({n}, {d}); {name} needs at least {at_least} row(s) and 1 column.")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X is complex ({X.dtype}); {name} expects real numbers. Try its real part.")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    elif X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float32)
    if bool(xp.any(xp.isinf(X))):
        raise ValueError("X contains infinity; replace it by a number, or by NaN if it is missing.")
    if reset:
        estimator.n_features_in_ = d
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif d != estimator.n_features_in_:
        raise ValueError(f"X has {d} features, but {name} is expecting {estimator.n_features_in_} features as input.")
    return X


def _check_weight(sample_weight: Any, x: Array) -> Array:
    if is_foreign(sample_weight):
        sample_weight = host(sample_weight)
    stand_in = np.empty((x.shape[0], 1))
    weight = _check_sample_weight(sample_weight, stand_in, dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0:
        raise ValueError("sample_weight adds up to 0; give at least one row a positive weight.")
    return like(weight, x)
