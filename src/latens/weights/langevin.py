"""Draws from the posterior of weights by stochastic gradients, with a preconditioner learnt on the way.

Iterates of SGD with step eta do not have the posterior's covariance: with curvature H and gradient noise C theirs
solves H S + S H - eta H S H = eta C. Here instead

    w <- w - eta P g + Normal(0, (2 eta - eta^2) P - eta^2 P C P)          g: a noisy gradient of -log posterior

which leaves Normal(mode, H^-1) exactly as it is when P = H^-1, for every eta that leaves the noise a covariance.
H and C come from the path itself: near the mode gradients are linear in the weights, g = H (w - mode) + noise, so
that H is the regression of gradients on weights and C what it leaves over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from latens.array import Floats

__all__ = ["Kernel", "Secants", "langevin_path", "sgd_path"]

Gradient = Callable[[Floats], Floats]  # a noisy, unbiased gradient of minus the log posterior, of full-data size

SMALLEST = 1e-8  # curvature, beside the largest: directions along which the posterior would have no end


@dataclass(frozen=True)
class Secants:
    """Running joint moments of weights and gradients."""

    n: int
    mean: Floats  # (2 D,)
    products: Floats  # (2 D, 2 D), sums of products of deviations

    @classmethod
    def empty(cls, n_weights: int) -> Secants:
        return cls(0, np.zeros(2 * n_weights), np.zeros((2 * n_weights, 2 * n_weights)))

    def update(self, weights: Floats, gradient: Floats) -> Secants:
        both = np.concatenate([weights, gradient])
        gap = both - self.mean
        mean = self.mean + gap / (self.n + 1)
        return Secants(self.n + 1, mean, self.products + np.outer(gap, both - mean))

    def curvature(self) -> tuple[Floats, Floats]:
        """H (D, D), positive definite, and the gradient noise C (D, D)."""
        d = len(self.mean) // 2
        if self.n < 4 * d:
            raise ValueError(f"{self.n} steps cannot tell the curvature of {d} weights; take at least {4 * d}.")
        ww, wg, gg = (self.products[rows, columns] for rows, columns in _blocks(d))
        slope = np.linalg.lstsq(ww, wg, rcond=None)[0]  # g = slope'w + noise
        values, vectors = np.linalg.eigh(0.5 * (slope + slope.T))
        curvature = (vectors * np.maximum(values, SMALLEST * values[-1])) @ vectors.T
        noise = (gg - wg.T @ slope) / (self.n - d)
        return curvature, 0.5 * (noise + noise.T)


def _blocks(d: int) -> tuple[tuple[slice, slice], ...]:
    first, second = slice(0, d), slice(d, 2 * d)
    return (first, first), (first, second), (second, second)


@dataclass(frozen=True)
class Kernel:
    """One step of the sampler; `step` is the largest that leaves room for the noise, times `share`."""

    step: float
    preconditioner: Floats  # (D, D)
    root: Floats  # (D, D), of the injected covariance

    @classmethod
    def of(cls, curvature: Floats, noise: Floats, share: float = 0.5) -> Kernel:
        values, vectors = np.linalg.eigh(curvature)
        half = vectors / np.sqrt(values)  # P = half half'
        loud, turn = np.linalg.eigh(half.T @ noise @ half)  # gradient noise in units of the posterior
        loud = np.maximum(loud, 0.0)
        step = share * 2 / (1 + float(loud[-1]))
        left = 2 * step - step**2 * (1 + loud)
        return cls(step, half @ half.T, half @ turn * np.sqrt(np.maximum(left, 0.0)))

    def move(self, weights: Floats, gradient: Floats, rng: np.random.Generator) -> Floats:
        drift = self.step * (self.preconditioner @ gradient)
        return np.asarray(weights - drift + self.root @ rng.standard_normal(len(weights)))


def sgd_path(gradient: Gradient, start: Floats, rate: float, n_steps: int) -> Iterator[tuple[Floats, Floats]]:
    """Weights and the gradients met there, by plain stochastic gradient descent."""
    weights = np.asarray(start, dtype=np.float64)
    for _ in range(n_steps):
        slope = gradient(weights)
        yield weights, slope
        weights = weights - rate * slope


def langevin_path(
    gradient: Gradient,
    start: Floats,
    rate: float,
    n_steps: int,
    rng: np.random.Generator,
    *,
    pilots: tuple[float, ...] = (0.1, 0.1, 0.1),
    share: float = 0.5,
) -> Iterator[Floats]:
    """Draws of weights, n_steps less those of the pilots.

    Parameters
    ----------
    gradient : callable
        Noisy gradients of minus the log posterior, from minibatches scaled to all rows.
    start : array (D,)
    rate : float
        Of the plain descent that goes first.
    pilots : tuple of float
        Shares of the steps spent on learning the preconditioner: the first by descent, each later one with the
        preconditioner of the one before. Their weights are not among the draws.
    share : float
        Of the largest step that leaves room for injected noise.
    """
    lengths = [int(part * n_steps) for part in pilots]
    kernel, weights = None, np.asarray(start, dtype=np.float64)
    for length in lengths:
        secants = Secants.empty(len(weights))
        path = sgd_path(gradient, weights, rate, length) if kernel is None else None
        for at in range(length):
            if path is not None:
                weights, slope = next(path)
            else:
                slope = gradient(weights)
            if at >= length // 4:  # the way to the mode is not near it
                secants = secants.update(weights, slope)
            weights = weights if kernel is None else kernel.move(weights, slope, rng)
        kernel = Kernel.of(*secants.curvature(), share)
    for _ in range(n_steps - sum(lengths)):
        if kernel is None:
            raise ValueError("pilots is empty; give at least one share of the steps, such as (0.1,).")
        weights = kernel.move(weights, gradient(weights), rng)
        yield weights
