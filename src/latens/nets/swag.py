"""SWAG of a module: mean and variance of the weights along training, and the last deviations from the mean.

The equations are those of `moments`. Memory 2 + K words a weight, and one more while a snapshot is taken in.

References: Maddox et al. (2019).
"""

from __future__ import annotations

from typing import Any

from latens.array import Floats
from latens.nets.algebra.low_rank_update import blocks
from latens.nets.algebra.moments import held, place, shares, take
from latens.nets.collector import Collector
from latens.nets.selection import Chooser, Tensor
from latens.system.optional_imports import require

__all__ = ["SWAG"]


class SWAG(Collector):
    """Gaussian posterior over weights from mean, variance and last deviations of snapshots.

    Parameters
    ----------
    module : torch.nn.Module
        Compiled modules too; it is the trained one, and is read at each `update`.
    rank : int
        How many deviations are kept; 0 for a diagonal covariance.
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
    >>> from latens.nets import SWAG
    >>> net = torch.nn.Linear(3, 1)
    >>> posterior = SWAG(net, rank=4)
    >>> step = torch.optim.SGD(net.parameters(), lr=0.1)
    >>> for _ in range(10):
    ...     step.zero_grad()
    ...     net(torch.randn(8, 3)).square().mean().backward()
    ...     step.step()
    ...     _ = posterior.update()
    >>> posterior
    SWAG(rank=4): 10 snapshots of 4 weights
    >>> sorted(posterior.sample())
    ['bias', 'weight']
    """

    def __init__(self, module: Any, rank: int = 20, parameters: Chooser = None) -> None:
        super().__init__(module, rank, parameters)

    def _take(self, snapshot: Tensor, measures: Floats) -> None:
        for part in blocks(self.selection.size):
            take(self._mean[part], self._variance[part], self._rows[:, part], snapshot[part], self.n)

    def _read_out(self) -> tuple[Floats, Tensor]:
        mixing, share = shares(self.n, self.rank)
        return mixing, share * self._variance

    def _merge_rows(self, other: SWAG, n: int) -> Tensor:
        """The latest of both in turn, so that each has its share; the latest of all at the place written last."""
        torch = require("torch", "torch")
        own, theirs = self._latest(), other._latest().to(self._rows)
        pairs = [own[i : i + 1] for i in range(len(own))], [theirs[i : i + 1] for i in range(len(theirs))]
        turns = [row for i in range(self.rank) for side in pairs for row in side[i : i + 1]][: self.rank]
        rows = torch.zeros_like(self._rows)
        for age, row in enumerate(turns[: held(n, self.rank)]):
            rows[place(n - age, self.rank)] = row[0]
        return rows

    def _latest(self) -> Tensor:
        """The deviations kept, the latest first."""
        return self._rows[[place(self.n - age, self.rank) for age in range(held(self.n, self.rank))]]
