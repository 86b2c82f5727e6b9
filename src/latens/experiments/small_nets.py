"""Many small nets trained at once: one hidden layer of rectified units, C outputs, all of one shape.

    f(x) = w2' max(w1' x + b1, 0) + b2,          w1: (M, D, H), b1: (M, 1, H), w2: (M, H, C), b2: (M, 1, C)

Each of the M nets has rows of its own. A step draws a batch with replacement for each and moves all of them by
gradients written out by hand, in a few products of stacked matrices: of half the mean squared error where C is 1, and
of the cross-entropy of a softmax where there are several outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.system.optional_imports import require

__all__ = ["Data", "Nets", "hidden_units", "outputs"]

NAMES = ("w1", "b1", "w2", "b2")
LONGEST_GRADIENT = 2.0  # norm


@dataclass(frozen=True)
class Data:
    """Rows of each net: x (M, N, D), y (M, N, C), and which of them it learns from."""

    x: Any
    y: Any
    rows: Any  # (M, most), indices of the rows to learn from, padded with 0 at their end
    counts: Any  # (M,), how many of these are indices, the rest being padding

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, chosen: np.ndarray) -> Data:
        """Rows x (M, N, D) and targets y (M, N, C) of M nets, one-hot where they are classes.

        `chosen` (M, N) is true for the rows that each net learns from.
        """
        torch = require("torch", "torch")
        rows = [torch.as_tensor(np.flatnonzero(mask)) for mask in chosen]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        counts = torch.as_tensor([len(each) for each in rows])
        return cls(torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y, dtype=torch.float32), padded, counts)

    def batch(self, size: int, source: Any) -> tuple[Any, Any]:
        """x (M, size, D) and y (M, size, C)."""
        torch = require("torch", "torch")
        at = (torch.rand(len(self.counts), size, generator=source) * self.counts[:, None]).long()
        which = torch.gather(self.rows, 1, at)
        nets = torch.arange(len(self.counts))[:, None]
        return self.x[nets, which], self.y[nets, which]


class Nets:
    """M nets, their momenta, and each of them as a module that shares its weights."""

    def __init__(self, weights: list[Any], momenta: list[Any] | None = None) -> None:
        torch = require("torch", "torch")
        self.weights = weights
        self.momenta = [torch.zeros_like(w) for w in weights] if momenta is None else momenta

    @classmethod
    def random(cls, m: int, d: int, hidden: int, source: Any, n_outputs: int = 1) -> Nets:
        torch = require("torch", "torch")
        shapes = ((m, d, hidden), (m, 1, hidden), (m, hidden, n_outputs), (m, 1, n_outputs))
        scales = (d**-0.5, 0.1, hidden**-0.5, 0.0)
        return cls([s * torch.randn(shape, generator=source) for s, shape in zip(scales, shapes, strict=True)])

    def copy(self) -> Nets:
        return Nets([w.clone() for w in self.weights], [v.clone() for v in self.momenta])

    def modules(self) -> list[Any]:
        """Each net as a module over the same memory: it sees every step."""
        torch = require("torch", "torch")
        made = []
        for i in range(len(self.weights[0])):
            module = torch.nn.Module()
            for name, w in zip(NAMES, self.weights, strict=True):
                module.register_parameter(name, torch.nn.Parameter(w[i]))
            made.append(module)
        return made

    def vectors(self) -> Any:
        """(M, weights of a net)."""
        return require("torch", "torch").cat([w.flatten(1) for w in self.weights], dim=1)

    def train(
        self,
        data: Data,
        rates: np.ndarray,
        batch_size: int,
        source: Any,
        *,
        decay: float,
        momentum: float = 0.9,
        per_epoch: int = 1,
        after_epoch: Callable[[], None] = lambda: None,
    ) -> Nets:
        """Take a step for each of the rates, of SGD with clipped gradients, momentum and weight decay."""
        torch = require("torch", "torch")
        with torch.no_grad():
            for step, rate in enumerate(rates, 1):
                slopes = _clipped(_slopes(self.weights, *data.batch(batch_size, source)))
                for w, slope, velocity in zip(self.weights, slopes, self.momenta, strict=True):
                    velocity.mul_(momentum).add_(slope).add_(w, alpha=decay)
                    w.add_(velocity, alpha=-float(rate))
                if step % per_epoch == 0:
                    after_epoch()
        return self


def _slopes(weights: list[Any], x: Any, y: Any) -> tuple[Any, ...]:
    """Gradients of the mean loss of each net."""
    torch = require("torch", "torch")
    w1, b1, w2, b2 = weights
    before = torch.baddbmm(b1, x, w1)
    hidden = before.relu()
    answer = torch.baddbmm(b2, hidden, w2)
    gap = ((answer.softmax(2) if y.shape[2] > 1 else answer) - y) / x.shape[1]
    back = (gap @ w2.transpose(1, 2)) * (before > 0)
    return (
        x.transpose(1, 2) @ back,
        back.sum(1, keepdim=True),
        hidden.transpose(1, 2) @ gap,
        gap.sum(1, keepdim=True),
    )


def _clipped(slopes: tuple[Any, ...]) -> list[Any]:
    """No gradient of a net longer than LONGEST_GRADIENT, lest one odd batch throws it away."""
    squares = sum(slope.square().sum((1, 2), keepdim=True) for slope in slopes)
    share = (LONGEST_GRADIENT / squares.sqrt()).clamp_max(1.0)
    return [slope * share for slope in slopes]


def hidden_units(weights: list[Any], x: Any) -> Any:
    """(M, n, H + 1): hidden units of rows x (M, n, D), and a unit that is always 1."""
    torch = require("torch", "torch")
    units = torch.baddbmm(weights[1], x, weights[0]).relu()
    return torch.cat([units, torch.ones_like(units[:, :, :1])], dim=2)


def outputs(vectors: Any, x: Any, hidden: int) -> np.ndarray:
    """(S, n, C): what S weight vectors (S, weights), in the order of `vectors`, say about rows x (n, D)."""
    torch = require("torch", "torch")
    s, d = len(vectors), x.shape[1]
    c = (vectors.shape[1] - (d + 1) * hidden) // (hidden + 1)
    w1, b1, w2, b2 = vectors.split([d * hidden, hidden, hidden * c, c], dim=1)
    layer = torch.baddbmm(b1[:, None], x.expand(s, -1, -1), w1.reshape(s, d, hidden)).relu()
    return np.asarray(torch.baddbmm(b2[:, None], layer, w2.reshape(s, hidden, c)).double().numpy())
