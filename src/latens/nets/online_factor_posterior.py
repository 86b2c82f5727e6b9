"""Posteriors of weights by online factor analysis: document 002's Algorithms 1 and 2, and EM with transport.

Up to K + 1 snapshots the covariance is kept as it is; half of it is what the algorithms start from. The equations are
those of `algebra.online_factors`. Memory 3 + K words a weight, and 3 + 2 K for EM and transport, which keep sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from latens.array import Floats
from latens.nets.algebra import online_factors as algebra
from latens.nets.algebra.low_rank_update import joined, shrunk, update
from latens.nets.algebra.moments import absorb
from latens.nets.collector import Collector
from latens.nets.selection import Chooser, Tensor
from latens.system.optional_imports import require

__all__ = ["OnlineFactorPosterior"]

METHODS = ("transport", "em", "gradient")


class OnlineFactorPosterior(Collector):
    """Gaussian posterior over weights by online factor analysis, as maximum likelihood has it.

    `FactorPosterior` is the one to take: it shrinks its factors to what the snapshots prove. This one is for
    comparison with the algorithms as published, and for paths of far more snapshots than weights.

    Parameters
    ----------
    module : torch.nn.Module
        Compiled modules too; it is the trained one, and is read at each `update`.
    rank : int
        Factors, at least 1.
    parameters : str, list of str, function of (name, parameter), or None
        The weights meant: names, beginnings of names such as "head", or a function that says which. None takes all
        that are trained; frozen ones are taken where they are named in full.
    method : "transport", "em" or "gradient"
        EM whose sums are carried from each estimate to the next; online EM, which keeps what old estimates made of old
        snapshots (Algorithm 2); a gradient step for each snapshot (Algorithm 1).
    learning_rate : float
        Of "gradient", each weight being measured in its standard deviation over the first snapshots.

    Attributes
    ----------
    n : int
        Snapshots taken in.
    mean, variance : tensor of shape (D,)

    Examples
    --------
    >>> import torch
    >>> from latens.nets import OnlineFactorPosterior
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Linear(3, 1)
    >>> posterior = OnlineFactorPosterior(net, rank=1, method="em")
    >>> for _ in range(50):
    ...     net.weight.data.normal_(mean=1.0)
    ...     _ = posterior.update()  # doctest: +ELLIPSIS
    tensor(...
    >>> posterior
    OnlineFactorPosterior(rank=1, method='em'): 50 snapshots of 4 weights
    """

    _least_rank = 1

    def __init__(
        self,
        module: Any,
        rank: int = 10,
        parameters: Chooser = None,
        *,
        method: str = "transport",
        learning_rate: float = 0.01,
    ) -> None:
        super().__init__(module, rank, parameters)
        if method not in METHODS:
            raise ValueError(f"method={method!r}; expected one of {', '.join(map(repr, METHODS))}.")
        if isinstance(learning_rate, bool) or not 0 < learning_rate < math.inf:
            raise ValueError(f"learning_rate={learning_rate!r}; expected a number above 0.")
        self.method, self.learning_rate = method, float(learning_rate)
        self._noise = self._variance.clone()
        has_sums = method != "gradient"
        self._sums = self._rows.clone() if has_sums else self._rows[:0].clone()
        self._second = self._rows.new_zeros((self.rank, self.rank) if has_sums else (0, 0))
        self._unit = self._variance[:0].clone() if has_sums else self._variance.clone()

    def __repr__(self) -> str:
        return super().__repr__().replace(")", f", method={self.method!r})", 1)

    def _take(self, snapshot: Tensor, measures: Floats) -> None:
        if self.n <= self.rank + 1:
            update(snapshot, self._mean, self._variance, self._rows, self.n, measures)
            if self.n == self.rank + 1:
                self._begin(*algebra.first_factors(self._rows, self._variance))
            return
        gap = math.sqrt(1 - 1 / self.n) * (snapshot - self._mean)
        if self.method == "gradient":
            self._ascend(gap)
        absorb(self._mean, self._variance, snapshot, self.n)
        if self.method != "gradient":
            self._maximise(gap)

    def _begin(self, loadings: Tensor, noise: Tensor) -> None:
        """Averages are those of snapshots that the model of these loadings makes: E[m d'] = F, E[m m'] = I - V."""
        torch = require("torch", "torch")
        self._rows, self._noise = loadings, noise
        if self.method == "gradient":
            self._unit = torch.where(self._variance > 0, self._variance.sqrt(), 1.0)
        else:
            spread = algebra.projection(loadings, noise)[1]
            self._sums, self._second = loadings.clone(), torch.eye(self.rank).to(spread) - spread

    def _maximise(self, gap: Tensor) -> None:
        project, spread = algebra.projection(self._rows, self._noise)
        code, share = project @ gap, 1 / self.n
        self._sums.lerp_(code[:, None] * gap, share)
        if self.method == "em":
            self._second.lerp_(code[:, None] * code, share)
        else:
            self._second = _symmetric(project @ self._sums.T)
        self._rows, self._noise = algebra.maximised(self._sums, spread + self._second, self._variance)
        if self.method == "transport":
            self._sums = algebra.carried(self._sums, project, self._rows, self._noise)

    def _ascend(self, gap: Tensor) -> None:
        loadings, noise = algebra.gradient_step(gap, self._rows, self._noise, self._unit, self.learning_rate)
        if not bool(loadings.isfinite().all() and noise.isfinite().all()):
            self.n -= 1
            raise FloatingPointError(
                f"the gradient ascent diverges at snapshot {self.n + 1}, which was not taken in; lower "
                f"learning_rate={self.learning_rate:g}, or choose method='transport'."
            )
        self._rows, self._noise = loadings, noise

    def _read_out(self) -> tuple[Floats, Tensor]:
        if self.n <= self.rank + 1:
            return shrunk(self._rows, self._variance, self.n)
        unbiased = self.n / (self.n - 1)
        return math.sqrt(unbiased) * np.eye(self.rank), unbiased * self._noise

    def merge(self, other: Self) -> Self:
        """Take in all snapshots of another posterior of the same method, rank and weights.

        Count, mean and variance are exact. Factors are the strongest directions of both, and the algorithm goes on from
        there as if they had made all snapshots.

        Parameters
        ----------
        other : OnlineFactorPosterior
            It stays as it is.

        Returns
        -------
        self
        """
        if getattr(other, "method", None) != self.method:
            raise TypeError(f"cannot merge {other!r} into {self!r}; expected the same method.")
        super().merge(other)
        if self.n > self.rank + 1:
            self._begin(self._rows, algebra.left_over(self._rows, self._variance))
        return self

    def _merge_rows(self, other: Self, n: int) -> Tensor:
        gap = other._mean.to(self._mean) - self._mean
        return joined(self._rows, other._rows, self._variance, other._variance, gap, other.n / n)

    def _tensors(self) -> dict[str, Tensor]:
        own = {"noise": self._noise, "sums": self._sums, "second": self._second, "unit": self._unit}
        return {**super()._tensors(), **own}

    def _options(self) -> dict[str, Any]:
        return {"method": self.method, "learning_rate": self.learning_rate}

    @classmethod
    def _made(cls, module: Any, rank: int, state: Mapping[str, Any]) -> Self:
        options: Any = {key: state[key] for key in ("method", "learning_rate") if key in state}
        return cls(module, rank, state.get("names"), **options)

    def load_state_dict(self, state: Mapping[str, Any]) -> Self:
        """Go on from what `state_dict` gave, on this module's device.

        Parameters
        ----------
        state : dict
            What `state_dict` gave.

        Returns
        -------
        self
        """
        super().load_state_dict(state)
        if bool((self._noise < 0).any()):
            raise ValueError("the state has negative noise; it is damaged.")
        return self


def _symmetric(matrix: Tensor) -> Tensor:
    return 0.5 * (matrix + matrix.T)
