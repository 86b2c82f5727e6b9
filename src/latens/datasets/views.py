"""Several views of the same rows, moved by the same few factors.

z_nk   ~ Normal(0, 1), silent in one group of rows where there are several
w_kd   ~ Normal(0, 1) with probability `sparsity`, else 0; a factor other than the first may be off in a whole view
eta_nd = b_d + sum_k z_nk w_kd
x_nd   ~ Normal(eta_nd, sd_d^2),  Bernoulli(1 / (1 + exp(-eta_nd)))  or  Poisson(log(1 + exp(eta_nd)))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from latens.datasets.switching import whole
from latens.system.seeds import Seed, generator

__all__ = ["ViewTruth", "make_multiview"]

INTERCEPTS = {"gaussian": (0.0, 1.0), "bernoulli": (0.0, 0.5), "poisson": (0.5, 0.5)}  # mean and deviation


@dataclass(frozen=True)
class ViewTruth:
    """What the views were made from.

    Attributes
    ----------
    codes : ndarray of shape (N, K)
        The factors of each row.
    components : dict of ndarray of shape (K, D_m)
        Loadings by view, 0 where a feature does not follow a factor.
    intercepts : dict of ndarray of shape (D_m,)
    noise_variance : dict of ndarray of shape (D_m,)
        Of the Gaussian views.
    likelihoods : dict of str
    complete : dict of ndarray of shape (N, D_m)
        The views before anything was taken away.
    expected : dict of ndarray of shape (N, D_m)
        What each entry is on average, given its row's factors: a mean, a probability or a rate.
    missing : dict of bool ndarray of shape (N, D_m)
        True where an entry was taken away.
    groups : ndarray of shape (N,)
        Name of each row's group.

    Examples
    --------
    >>> from latens.datasets import make_multiview
    >>> views, truth = make_multiview(20, n_features=(6, 4), n_factors=2, random_state=0)
    >>> {name: view.shape for name, view in views.items()}, truth.components["view1"].shape
    ({'view0': (20, 6), 'view1': (20, 4)}, (2, 4))
    """

    codes: np.ndarray  # (N, K)
    components: dict[str, np.ndarray]  # (K, D_m)
    intercepts: dict[str, np.ndarray]  # (D_m,)
    noise_variance: dict[str, np.ndarray]  # (D_m,)
    likelihoods: dict[str, str]
    complete: dict[str, np.ndarray]  # (N, D_m)
    expected: dict[str, np.ndarray]  # (N, D_m)
    missing: dict[str, np.ndarray]  # (N, D_m)
    groups: np.ndarray  # (N,)


def make_multiview(
    n_samples: int = 500,
    n_features: Sequence[int] = (1000, 500),
    likelihoods: Sequence[str] = ("gaussian", "gaussian"),
    n_factors: int = 5,
    *,
    sparsity: float = 0.3,
    missing: float = 0.0,
    missing_views: float = 0.0,
    groups: int = 1,
    noise: float = 1.0,
    rate: float | None = None,
    random_state: Seed = None,
) -> tuple[dict[str, np.ndarray], ViewTruth]:
    """Draw views of the same rows that share sparse factors.

    Parameters
    ----------
    n_samples, n_factors : int
    n_features : sequence of int
        Columns of each view.
    likelihoods : sequence of str
        "gaussian", "bernoulli" or "poisson" for each view.
    sparsity : float
        The fraction of loadings that are not 0; 1.0 makes them dense.
    missing : float
        The fraction of entries taken away at random.
    missing_views : float
        The probability with which a row lacks a view; each row keeps one at least.
    groups : int
        Groups of rows; with several, factors other than the first may be silent in one of them.
    noise : float
        Scales the noise of Gaussian views, whose standard deviations are uniform from 1 to 2.
    rate : float, optional
        The mean of the Bernoulli views, such as 0.08 for rare events; without it about a half.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    views : dict of ndarray of shape (N, D_m)
        By name, "view0" first; NaN where an entry is missing.
    truth : ViewTruth

    Examples
    --------
    >>> from latens.datasets import make_multiview
    >>> views, truth = make_multiview(50, (30, 20), ("gaussian", "bernoulli"), rate=0.1, random_state=0)
    >>> sorted(set(views["view1"].ravel().tolist()))
    [0.0, 1.0]
    """
    n, k = whole("n_samples", n_samples, smallest=2), whole("n_factors", n_factors, smallest=1)
    sizes = tuple(whole("n_features", d, smallest=1) for d in n_features)
    kinds = _kinds(likelihoods, len(sizes))
    n_groups = whole("groups", groups, smallest=1, largest=n)
    present = _fraction("sparsity", sparsity)
    entries, whole_views = _fraction("missing", missing), _fraction("missing_views", missing_views)
    if rate is not None and not 0 < _fraction("rate", rate) < 1:
        raise ValueError(f"rate={rate!r} leaves nothing to see; choose a number between 0 and 1.")
    if not isinstance(noise, Real) or not 0 < noise < np.inf:
        raise ValueError(f"noise={noise!r} is no scale of noise; choose a positive number.")
    rng = generator(random_state)
    member = np.sort(rng.permutation(np.arange(n) % n_groups))
    codes = rng.standard_normal((n, k)) * _speaking(n_groups, k)[member]
    speaking, names = _speaking(len(sizes), k), [f"view{m}" for m in range(len(sizes))]
    made: dict[str, list[np.ndarray]] = {}
    for m, (d, kind) in enumerate(zip(sizes, kinds, strict=True)):
        loadings = rng.standard_normal((k, d)) * (rng.random((k, d)) < present) * speaking[m][:, None]
        made[names[m]] = [loadings, *_view(codes @ loadings, kind, float(noise), rate, rng)]
    lacking = _lacking(n, len(sizes), whole_views, rng)
    hole = {
        name: (rng.random((n, d)) < entries) | lacking[:, [m]]
        for m, (name, d) in enumerate(zip(names, sizes, strict=True))
    }
    components, intercepts, variance, expected, complete = (
        {name: parts[i] for name, parts in made.items()} for i in range(5)
    )
    truth = ViewTruth(
        codes,
        components,
        intercepts,
        {name: variance[name] for name, kind in zip(names, kinds, strict=True) if kind == "gaussian"},
        dict(zip(names, kinds, strict=True)),
        complete,
        expected,
        hole,
        np.array([f"group{g}" for g in range(n_groups)])[member],
    )
    return {name: np.where(hole[name], np.nan, complete[name]) for name in names}, truth


def _speaking(n: int, k: int) -> np.ndarray:
    """(n, k), 0 where a factor is off: factor j > 0 is off in place j mod (n + 1), if there is one of several."""
    on = np.ones((n, k))
    if n > 1:
        for j in range(1, k):
            if j % (n + 1) < n:
                on[j % (n + 1), j] = 0
    return on


def _view(
    eta: np.ndarray, kind: str, noise: float, rate: float | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Intercepts, noise variances, expected values and draws of one view; eta (N, D) is what the factors add."""
    n, d = eta.shape
    middle, spread = INTERCEPTS[kind]
    intercept: np.ndarray = middle + spread * rng.standard_normal((d,))
    deviation: np.ndarray = rng.uniform(1.0, 2.0, (d,)) * noise
    if kind == "gaussian":
        mean = eta + intercept
        return intercept, deviation**2, mean, mean + rng.standard_normal((n, d)) * deviation
    if kind == "poisson":
        mean = np.logaddexp(0.0, eta + intercept)
        return intercept, deviation**2, mean, rng.poisson(mean).astype(np.float64)
    if rate is not None:
        intercept = intercept + brentq(lambda shift: float(np.mean(expit(eta + intercept + shift))) - rate, -60, 60)
    mean = expit(eta + intercept)
    return intercept, deviation**2, mean, (rng.random((n, d)) < mean).astype(np.float64)


def _lacking(n: int, m: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """(n, m), True where a row lacks a view; one that would lack all gets one back."""
    lacking = rng.random((n, m)) < chance
    view_of_row = rng.integers(m, size=n)
    empty = lacking.all(axis=1)
    lacking[np.flatnonzero(empty), view_of_row[empty]] = False
    return lacking


def _kinds(likelihoods: Sequence[str], m: int) -> tuple[str, ...]:
    kinds = (likelihoods,) * m if isinstance(likelihoods, str) else tuple(likelihoods)
    if len(kinds) != m or not set(kinds) <= set(INTERCEPTS):
        raise ValueError(
            f"likelihoods={likelihoods!r} does not fit {m} view(s); choose one of "
            f"{', '.join(map(repr, INTERCEPTS))} for each."
        )
    return kinds


def _fraction(name: str, value: object) -> float:
    if not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) <= 1:
        return float(value)
    raise ValueError(f"{name}={value!r} is no fraction; choose a number from 0 to 1.")
