"""Rows that are sums of images, each switched on or off by its own coin, under Gaussian noise.

s_nk ~ Bernoulli(usage_k)
x_n  ~ Normal(sum_k s_nk w_k, noise^2 I)
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from latens.datasets.truth import ImageTruth

__all__ = ["probabilities", "switched", "whole"]


def switched(
    components: np.ndarray,  # (K, D)
    n_samples: int,
    activity: ArrayLike,
    noise: float,
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[np.ndarray, ImageTruth]:
    """Draw rows from given images; returns X of shape (N, D) and the truth behind it."""
    n = whole("n_samples", n_samples, smallest=1)
    k, d = components.shape
    usage = probabilities("activity", activity, k)
    noise = _deviation(noise)
    codes = (rng.random((n, k)) < usage).astype(np.float64)
    rows = codes @ components + noise * rng.standard_normal((n, d))
    return rows, ImageTruth(components, codes, usage, noise**2, shape)


def whole(name: str, value: object, *, smallest: int, largest: int | None = None) -> int:
    """A count within its limits; 10.0 counts as 10, since other languages send integers that way."""
    limits = f"choose at least {smallest}" if largest is None else f"choose from {smallest} to {largest}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not float(value).is_integer():
        raise ValueError(f"{name}={value!r} is not a whole number; {limits}.")
    count = int(float(value))
    if count < smallest:
        raise ValueError(f"{name}={value!r} is too small; {limits}.")
    if largest is not None and count > largest:
        raise ValueError(f"{name}={value!r} is too large; {limits}.")
    return count


def probabilities(name: str, given: ArrayLike, k: int) -> np.ndarray:
    """(k,), each of `given`, or one for all."""
    remedy = "choose a probability from 0 to 1" + (f", or one for each of the {k} images" if k > 1 else "")
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}={given!r} is not a number; {remedy}.") from error
    if values.shape not in {(), (1,), (k,)}:
        raise ValueError(f"{name} has shape {values.shape}; {remedy}.")
    if not np.all((values >= 0) & (values <= 1)):  # also refuses NaN
        raise ValueError(f"{name}={given!r} is not a probability; {remedy}.")
    return np.array(np.broadcast_to(values, (k,)))


def _deviation(noise: float) -> float:
    if isinstance(noise, bool | np.bool_) or not isinstance(noise, Real) or not 0 <= float(noise) < np.inf:
        raise ValueError(f"noise={noise!r} is no standard deviation; choose a finite number of at least 0.")
    return float(noise)
