"""Tables as people keep them: columns of several kinds, missing entries, and hidden groups of rows behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latens.datasets.switching import whole
from latens.system.seeds import Seed, generator

__all__ = ["TableTruth", "make_table"]

NAMES = ("age", "income", "visits", "member", "town", "rating")
KINDS = ("gaussian", "gaussian", "poisson", "bernoulli", "categorical", "ordinal")
LEVELS = {"town": ("Bergen", "Lima", "Turin"), "rating": ("1", "2", "3", "4", "5")}


@dataclass(frozen=True)
class TableTruth:
    """The groups behind a mixed table.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        The group of each row.
    weights : ndarray of shape (K,)
    names, kinds : tuple of str
        Of the columns; kinds are those of `LatentClassAnalysis`.
    levels : dict of tuple of str
        What the numbers of columns of levels stand for.

    Examples
    --------
    >>> from latens.datasets import make_table
    >>> make_table(10, random_state=0)[1].names
    ('age', 'income', 'visits', 'member', 'town', 'rating')
    """

    labels: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: dict[str, tuple[str, ...]]

    @property
    def likelihoods(self) -> dict[int, str]:
        """Kinds by the number of the column, as `LatentClassAnalysis` takes them."""
        return dict(enumerate(self.kinds))


def make_table(
    n_samples: int = 500, n_classes: int = 3, *, missing: float = 0.05, random_state: Seed = None
) -> tuple[np.ndarray, TableTruth]:
    """Draw a table of people in hidden groups: two measurements, a count, a yes/no, a category and a scale.

    Parameters
    ----------
    n_samples : int
        Number of rows, N.
    n_classes : int
        Number of groups, up to 4.
    missing : float
        The fraction of entries taken away at random.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    X : ndarray of shape (N, 6)
        Levels as numbers from 0, NaN where missing.
    truth : TableTruth

    Examples
    --------
    >>> from latens.datasets import make_table
    >>> X, truth = make_table(200, random_state=0)
    >>> X.shape, truth.kinds[2]
    ((200, 6), 'poisson')
    """
    n, k = whole("n_samples", n_samples, smallest=1), whole("n_classes", n_classes, smallest=1)
    if k > 4:
        raise ValueError(f"n_classes={n_classes}: groups of people differ in four ways at most; choose 1 to 4.")
    if not 0 <= missing < 1:
        raise ValueError(f"missing={missing!r} is no fraction; choose a number from 0 to below 1.")
    rng = generator(random_state)
    weights = np.array([0.4, 0.35, 0.25, 0.2][:k]) / sum([0.4, 0.35, 0.25, 0.2][:k])
    label = rng.choice(k, size=n, p=weights)
    age = rng.normal(np.array([28.0, 45.0, 66.0, 50.0])[label], 5.0)
    income = rng.normal(np.array([24e3, 52e3, 31e3, 90e3])[label], 6e3)
    visits = rng.poisson(np.array([1.0, 3.0, 9.0, 5.0])[label])
    member = rng.random(n) < np.array([0.15, 0.55, 0.85, 0.3])[label]
    towns = np.array([[0.7, 0.2, 0.1], [0.15, 0.7, 0.15], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    town = (rng.random((n, 1)) > np.cumsum(towns, axis=1)[label]).sum(axis=1)
    rating = np.clip(np.round(rng.normal(np.array([1.0, 2.0, 3.2, 0.5])[label], 0.8)), 0, 4)
    rows = np.column_stack([age, income, visits, member, town, rating]).astype(np.float64)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows, TableTruth(label, weights, NAMES, KINDS, dict(LEVELS))
