"""Document 000, section 3.2: the true bound of the posterior that the listing holds, beside the sum it prints."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from latens.array import Floats
from latens.experiments.printed import binary_relevance as printed

__all__ = ["Printed", "run_listing", "true_bound"]


class Printed:
    """One run of the listing with the bound that its sum should have been."""

    def __init__(
        self, x: Floats, k: int, iterations: int, rng: np.random.Generator, start: printed.Start | None = None
    ) -> None:
        self.learnt = printed.learn_bin_factors(x, k, iterations, rng, start)
        self.sums = self.learnt.free_energies
        self.bounds = np.array([true_bound(x, *step) for step in self.learnt.path])

    @property
    def usage(self) -> Floats:
        return np.asarray(self.learnt.pie[0])

    def in_use(self, n: int) -> Floats:
        """(K,) boolean, factors that at least one row has on."""
        return np.asarray(n * self.usage >= 1)


def true_bound(
    x: Floats, mu: Floats, squares: Floats, sigma: float, pie: Floats, Lambda: Floats, alpha: Floats
) -> float:
    """A lower bound of log p(X | sigma, pi, alpha): the sum of the print, with the two terms that it leaves out."""
    (N, D), C = x.shape, (squares - np.sum(mu**2, axis=0)) / x.shape[1]
    with np.errstate(all="ignore"):
        p = np.clip(pie, 1e-300, 1 - 1e-16)
        codes = np.sum(
            xlogy(Lambda, p) + xlogy(1 - Lambda, 1 - p) - xlogy(Lambda, Lambda) - xlogy(1 - Lambda, 1 - Lambda)
        )
        second = np.sum(Lambda, axis=0) * squares - np.sum(Lambda**2, axis=0) * np.sum(mu**2, axis=0)
        residual = np.sum((x - Lambda @ mu.T) ** 2) + np.sum(second)
        data = -N * D / 2 * np.log(2 * np.pi * sigma**2) - residual / (2 * sigma**2)
        divergence = 0.5 * np.sum(alpha * squares - D - D * np.log(alpha * C))
    return float(codes + data - divergence)


def run_listing(x: Floats, k: int, iterations: int, rng: np.random.Generator) -> Printed:
    return Printed(x, k, iterations, rng)
