"""What `impute` answers beside one filled table: quantiles of the missing entries, and tables completed by chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from latens.array import Floats
from latens.estimators.parameters import probability, whole_number

__all__ = ["DRAWS_FOR_QUANTILES", "Asked", "quantiles_of"]

DRAWS_FOR_QUANTILES = 400


class Asked:
    """Which quantiles and how many draws a caller asked for.

    >>> Asked([0.05, 0.95], 3).levels
    [0.05, 0.95]
    """

    def __init__(self, quantiles: Any, n_draws: Any) -> None:
        if quantiles is None:
            given = []
        else:
            given = list(quantiles) if isinstance(quantiles, Iterable) else [quantiles]
            if not given:
                raise ValueError("quantiles=[] asks for none; give probabilities such as [0.05, 0.95].")
        self.levels = [probability("quantiles", level) for level in given]
        self.n_draws = 0 if n_draws is None else whole_number("n_draws", n_draws)

    def answer(self, filled: Any, std: list[Any], quantiles: list[Any], draws: list[Any]) -> Any:
        """One table, or a tuple of all that was asked for: filled, std, quantiles by probability, draws."""
        answers = [filled, *std]
        if self.levels:
            answers.append(dict(zip(self.levels, quantiles, strict=True)))
        if self.n_draws:
            answers.append(draws)
        return tuple(answers) if len(answers) > 1 else filled


def quantiles_of(draws: Floats, levels: list[float], ordered: Any) -> list[Floats]:
    """Quantiles (n, D) of draws (m, n, D); of columns that have no order, the value drawn most often.

    Parameters
    ----------
    ordered : array of bool (D,)
    """
    found = [np.quantile(draws, level, axis=0, method="inverted_cdf") for level in levels]
    for d in np.flatnonzero(~np.asarray(ordered)):
        values = np.unique(draws[:, :, d])
        often = np.stack([(draws[:, :, d] == value).sum(axis=0) for value in values])
        for table in found:
            table[:, d] = values[np.argmax(often, axis=0)]
    return found
