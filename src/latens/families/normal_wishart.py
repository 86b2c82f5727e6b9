"""Normal-Wishart posteriors of the mean and precision of Gaussian clusters.

Lam_k         ~ Wishart(dof_k, scatter_k^-1)               one for each cluster, or one tied for all
mu_k | Lam_k  ~ Normal(mean_k, (strength_k Lam_k)^-1)      k = 1..K
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.lib.stride_tricks import as_strided
from scipy.special import digamma, gammaln

from latens.array import Array, Floats, Index
from latens.array.fields import positive, positive_definite, real, record
from latens.array.linalg import cholesky, definite_volume, inverse, inverse_with_volume, log_determinant
from latens.array.missing_normals import Holes, conditioned
from latens.array.packed_symmetric import are_too_many_pairs, unpacked
from latens.array.special import trigamma
from latens.array.transfer import cast, column_sums, host, like, namespace, take
from latens.families.normals import Normals
from latens.families.point_normal_gamma import LOG_2PI
from latens.system.cached_value import cached_value

__all__ = ["NormalWishart", "Predicted"]

MOST_LOST = 0.9  # of a cluster's rows: where nothing were left, averages over coordinates say little


class Predicted(NamedTuple):
    """The multivariate t of new rows under each cluster, of which some entries were seen."""

    density: Array  # (n, K), logarithm, of the observed entries
    precision: Floats  # (K, D, D), inverse of the scale
    volume: Array  # (n, K), log determinant of the precision of what is missing
    stretch: Array  # (n, K), what multiplies the spread of what is missing
    form: Array  # (n, K), quadratic form of what was seen under E[Lam]


@record
class NormalWishart:
    mean: Floats = real("k d")
    strength: Floats = positive("k")  # how many rows the mean is worth
    dof: Floats = positive("1|k")  # one where tied; above D - 1
    scatter: Floats = positive_definite("1|k d d")  # likewise; inverse of the Wishart's scale
    tied: bool = False
    joint: ClassVar[bool] = True  # columns depend on each other within a cluster

    @cached_value
    def precision(self) -> Floats:
        """(K or 1, D, D), E[Lam]."""
        return self._precision_and_volume[0]

    @cached_value
    def _precision_and_volume(self) -> tuple[Floats, Floats]:
        """E[Lam], and the log determinant of the scatter: one factorisation finds both."""
        precision, volume = inverse_with_volume(self.scatter)
        precision *= self.dof[:, None, None]  # in its place: clusters of many columns fill the memory
        return precision, volume

    @cached_value
    def axes(self) -> Floats | None:
        """(D, D), along which the first cluster is expected to be round; None where they are those of the columns.

        Of all such axes those nearest to the columns in units of their own, which go with them in any order.
        """
        scatter = self.scatter[0]
        if np.count_nonzero(scatter) == np.count_nonzero(np.diagonal(scatter)):
            return None
        scale = np.sqrt(np.diagonal(scatter))
        variances, directions = np.linalg.eigh(scatter / scale[:, None] / scale)
        return np.asarray((directions / np.sqrt(variances)) @ directions.T / scale[:, None])

    @property
    def covariance(self) -> Floats:
        """(K or 1, D, D), 1 / E[Lam]."""
        return self.scatter / self.dof[:, None, None]

    @property
    def variance_dof(self) -> Floats:
        """(K or 1,), degrees of freedom of one variance: Sigma_dd ~ inverse Gamma(variance_dof / 2, scatter_dd / 2)."""
        return np.asarray(self.dof - self.mean.shape[1] + 1)

    @property
    def central_covariance(self) -> Floats:
        """(K or 1, D, D), exp E[log Sigma_dd] on the diagonal, and covariances with the same correlations.

        All between median and mean of the inverse Wishart; 1 / E[Lam] is below both by a share of about D / dof.
        """
        return np.asarray(self.scatter * (0.5 * np.exp(-digamma(0.5 * self.variance_dof)))[:, None, None])

    @property
    def covariance_std(self) -> Floats:
        """(K or 1, D, D), how uncertain these are; on the diagonal variances times the errors of their logarithms.

        A covariance is a quarter of the variance of a sum of two columns less that of their difference. In units in
        which both columns have variance 1 these are nearly independent, and each has the relative error of a variance.
        """
        central = self.central_covariance
        diagonal = np.diagonal(central, axis1=1, axis2=2)
        squares = 0.5 * (diagonal[:, :, None] * diagonal[:, None, :] + central**2)
        return np.asarray(np.sqrt(trigamma(0.5 * self.variance_dof)[:, None, None] * squares))

    @cached_value
    def log_det(self) -> Floats:
        """(K or 1,), E[log |Lam|]."""
        d = self.mean.shape[1]
        half = 0.5 * (self.dof[:, None] - np.arange(d))
        return np.asarray(digamma(half).sum(axis=1) + d * math.log(2) - self.log_volume)

    @property
    def row_variance(self) -> Floats:
        """(K, D), variance of a new row's entries, or with E[Lam] where that is infinite."""
        d = self.mean.shape[1]
        spare = self.dof - d - 1
        scale = np.where(spare > 0, 1 / np.where(spare > 0, spare, 1.0), 1 / self.dof)
        inside = scale[:, None] * np.diagonal(self.scatter, axis1=1, axis2=2)
        return np.asarray(inside * (1 + 1 / self.strength)[:, None])

    @property
    def n_natural(self) -> int:
        """Columns of `natural`, which takes an inverse to tell."""
        d = int(self.mean.shape[1])
        return d if self.tied or are_too_many_pairs(d) else d + d * (d + 1) // 2

    @cached_value
    def natural(self) -> tuple[Floats, Floats]:
        """E[log Normal(x)] = theta'[x, pairs] + level, as (K, Q) and (K,).

        Tied, or of very many columns: theta'x, and the pairs by the precisions.
        """
        from latens.array.kernels.normal_wishart_numba import natural_parameters

        d, theta = self.mean.shape[1], np.empty((len(self.mean), self.n_natural))
        form = natural_parameters(self.mean, self.precision, theta)
        return theta, np.asarray(0.5 * (self.log_det - d * LOG_2PI - d / self.strength - form))

    def tiled(self, k: int) -> NormalWishart:
        """The same for k clusters."""
        rest = np.zeros(1 if self.tied else k, dtype=int)
        first = np.zeros(k, dtype=int)
        (d, _), (_, row, column) = self.scatter.shape[1:], self.scatter.strides
        # one matrix in memory, which all look at
        scatter = as_strided(self.scatter, (len(rest), d, d), (0, row, column))
        tiles = NormalWishart(self.mean[first], self.strength[first], self.dof[rest], scatter, self.tied)
        vars(tiles)["_square"] = self._square  # likewise: priors of any number of clusters have one
        return tiles

    def observe(self, seen: Floats, x: Floats, xx: Floats) -> NormalWishart:
        """Posterior after seen_k rows (fractions too) with sums x_k and of products xx_k, over all k where tied."""
        from latens.array.kernels.normal_wishart_numba import scatters_about_means

        count = seen[:, 0]
        strength = self.strength + count
        mean = (self.strength[:, None] * self.mean + x) / strength[:, None]
        scatter = np.empty((1 if self.tied else len(mean), *self.scatter.shape[1:]))
        before = _distinct(self.scatter)
        scatters_about_means(before, self._square, np.ascontiguousarray(xx), strength, mean, scatter)
        return NormalWishart(mean, strength, self.dof + self._pooled(count), scatter, self.tied)

    def evidence(self, seen: Floats, x: Floats, xx: Floats, current: NormalWishart) -> Floats:
        """(K,), log evidence of each cluster's rows under the prior `self`; where tied, at the current precision.

        There it leaves out what no partition of the rows changes.
        """
        d, count = self.mean.shape[1], seen[:, 0]
        if len(xx) > 1 and are_too_many_pairs(d) and len(self.mean) == 1:  # one at a time: each fills the memory
            each = [slice(k, k + 1) for k in range(len(xx))]
            return np.concatenate([self.evidence(seen[k], x[k], xx[k], current) for k in each])
        strength = self.strength + count
        level = 0.5 * d * (np.log(self.strength / strength) - count * LOG_2PI)
        if not self.tied:
            after = self.observe(seen, x, xx)
            return np.asarray(level + self._log_norm - after._log_norm)
        mean = (self.strength[:, None] * self.mean + x) / strength[:, None]
        pull = strength * _quadratic(current.precision, mean) - self.strength * _quadratic(current.precision, self.mean)
        return np.asarray(level + 0.5 * (count * log_determinant(current.precision) + pull))

    def pair_evidence(self, stats: tuple[Floats, Floats, Floats], first: Index, second: Index) -> Floats:
        """(P,), the same of two clusters each as one, given all their sums; the prior is that of one, and not tied."""
        from latens.array.kernels.normal_wishart_numba import pair_evidences

        (seen, x, xx), out = stats, np.empty(len(first))
        prior = self.mean[0], float(self.strength[0]), float(self.dof[0]), self.scatter[0]
        pair_evidences(prior, (seen[:, 0], x, xx), first, second, out)
        return out

    def kl(self, other: NormalWishart) -> float:
        """KL(self || other), summed over clusters."""
        from latens.array.kernels.normal_wishart_numba import divergences

        d, ratio = self.mean.shape[1], other.strength / self.strength
        form, traces = divergences(self.mean, self.precision, other.mean, _distinct(other.scatter))
        normal = d * (ratio - 1 - np.log(ratio)) + other.strength * form
        wishart = 0.5 * ((self.dof - other.dof) * self.log_det - self.dof * d + traces)
        return float(0.5 * normal.sum() + (wishart + self._log_norm - other._log_norm).sum())

    def slopes(self, prior: NormalWishart, seen: Floats, x: Floats, xx: Floats) -> dict[str, Floats]:
        """Derivatives of the objective that `observe` from the prior maximises: Fisher matrices times the way there."""
        m, (d, count) = self.mean, (self.mean.shape[1], seen[:, 0])
        strength = prior.strength + count - self.strength
        weighted = prior.strength[:, None] * prior.mean + x - self.strength[:, None] * m
        about = self._pooled(_outer(prior.strength, prior.mean) - _outer(self.strength, m))
        scatter = prior.scatter + unpacked(xx, d) + about - self.scatter
        dof = prior.dof + self._pooled(count) - self.dof
        across = m[:, :, None] * weighted[:, None, :]
        across = 0.5 * (across + np.swapaxes(across, 1, 2)) - 0.5 * _outer(strength, m)
        form, inner = self._pooled(across) - 0.5 * scatter, inverse(self.scatter)  # the gain is dof tr(inner form) + ..
        spread = trigamma(0.5 * (self.dof[:, None] - np.arange(d))).sum(axis=1)
        return {
            "mean": (self.precision @ (weighted - strength[:, None] * m)[:, :, None])[:, :, 0],
            "strength": 0.5 * d * strength / self.strength**2,
            "dof": np.sum(inner * form, axis=(1, 2)) + 0.25 * dof * spread,
            "scatter": -inner @ (self.dof[:, None, None] * form) @ inner - 0.5 * dof[:, None, None] * inner,
        }

    def student(self) -> tuple[Floats, Floats]:
        """Degrees of freedom (K,) and scale matrices (K, D, D) of the multivariate t that a new row follows."""
        dof = np.broadcast_to(self.dof + 1 - self.mean.shape[1], self.strength.shape)
        width = (self.strength + 1) / (self.strength * dof)
        return dof, width[:, None, None] * self.scatter

    def predict(self, x: Array, holes: Holes, observed: Array) -> Predicted:
        """That of rows x (n, D), of which `observed` (n,) entries each were seen.

        t distributions are closed under marginals and conditionals: given o columns, the others have dof + o degrees of
        freedom, and their scale grows with the quadratic form of what was seen.
        """
        dof, scale = self.student()
        precision = inverse(scale)
        form, volume = conditioned(x, holes, self.mean, precision)
        xp, columns = array_namespace(form), np.arange(x.shape[1] + 1)[:, None]
        norm = gammaln(0.5 * (dof + columns)) - gammaln(0.5 * dof)
        level = norm - 0.5 * (columns * np.log(np.pi * dof) + log_determinant(scale))  # by how many columns were seen
        free = like(dof, form) + cast(observed, form)[:, None]
        density = take(like(level, form), host(observed).astype(np.intp)) - 0.5 * volume
        density = density - 0.5 * free * xp.log1p(form / like(dof, form))
        spare = xp.where(free > 2, free - 2, free)  # where a variance is infinite, that of the scale is reported
        stretch = (like(dof, form) + form) / spare
        expected = like(self.dof * (self.strength + 1) / (self.strength * dof), form)
        return Predicted(cast(density, x), precision, volume, stretch, expected * form)

    def rows_lost(self, share: Array, weighted: Array, form: Array, observed: Array) -> Floats:
        """(2, K), rows by which mean and covariance are known less than by all rows with these memberships (n, K).

        A row of which o of D entries were seen tells o / D of a mean, and of a covariance as many pairs as it shows.
        Of a row that may be of other clusters the variance of its slope is lost with its label (Louis 1982), on average
        over the coordinates: `form` is its quadratic form (n, K). `weighted` are memberships times row weights.
        """
        d = self.mean.shape[1]
        o = cast(observed, form)[:, None]
        share, weighted = cast(share, form), cast(weighted, form)
        of_mean = (d - o + (1 - share) * form) / d
        of_covariance = (d * (d + 1) - o * (o + 1) + (1 - share) * (o - 2 * form + form**2)) / (d * (d + 1))
        return np.stack([column_sums(weighted * of_mean), column_sums(weighted * of_covariance)])

    def without_rows(self, lost: Floats, prior: NormalWishart) -> NormalWishart:
        """With the same means and expected precisions, as known as they are without so many rows (2, K)."""
        strength, dof = self.strength - prior.strength, self.dof - prior.dof
        lost = np.minimum(lost, MOST_LOST * np.stack([strength, np.broadcast_to(dof, strength.shape)]))
        dof = self.dof - lost[1]
        return NormalWishart(
            self.mean, self.strength - lost[0], dof, (dof / self.dof)[:, None, None] * self.scatter, self.tied
        )

    def predicted_density(self, expected: Array, observed: Array | None = None, volume: Array | None = None) -> Array:
        """The same density of the observed entries (n, K), made of the expected one of a local step.

        Both have the quadratic form of what was seen under the same precision, but for a factor. Where something is
        missing, `volume` (n, K) is the log determinant of the precision of it, in expectation.
        """
        xp, d = namespace(expected), self.mean.shape[1]
        seen = float(d) if observed is None else cast(observed, expected)[:, None]
        missing = 0.0 if volume is None else volume
        level = like(self.log_det - d / self.strength, expected)
        form = xp.maximum(level - LOG_2PI * seen - missing - 2 * expected, xp.zeros_like(expected))
        dof, free = like(self.dof, expected), np.broadcast_to(self.dof + 1 - d, self.strength.shape)
        width = like(self.strength / (self.strength + 1), expected)
        columns = d if observed is None else np.arange(d + 1)[:, None]
        norm = like(gammaln(0.5 * (free + columns)) - gammaln(0.5 * free), expected)
        norm = norm if observed is None else take(norm, host(observed).astype(np.intp))
        spread = like(self.log_volume, expected) + missing - (d - seen) * xp.log(dof)
        stretch = 0.5 * (seen * (xp.log(width) - math.log(math.pi)) - spread)
        return norm + stretch - 0.5 * (like(free, expected) + seen) * xp.log1p(form * width / dof)

    def sample(self, rng: np.random.Generator) -> Normals:
        """By Bartlett's decomposition of the precision."""
        (n, d), k = self.scatter.shape[:2], len(self.mean)
        bartlett = np.tril(rng.normal(size=(n, d, d)), -1)
        bartlett[:, range(d), range(d)] = np.sqrt(rng.chisquare(self.dof[:, None] - np.arange(d)))
        root = cholesky(inverse(self.scatter)) @ bartlett
        covariance = inverse(root @ np.swapaxes(root, 1, 2))
        noise = np.linalg.solve(np.swapaxes(root, 1, 2), rng.normal(size=(k, d, 1)))[:, :, 0]
        return Normals(self.mean + noise / np.sqrt(self.strength)[:, None], covariance, self.tied)

    def only(self, keep: Index) -> NormalWishart:
        rest = np.zeros(1, dtype=int) if self.tied else keep
        return NormalWishart(self.mean[keep], self.strength[keep], self.dof[rest], self.scatter[rest], self.tied)

    def _pooled(self, each: Floats) -> Floats:
        return np.asarray(each.sum(axis=0, keepdims=True) if self.tied else each)

    @cached_value
    def _square(self) -> Floats:
        """(1 or K, D, D), strength mm': what a prior adds to sums of squares, with which it is asked for in every step.

        One stands for all where clusters are equal, as those of a prior are.
        """
        equal = np.all(self.strength == self.strength[0]) and np.all(self.mean == self.mean[0])
        return _outer(self.strength[:1], self.mean[:1]) if equal else _outer(self.strength, self.mean)

    @cached_value
    def log_volume(self) -> Floats:
        """(K or 1,), log |scatter|."""
        known = "_precision_and_volume" in self.__dict__
        return self._precision_and_volume[1] if known else definite_volume(self.scatter)

    @cached_value
    def _log_norm(self) -> Floats:
        """(K or 1,), log B(W, nu): the logarithm of the Wishart's normaliser."""
        d, nu = self.mean.shape[1], self.dof
        gammas = gammaln(0.5 * (nu[:, None] - np.arange(d))).sum(axis=1) + 0.25 * d * (d - 1) * math.log(math.pi)
        return np.asarray(0.5 * nu * (self.log_volume - d * math.log(2)) - gammas)


def _distinct(matrices: Floats) -> Floats:
    """The matrices, or the first of them where all are one in memory, as those of a prior."""
    return matrices[:1] if matrices.strides[0] == 0 else matrices


def _outer(scale: Floats, v: Floats) -> Floats:
    return np.asarray(scale[:, None, None] * v[:, :, None] * v[:, None, :])


def _quadratic(matrices: Floats, v: Floats) -> Floats:
    """(K,), v_k' M_k v_k, or with one matrix for all."""
    return np.asarray(((matrices @ v[:, :, None])[:, :, 0] * v).sum(axis=1))
