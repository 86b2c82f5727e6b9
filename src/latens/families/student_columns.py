"""Posteriors of clusters of measurements with outliers: Student t, as a normal whose precision each entry scales.

    nu_d             ~ uniform on the grid FREEDOMS                      one for all clusters
    u_nd | nu_d      ~ Gamma(nu_d / 2, nu_d / 2)                         small in an outlier
    tau_kd, mu_kd    ~ Normal-Gamma                                      as in `NormalColumns`
    x_d | k          ~ Normal(mu_kd, 1 / (u_nd tau_kd))                  Student t with nu_d degrees of freedom

q(nu) q(mu, tau | nu) q(u | k, nu): at each nu there are clusters of its own, and the evidence of all rows weighs them.
An entry far from its cluster hardly counts there,

    delta = E[tau] (x - mean)^2 + 1 / strength,    E[u] = (nu + 1) / (nu + delta)

    E[log p] = (E[log tau] - log 2 pi) / 2 + T(delta),    T = log Gamma((nu+1)/2) - log Gamma(nu/2)
               + nu/2 log(nu/2) - (nu+1)/2 log((nu + delta) / 2)

which given q(u) is linear in E[u] x, E[u], E[u] x^2 and T + E[u] delta / 2. They differ from cluster to cluster, unlike
what other kinds of columns ask of a row. The normal clusters of all degrees of freedom stand side by side: column d at
the degree i is column d G + i of theirs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from array_api_compat import array_namespace
from scipy.special import digamma, gammaln, softmax, xlogy

from latens.array import Array, Floats, Index
from latens.array.fields import part, record, simplex, sized
from latens.array.kernels.row_posteriors.scale_mixtures import distance_logs, distance_sums
from latens.array.transfer import host, like
from latens.families.normal_columns import NormalColumns
from latens.families.point_normal_gamma import LOG_2PI

__all__ = ["FREEDOMS", "StudentColumns", "StudentPoints", "trimmed"]

FREEDOMS: Floats = np.array([2.0**i for i in range(9)])  # from 1 to 256
G = len(FREEDOMS)
LEAST_WEIGHT = 1e-14  # of degrees of freedom that still change a sum
TRIMMED_SHARE = 0.02  # share at either end of a column that a start takes for outliers
NATS_CUT_OFF = 30.0  # nats below its height at which an integrand is cut off
STEP = 0.5  # of a trapezoidal rule, in widths of the integrand: an error below 1e-7


@record
class StudentColumns:
    normal: NormalColumns = part(d="wide", columns="1|wide")  # q(mu, tau | nu), D G columns
    weight: Floats = simplex(f"d {G}")  # q(nu)
    joint: ClassVar[bool] = False
    n_grid: ClassVar[int] = G

    @classmethod
    def prior(cls, normal: NormalColumns) -> StudentColumns:
        """Of one cluster whose middle and scale have this prior, whatever the degrees of freedom."""
        mean, rate = np.repeat(normal.mean, G, axis=1), np.repeat(normal.rate, G, axis=1)
        wide = NormalColumns(mean, _repeated(normal.strength), _repeated(normal.shape), rate)
        return cls(wide, np.full((normal.mean.shape[1], G), 1 / G))

    @cached_property
    def mean(self) -> Floats:
        """(K, D), the middles."""
        return self._expected(self.normal.mean)

    @property
    def covariance(self) -> Floats:
        """(K, D), 1 / E[tau]: squared scales, which are less than variances."""
        return self._expected(self.normal.covariance)

    @property
    def freedom(self) -> Floats:
        """(D,), degrees of freedom in the middle of their posterior, on the scale of logarithms."""
        return np.asarray(np.exp(self.weight @ np.log(FREEDOMS)))

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries, and that of a normal where there is none."""
        wider = np.where(FREEDOMS > 2, FREEDOMS / np.maximum(FREEDOMS - 2, 1.0), 1.0)
        square = self.normal.row_variance * np.tile(wider, len(self.weight)) + self.normal.mean**2
        return np.asarray(np.maximum(self._expected(square) - self.mean**2, 0.0))

    @cached_property
    def natural(self) -> tuple[Floats, Floats]:
        """What [x, E[u] x, E[u], E[u] x^2, T + E[u] delta / 2] is multiplied by, (K, D + 4 D G), and levels (K, D)."""
        tau, m, weight = self._precision, self.normal.mean, self.weight.reshape(-1)
        of_u = -0.5 * (tau * m**2 + 1 / self.normal.strength)
        rest = [weight * np.broadcast_to(each, m.shape) for each in (tau * m, of_u, -0.5 * tau, 1.0)]
        level = self._expected(0.5 * (self.normal.noise.mean_log - LOG_2PI))
        return np.concatenate([np.zeros_like(self.mean), *rest], axis=1), level

    def neutral(self, x: Array, seen: Array | None) -> Array:
        """(n, D + 4 D G), the features of entries whose clusters are not known: q(u) is its prior."""
        xp = array_namespace(x)
        shown = xp.ones_like(x) if seen is None else xp.astype(seen, x.dtype)
        cost = like(np.tile(0.5 * (digamma(0.5 * FREEDOMS) - np.log(0.5 * FREEDOMS)), len(self.weight)), x)
        wide = [xp.repeat(each, G, axis=1) for each in (x, shown, x**2)]
        return xp.concat([x, *wide, wide[1] * cost], axis=1)

    def levels(self, x: Array, seen: Array) -> Array:
        """Nothing that no cluster changes takes time to make."""
        return x[:, :0]

    def expected(self, x: Array, seen: Array, levels: Array | None = None) -> Array:
        """(n, K), E[log p(row | cluster)] with the best q(u), over observed entries; `seen` are numbers (1 or n, D)."""
        level = self.natural[1] + self.weight @ _top(FREEDOMS)
        return _heights(x, seen, level, *self._distances, self.weight * 0.5 * (FREEDOMS + 1))

    def near_density(self, x: Array, seen: Array) -> Array:
        """(n, K), roughly `log_density` but for what is the same in all clusters, at no more than `expected` takes.

        The precision of an entry is a product of two gammas, u and tau, in whose place is one with fewer degrees of
        freedom than either: the harmonic sum. Over degrees of freedom, which clusters share, logarithms are averaged.
        """
        shape = (len(self.mean), *self.weight.shape)
        dof = 2 * np.broadcast_to(self.normal.shape, self.normal.mean.shape).reshape(shape)
        scale = self.normal.covariance * (1 + 1 / self.normal.strength)
        scale = np.broadcast_to(scale, self.normal.mean.shape).reshape(shape)
        free = FREEDOMS * dof / (FREEDOMS + dof)
        height = gammaln(0.5 * (free + 1)) - gammaln(0.5 * free) - 0.5 * np.log(free * np.pi * scale)
        level = np.einsum("dg,kdg->kd", self.weight, height)
        middle = self.normal.mean.reshape(shape)
        return _heights(x, seen, level, middle, 1 / (free * scale), np.ones(shape), self.weight * 0.5 * (free + 1))

    def own_sums(self, x: Array, seen: Array, weighted: Array, levels: Array | None = None) -> Floats:
        """(K, D + 4 D G), sums of the features of each cluster, weighted by memberships (n, K)."""
        counted = host(weighted.T @ (seen + array_namespace(x).zeros_like(x)))[:, :, None]
        of_x, mass, of_xx, logs = distance_sums(x, seen, weighted, *self._distances)
        u = [(FREEDOMS + 1) * each for each in (of_x, mass, of_xx)]
        # T + u delta / 2, where u (nu + delta) is nu + 1
        half = 0.5 * (FREEDOMS + 1)
        cost = counted * (_top(FREEDOMS) + half) - half * logs - 0.5 * FREEDOMS * u[1]
        rest = np.stack([*u, cost], axis=1)  # (K, 4, D, G)
        return np.concatenate([host((weighted.T) @ (x * seen)), rest.reshape(len(rest), -1)], axis=1)

    def coordinates(self, x: Floats) -> Floats:
        """(n, D), without outliers, which would be clusters of a start."""
        return trimmed(x)

    def tiled(self, k: int) -> StudentColumns:
        return self.only(np.zeros(k, dtype=int))

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> StudentColumns:
        """Posterior after seen_kd entries whose features add up to x and xx, under the prior `self`."""
        (ux, u, uxx, _), shown = np.split(xx, 4, axis=1), np.repeat(np.broadcast_to(seen, x.shape), G, axis=1)
        weight = softmax(self._evidences(seen, x, xx).sum(axis=0).reshape(self.weight.shape), axis=1)
        weight = np.where(weight > LEAST_WEIGHT, weight, 0.0)
        return StudentColumns(self.normal.observe(shown, ux, uxx, u), weight / weight.sum(axis=1, keepdims=True))

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: StudentColumns | None = None) -> Floats:
        """(K,), log evidence of each cluster's entries given q(u), expected at the degrees of freedom of `current`."""
        weight = (self if current is None else current).weight.reshape(-1)
        return np.asarray(self._evidences(seen, x, xx) @ weight)

    def kl(self, other: StudentColumns) -> float:
        of_freedom = np.sum(xlogy(self.weight, self.weight)) + len(self.weight) * np.log(G)
        return float(np.sum(self.normal.column_kl(other.normal) @ self.weight.reshape(-1)) + of_freedom)

    def log_density(self, x: Array, seen: Array) -> Array:
        """(n, K), log E_q[p(row | cluster)] over observed entries: t distributions, integrated over u and nu."""
        xp, normal = array_namespace(x), self.normal
        shape, strength, squared = (
            np.broadcast_to(each, normal.mean.shape) for each in (normal.shape, normal.strength, normal.covariance)
        )
        density: Array = 0.0
        for d in range(x.shape[1]):
            terms = []
            for i in np.flatnonzero(self.weight[d] > LEAST_WEIGHT).tolist():
                at = d * G + i
                gap = (x[:, d][:, None] - like(normal.mean[:, at], x)) ** 2 * like(1 / squared[:, at], x)  # (n, K)
                level = np.log(self.weight[d, i]) - 0.5 * np.log(squared[:, at])
                terms.append(like(level, x) + _mixed(gap, 2 * shape[:, at], strength[:, at], float(FREEDOMS[i])))
            density = density + _log_sum(terms) * (seen[:, d] + xp.zeros_like(x[:, 0]))[:, None]
        return density

    def fill(self, share: Array) -> tuple[Array, Array]:
        """(n, D) each, what memberships (n, K) say of entries that were not seen; no finite variance below nu = 2."""
        mean = share @ like(self.mean, share)
        variance = share @ like(self.row_variance + self.mean**2, share) - mean**2
        return mean, variance + like(np.where(self.freedom > 2, 0.0, np.inf), share)

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`, under one draw of what is not known."""
        return self.sample(rng).draw(label, rng)

    def sample(self, rng: np.random.Generator) -> StudentPoints:
        at = np.array([rng.choice(G, p=weight) for weight in self.weight])
        point, own = self.normal.sample(rng), np.arange(len(at)) * G + at
        return StudentPoints(point.mean[:, own], np.broadcast_to(point.noise, point.mean.shape)[:, own], FREEDOMS[at])

    def only(self, keep: Index) -> StudentColumns:
        return replace(self, normal=self.normal.only(keep))

    @property
    def _precision(self) -> Floats:
        """(K, D G), E[tau | nu]."""
        return np.asarray(np.broadcast_to(self.normal.noise.mean, self.normal.mean.shape))

    def _expected(self, each: Floats) -> Floats:
        """(K, D), averages over degrees of freedom of (K, 1 or D G)."""
        wide = np.broadcast_to(each, self.normal.mean.shape).reshape(len(each), *self.weight.shape)
        return np.asarray(np.einsum("dg,kdg->kd", self.weight, wide))

    @property
    def _distances(self) -> tuple[Floats, Floats, Floats]:
        """(K, D, G) each: nu + delta is the third and the second times the squared distance from the first."""
        normal, wide = self.normal, (len(self.mean), *self.weight.shape)
        spread = np.broadcast_to(1 / normal.strength, normal.mean.shape).reshape(wide)
        return normal.mean.reshape(wide), self._precision.reshape(wide), FREEDOMS + spread

    def _evidences(self, seen: Floats, x: Floats, xx: Floats) -> Floats:
        """(K, D G), log evidence of each cluster's entries given q(u), at each of the degrees of freedom."""
        ux, u, uxx, cost = np.split(xx, 4, axis=1)
        shown = np.repeat(np.broadcast_to(seen, x.shape), G, axis=1)
        return np.asarray(self.normal.column_evidence(shown, ux, uxx, u) + cost)


@record
class StudentPoints:
    """Known middles, squared scales and degrees of freedom: what one draw of the columns is."""

    mean: Floats = sized("k d")
    noise: Floats = sized("k d")
    freedom: Floats = sized("d")

    @property
    def row_variance(self) -> Floats:
        nu = self.freedom
        return np.asarray(self.noise * np.where(nu > 2, nu / np.where(nu > 2, nu - 2, 1.0), 1.0))

    def draw(self, label: Index, rng: np.random.Generator) -> Floats:
        """(n, D), one row of each cluster in `label`."""
        noise = rng.standard_t(self.freedom, size=(len(label), len(self.freedom)))
        return np.asarray(self.mean[label] + np.sqrt(self.noise[label]) * noise)

    def sample(self, rng: np.random.Generator) -> StudentPoints:
        return self

    def only(self, keep: Index) -> StudentPoints:
        return replace(self, mean=self.mean[keep], noise=self.noise[keep])


def trimmed(x: Floats) -> Floats:
    """(n, D), columns of complete rows whose ends are cut off."""
    return np.asarray(np.clip(x, *np.quantile(x, (TRIMMED_SHARE, 1 - TRIMMED_SHARE), axis=0)))


def _top(nu: Floats) -> Floats:
    """T + (nu + 1) / 2 log(nu + delta) at degrees of freedom (G,)."""
    a = 0.5 * (nu + 1)
    return np.asarray(gammaln(a) - gammaln(0.5 * nu) + 0.5 * nu * np.log(0.5 * nu) + a * np.log(2.0))


def _heights(
    x: Array, seen: Array, level: Floats, middle: Floats, precision: Floats, base: Floats, half: Floats
) -> Array:
    """(n, K), sums over observed entries of levels (K, D) less `half` times the logarithms of their distances."""
    logs = distance_logs(x, seen, middle, precision, base, -np.broadcast_to(half, middle.shape))
    return logs + seen @ like(level.T, x)


def _repeated(each: Floats) -> Floats:
    """(1, 1) as it is, (1, D) for every degree of freedom."""
    return each if each.shape[1] == 1 else np.repeat(each, G, axis=1)


def _mixed(gap: Array, dof: Floats, strength: Floats, nu: float) -> Array:
    """(n, K), log density at squared distances (n, K) in units of the scale, but for the latter.

    Given u it is a t with `dof` degrees of freedom whose squared scale is 1/u + 1/strength; u ~ Gamma(nu/2, nu/2) is
    integrated out on the scale of logarithms, from below where the entry wants it to above where the prior does.
    """
    xp = array_namespace(gap)
    a = 0.5 * nu
    step = STEP * min(1.0, a**-0.5)
    left, right = _reach(a + 0.5, -1.0), _reach(a, 1.0)
    low = -xp.log1p(gap / (nu + 1)) - left  # (n, K)
    n_nodes = 1 + int(np.ceil((right - float(xp.min(low))) / step))
    step_here = (right - low) / (n_nodes - 1)
    half, level = 0.5 * (dof + 1), gammaln(0.5 * (dof + 1)) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    fixed, terms = float(a * np.log(a) - gammaln(a)), []
    for i in range(n_nodes):
        v = low + i * step_here
        squared = xp.exp(-v) + like(1 / strength, gap)
        log_t = like(level, gap) - 0.5 * xp.log(squared) - like(half, gap) * xp.log1p(gap / (like(dof, gap) * squared))
        terms.append(fixed + a * (v - xp.exp(v)) + log_t + xp.log(step_here))
    return _log_sum(terms)


def _reach(a: float, side: float) -> float:
    """How far from 0 to the left (-1) or right (1) a (v - e^v) has fallen by NATS_CUT_OFF."""
    low, high = 0.0, NATS_CUT_OFF / a + 40.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        fallen = a * (np.expm1(min(side * middle, 700.0)) - side * middle)
        low, high = (middle, high) if fallen < NATS_CUT_OFF else (low, middle)
    return high


def _log_sum(terms: list[Array]) -> Array:
    """Entry by entry."""
    xp = array_namespace(terms[0])
    top = terms[0]
    for term in terms[1:]:
        top = xp.maximum(top, term)
    total = xp.exp(terms[0] - top)
    for term in terms[1:]:
        total = total + xp.exp(term - top)
    return top + xp.log(total)
