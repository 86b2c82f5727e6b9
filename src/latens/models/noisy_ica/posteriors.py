"""Posteriors of independent sources of one row, each with heavy tails or with two levels.

    heavy    z_k | u_k ~ Normal(0, 1/u_k),   u_k ~ Gamma(a_k/2, a_k/2)      Student-t, a_k degrees of freedom
    light    z_k | s_k ~ Normal(m_k s_k, 1/b_k),   s_k = -1 or 1            sub-Gaussian, b_k = 1 / (1 - m_k^2)

    q(z, s) q(u):   z | s ~ Normal(centre + lean s, spread),   u_k ~ Gamma(shape_k, rate_k)

Given u, precisions of z do not depend on the signs: they are G + diag(u or b) whatever s is. So z is integrated out
of q(z, s) in closed form, and what is left is a quadratic density of the signs, as of on/off codes: summed over all
of them while they are few, mean field beyond. Both kinds have mean 0; a light source has variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import gammaln as host_gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import positive, positive_definite, real, record, sized, unit
from latens.array.kernels.row_posteriors.student import student_scales
from latens.array.packed_symmetric import moment_pairs
from latens.array.row_matrices import log_determinants, normal_given, plus_products, times_rows
from latens.array.special import digamma, gammaln
from latens.array.transfer import host, like, sums_together, take, total
from latens.core import Rows, transient
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.binary_factors.posteriors import Automatic, States, Switches
from latens.system.cached_value import cached_value

__all__ = ["Diagonal", "Full", "Shapes", "Sources", "infer"]

SIGNS = Automatic(most_exact=8)  # 256 states are a small matrix product


@record
class Shapes:
    """What the distributions of the sources look like; points."""

    tails: Floats = positive("k")  # degrees of freedom of a heavy source
    split: Floats = unit("k")  # m of a light source; 0: the source is heavy

    @property
    def light(self) -> Index:
        return np.flatnonzero(self.split)

    @property
    def sharp(self) -> Floats:
        """(K,), precision of a light source about each level."""
        return 1 / (1 - self.split**2)

    def only(self, keep: Index) -> Shapes:
        return Shapes(self.tails[keep], self.split[keep])

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """(n, K), sources."""
        k = len(self.tails)
        heavy = rng.standard_t(self.tails, size=(n, k))
        light = self.split * rng.choice([-1.0, 1.0], size=(n, k)) + rng.normal(size=(n, k)) / np.sqrt(self.sharp)
        return np.where(self.split > 0, light, heavy)

    def slopes(self, n: float, log_u: Floats, u: Floats, square: Floats, signed: Floats) -> dict[str, Floats]:
        """Derivatives of prices times sums of 1, E[log u], E[u], E[u z^2] and E[z s]."""
        half, heavy, s, m = 0.5 * self.tails, self.split == 0, self.sharp, self.split
        tails = 0.5 * (n * (np.log(half) + 1 - digamma(half)) + log_u - u)
        split = m * s * (n * (1 - s) - s * square) + s * (2 * s - 1) * signed
        return {"tails": np.where(heavy, tails, 0.0), "split": np.where(heavy, 0.0, split)}

    def prices(self) -> Floats:
        """(5, K), what each row's 1, E[log u], E[u], E[u z^2] and E[z s] add to E[log p(z, u, s)]; u = 1 if light."""
        half, zero = 0.5 * self.tails, np.zeros_like(self.tails)
        heavy = [half * np.log(half) - host_gammaln(half) - 0.5 * LOG_2PI, half - 0.5, -half, zero - 0.5, zero]
        level = 0.5 * (np.log(self.sharp) - self.sharp * self.split**2 - LOG_2PI) - np.log(2)
        light = [level, zero, zero, -0.5 * self.sharp, self.sharp * self.split]
        return np.where(self.split > 0, np.array(light), np.array(heavy))


@dataclass(frozen=True)
class Full:
    matrix: Array = positive_definite("n k k")
    known: tuple[Array, Array] | None = None  # a matrix, and its log determinants (n,)

    @property
    def variance(self) -> Array:
        return array_namespace(self.matrix).linalg.diagonal(self.matrix)

    @property
    def log_determinant(self) -> Array:
        if self.known is not None and self.known[0] is self.matrix:  # not where another matrix was put in
            return self.known[1]
        return log_determinants(self.matrix)


@dataclass(frozen=True)
class Diagonal:
    """Mean field."""

    variance: Array = positive("n k")

    @property
    def matrix(self) -> Array:
        return self.variance[:, :, None] * like(np.eye(self.variance.shape[1]), self.variance)

    @property
    def log_determinant(self) -> Array:
        xp = array_namespace(self.variance)
        return xp.sum(xp.log(self.variance), axis=1)


@record
class Sources:
    """q(z, s) q(u) of a block of rows. What is kept is untouched by a turn of the sources, and restores the rest."""

    quiet: Array  # (n, K), E[u]; 1 for light sources
    light: Index = sized("light")  # which sources those are
    signs: Any  # States | Switches over the light sources, on: +1; None if there are none
    centre: Array = real("n k", transient=True)
    shape: Array = positive("k", transient=True)
    rate: Array = positive("n k", transient=True)
    lean: Array = transient()  # (n, K, number of light sources)
    spread: Any = transient()  # Full | Diagonal

    def follow(self, of: Index) -> Sources:
        """What is kept of sources that are what of[k] were; new ones, marked by -1, are heavy."""
        xp, old = array_namespace(self.quiet), of >= 0
        quiet = take(self.quiet, np.maximum(of, 0), axis=1)
        quiet = quiet if old.all() else xp.where(like(old, quiet) > 0, quiet, xp.ones_like(quiet))
        light = np.flatnonzero(np.isin(of, self.light))
        signs = self.signs.follow(np.searchsorted(self.light, of[light])) if len(light) else None
        return Sources(quiet, light, signs, None, None, None)

    @property
    def heavy(self) -> Array:
        """(K,), 1 where a source is heavy, else 0."""
        mask = np.ones(self.centre.shape[1])
        mask[self.light] = 0.0
        return like(mask, self.centre)

    @cached_value
    def u(self) -> Array:
        """(n, K), E[u]."""
        expected = self.shape / self.rate
        return self.heavy * expected + (1 - self.heavy) if len(self.light) else expected

    @property
    def log_u(self) -> Array:
        expected = digamma(self.shape) - self.log_rate
        return self.heavy * expected if len(self.light) else expected

    @cached_value
    def log_rate(self) -> Array:
        """(n, K), taken once: it is what costs most of the two that ask for it."""
        return array_namespace(self.rate).log(self.rate)

    @property
    def sign(self) -> Array:
        """(n, L), E[s] of the light sources."""
        return 2 * self.signs.mean - 1

    @cached_value
    def mean(self) -> Array:
        """(n, K), E[z]."""
        return self.centre if self.signs is None else self.centre + times_rows(self.lean, self.sign)

    def pairs(self, full: Array) -> Array:
        """(n, W (W + 1) / 2), E[z_a z_b] for a <= b, of `full` (n, W): the means, and beside them what is known."""
        products = None if self.signs is None else (self._lean_of_signs, self.lean)
        return moment_pairs(full, self.spread.matrix, products)

    def second(self) -> Array:
        """(n, K, K), E[z z']."""
        xp, mean = array_namespace(self.centre), self.mean[:, :, None]
        if self.signs is None:
            return plus_products(self.spread.matrix, mean, mean)
        factors = xp.concat([self._lean_of_signs, mean], axis=2)
        return plus_products(self.spread.matrix, factors, xp.concat([self.lean, mean], axis=2))

    @cached_value
    def _lean_of_signs(self) -> Array:
        """(n, K, L), covariance of z and the signs."""
        on = self.signs.mean
        return self.lean @ (4 * (self.signs.second() - on[:, :, None] * on[:, None, :]))

    @property
    def variance(self) -> Array:
        if self.signs is None:
            return self.spread.variance
        return self.spread.variance + array_namespace(self.centre).sum(self._lean_of_signs * self.lean, axis=2)

    def signed(self) -> Array:
        """(n, K, L), E[z s'] with the signs of the light sources."""
        on = self.signs.mean
        pairs = 4 * self.signs.second() - 2 * (on[:, :, None] + on[:, None, :]) + 1  # E[s s']
        return self.centre[:, :, None] * self.sign[:, None, :] + self.lean @ pairs

    @property
    def own_signed(self) -> Array:
        """(n, K), E[z_k s_k]; 0 for heavy sources."""
        xp, k = array_namespace(self.centre), self.centre.shape[1]
        if self.signs is None:
            return xp.zeros_like(self.centre)
        own = xp.linalg.diagonal(take(self.signed(), self.light, axis=1))
        return own @ like(np.eye(k)[self.light], own)

    @property
    def entropy(self) -> Array:
        """(n,)."""
        xp, shape = array_namespace(self.rate), self.shape
        gamma = shape + gammaln(shape) + (1 - shape) * digamma(shape) - self.log_rate
        normal = self.spread.log_determinant + self.centre.shape[1] * (1 + LOG_2PI)
        total = 0.5 * normal + xp.sum(self.heavy * gamma if len(self.light) else gamma, axis=1)
        return total if self.signs is None else total + self.signs.entropy

    def scale_sums(self, rows: Rows) -> tuple[Floats, float]:
        """(K,) and a number, weighted sums over rows of E[log u] and of the entropy; nothing is formed for each row."""
        logs, volume = sums_together(rows.weigh(self.log_rate), rows.weigh(self.spread.log_determinant[:, None]))
        (_, k), n, shape, is_heavy = self.centre.shape, rows.n, host(self.shape), np.ones(self.centre.shape[1])
        is_heavy[self.light] = 0.0
        log_u = is_heavy * (n * digamma(shape) - logs)
        gamma = n * (shape + gammaln(shape) + (1 - shape) * digamma(shape)) - logs
        entropy = 0.5 * (float(volume[0]) + n * k * (1 + LOG_2PI)) + float(is_heavy @ gamma)
        return log_u, entropy if self.signs is None else entropy + total(rows.weigh(self.signs.entropy))


def infer(shapes: Shapes, drive: Array, gram: Array, warm: Sources | None, n_sweeps: int, diagonal: bool) -> Sources:
    """Coordinate ascent on q(z, s) and q(u), where log p(row | z) = drive'z - 1/2 z'gram z + const."""
    xp, light = array_namespace(drive), shapes.light
    heavy = like((shapes.split == 0).astype(float), drive)
    sharp, tails = like(shapes.sharp, drive), like(shapes.tails, drive)
    quiet = xp.ones_like(drive) if warm is None else warm.quiet
    signs = None if warm is None else warm.signs
    shape = heavy * 0.5 * (tails + 1) + (1 - heavy)
    local = Sources(quiet, light, signs, None, shape, None)
    for _ in range(n_sweeps):
        precision = heavy * local.quiet + (1 - heavy) * sharp if len(light) else local.quiet
        centre, inverse, volume = normal_given(drive, gram, precision)
        spread: Full | Diagonal = Full(inverse, None if volume is None else (inverse, volume))
        lean = None
        if diagonal:
            spread = Diagonal(1 / (precision + xp.linalg.diagonal(gram)))
        if len(light):
            lean, signs = _signs(shapes, centre, inverse, local.signs)
        if not (diagonal or len(light)):
            rate, quiet, log_rate = student_scales(centre, inverse, tails, shape)
            local = Sources(quiet, light, signs, centre, shape, rate, lean, spread)
            vars(local).update(u=quiet, log_rate=log_rate)  # cached values: taken once
            continue
        now = Sources(local.quiet, light, signs, centre, shape, None, lean, spread)
        rate = 0.5 * (tails + now.mean**2 + now.variance)
        quiet = shape / rate
        if len(light):
            rate, quiet = heavy * rate + (1 - heavy), heavy * quiet + (1 - heavy)
        local = Sources(quiet, light, signs, centre, shape, rate, lean, spread)
    return local


def _signs(shapes: Shapes, centre: Array, inverse: Array, warm: Any) -> tuple[Array, States | Switches]:
    """How z leans with the signs, and the signs, z integrated out: log q(s) = f's + 1/2 s'J s, s = 2 on - 1."""
    xp, light = array_namespace(centre), shapes.light
    pull = like((shapes.sharp * shapes.split)[light], centre)  # (L,)
    lean = take(inverse, light, axis=2) * pull
    field_ = take(centre, light, axis=1) * pull
    pairs = take(lean, light, axis=1) * pull[:, None]
    drive = 2 * (field_ + xp.linalg.diagonal(pairs) - xp.sum(pairs, axis=2))
    return lean, SIGNS.infer(drive, -4 * pairs, np.full(len(light), 0.5), warm)
