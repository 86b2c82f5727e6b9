"""Small fitted models of every estimator, and what it means for two of them to be the same."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

import latens
from tests.contract.variants import VARIANTS, Call, Variant

GIVEN_PARTS = np.random.default_rng(3).uniform(0.0, 1.0, size=(16, 4)).T  # not in C order


@dataclass(frozen=True)
class Setting:
    """A variant of the contract table, the kind of rows it is fitted to, and whether a second batch is streamed in."""

    variant: Variant
    rows: dict[str, bool] = field(default_factory=dict)  # holes, weighted, single
    streamed: bool = False

    def batch(self, number: int) -> Call:
        return self.variant.batch(number, **self.rows)

    def model(self) -> Any:
        model = self.batch(0).fit(self.variant.make())
        return self.batch(1).partial_fit(model) if self.streamed else model


@dataclass(frozen=True)
class Shapes(Variant):
    """On/off causes of small images: files that are forged hold them."""

    shift: float = 0.0
    unit: float = 1.0

    def batch(self, number: int, **rows: bool) -> Call:
        X = (latens.datasets.make_shapes(120, random_state=number)[0] + self.shift) * self.unit
        if rows.get("holes"):
            X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
        return Call({"X": X})


def _shapes(shift: float = 0.0, unit: float = 1.0, **params: Any) -> Variant:
    common = {"n_components": 4, "n_init": 1, "max_iter": 8, "moves": False, "random_state": 0}
    return Shapes("BinaryFactorAnalysis", {**common, **params}, shift=shift, unit=unit)


HOLES, WEIGHTED, SINGLE = {"holes": True}, {"weighted": True}, {"single": True}

SETTINGS: dict[str, Setting] = {
    "ard": Setting(_shapes(fit_intercept=False)),
    "ml": Setting(_shapes(prior="ml")),
    "all at once, missing": Setting(_shapes(noise="diagonal", fit_intercept=True, shift=5.0), HOLES),
    "too many components": Setting(_shapes(n_components=7)),
    "one component": Setting(_shapes(n_components=1)),
    "given start": Setting(_shapes(init=GIVEN_PARTS)),
    "huge units": Setting(_shapes(unit=1e120)),
    **{
        name: Setting(VARIANTS[name], rows, streamed)
        for name, rows, streamed in (
            ("binary-ard-mean-field", SINGLE, False),
            ("binary-ml-truncated-intercept-diagonal", HOLES, True),
            ("noisy-or-ard-exact-2", HOLES, False),
            ("noisy-or-ard-truncated-1", WEIGHTED, True),
            ("noisy-or-ml-jensen", {}, True),
            ("factors-ml", HOLES, False),
            ("factors-ard", WEIGHTED, True),
            ("factors-transport", {}, True),
            ("factors-online-em", {}, True),
            ("factors-few-rows", {}, False),
            ("mixture-full-process", HOLES, False),
            ("mixture-tied-dirichlet", WEIGHTED, True),
            ("mixture-diag-uniform", SINGLE, False),
            ("mixture-bernoulli-dirichlet", HOLES, True),
            ("ica-mixed-intercept", HOLES, False),
            ("ica-heavy-mean-field", WEIGHTED, True),
            ("views-mixed", HOLES, False),
            ("views-groups", {}, True),
            ("views-long-counts", {}, True),
            ("views-sparse-codes", WEIGHTED, False),
            ("regression-evidence", {}, True),
            ("regression-gamma", WEIGHTED, False),
        )
    },
}


@cache
def _fitted(name: str) -> Any:
    return SETTINGS[name].model()


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
        # an axis of one entry has no direction, so that its stride says nothing; nor has one of an empty array
        steps = (
            [(s, t) for s, t, n in zip(a.strides, b.strides, a.shape, strict=True) if n > 1] if same and a.size else []
        )
        return None if same and all(s == t for s, t in steps) else f"{where}: {a!r} and {b!r}"
    else:
        return None if a == b else f"{where}: {a!r} and {b!r}"
    return next((gap for step, x, y in pairs if (gap := difference(x, y, where + step))), None)


def estimators_differ(a: Any, b: Any) -> str | None:
    """Where two estimators differ in any attribute, parameters included."""
    return difference(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())), type(a).__name__)
