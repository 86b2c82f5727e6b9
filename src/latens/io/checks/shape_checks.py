"""Which shape every array of a model has: a file whose arrays do not fit together never reaches the model's equations.

Sizes stand in the order of the axes: d columns of data, k components, and the whole numbers and switches among the
fields of the model, by name. "k+intercept" is a sum, "1|d" either of two, and ";" stands between whole shapes of which
an array may have any. A name that is none of these takes the size that it first meets, and keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from latens.errors import FileRefused
from latens.families.negative_binomial_columns import SIZES

__all__ = ["SHAPES", "check_shapes", "shape_matches"]

_FACTORS = {
    "model.noise[1]": "d",
    "state.q.loadings.mean": "k d",
    "state.q.loadings.noise": "d",
    "state.q.loadings.floor": "d",
    "state.q.loadings.weights.mean": "k d",
    "state.q.loadings.weights.precision": "1|d k k",
    "state.q.loadings.weights.shape": "d",
    "state.q.loadings.weights.rate": "d",
    "state.q.loadings.alpha.shape": "k",
    "state.q.loadings.alpha.rate": "k",
    "state.q.center": "d",
}

_FACTOR_SUMS = {
    "state.stats.seen": "1|d",
    "state.stats.x": "d",
    "state.stats.xx": "d",
    "state.stats.z": "k 1|d",
    "state.stats.zx": "k d",
    "state.stats.zz": "1|d k k",
}

_ONLINE_SUMS = {
    "state.stats.x": "d",
    "state.stats.zx": "k d",
    "state.stats.zz": "k k",
    "state.stats.xx": "d",
}

_MIXTURE = {
    "model.weights.concentration": "1",
    "model.weights.mean": "1",
    "model.weights.breaks.on": "0",
    "model.weights.breaks.off": "0",
    "model.weights.alpha.shape": "1",
    "model.weights.alpha.rate": "1",
    "model.clusters.mean": "1 d",
    "model.clusters.strength": "1;1 1",
    "model.clusters.dof": "1",
    "model.clusters.scatter": "1 d d",
    "model.clusters.shape": "1 1",
    "model.clusters.rate": "1 1|d",
    "model.clusters.noise": "1 1",
    "model.clusters.spread": "1 1",
    "model.clusters.chance.on": "1 d",
    "model.clusters.chance.off": "1 d",
    "state.q.weights.concentration": "k",
    "state.q.weights.mean": "k",
    "state.q.weights.breaks.on": "k-1",
    "state.q.weights.breaks.off": "k-1",
    "state.q.weights.alpha.shape": "1",
    "state.q.weights.alpha.rate": "1",
    "state.q.clusters.mean": "k d",
    "state.q.clusters.strength": "k;k 1|d",
    "state.q.clusters.dof": "1|k",
    "state.q.clusters.scatter": "1|k d d",
    "state.q.clusters.covariance": "1|k d d",
    "state.q.clusters.shape": "k 1|d",
    "state.q.clusters.rate": "k 1|d",
    "state.q.clusters.noise": "k 1",
    "state.q.clusters.spread": "k 1|d",
    "state.q.clusters.chance.on": "k d",
    "state.q.clusters.chance.off": "k d",
    "state.stats.counts": "k",
    "state.stats.seen": "k 1|d",
    "state.stats.x": "k d",
    "state.stats.xx": "1|k squares",  # as many as the family asks for
    "state.stats.entries": "d",
    "state.stats.base": "base",
}

_PARTS = {  # of mixed columns, for `c` clusters
    "gaussian": {"mean": "c real", "strength": "c 1|real", "shape": "c 1|real", "rate": "c real"},
    "bernoulli": {"chance.on": "c binary", "chance.off": "c binary"},
    "categorical": {"counts": "c levels"},
    "ordinal": {"counts": "c steps"},
    "poisson": {"rate.shape": "c counts", "rate.rate": "c counts"},
    "negative-binomial": {
        "on": "c over",
        "off": "c over",
        "weight": f"over {len(SIZES)}",
    },
}

_MIXED = {
    f"{home}.clusters.parts[{kind!r}].{name}": " ".join(clusters if axis == "c" else axis for axis in shape.split())
    for home, clusters in (("model", "1"), ("state.q", "k"))
    for kind, arrays in _PARTS.items()
    for name, shape in arrays.items()
}

SHAPES: dict[str, dict[str, str]] = {
    "NoisyOrCauses": {
        "state.q.profiles.concentration": "profiles",
        "state.q.profiles.mean": "profiles",
        **{f"state.q.usage.{part}": "profiles k" for part in ("on", "off", "mean")},
        **{f"state.q.causes.{part}": "k d" for part in ("on", "off", "mean")},
        **{f"state.q.leak.{part}": "d" for part in ("on", "off", "mean")},
        "state.stats.seen": "d",
        "state.stats.used": "profiles",
        "state.stats.on": "profiles k",
        "state.stats.caused": "k d",
        "state.stats.exposed": "k 1|d",
        "state.stats.leaked": "d",
    },
    "JensenNoisyOr": {
        **{f"state.q.usage.{part}": "k" for part in ("on", "off", "mean")},
        **{f"state.q.causes.{part}": "k d" for part in ("shape", "rate", "mean")},
        **{f"state.q.leak.{part}": "d" for part in ("shape", "rate", "mean")},
        "state.stats.seen": "d",
        "state.stats.on": "k",
        "state.stats.caused": "k d",
        "state.stats.exposed": "k 1|d",
        "state.stats.leaked": "d",
    },
    "BinaryFactors": {
        "state.q.usage.on": "k",
        "state.q.usage.off": "k",
        "state.q.usage.mean": "k",
        "state.q.loadings.mean": "k+intercept d",
        "state.q.loadings.noise": "1|d",
        "state.q.loadings.weights.mean": "k+intercept d",
        "state.q.loadings.weights.precision": "1|d k+intercept k+intercept",
        "state.q.loadings.weights.shape": "1|d",
        "state.q.loadings.weights.rate": "1|d",
        "state.q.loadings.alpha.shape": "k+intercept",
        "state.q.loadings.alpha.rate": "k+intercept",
        "state.stats.seen": "d",
        "state.stats.on": "k",
        "state.stats.zz": "1|d k+intercept k+intercept",
        "state.stats.zx": "k+intercept d",
        "state.stats.xx": "d",
    },
    "NoisyIca": {
        "model.noise[1]": "d",
        "state.q.shapes.tails": "k",
        "state.q.shapes.split": "k",
        "state.q.loadings.mean": "k+intercept d",
        "state.q.loadings.noise": "d",
        "state.q.loadings.weights.mean": "k+intercept d",
        "state.q.loadings.weights.precision": "1|d k+intercept k+intercept",
        "state.q.loadings.weights.shape": "d",
        "state.q.loadings.weights.rate": "d",
        "state.q.loadings.alpha.shape": "k+intercept",
        "state.q.loadings.alpha.rate": "k+intercept",
        "state.q.turn": "k k",
        "state.q.size": "k",
        "state.stats.seen": "d",
        "state.stats.zz": "1|d k+intercept k+intercept",
        "state.stats.zx": "k+intercept d",
        "state.stats.xx": "d",
        "state.stats.second": "k k",
        "state.stats.uzz": "k k k",
        "state.stats.zs": "k k",
        "state.stats.u": "k",
        "state.stats.log_u": "k",
    },
    "LinearRegression": {
        "state.q.mean": "d",
        "state.q.covariance": "d d",
        **{f"state.q.{name}.{part}": "1" for name in ("alpha", "beta") for part in ("shape", "rate")},
        "state.stats.x": "d",
        "state.stats.xx": "d d",
        "state.stats.xy": "d",
    },
    "Mixture": _MIXTURE | _MIXED,
    "MultiView": {
        "state.q.activity.mean": "n_groups k",
        "state.q.activity.shape": "n_groups k",
        "state.q.activity.rate": "n_groups k",
        "state.q.usage.on": "n_groups k",
        "state.q.usage.off": "n_groups k",
        "state.stats.sizes": "n_groups",
        "state.stats.squares": "n_groups k",
        "state.stats.used": "n_groups k",
        "state.stats.rest": "rest",
    },
    "View": {  # one of those of a MultiView
        "model.view.noise[1]": "d",
        **{f"state.q.view.weights.{part}": "d k" for part in ("on", "slab", "variance")},
        "state.q.view.weights.idle": "k",
        **{f"state.q.view.offsets.{part}": "d n_groups" for part in ("mean", "variance")},
        **{f"state.q.view.alpha.{part}": "k" for part in ("shape", "rate")},
        **{f"state.q.view.theta.{part}": "k" for part in ("on", "off")},
        **{f"state.q.view.noise.{part}": "d" for part in ("shape", "rate", "mean")},
        "state.stats.view.count": "d",
        "state.stats.view.level": "d",
        "state.stats.view.pull": "d k+n_groups",
        "state.stats.view.gram": "1|d pairs",
    },
    "Factors": _FACTORS | _FACTOR_SUMS,
    "TransportFactors": _FACTORS | _FACTOR_SUMS,
    "ExactFactors": _FACTORS
    | {
        "state.stats.counts": "1 1;d d",
        "state.stats.x": "d 1|d",
        "state.stats.xx": "d d",
        "state.stats.patterns.shown": "patterns d",
        "state.stats.patterns.rows": "patterns",
        "state.stats.patterns.x": "patterns d",
        "state.stats.patterns.xx": "patterns d d",
        "state.stats.values": "few d",  # rows, where they are fewer than their columns
        "state.stats.seen": "few d",
        "state.stats.weight": "few",
    },
    "OnlineEM": _FACTORS | _ONLINE_SUMS,
    "OnlineGradient": _FACTORS | _ONLINE_SUMS,
}


def check_shapes(
    name: str, model: Any, q: Any, arrays: Mapping[str, Any], n_features: int, given: Mapping[str, int] | None = None
) -> None:
    """Compare the shapes of `arrays`, by path, with those declared for the model of that name; `given` adds sizes."""
    declared = SHAPES[name]
    for where, array in arrays.items():
        if where not in declared:
            raise FileRefused(f"{where} is an array, which a {name} does not have there.")
        # before anything is computed from them: axes too many or too few broadcast to sizes that no file could have
        if all(array.ndim != len(shape.split()) for shape in declared[where].split(";")):
            raise FileRefused(f"{where} has {array.ndim} axes; expected the shape ({declared[where]}).")
    sizes = {f.name: int(value) for f in fields(model) if isinstance(value := getattr(model, f.name), int)}
    if sizes.get("n_features", n_features) != n_features:
        raise FileRefused(f"its model has {sizes['n_features']} columns and its data {n_features}; they must agree.")
    sizes |= {"d": n_features, "k": q.n_components, **(given or {})}
    for where, array in arrays.items():
        if not any(shape_matches(array.shape, shape, sizes) for shape in declared[where].split(";")):
            known = ", ".join(f"{name}={size}" for name, size in sizes.items() if name in declared[where])
            raise FileRefused(f"{where} has shape {array.shape}; expected ({declared[where]}) with {known}.")


def shape_matches(found: tuple[int, ...], declared: str, sizes: dict[str, int]) -> bool:
    """Whether a shape is as declared; if so, names that `sizes` lacks are entered there.

    Examples
    --------
    >>> shape_matches((1, 5), "1|d k+intercept", {"d": 16, "k": 4, "intercept": 1})
    True
    >>> sizes = {"k": 4}
    >>> shape_matches((3, 4), "profiles k", sizes), shape_matches((2,), "profiles", sizes)
    (True, False)
    """
    axes, met = declared.split(), dict(sizes)
    if len(axes) != len(found):
        return False
    for size, axis in zip(found, axes, strict=True):
        if axis.isidentifier():
            met.setdefault(axis, size)
        if size not in [_size(choice, met) for choice in axis.split("|")]:
            return False
    sizes.update(met)
    return True


def _size(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of a sum such as "k+intercept" or "k-1"."""
    terms = re.findall(r"([+-]?)(\w+)", formula)
    return sum((-1 if sign == "-" else 1) * (int(n) if n.isdecimal() else sizes[n]) for sign, n in terms)
