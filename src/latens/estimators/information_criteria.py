"""What reports of models state: information criteria, from the log density of rows and the number of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array.transfer import host

__all__ = ["InformationCriteria"]


class InformationCriteria:
    """Mixed into estimators that know how many free parameters they have."""

    if TYPE_CHECKING:
        score_samples: Callable[[Any], Any]

        @property
        def n_parameters_(self) -> int: ...

    def bic(self, X: Any) -> float:
        """Bayesian information criterion of rows X: the lower the better; `elbo_` needs no such approximation.

        Minus twice the log density of X under the posterior, plus `n_parameters_` times the log of the rows.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.

        Returns
        -------
        float
            In units of twice a nat.
        """
        density = host(self.score_samples(X))
        return float(-2 * density.sum() + self.n_parameters_ * np.log(len(density)))

    def aic(self, X: Any) -> float:
        """Akaike's information criterion of rows X: the lower the better.

        Parameters
        ----------
        X : array of shape (n, D)
            Rows like those of `fit`; NaN means missing.

        Returns
        -------
        float
            In units of twice a nat.
        """
        return float(-2 * host(self.score_samples(X)).sum() + 2 * self.n_parameters_)
