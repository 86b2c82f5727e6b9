"""Document 001: coordinate ascent for a mixture of Gaussians of unit variance, with the numbers of the print.

What is wrong in the listing stays: the prior's quadratic term enters its bound with the wrong sign; `main` passes the
standard deviation of the centres as their variance; exponentials are taken without their largest term; 0 log 0 is NaN;
and the loop ends at a gain of 1e-15, which is also where it ends on a fall or on NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from latens.array import Floats, Index
from latens.experiments.printed.listing import Listing, Repair

__all__ = ["LISTING", "Found", "Start", "cavi", "compute_elbo", "generate_data", "main", "random_start", "update"]

Start = tuple[Floats, Floats, Floats]  # m (k, p), s2 (k,), phi (n, k)


class Found(NamedTuple):
    m: Floats  # (k, p)
    s2: Floats  # (k,)
    phi: Floats  # (n, k)
    elbo: Floats  # (iterations + 1,), the first before any update


class Runs(NamedTuple):
    data: Floats  # (n, p)
    categories: Index  # (n,)
    means: Floats  # (k, p)
    found: tuple[Found, ...]
    best_i: int


def generate_data(std: float, k: int, n: int, dim: int, rng: np.random.Generator) -> tuple[Floats, Index, Floats]:
    """Rows about k centres that have standard deviation `std`; categories; the centres."""
    means = rng.normal(0.0, std, size=(k, dim))
    categories = rng.integers(k, size=n)
    return means[categories] + rng.standard_normal((n, dim)), categories, means


def compute_elbo(data: Floats, phi: Floats, m: Floats, s2: Floats, sigma2: float, mu0: Floats) -> float:
    """The sum of the print, in its order: centres' prior, categories, rows, categories' entropy, centres' entropy."""
    (n, p), k = data.shape, len(m)
    lmb = 1.0
    away = p * s2 + np.sum((m - mu0) ** 2, axis=1)
    elbo = -0.5 * k * p * np.log(2 * np.pi * sigma2)
    elbo += 0.5 * np.sum(away) / sigma2  # a minus belongs here
    elbo -= n * np.log(k)
    with np.errstate(all="ignore"):
        distance = np.sum(data**2, axis=1)[:, None] - 2 * data @ m.T + p * s2 + np.sum(m**2, axis=1)
        elbo += np.sum(phi * (-p / 2 * np.log(2 * np.pi * lmb**2) - distance / (2 * lmb**2)))
        elbo -= np.sum(phi * np.log(phi))
        elbo += p / 2 * np.sum(np.log(2 * np.pi) + np.log(s2) + 1)
    return float(elbo)


def cavi(
    data: Floats,
    k: int,
    sigma2: float,
    m0: Floats,
    eps: float = 1e-15,
    *,
    rng: np.random.Generator | None = None,
    start: Start | None = None,
) -> Found:
    """Coordinate ascent until the bound gains no more than `eps`, from the listing's random start or from another."""
    m, s2, phi = start or random_start(data, k, rng or np.random.default_rng())
    elbo = [compute_elbo(data, phi, m, s2, sigma2, m0)]
    convergence = 1.0
    while convergence > eps:
        m, s2, phi = update(data, m, s2, sigma2, m0)
        elbo.append(compute_elbo(data, phi, m, s2, sigma2, m0))
        convergence = elbo[-1] - elbo[-2]
    return Found(m, s2, phi, np.array(elbo))


def update(data: Floats, m: Floats, s2: Floats, sigma2: float, m0: Floats) -> Start:
    """Memberships from the centres, then variances and centres from the memberships."""
    p, lbm = data.shape[1], 1.0
    with np.errstate(all="ignore"):
        phi = np.exp(data @ m.T / lbm**2 - (p * s2 + np.sum(m**2, axis=1)) / (2 * lbm**2))
        phi = phi / phi.sum(axis=1, keepdims=True)
        s2 = 1 / (phi.sum(axis=0) / lbm**2 + 1 / sigma2)
        return s2[:, None] * (phi.T @ data / lbm**2 + m0 / sigma2), s2, phi


def random_start(data: Floats, k: int, rng: np.random.Generator) -> Start:
    """Standard normal centres, squares of such for their variances, flat Dirichlet memberships: whatever the data."""
    n, p = data.shape
    return rng.standard_normal((k, p)), rng.standard_normal(k) ** 2, rng.dirichlet(np.ones(k), size=n)


def main(rng: np.random.Generator, n: int = 500, restarts: int = 10) -> Runs:
    """Five clusters in the plane, fitted from ten starts; the best by the printed bound."""
    p, k, sigma = 2, 5, 5.0
    data, categories, means = generate_data(sigma, k, n, p, rng)
    found = tuple(cavi(data, k, sigma2=sigma, m0=np.zeros(p), rng=rng) for _ in range(restarts))
    best_i = 0
    for i, one in enumerate(found):
        if i > 0 and one.elbo[-1] > found[best_i].elbo[-1]:
            best_i = i
    return Runs(data, categories, means, found, best_i)


LISTING = Listing(
    "mixture",
    "001",
    "appendix, the whole program",
    main,
    repairs=(
        Repair(
            "cavi",
            "variances are (k, 1) and enter sums as arrays of one number",
            "variances are (k,)",
            "NumPy no longer writes an array of one number into an entry",
        ),
        Repair("generate_data, cavi", "NumPy's global random state", "a Generator that is given", "to be repeated"),
        Repair("main", "pictures are shown in windows", "all runs are returned", "to be drawn side by side"),
    ),
    errors=(
        "the prior's quadratic term has the wrong sign in the bound",
        "sigma is passed as sigma2",
        "exponentials overflow for data far from 0",
        "0 log 0 is NaN",
        "the loop ends at a gain of 1e-15, on a fall, and on NaN, and does not say which",
    ),
)
