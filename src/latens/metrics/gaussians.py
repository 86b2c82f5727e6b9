"""How far apart two Gaussians are, in low-rank algebra where both have a covariance of low rank plus a diagonal.

distance   ||S - S0|| / ||S0||                                                    Frobenius
KL         1/2 [tr(S^-1 S0) - D + log|S| - log|S0| + (c - c0)'S^-1(c - c0)]       of the first from the second
W2^2       ||c - c0||^2 + tr S + tr S0 - 2 tr sqrt(S S0)

tr sqrt(S S0) = sum sqrt(psi psi0) + (1/pi) int_0^inf log|I + V'(diag(psi psi0) + t^2)^-1 U| dt with S S0 =
diag(psi psi0) + U V', by trapezoids in log t, which converge exponentially fast: the integrand is log|S S0| -
log|diag(psi psi0)| far below the spectrum and tr(V'U) / t^2 far above it, so that all nodes out there are a geometric
series. O(D K^2) a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from latens.array import Floats
from latens.families.low_rank import LowRankNormal

__all__ = ["covariance_distance", "gaussian_kl", "wasserstein2"]

STEP = 0.25  # of the trapezoids, in e-folds
FOLDS_BEYOND = 12.0  # e-folds past both ends of the spectrum, where the integrand is its limit to the last digit
ASYMMETRY = 1e-8  # of a covariance, in units of the standard deviations; more is no rounding
LARGEST_NEGATIVE_SHARE = 1e-10  # of its largest eigenvalue: as far below 0 as rounding may take the smallest
MOST_DENSE = 200  # columns up to which square roots of whole matrices are cheaper, and sharper


def covariance_distance(estimate: Any, truth: Any) -> float:
    """Relative Frobenius distance of two covariances.

    Parameters
    ----------
    estimate, truth : fitted FactorAnalysis, the truth of `make_factor_model`, (mean, covariance), or (D, D) array
        With two of the first kinds nothing of size D x D is formed. Fitted models of scikit-learn that have
        `get_covariance` are taken too.

    Returns
    -------
    float
        ||estimate - truth|| / ||truth||.

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import covariance_distance
    >>> covariance_distance(2 * np.eye(3), np.eye(3))
    1.0
    """
    a, b = _gaussians(estimate=estimate, truth=truth)
    if not (isinstance(a, LowRankNormal) and isinstance(b, LowRankNormal)):
        s, s0 = _dense(a)[1], _dense(b)[1]
        if not np.any(s0):
            raise ValueError(
                "truth is a covariance of zeros, which nothing can be measured by; give one with a variance."
            )
        return float(np.linalg.norm(s - s0) / np.linalg.norm(s0))
    # in an orthonormal basis of both loadings, so that nothing large cancels where the two are close
    basis, parts = np.linalg.qr(np.hstack([a.components.T, b.components.T]))
    k = len(a.components)
    inner = parts[:, :k] @ parts[:, :k].T - parts[:, k:] @ parts[:, k:].T
    delta = a.noise_variance - b.noise_variance
    gap = np.sum(inner**2) + 2 * delta @ np.sum((basis @ inner) * basis, axis=1) + delta @ delta
    own = b.components @ b.components.T
    size = np.sum(own**2) + 2 * b.noise_variance @ np.sum(b.components**2, axis=0) + np.sum(b.noise_variance**2)
    return float(np.sqrt(max(gap, 0.0) / size))


def gaussian_kl(p: Any, q: Any) -> float:
    """Kullback-Leibler divergence KL(p || q) of two Gaussians, in nats; arguments as in `covariance_distance`.

    A bare covariance has mean 0. It is infinite where p has no spread in a direction in which q has some.

    Parameters
    ----------
    p, q : fitted FactorAnalysis, the truth of `make_factor_model`, (mean, covariance), or (D, D) array
        As in `covariance_distance`; a bare covariance has mean 0.

    Returns
    -------
    float
        In nats.

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import gaussian_kl
    >>> gaussian_kl((np.ones(2), np.eye(2)), (np.zeros(2), np.eye(2)))
    1.0
    """
    a, b = _gaussians(p=p, q=q)
    if not (isinstance(a, LowRankNormal) and isinstance(b, LowRankNormal)):
        (c0, s0), (c, s) = _definite(a, "p"), _definite(b, "q")
        try:
            factor, gap = cho_factor(s), c - c0
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "the covariance of q is singular, and no divergence from such a Gaussian is finite; leave out columns "
                "that are sums of others, or add a little to its diagonal."
            ) from error
        ratio = np.trace(cho_solve(factor, s0)) - len(c) - np.linalg.slogdet(s0)[1]
        return float(0.5 * (ratio + 2 * np.sum(np.log(np.diag(factor[0]))) + gap @ cho_solve(factor, gap)))
    scaled = b.components / b.noise_variance  # (K, D)
    pulled = np.linalg.solve(b.inner, scaled)
    ratio = np.sum(a.variance / b.noise_variance) - np.sum(pulled * a.times(scaled.T).T)
    gap = (b.mean - a.mean)[:, None]
    level = b.log_det_covariance - a.log_det_covariance
    return float(0.5 * (ratio - len(a.mean) + level + float((gap.T @ b.solve(gap))[0, 0])))


def wasserstein2(p: Any, q: Any) -> float:
    """2-Wasserstein distance of two Gaussians; arguments as in `covariance_distance`. A bare covariance has mean 0.

    Parameters
    ----------
    p, q : fitted FactorAnalysis, the truth of `make_factor_model`, (mean, covariance), or (D, D) array
        As in `covariance_distance`; a bare covariance has mean 0.

    Returns
    -------
    float
        In the units of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import wasserstein2
    >>> wasserstein2((np.zeros(3), 4 * np.eye(3)), (np.zeros(3), np.eye(3)))
    1.7320508
    """
    a, b = _gaussians(p=p, q=q)
    if isinstance(a, LowRankNormal) and isinstance(b, LowRankNormal) and len(a.mean) > MOST_DENSE:
        gap, traces, root = a.mean - b.mean, np.sum(a.variance) + np.sum(b.variance), _trace_of_root(a, b)
    else:
        (c, s), (c0, s0) = _definite(a, "p"), _definite(b, "q")
        gap, traces, root = c - c0, np.trace(s) + np.trace(s0), _dense_trace_of_root(s, s0)
    return float(np.sqrt(max(float(gap @ gap + traces - 2 * root), 0.0)))


def _trace_of_root(a: LowRankNormal, b: LowRankNormal) -> float:
    """tr sqrt(S S0)."""
    diagonal = a.noise_variance * b.noise_variance
    u = np.hstack([a.components.T, a.noise_variance[:, None] * b.components.T])
    v = np.hstack([b.times(a.components.T), b.components.T])
    largest = float(np.sum(a.variance)) * float(np.sum(b.variance))
    lowest, highest = 0.5 * float(np.log(diagonal).min()), 0.5 * float(np.log(largest))
    nodes = np.exp(np.arange(lowest - FOLDS_BEYOND, highest + FOLDS_BEYOND, STEP))
    below = a.log_det_covariance + b.log_det_covariance - float(np.sum(np.log(diagonal)))
    integral = (below * nodes[0] + float(np.sum(u * v)) / nodes[-1]) / np.expm1(STEP)  # of all nodes beyond
    for t in nodes:
        integral += t * _log_det_beside_one(v.T @ (u / (diagonal + t * t)[:, None]))
    return float(np.sum(np.sqrt(diagonal)) + STEP * integral / np.pi)


def _log_det_beside_one(x: Floats) -> float:
    """log|I + x|, with the digits of x where that is small."""
    if np.linalg.norm(x) < 0.5:
        values = np.linalg.eigvals(x)  # complex in new releases of NumPy, whose log1p of complex numbers loses digits
        return 0.5 * float(np.sum(np.log1p(2 * values.real + np.abs(values) ** 2)))
    return float(np.linalg.slogdet(np.eye(len(x)) + x)[1])


def _dense_trace_of_root(s: Floats, s0: Floats) -> float:
    values, vectors = np.linalg.eigh(s0)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(root @ s @ root), 0.0))))


def _gaussians(**given: Any) -> list[Any]:
    """Two Gaussians of as many columns, each a LowRankNormal or mean and covariance."""
    gaussians = [_gaussian(each, name) for name, each in given.items()]
    sizes = [len(each.mean) if isinstance(each, LowRankNormal) else len(each[0]) for each in gaussians]
    if sizes[0] != sizes[1]:
        (one, two), (d, d0) = given, sizes
        raise ValueError(f"{one} has {d} columns and {two} has {d0}; give two Gaussians over the same columns.")
    return gaussians


def _gaussian(given: Any, name: str) -> Any:
    if isinstance(given, LowRankNormal):
        return given
    if hasattr(given, "to_low_rank"):
        return given.to_low_rank()
    if hasattr(given, "get_covariance"):
        given = (given.mean_, given.get_covariance()) if hasattr(given, "mean_") else given.get_covariance()
    expected = "give a covariance (D, D), (mean, covariance), or a fitted model with to_low_rank() or get_covariance()."
    if isinstance(given, tuple) and len(given) != 2:
        raise ValueError(f"{name} is a tuple of {len(given)}; {expected}")
    mean, covariance = given if isinstance(given, tuple) else (None, given)
    try:
        covariance = np.asarray(covariance, dtype=np.float64)
        mean = None if mean is None else np.asarray(mean, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is a {type(given).__name__}, which does not define a Gaussian; {expected}") from error
    if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1] or covariance.size == 0:
        raise ValueError(f"{name} was given as an array of shape {covariance.shape}; {expected}")
    mean = np.zeros(len(covariance)) if mean is None else mean
    if mean.shape != covariance.shape[:1]:
        raise ValueError(
            f"the mean of {name} has shape {mean.shape}; expected ({len(covariance)},) as its covariance says."
        )
    if not (np.isfinite(covariance).all() and np.isfinite(mean).all()):
        raise ValueError(f"{name} holds NaN or infinity; give finite numbers.")
    size = np.sqrt(np.abs(np.diag(covariance)))
    if np.any(np.abs(covariance - covariance.T) > ASYMMETRY * np.maximum(np.outer(size, size), np.abs(covariance))):
        raise ValueError(f"the covariance of {name} is not symmetric; try (covariance + covariance.T) / 2.")
    return mean, covariance


def _definite(given: Any, name: str) -> tuple[Floats, Floats]:
    """Mean and covariance of what has no negative variance in any direction."""
    mean, covariance = _dense(given)
    values = np.linalg.eigvalsh(covariance)
    if values[0] < -LARGEST_NEGATIVE_SHARE * max(float(values[-1]), 0.0) or values[-1] < 0:
        raise ValueError(
            f"the covariance of {name} is not positive definite: it has the eigenvalue {values[0]:.3g} beside "
            f"{values[-1]:.3g}; give one of real columns, or raise its eigenvalues to 0."
        )
    return mean, covariance


def _dense(given: Any) -> tuple[Floats, Floats]:
    return (given.mean, given.covariance()) if isinstance(given, LowRankNormal) else given
