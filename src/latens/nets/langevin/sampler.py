"""Draws from the posterior of weights by stochastic gradients, with a preconditioner learnt on the way.

Iterates of SGD with step eta do not have the posterior's covariance: with curvature H and gradient noise C theirs
solves H S + S H - eta H S H = eta C. Here instead

    w <- w - eta P g + Normal(0, (2 eta - eta^2) P - eta^2 P C P)          g: a noisy gradient of -log posterior

which leaves Normal(mode, H^-1) as it is when P = H^-1, for every eta that leaves the noise a covariance; for other
P it does so to first order in eta. H and C come from the path itself: H is the regression of differences of
gradients on differences of weights, both gradients from the same rows, and C that of gradients from other rows at
the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from latens.array import Floats

__all__ = ["Gradient", "Kernel", "Secants", "langevin_path", "probe", "sgd_path"]

Gradient = Callable[[Floats, Any], Floats]  # (weights, batch): unbiased for minus the log posterior of all rows
Batches = Callable[[], Any]  # the next batch

LEAST_CURVATURE = 1e-6  # curvature, beside the largest: directions in which the posterior would have no end


@dataclass(frozen=True)
class Secants:
    """Running sums from which curvature and gradient noise are estimated."""

    n: int
    steps: Floats  # (D, D), sum of delta delta'
    rises: Floats  # (D, D), sum of delta (g(w + delta) - g(w))'
    noise: Floats  # (D, D), sum of half the squared differences of gradients at the same weights

    @classmethod
    def empty(cls, n_weights: int) -> Secants:
        zeros = np.zeros((n_weights, n_weights))
        return cls(0, zeros, zeros, zeros)

    def look(
        self, gradient: Gradient, batches: Batches, weights: Floats, rng: np.random.Generator
    ) -> tuple[Secants, Floats]:
        """Add what three gradients about `weights` say; return the first of them too."""
        here, other = batches(), batches()
        step, slope = probe(weights, rng), gradient(weights, here)
        rise, gap = gradient(weights + step, here) - slope, gradient(weights, other) - slope
        return self.add(step, rise, gap), slope

    def add(self, step: Floats, rise: Floats, gap: Floats) -> Secants:
        """Add a step with the rise of the gradient along it, and a gap between gradients of other rows."""
        return Secants(
            self.n + 1,
            self.steps + np.outer(step, step),
            self.rises + np.outer(step, rise),
            self.noise + 0.5 * np.outer(gap, gap),
        )

    def curvature(self, least: float = 0.0) -> tuple[Floats, Floats]:
        """H (D, D), with eigenvalues of at least `least` and above 0, and the gradient noise C (D, D).

        Where the gradient falls along a direction it bends by as much as where it rises, so signs are dropped.
        """
        d = len(self.steps)
        if self.n < 2 * d:
            raise ValueError(f"{self.n} steps are too few for the curvature of {d} weights; use at least {2 * d}.")
        slope = np.linalg.solve(self.steps, self.rises)
        values, vectors = np.linalg.eigh(0.5 * (slope + slope.T))
        curvature = (vectors * np.maximum(np.abs(values), max(least, LEAST_CURVATURE * values[-1]))) @ vectors.T
        return curvature, self.noise / self.n


@dataclass(frozen=True)
class Kernel:
    """One step of the sampler; `step` is the largest that leaves room for the noise, times `share`."""

    step: float
    preconditioner: Floats  # (D, D)
    root: Floats  # (D, D), of the injected covariance

    @classmethod
    def of(cls, curvature: Floats, noise: Floats, share: float = 0.6) -> Kernel:
        values, vectors = np.linalg.eigh(curvature)
        half = vectors / np.sqrt(values)  # P = half half'
        loud, turn = np.linalg.eigh(half.T @ noise @ half)  # gradient noise in units of the posterior
        loud = np.maximum(loud, 0.0)
        step = share * 2 / (1 + float(loud[-1]))
        left = 2 * step - step**2 * (1 + loud)
        return cls(step, half @ half.T, half @ turn * np.sqrt(left))

    def move(self, weights: Floats, gradient: Floats, rng: np.random.Generator) -> Floats:
        drift = self.step * (self.preconditioner @ gradient)
        return np.asarray(weights - drift + self.root @ rng.standard_normal(len(weights)))


def probe(weights: Floats, rng: np.random.Generator) -> Floats:
    """A step small enough to see the slope of the gradient, large enough for single precision."""
    return np.asarray(1e-3 * (1 + np.abs(weights)) * rng.standard_normal(len(weights)))


def sgd_path(gradient: Gradient, batches: Batches, start: Floats, rate: float, n_steps: int) -> Iterator[Floats]:
    """Weights along plain stochastic gradient descent."""
    weights = np.asarray(start, dtype=np.float64)
    for _ in range(n_steps):
        weights = weights - rate * gradient(weights, batches())
        yield weights


def langevin_path(
    gradient: Gradient,
    batches: Batches,
    start: Floats,
    rate: float,
    n_steps: int,
    rng: np.random.Generator,
    *,
    pilots: tuple[float, ...] = (0.05, 0.1),
    share: float = 0.6,
) -> Iterator[Floats]:
    """Draws of weights, as many as `n_steps` less those of the pilots.

    Parameters
    ----------
    gradient, batches : callable
        Gradients of minus the log posterior from a batch scaled to all rows; and the next batch.
    start : array (D,)
    rate : float
        Of the plain descent that goes first.
    pilots : tuple of float
        Shares of the steps spent on learning the preconditioner, three gradients each: the first by descent, each
        later one with the preconditioner of the one before. Their weights are not among the draws.
    share : float
        The step, as a share of the largest at which gradients of batches are not noisier than a draw may be; noise is
        added up to that.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> noisy = lambda w, batch: np.array([4.0, 1.0]) * w + batch
    >>> batches = lambda: rng.normal(size=2)
    >>> draws = np.array(list(langevin_path(noisy, batches, np.ones(2), 0.05, 40_000, rng)))
    >>> draws.var(axis=0).round(1)
    array([0.2, 1. ])
    """
    if not pilots:
        raise ValueError("pilots is empty; give at least one share of the steps, such as (0.05, 0.1).")
    lengths = [int(part * n_steps) for part in pilots]
    weights, kernel = np.asarray(start, dtype=np.float64), None
    for length in lengths:
        secants = Secants.empty(len(weights))
        for _ in range(length):
            secants, slope = secants.look(gradient, batches, weights, rng)
            weights = weights - rate * slope if kernel is None else kernel.move(weights, slope, rng)
        kernel = Kernel.of(*secants.curvature(), share)
    for _ in range(n_steps - sum(lengths)):
        # there were pilots, so that there is a kernel
        weights = kernel.move(weights, gradient(weights, batches()), rng)  # type: ignore[union-attr]
        yield weights
