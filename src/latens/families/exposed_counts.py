"""Posteriors of clusters of overdispersed counts of which more or less was looked at.

    size_d           ~ uniform on the grid EXPOSED_SIZES             one for all clusters
    g_nd | size_d    ~ Gamma(size_d, size_d)                         what else makes a row's count large
    rate_kd | size_d ~ Gamma                                         at each size one of its own
    x_d | k          ~ Poisson(s_n g_nd rate_kd)                     mean s rate, variance s rate + (s rate)^2 / size

s_n is the exposure of a row. q(size) q(rate | size) q(g | k, size): at each size there are clusters of its own, and the
evidence of all rows weighs them, as in `student_columns`. With c = size + s E[rate],

    E[g] = (x + size) / c,    E[log p] = x (log s + E[log rate]) + T,    T = log Gamma(x + size) - log Gamma(size)
                                         - log x! + size log size - (x + size) log c

which given q(g) is linear in x, u = s E[g] and x log s + T + u E[rate]. A missing entry is a count of 0 with exposure
0. Column d at the size i is column d G + i of what stands side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.special import digamma, gammaln, softmax, xlogy

from latens.array import Array, Floats, Index
from latens.array.fields import positive, record, simplex
from latens.array.kernels.row_posteriors.exposed_counts import count_logs, count_sums
from latens.array.special import gammaln as array_gammaln
from latens.array.transfer import host, like
from latens.families.negative_binomial_columns import NegativeBinomialPoints
from latens.families.poisson_columns import log_exposure

__all__ = ["EXPOSED_SIZES", "ExposedCounts"]

EXPOSED_SIZES: Floats = np.array([2.0**i for i in range(-4, 9)])  # from 1/16 to 256
G = len(EXPOSED_SIZES)
LEAST_WEIGHT = 1e-14  # of a size that still changes a sum
NEAR_WEIGHT = 1e-3  # of a size that changes a density roughly told
FEW_COUNTS = 64  # up to which a table of them is made, however few the rows
NATS_CUT_OFF = 30.0  # nats below its height at which an integrand is cut off
STEP = 0.5  # of a trapezoidal rule, in widths of the integrand: an error below 1e-7
N_HALVINGS = 24  # of the way to where an integrand is cut off


@record
class ExposedCounts:
    shape: Floats = positive("k d")  # of q(rate | size), the same at all sizes
    rate: Floats = positive("k wide")  # its inverse scale, (K, D G)
    weight: Floats = simplex(f"d {G}")  # q(size)
    joint: ClassVar[bool] = False
    n_grid: ClassVar[int] = 1  # sizes are gone through one by one

    @classmethod
    def prior(cls, mean: Floats, worth: Floats) -> ExposedCounts:
        """Of one cluster: means (D,) that are worth as many events (D,)."""
        return cls(worth[None], np.repeat(worth / mean, G)[None], np.full((len(mean), G), 1 / G))

    @property
    def mean(self) -> Floats:
        """(K, D), E[rate], the mean at exposure 1."""
        return self._expected(self._mean_rate)

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries at exposure 1."""
        square = self._mean_rate**2 + self._mean_rate / self.rate
        return np.asarray(self._expected(square * self._wide(1 + 1 / EXPOSED_SIZES)) + self.mean - self.mean**2)

    @property
    def size(self) -> Floats:
        """(D,), the size in the middle of its posterior, on the scale of logarithms."""
        return np.asarray(np.exp(self.weight @ np.log(EXPOSED_SIZES)))

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """What [x, u, x log s + T + u E[rate]] is multiplied by, (K, D + 2 D G), and levels (K, D), which are 0."""
        weight = self.weight.reshape(-1)
        rest = [-weight * self._mean_rate, np.broadcast_to(weight, self.rate.shape)]
        return np.concatenate([self._expected(self._mean_log), *rest], axis=1), np.zeros_like(self.shape)

    def neutral(self, x: Array, seen: Array | None) -> Array:
        """(n, D + 2 D G), the features of entries whose clusters are not known: q(g) is its prior."""
        xp = array_namespace(x)
        exposure = xp.ones_like(x) if seen is None else xp.astype(seen, x.dtype)
        usual = like(self._wide(digamma(EXPOSED_SIZES) - np.log(EXPOSED_SIZES)), x)
        own = xp.repeat(x * log_exposure(exposure) - array_gammaln(x + 1), G, axis=1)
        return xp.concat([x, xp.repeat(exposure, G, axis=1), own + xp.repeat(x, G, axis=1) * usual], axis=1)

    def levels(self, x: Array, seen: Array) -> Array:
        """(n, D G), x log s + T + (x + size) log c, which no cluster changes; 0 where an entry is missing."""
        xp = array_namespace(x)
        exposure = seen + xp.zeros_like(x)
        own = xp.concat([_log_rising(x[:, d], EXPOSED_SIZES) for d in range(x.shape[1])], axis=1)
        own = own + like(self._wide(EXPOSED_SIZES * np.log(EXPOSED_SIZES)), x)
        own = own + xp.repeat(x * log_exposure(exposure) - array_gammaln(x + 1), G, axis=1)
        return own * xp.repeat(xp.astype(exposure > 0, x.dtype), G, axis=1)

    def expected(self, x: Array, seen: Array, levels: Array) -> Array:
        """(n, K), E[log p(row | cluster)] with the best q(g), over observed entries; `seen` are exposures (n, D)."""
        exposure = seen + array_namespace(x).zeros_like(x)
        spent = count_logs(x, exposure, self._by_size(self._mean_rate), EXPOSED_SIZES, self.weight)
        own = levels @ like(self.weight.reshape(-1, 1), x)
        return own - spent + x @ like(self._expected(self._mean_log).T, x)  # an entry that is missing is a 0

    def near_density(self, x: Array, seen: Array) -> Array:
        """(n, K), roughly `log_density`, at about what `expected` takes; over sizes logarithms are averaged.

        What makes a count large is a product of two gammas, that of the row and the rate, in whose place is one with
        the mean and the variance of the product: a negative binomial.
        """
        xp, density = array_namespace(x), 0.0
        exposure = seen + xp.zeros_like(x)
        for d in range(x.shape[1]):
            there = exposure[:, d] > 0
            s = xp.where(there, exposure[:, d], xp.ones_like(x[:, d]))
            for i in np.flatnonzero(self.weight[d] > NEAR_WEIGHT).tolist():
                shape, mean = self.shape[:, d], self._mean_rate[:, d * G + i]
                size = EXPOSED_SIZES[i] * shape / (EXPOSED_SIZES[i] + shape + 1)  # (K,)
                r, expected = like(size, x), s[:, None] * like(mean, x)
                own = _log_rising(x[:, d], size) + r * like(np.log(size), x) + x[:, d][:, None] * xp.log(expected)
                own = own - (x[:, d][:, None] + r) * xp.log(r + expected) - array_gammaln(x[:, d] + 1)[:, None]
                density = density + float(self.weight[d, i]) * xp.astype(there, x.dtype)[:, None] * own
        return density

    def own_sums(self, x: Array, seen: Array, weighted: Array, levels: Array) -> Floats:
        """(K, D + 2 D G), sums over rows of [x, u, x log s + T + u E[rate]], with q(g) at its best for each cluster.

        `seen` are exposures (n, D), 0 where an entry is missing; `weighted` memberships times weights of rows (n, K);
        `levels` (n, D G) those of the method of that name.
        """
        rate = self._by_size(self._mean_rate)
        exposure = seen + array_namespace(x).zeros_like(x)
        u, spent = count_sums(x, exposure, weighted, rate, EXPOSED_SIZES)
        cost = self._by_size(host(weighted.T @ levels)) - spent + u * rate
        rest = np.stack([u, cost], axis=1)  # (K, 2, D, G)
        return np.concatenate([host(weighted.T @ x), rest.reshape(len(rest), -1)], axis=1)

    def tiled(self, k: int) -> ExposedCounts:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> ExposedCounts:
        """Posterior after entries whose features add up to x and xx, under the prior `self`."""
        weight = softmax(self._evidences(x, xx).sum(axis=0).reshape(self.weight.shape), axis=1)
        weight = np.where(weight > LEAST_WEIGHT, weight, 0.0)
        u = np.split(xx, 2, axis=1)[0]
        return ExposedCounts(self.shape + x, self.rate + u, weight / weight.sum(axis=1, keepdims=True))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: ExposedCounts | None = None) -> Floats:
        """(K,), log evidence of each cluster's entries given q(g), expected at the sizes of `current`."""
        return np.asarray(self._evidences(x, xx) @ (self if current is None else current).weight.reshape(-1))

    def kl(self, other: ExposedCounts) -> float:
        a, before = self._shape, other._shape
        each = (a - before) * digamma(a) - gammaln(a) + gammaln(before)
        each = each + before * np.log(self.rate / other.rate) + a * (other.rate / self.rate - 1)
        of_sizes = np.sum(xlogy(self.weight, self.weight)) + len(self.weight) * np.log(G)
        return float(np.sum(each @ self.weight.reshape(-1)) + of_sizes)

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: rates and sizes integrated out."""
        xp, density = array_namespace(x), 0.0
        for d in range(x.shape[1]):
            exposure, terms = seen[:, d] + xp.zeros_like(x[:, 0]), []
            there = exposure > 0
            s = xp.where(there, exposure, xp.ones_like(exposure))
            for i in np.flatnonzero(self.weight[d] > LEAST_WEIGHT).tolist():
                rate, size = self.rate[:, d * G + i], float(EXPOSED_SIZES[i])
                own = _integrated(x[:, d][:, None], s[:, None], self.shape[:, d], rate, size)
                terms.append(own + float(np.log(self.weight[d, i])))
            top = xp.max(xp.stack(terms), axis=0)
            total = sum(xp.exp(term - top) for term in terms)
            density = density + xp.astype(there, x.dtype)[:, None] * (top + xp.log(total))
        return density

    def sample(self, rng: np.random.Generator) -> NegativeBinomialPoints:
        at = np.array([rng.choice(G, p=weight) for weight in self.weight])
        own, size = np.arange(len(at)) * G + at, EXPOSED_SIZES[at]
        rate = np.maximum(rng.gamma(self.shape) / self.rate[:, own], np.finfo(float).tiny)
        return NegativeBinomialPoints(size, size / (size + rate))

    def draw(self, label: Index, rng: np.random.Generator, exposure: Floats | float = 1.0) -> Floats:
        """(n, D), one row of each cluster in `label`, under one draw of sizes and rates; exposures are (n, 1)."""
        return self.sample(rng).draw(label, rng, exposure)

    def only(self, keep: Index) -> ExposedCounts:
        return replace(self, shape=self.shape[keep], rate=self.rate[keep])

    @property
    def _shape(self) -> Floats:
        """(K, D G)."""
        return np.repeat(self.shape, G, axis=1)

    @cached_property
    def _mean_rate(self) -> Floats:
        """(K, D G), E[rate | size]."""
        return np.asarray(self._shape / self.rate)

    @cached_property
    def _mean_log(self) -> Floats:
        """(K, D G), E[log rate | size]."""
        return np.asarray(digamma(self._shape) - np.log(self.rate))

    def _wide(self, by_size: Floats) -> Floats:
        """(D G,), numbers (G,) for every column."""
        return np.tile(by_size, len(self.weight))

    def _expected(self, each: Floats) -> Floats:
        """(K, D), averages over sizes of (K, D G)."""
        return np.asarray(np.einsum("dg,kdg->kd", self.weight, self._by_size(each)))

    def _by_size(self, each: Floats) -> Floats:
        """(K, D, G)."""
        return each.reshape(len(each), *self.weight.shape)

    def _evidences(self, x: Floats, xx: Floats) -> Floats:
        """(K, D G), log evidence of each cluster's entries given q(g), at each of the sizes."""
        u, cost = np.split(xx, 2, axis=1)
        before, after = self._shape, self._shape + np.repeat(x, G, axis=1)
        gain = gammaln(after) - gammaln(before) + before * np.log(self.rate) - after * np.log(self.rate + u)
        return np.asarray(gain + cost)


def _log_rising(x: Array, size: Floats) -> Array:
    """(n, m), log Gamma(x + size) - log Gamma(size) of counts (n,) at sizes (m,); of whole ones that of each once."""
    least = like(gammaln(size), x)
    if is_numpy_array(x) and len(x):
        whole = x.astype(np.intp)
        if whole.min() >= 0 and whole.max() <= max(len(x), FEW_COUNTS) and np.array_equal(whole, x):
            table = array_gammaln(np.arange(whole.max() + 1.0)[:, None] + size) - gammaln(size)
            return np.asarray(table[whole], dtype=x.dtype)
    return array_gammaln(x[:, None] + like(size, x)) - least


def _integrated(x: Array, s: Array, shape: Floats, rate: Floats, size: float) -> Array:
    """(n, K), log probability of counts (n, 1) with exposures (n, 1), rates being Gamma(shape, rate), (K,) each.

    On the scale of v = log rate the integrand is log-concave, with its mode at the root of a quadratic; the trapezoidal
    rule runs between the places at which it has fallen by NATS_CUT_OFF.
    """
    xp = array_namespace(x)
    a, b = like(shape, x), like(rate, x)
    level = gammaln(size) - size * np.log(size)
    fixed = array_gammaln(x + size) - array_gammaln(x + 1) + x * xp.log(s) - float(level)
    fixed = fixed + like(shape * np.log(rate) - gammaln(shape), x)

    def height(v: Array) -> Array:
        y = xp.exp(v)
        return (a + x) * v - b * y - (x + size) * xp.log(size + s * y)

    half = 0.5 * (b * size + s * size - a * s)
    root = xp.sqrt(half**2 + b * s * (a + x) * size)
    positive_half = xp.where(half > 0, half, xp.zeros_like(half))
    negative_half = xp.where(half > 0, xp.zeros_like(half), half)
    # the form of the root that does not cancel
    mode = xp.where(half > 0, (a + x) * size / (positive_half + root), (root - negative_half) / (b * s))
    chance = s * mode / (size + s * mode)
    width = 1 / xp.sqrt(b * mode + (x + size) * chance * (1 - chance))
    middle = xp.log(mode)
    least = height(middle) - NATS_CUT_OFF
    left, right = (_reach(height, middle, side, least) for side in (-1.0, 1.0))
    n_nodes = 1 + int(np.ceil(float(xp.max((left + right) / (STEP * width)))))
    step = (left + right) / (n_nodes - 1)
    total = 0.0
    for i in range(n_nodes):
        total = total + xp.exp(height(middle - left + i * step) - least - NATS_CUT_OFF)
    return fixed + least + NATS_CUT_OFF + xp.log(total) + xp.log(step)


def _reach(height: Callable[[Array], Array], middle: Array, side: float, least: Array) -> Array:
    """How far to the left (-1) or right (1) of its mode a log-concave function has fallen below `least`."""
    xp = array_namespace(middle)
    low, high = xp.zeros_like(middle), xp.ones_like(middle)
    while bool(xp.any(far := height(middle + side * high) > least)):
        high = xp.where(far, 2 * high, high)
    for _ in range(N_HALVINGS):
        at = 0.5 * (low + high)
        inside = height(middle + side * at) > least
        low, high = xp.where(inside, at, low), xp.where(inside, high, at)
    return high
