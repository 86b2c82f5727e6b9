"""Small modules whose weights are set by hand, snapshot by snapshot."""

from __future__ import annotations

import numpy as np


def two_tensors(first=2, second=3, double=False):
    """A module of two weight vectors, `a` and `b`."""
    import torch

    class TwoTensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            dtype = torch.float64 if double else torch.float32
            self.a = torch.nn.Parameter(torch.zeros(first, dtype=dtype))
            self.b = torch.nn.Parameter(torch.zeros(second, dtype=dtype))

        def fill(self, row):
            row = torch.as_tensor(row)
            self.a.data.copy_(row[:first])
            self.b.data.copy_(row[first:])

    return TwoTensors()


def fed(kind, rows, rank=3, double=False, net=None):
    """A posterior that has seen each row as a snapshot."""
    d = rows.shape[1]
    net = two_tensors(2, d - 2, double) if net is None else net
    if double:
        net = net.double()
    posterior = kind(net, rank=rank)
    for row in rows:
        net.fill(row)
        posterior.update()
    return posterior


def snapshots(n, seed=0, with_truth=False):
    """Rows of five weights with two factors, or the rows and their covariance."""
    rng = np.random.default_rng(seed)
    factors = np.array([[2.0, -1.5, 1.0, 0.5, 2.0], [0.5, 1.0, -1.5, 1.0, 0.3]])
    rows = 1 + rng.standard_normal((n, 2)) @ factors + 0.5 * rng.standard_normal((n, 5))
    return (rows, factors.T @ factors + 0.25 * np.eye(5)) if with_truth else rows
