"""What a generator knew when it drew the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["CauseTruth", "ImageTruth"]


@dataclass(frozen=True)
class ImageTruth:
    """The images that were switched on and off, and where.

    Attributes
    ----------
    components : ndarray of shape (K, D)
        The images, one flattened image a row, at the strength with which they enter a row of X.
    codes : ndarray of shape (N, K)
        1 where a row of X contains the image, else 0.
    usage : ndarray of shape (K,)
        The probability with which each image was switched on.
    noise_variance : float
        Variance of the noise added to every pixel.
    shape : tuple of (int, int)
        Height and width of one image; their product is D.

    Examples
    --------
    >>> from latens.datasets import make_shapes
    >>> X, truth = make_shapes(50, random_state=0)
    >>> truth.components[0].reshape(truth.shape).shape
    (4, 4)
    """

    components: np.ndarray  # (K, D)
    codes: np.ndarray  # (N, K)
    usage: np.ndarray  # (K,)
    noise_variance: float
    shape: tuple[int, int]


@dataclass(frozen=True)
class CauseTruth:
    """The causes of the ones of binary rows, and where they were on.

    Attributes
    ----------
    components : ndarray of shape (K, D)
        Probability with which a cause that is on makes each column 1.
    codes : ndarray of shape (N, K)
        1 where a cause is on in a row of X, else 0.
    usage : ndarray of shape (K,)
        The probability with which each cause was on.
    leak : ndarray of shape (D,)
        The probability with which each column is 1 without any cause.
    features, names : tuple of str
        Names of the columns, and of the causes.
    shape : tuple of (int, int), optional
        Height and width where a row is an image; their product is D.

    Examples
    --------
    >>> from latens.datasets import make_baskets
    >>> X, truth = make_baskets(50, random_state=0)
    >>> truth.names[0]
    'breakfast'
    """

    components: np.ndarray  # (K, D)
    codes: np.ndarray  # (N, K)
    usage: np.ndarray  # (K,)
    leak: np.ndarray  # (D,)
    features: tuple[str, ...]
    names: tuple[str, ...]
    shape: tuple[int, int] | None
