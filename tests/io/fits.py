"""Small fitted models of every kind, and what it means for two of them to be the same."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

import latens

GIVEN_PARTS = np.random.default_rng(3).uniform(0.0, 1.0, size=(16, 4)).T  # not in C order

# parameters besides the common ones; the rows that are fitted; whether a second batch is streamed in
SETTINGS: dict[str, tuple[dict[str, Any], str, bool]] = {
    "ard": ({}, "plain", False),
    "ml": ({"prior": "ml"}, "plain", False),
    "intercept": ({"fit_intercept": True}, "shifted", False),
    "diagonal noise": ({"noise": "diagonal", "prior": "ml"}, "plain", False),
    "all at once, missing": ({"noise": "diagonal", "fit_intercept": True}, "missing", False),
    "points, missing": ({"prior": "ml"}, "missing", False),
    "mean field": ({"e_step": "mean-field"}, "plain", False),
    "exact": ({"e_step": "exact"}, "plain", False),
    "truncated": ({"e_step": "truncated"}, "plain", False),
    "too many components": ({"n_components": 7}, "plain", False),
    "one component": ({"n_components": 1}, "plain", False),
    "given start": ({"init": GIVEN_PARTS}, "plain", False),
    "float32": ({}, "float32", False),
    "huge units": ({}, "huge", False),
    "streamed": ({}, "plain", True),
    "streamed, missing": ({"fit_intercept": True}, "missing", True),
}


@cache
def rows(kind: str) -> Any:
    """200 rows of 16 columns."""
    X, _ = latens.datasets.make_shapes(200, random_state=0)
    if kind == "shifted":
        return X + 5.0
    if kind == "huge":
        return X * 1e120
    if kind == "float32":
        return X.astype(np.float32)
    if kind == "missing":
        X = X.copy()
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X


@cache
def _fitted(name: str) -> Any:
    params, kind, streamed = SETTINGS[name]
    common = {"n_components": 4, "n_init": 1, "max_iter": 8, "moves": False, "random_state": 0}
    model = latens.BinaryFactorAnalysis(**{**common, **params})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows(kind)[:120])
    return model.partial_fit(rows(kind)[120:]) if streamed else model


def fitted(name: str = "ard") -> Any:
    """A model of these settings, and the caller's own."""
    return deepcopy(_fitted(name))


def difference(a: Any, b: Any, where: str = "") -> str | None:
    """Where two values first differ in type, bits, dtype or layout; None if they do not."""
    if type(a) is not type(b):
        return f"{where}: {type(a)} and {type(b)}"
    if is_dataclass(a):
        pairs = [(f".{f.name}", getattr(a, f.name), getattr(b, f.name)) for f in fields(a)]
    elif isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: {list(a)} and {list(b)}"
        pairs = [(f"[{key!r}]", a[key], b[key]) for key in a]
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            return f"{where}: {len(a)} and {len(b)} entries"
        pairs = [(f"[{i}]", *pair) for i, pair in enumerate(zip(a, b, strict=True))]
    elif isinstance(a, np.ndarray):
        same = (a.dtype, a.shape) == (b.dtype, b.shape) and a.tolist() == b.tolist()
        # an axis of one entry has no direction, so that its stride says nothing
        steps = [(s, t) for s, t, n in zip(a.strides, b.strides, a.shape, strict=True) if n > 1] if same else []
        return None if same and all(s == t for s, t in steps) else f"{where}: {a!r} and {b!r}"
    else:
        return None if a == b else f"{where}: {a!r} and {b!r}"
    return next((gap for step, x, y in pairs if (gap := difference(x, y, where + step))), None)


def estimators_differ(a: Any, b: Any) -> str | None:
    """Where two estimators differ in any attribute, parameters included."""
    return difference(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())), type(a).__name__)
