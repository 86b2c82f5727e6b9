"""What reports of models state: information criteria, from the log density of rows and the number of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats
from latens.array.transfer import host
from latens.estimators.frames.roles import from_table
from latens.estimators.frames.row_labels import in_row_order
from latens.estimators.rows.lazy import mean_of
from latens.estimators.rows.validation import check_weight
from latens.scale.scan import Scan
from latens.system.optional_imports import is_dask

__all__ = ["InformationCriteria", "mean_score", "row_weights"]


class InformationCriteria:
    """Mixed into estimators that know how many free parameters they have."""

    if TYPE_CHECKING:
        score_samples: Callable[..., Any]

        @property
        def n_parameters_(self) -> int: ...

    def bic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Bayesian information criterion of rows X: the lower the better; `elbo_` needs no such approximation.

        Minus twice the log density of X under the posterior, plus `n_parameters_` times the log of the number of rows.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        sample_weight : array of shape (n,), optional
            How often each row counts, as in `fit`: a weight of 2 is the row given twice. The number of rows is their
            sum. Those of `latens.read(..., weights=)` and `latens.scan(..., weights=)` are taken.

        Returns
        -------
        float
            In units of twice a nat.
        """
        return self._criterion(X, sample_weight, lambda n: float(np.log(n)))

    def aic(self, X: Any, *, sample_weight: Any = None) -> float:
        """Akaike's information criterion of rows X: the lower the better.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.
        sample_weight : array of shape (n,), optional
            As in `bic`.

        Returns
        -------
        float
            In units of twice a nat.
        """
        return self._criterion(X, sample_weight, lambda n: 2.0)

    def _criterion(self, X: Any, sample_weight: Any, cost: Callable[[float], float], **beside: Any) -> float:
        """Minus twice the log density of rows, and the cost of each parameter, given how many rows there are."""
        density = _numbers(self.score_samples(X, **beside))
        weight = row_weights(X, sample_weight, len(density))
        return float(-2 * (weight @ density) + self.n_parameters_ * cost(float(weight.sum())))


def row_weights(X: Any, sample_weight: Any, n: int) -> Floats:
    """(n,), how often each row counts: as is given, or as the table was read or scanned with; else once."""
    sample_weight = _weights_of(X, sample_weight)
    if sample_weight is None:
        return np.ones(n)
    return np.asarray(check_weight(in_row_order("sample_weight", sample_weight, X), np.empty((n, 0))))


def mean_score(scores: Any, X: Any, sample_weight: Any) -> float:
    """The mean of one number for each row of X, of weighted rows as often as each counts."""
    if _weights_of(X, sample_weight) is None:
        return mean_of(scores)
    density = _numbers(scores)
    return float(np.average(density, weights=row_weights(X, sample_weight, len(density))))


def _weights_of(X: Any, sample_weight: Any) -> Any:
    """The weights that are given, or that a table was read or scanned with; None where there are none."""
    if isinstance(X, Scan) and X.weights is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight is given beside a scan with weights=; leave one of the two out.")
        return np.concatenate([X.column(number, X.weights) for number in range(X.n_blocks)])
    return from_table(X, sample_weight=sample_weight)[0]


def _numbers(scores: Any) -> Floats:
    return np.asarray(host(scores.compute() if is_dask(scores) else scores), dtype=np.float64).ravel()
