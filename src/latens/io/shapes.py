"""Which shape every array of a model has: a file whose arrays do not fit together never reaches the model's equations.

Sizes: d columns of data, k components, and the whole numbers and switches among the fields of the model, by name.
"1|d" is either, "k+intercept" a sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from latens.errors import FileRefused

__all__ = ["SHAPES", "check_shapes"]

SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "BinaryFactors": {
        "state.q.usage.on": ("k",),
        "state.q.usage.off": ("k",),
        "state.q.usage.mean": ("k",),
        "state.q.loadings.mean": ("k+intercept", "d"),
        "state.q.loadings.noise": ("1|d",),
        "state.q.loadings.weights.mean": ("k+intercept", "d"),
        "state.q.loadings.weights.precision": ("1|d", "k+intercept", "k+intercept"),
        "state.q.loadings.weights.shape": ("1|d",),
        "state.q.loadings.weights.rate": ("1|d",),
        "state.q.loadings.alpha.shape": ("k+intercept",),
        "state.q.loadings.alpha.rate": ("k+intercept",),
        "state.stats.seen": ("d",),
        "state.stats.on": ("k",),
        "state.stats.zz": ("1|d", "k+intercept", "k+intercept"),
        "state.stats.zx": ("k+intercept", "d"),
        "state.stats.xx": ("d",),
    },
}


def check_shapes(model: Any, arrays: Mapping[str, Any], n_features: int, n_components: int) -> None:
    """Compare the shapes of `arrays`, by path, with those declared for the model's class."""
    declared = SHAPES[type(model).__name__]
    sizes = {f.name: int(value) for f in fields(model) if isinstance(value := getattr(model, f.name), int)}
    sizes |= {"d": n_features, "k": n_components}
    if sizes.get("n_features", n_features) != n_features:
        raise FileRefused(f"its model has {sizes['n_features']} columns and its data {n_features}; they must agree.")
    for where, array in arrays.items():
        if where not in declared:
            raise FileRefused(f"{where} is an array, which a {type(model).__name__} does not have there.")
        expected = [[_size(choice, sizes) for choice in size.split("|")] for size in declared[where]]
        found = array.shape
        if len(found) != len(expected) or any(n not in choices for n, choices in zip(found, expected, strict=True)):
            wanted = ", ".join(" or ".join(map(str, choices)) for choices in expected)
            raise FileRefused(
                f"{where} has shape {found}; expected ({wanted}) for {n_components} components of {n_features} columns."
            )


def _size(formula: str, sizes: Mapping[str, int]) -> int:
    return sum(int(part) if part.isdecimal() else sizes[part] for part in formula.split("+"))
