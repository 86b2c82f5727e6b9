"""Rows from a random factor model, made as Algorithm 3 of the source makes it.

c        ~ Normal(0, I),   A_ij ~ Normal(0, 1)
s_k^2    ~ Uniform(spectrum),   F = V_K diag(s)          V_K: the K leading eigenvectors of A A'
psi_d    ~ Uniform(0, max s^2)
x_n      ~ Normal(c, F F' + diag(psi))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from latens.datasets.switching import whole
from latens.families.low_rank import LowRankNormal
from latens.system.seeds import Seed, generator

__all__ = ["FactorTruth", "make_factor_model"]


@dataclass(frozen=True)
class FactorTruth:
    """The model behind the rows.

    Attributes
    ----------
    mean : ndarray of shape (D,)
    components : ndarray of shape (K, D)
        Loadings, one factor a row.
    noise_variance : ndarray of shape (D,)
    codes : ndarray of shape (N, K)
        The factors of each row.
    """

    mean: np.ndarray  # (D,)
    components: np.ndarray  # (K, D)
    noise_variance: np.ndarray  # (D,)
    codes: np.ndarray  # (N, K)

    def to_low_rank(self) -> LowRankNormal:
        """Return the distribution of a row, for the metrics.

        Returns
        -------
        LowRankNormal
            Mean, loadings and noise variance.
        """
        return LowRankNormal(self.mean, self.components, self.noise_variance)


def make_factor_model(
    n_samples: int = 1000,
    *,
    n_features: int = 100,
    n_components: int = 10,
    spectrum: tuple[float, float] = (1.0, 10.0),
    literal: bool = False,
    random_state: Seed = None,
) -> tuple[np.ndarray, FactorTruth]:
    """Draw a factor model with loadings of a given spectrum, and rows from it.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        N, D and K; K at most D.
    spectrum : (float, float)
        Between which the squared lengths of the loadings are drawn.
    literal : bool
        The source prints one scale for each column of X instead of one for each factor; True takes it at its word.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    X : ndarray of shape (N, D)
    truth : FactorTruth

    Examples
    --------
    >>> from latens.datasets import make_factor_model
    >>> X, truth = make_factor_model(50, n_features=8, n_components=2, random_state=0)
    >>> X.shape, truth.components.shape
    ((50, 8), (2, 8))
    """
    n, d = whole("n_samples", n_samples, smallest=1), whole("n_features", n_features, smallest=1)
    k = whole("n_components", n_components, smallest=1, largest=d)
    try:
        low, high = (float(end) for end in spectrum)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not 0 < low <= high < np.inf:
        raise ValueError(f"spectrum={spectrum!r} is no range of variances; give two finite numbers 0 < a <= b.")
    rng = generator(random_state)
    mean, square = rng.standard_normal(d), rng.standard_normal((d, d))
    _, vectors = eigh(square @ square.T, subset_by_index=[d - k, d - 1])
    sizes = rng.uniform(low, high, d if literal else k)
    components = (vectors[:, ::-1] * np.sqrt(sizes[:, None] if literal else sizes)).T
    noise = rng.uniform(0, sizes.max(), d)
    codes = rng.standard_normal((n, k))
    rows = codes @ components + mean
    rows += rng.standard_normal((n, d)) * np.sqrt(noise)
    return rows, FactorTruth(mean, components, noise, codes)
