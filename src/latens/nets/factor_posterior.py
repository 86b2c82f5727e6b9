"""Factor-analysis posterior: the few directions in which the weights moved together, and noise in each weight.

    w ~ Normal(mean, F'F + diag(psi)),     F: at most K factors, (K', D)

Mean and variance are Welford's; the directions are kept as K rows A (see `sketch`) with S ~= A'A + diag, so that every
snapshot counts, not the last K only. At read-out the factors are shrunk to what so few snapshots of so many weights
can prove; with none proven the posterior is the diagonal one.

In terms of online EM the rows are a state at its own fixed point: with A = F the sums sum m d' and H = E[h h'] of the
M step F = A H^-1 give H = I, which therefore is not stored. Memory 2 + K words a weight, and one more while a
snapshot is taken in. Cost O(D K^2) a snapshot.
"""

from __future__ import annotations

from typing import Any

from latens.array import Floats
from latens.nets.algebra.low_rank_update import joined, measured, shrunk, update, update_on_device
from latens.nets.collector import Collector
from latens.nets.selection import Chooser, Tensor

__all__ = ["FactorPosterior"]


class FactorPosterior(Collector):
    """Gaussian posterior over weights with learnt factors.

    Parameters
    ----------
    module : torch.nn.Module
        Compiled modules too; it is the trained one, and is read at each `update`.
    rank : int
        Most factors, at least 1.
    parameters : str, list of str, function of (name, parameter), or None
        The weights meant: names, beginnings of names such as "head", or a function that says which. None takes all
        that are trained; frozen ones are taken where they are named in full.

    Attributes
    ----------
    n : int
        Snapshots taken in.
    mean, variance : tensor of shape (D,)

    Examples
    --------
    >>> import torch
    >>> from latens.nets import FactorPosterior
    >>> net = torch.nn.Linear(3, 1)
    >>> posterior = FactorPosterior(net, rank=2)
    >>> for _ in range(50):
    ...     torch.nn.init.normal_(net.weight, mean=1.0)
    ...     net.bias.data.copy_(net.weight.data.sum(1))
    ...     _ = posterior.update()  # doctest: +ELLIPSIS
    Parameter containing:
    ...
    >>> posterior
    FactorPosterior(rank=2): 50 snapshots of 4 weights
    """

    _least_rank = 1

    def __init__(self, module: Any, rank: int = 10, parameters: Chooser = None) -> None:
        super().__init__(module, rank, parameters)

    def _measured(self, snapshot: Tensor) -> Tensor:
        return measured(snapshot, self._mean, self._variance, self._rows, self.n + 1)

    def _update_on_device(self, snapshot: Tensor, measures: Tensor) -> bool:
        return update_on_device(snapshot, self._mean, self._variance, self._rows, self.n + 1, measures)

    def _take(self, snapshot: Tensor, measures: Floats) -> None:
        update(snapshot, self._mean, self._variance, self._rows, self.n, measures)

    def _read_out(self) -> tuple[Floats, Tensor]:
        return shrunk(self._rows, self._variance, self.n)

    def _merge_rows(self, other: FactorPosterior, n: int) -> Tensor:
        gap = other._mean.to(self._mean) - self._mean
        return joined(self._rows, other._rows, self._variance, other._variance, gap, other.n / n)
