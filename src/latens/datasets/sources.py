"""Sensors that hear independent sources: instantaneous mixtures under noise that may differ by sensor.

x_n = A z_n + e_n,   z_nk independent with mean 0 and variance 1,   e_nd ~ Normal(0, noise_d)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from latens.datasets.switching import whole
from latens.system.seeds import generator

__all__ = ["SourceTruth", "make_ica"]

KINDS: dict[str, Callable[[np.random.Generator, int, float], np.ndarray]] = {
    "student": lambda rng, n, tails: rng.standard_t(tails, n),
    "laplace": lambda rng, n, tails: rng.laplace(size=n),
    "uniform": lambda rng, n, tails: rng.uniform(-1, 1, n),
    "gaussian": lambda rng, n, tails: rng.normal(size=n),
}
MIXED_SHAPES = ("student", "laplace", "uniform")


@dataclass(frozen=True)
class SourceTruth:
    """What the sensors heard.

    Attributes
    ----------
    mixing : ndarray of shape (D, K)
        What one unit of each source adds to each sensor.
    sources : ndarray of shape (N, K)
        Each with mean 0 and variance 1 over the rows drawn.
    kinds : tuple of str
        The distribution of each source.
    noise_variance : ndarray of shape (D,)
        Of each sensor.

    Examples
    --------
    >>> from latens.datasets import make_ica
    >>> X, truth = make_ica(100, random_state=0)
    >>> X.shape, truth.mixing.shape, truth.kinds
    ((100, 10), (10, 3), ('student', 'student', 'student'))
    """

    mixing: np.ndarray  # (D, K)
    sources: np.ndarray  # (N, K)
    kinds: tuple[str, ...]
    noise_variance: np.ndarray  # (D,)


def make_ica(
    n_samples: int = 2000,
    n_features: int = 10,
    n_components: int = 3,
    *,
    sources: str | Sequence[str] = "student",
    tails: float = 3.0,
    snr: float = 20.0,
    noise: str = "equal",
    random_state: Any = None,
) -> tuple[np.ndarray, SourceTruth]:
    """Draw rows of sensors that hear independent sources.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Rows, sensors and sources.
    sources : str or sequence of str
        "student", "laplace", "uniform" or "gaussian" for all sources, one of these for each, or "mixed": Student-t,
        Laplace and uniform in turn.
    tails : float
        Degrees of freedom of "student" sources, above 2.
    snr : float
        Ratio of the mean variance of the signal to that of the noise over sensors, in decibels.
    noise : {"equal", "unequal"}
        One noise variance for all sensors, or log-normal ones whose logarithms have standard deviation 1.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    X : ndarray of shape (N, D)
    truth : SourceTruth

    Examples
    --------
    >>> from latens.datasets import make_ica
    >>> X, truth = make_ica(500, sources="mixed", snr=0.0, noise="unequal", random_state=1)
    >>> truth.kinds
    ('student', 'laplace', 'uniform')
    """
    n = whole("n_samples", n_samples, smallest=2)
    d, k = whole("n_features", n_features, smallest=1), whole("n_components", n_components, smallest=1)
    kinds = _kinds(sources, k)
    if not _is_number(tails) or not 2 < tails < np.inf:
        raise ValueError(f"tails={tails!r} has no variance to set; choose a number above 2.")
    if not _is_number(snr) or not abs(snr) < 300:
        raise ValueError(f"snr={snr!r} is no ratio in decibels; choose a number such as 20.0.")
    if noise not in ("equal", "unequal"):
        raise ValueError(f"noise={noise!r} is not known; choose 'equal' or 'unequal'.")
    rng = generator(random_state)
    z = np.stack([KINDS[kind](rng, n, float(tails)) for kind in kinds], axis=1)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    mixing = rng.normal(size=(d, k))
    levels = np.ones(d) if noise == "equal" else np.exp(rng.normal(size=d))
    signal = float(np.mean(np.sum(mixing**2, axis=1)))
    variance = levels / levels.mean() * signal * 10 ** (-float(snr) / 10)
    return z @ mixing.T + rng.normal(size=(n, d)) * np.sqrt(variance), SourceTruth(mixing, z, kinds, variance)


def _kinds(sources: str | Sequence[str], k: int) -> tuple[str, ...]:
    names = (
        [MIXED_SHAPES[i % len(MIXED_SHAPES)] for i in range(k)]
        if isinstance(sources, str) and sources == "mixed"
        else sources
    )
    kinds = (names,) * k if isinstance(names, str) else tuple(names)
    if len(kinds) != k or not set(kinds) <= set(KINDS):
        raise ValueError(
            f"sources={sources!r} is not known; choose 'mixed', one of {', '.join(map(repr, KINDS))}, or {k} of them."
        )
    return kinds


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)
