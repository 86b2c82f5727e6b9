"""Which learnt component is which true one: components come in any order, so they are matched before comparing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

__all__ = ["Match", "match_components"]


@dataclass(frozen=True)
class Match:
    """The best one-to-one pairing of learnt with true components.

    Attributes
    ----------
    similarity : ndarray of shape (K_true,)
        Cosine between each true component and its partner; 0 without a partner.
    index : ndarray of shape (K_true,)
        The partner's row among the learnt components; -1 where there were too few.
    sign : ndarray of shape (K_true,)
        1 or -1, the factor that turns the partner towards the true component; always 1 unless signs were free.

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import match_components
    >>> match_components(np.eye(3)[[2, 0]], np.eye(3)).index
    array([ 1, -1,  0])
    """

    similarity: np.ndarray  # (K_true,)
    index: np.ndarray  # (K_true,)
    sign: np.ndarray  # (K_true,)

    def found(self, threshold: float = 0.9) -> int:
        """Count the true components whose partner's cosine reaches `threshold`.

        Parameters
        ----------
        threshold : float
            The least cosine of a match.

        Returns
        -------
        int

        Examples
        --------
        >>> import numpy as np
        >>> from latens.metrics import match_components
        >>> match_components([[2.0, 0.1], [1.0, 1.0]], np.eye(2)).found()
        1
        """
        return int(np.sum(self.similarity >= threshold))


def match_components(learnt: ArrayLike, true: ArrayLike, *, signed: bool = False) -> Match:
    """Pair each true component with one learnt component so that the sum of cosines is largest.

    Parameters
    ----------
    learnt : array-like of shape (K, D)
        Components of a fit, in any order and number, also none. The cosine of a zero component is 0.
    true : array-like of shape (K_true, D)
        Components to be found.
    signed : bool, default=False
        Whether components carry an arbitrary sign (factors, independent sources), so that one pointing the
        opposite way counts as found. Leave it off where the sign means something, as in sums of on/off causes.

    Returns
    -------
    Match
        similarity, index and sign for each true component, and `found(threshold)`.

    Notes
    -----
    Hungarian algorithm, O(K K_true (D + min(K, K_true))).

    Examples
    --------
    >>> import numpy as np
    >>> from latens.metrics import match_components
    >>> true = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> match = match_components(3 * true[::-1], true)
    >>> match.index, match.found()
    (array([1, 0]), 2)
    """
    a, b = _components("learnt", learnt), _components("true", true)
    if len(b) == 0:
        raise ValueError("true has no components; pass an array of shape (K_true, D) with at least one row.")
    if a.shape[1] != b.shape[1]:
        raise ValueError(
            f"learnt has shape {a.shape} and true has shape {b.shape}: their columns differ; "
            "pass components as rows over the same D features."
        )
    cosines = _directions(b) @ _directions(a).T  # (K_true, K)
    gain = np.abs(cosines) if signed else cosines
    rows, columns = linear_sum_assignment(gain, maximize=True)
    similarity, index, sign = np.zeros(len(b)), np.full(len(b), -1), np.ones(len(b))
    similarity[rows] = gain[rows, columns]
    index[rows] = columns
    if signed:
        sign[rows] = np.where(cosines[rows, columns] < 0, -1.0, 1.0)
    return Match(similarity, index, sign)


def _components(name: str, values: ArrayLike) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers; pass one component a row, shape (K, D).") from error
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; pass one component a row, shape (K, D).")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinite entries; compare finite components only.")
    return array


def _directions(components: np.ndarray) -> np.ndarray:
    """Rows of length 1, zero rows left at 0; divided by the largest entry first, so that no square overflows."""
    largest = np.max(np.abs(components), axis=1, keepdims=True, initial=0.0)
    scaled = components / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1.0))
