"""The posterior of the weights of a linear regression: a Normal, by its matrix or by the directions that rows span.

    covariance given        V
    more columns than rows  V = A diag(along) A' + elsewhere (I - A A'),  A (D, R) orthonormal: no row moved the rest

The second never makes a D x D matrix unless it is asked for one.
"""

from __future__ import annotations

import numpy as np

from latens.array import Floats, Index
from latens.array.fields import part, positive_definite, real, record, sized
from latens.families.gamma import Gamma

__all__ = ["RegressionPosterior", "expected", "expected_log"]


@record
class RegressionPosterior:
    mean: Floats = real("d")
    covariance: Floats | None = positive_definite("d d")  # None: told by the three last fields
    alpha: Gamma | float = part("1", default=1.0)
    beta: Gamma | float = part("1", default=1.0)
    log_det: float | None = None  # of the covariance, where it is known to more digits than the matrix tells
    axes: Floats | None = sized("d spanned", default=None)  # orthonormal
    axis_variances: Floats | None = sized("spanned", default=None)  # variances in their directions
    other_variance: float | None = None  # variance in all others

    def __post_init__(self) -> None:
        if not (expected(self.alpha) > 0 and expected(self.beta) > 0):
            raise ValueError(f"precisions must be positive, got alpha={self.alpha} and beta={self.beta}")
        if self.covariance is None and (
            self.axes is None or self.axis_variances is None or self.other_variance is None
        ):
            raise ValueError("a posterior without a covariance needs axes, axis_variances and other_variance")
        if self.axis_variances is not None and not (
            np.all(self.axis_variances >= 0) and float(self.other_variance or 0.0) >= 0
        ):
            raise ValueError("variances along axes and elsewhere must not be negative")

    @classmethod
    def spanned(
        cls,
        mean: Floats,
        axes: Floats,
        axis_variances: Floats,
        other_variance: float,
        alpha: Gamma | float,
        beta: Gamma | float,
    ) -> RegressionPosterior:
        """Of weights that rows tell of along some axes alone; the others have one variance."""
        return cls(mean, None, alpha, beta, None, axes, axis_variances, other_variance)

    @property
    def n_components(self) -> int:
        return len(self.mean)

    @property
    def matrix(self) -> Floats:
        """(D, D), the covariance."""
        if self.covariance is not None:
            return self.covariance
        axes, axis_variances, other_variance = self._span
        return np.asarray((axes * (axis_variances - other_variance)) @ axes.T + other_variance * np.eye(len(axes)))

    @property
    def variances(self) -> Floats:
        """(D,), its diagonal."""
        if self.covariance is not None:
            return np.diag(self.covariance)
        axes, axis_variances, other_variance = self._span
        squares = axes**2
        return np.asarray(squares @ axis_variances + other_variance * np.maximum(1 - squares.sum(axis=1), 0.0))

    @property
    def total_variance(self) -> float:
        """Its trace."""
        if self.covariance is not None:
            return float(np.trace(self.covariance))
        axes, axis_variances, other_variance = self._span
        return float(axis_variances.sum() + other_variance * (len(axes) - len(axis_variances)))

    def variances_of(self, rows: Floats) -> Floats:
        """(n,), of the weighted sums of each row (n, D)."""
        if self.covariance is not None:
            return np.asarray(np.sum(rows @ self.covariance * rows, axis=1))
        axes, axis_variances, other_variance = self._span
        inside = rows @ axes
        return np.asarray(inside**2 @ axis_variances + other_variance * np.sum((rows - inside @ axes.T) ** 2, axis=1))

    def only(self, keep: Index) -> RegressionPosterior:
        covariance = self.matrix[np.ix_(keep, keep)]
        return RegressionPosterior(self.mean[keep], covariance, self.alpha, self.beta)

    def sample(self, rng: np.random.Generator) -> RegressionPosterior:
        mean, scales = self.draws(rng, 1)[0], (expected(self.alpha), expected(self.beta))
        if self.covariance is not None:
            return RegressionPosterior(mean, np.zeros_like(self.covariance), *scales)
        return RegressionPosterior.spanned(mean, np.zeros((len(mean), 0)), np.zeros(0), 0.0, *scales)

    def draws(self, rng: np.random.Generator, n: int) -> Floats:
        """(n, D), weights; drawn in units of their own spread, lest the widest blur the others."""
        if self.covariance is None:
            axes, axis_variances, other_variance = self._span
            steps = rng.normal(size=(n, len(axes)))
            inside = steps @ axes
            outside = np.sqrt(other_variance) * (steps - inside @ axes.T)
            return np.asarray(self.mean + outside + (inside * np.sqrt(axis_variances)) @ axes.T)
        spread, correlation = self._told_apart
        return self.mean + rng.multivariate_normal(np.zeros(len(spread)), correlation, n) * spread

    @property
    def log_volume(self) -> float:
        """log |V|."""
        if self.log_det is not None:
            return self.log_det
        if self.covariance is None:
            axes, axis_variances, other_variance = self._span
            return float(np.sum(np.log(axis_variances)) + (len(axes) - len(axis_variances)) * np.log(other_variance))
        spread, correlation = self._told_apart
        return float(np.linalg.slogdet(correlation)[1] + 2 * np.sum(np.log(spread)))

    @property
    def _span(self) -> tuple[Floats, Floats, float]:
        assert self.axes is not None
        assert self.axis_variances is not None
        assert self.other_variance is not None
        return self.axes, self.axis_variances, self.other_variance

    @property
    def _told_apart(self) -> tuple[Floats, Floats]:
        """Standard deviations (D,), and correlations (D, D)."""
        spread, matrix = np.sqrt(self.variances), self.matrix
        unit = np.where(spread > 0, spread, 1.0)
        return spread, matrix / unit / unit[:, None]


def expected(value: Gamma | float) -> float:
    return float(value.mean[0]) if isinstance(value, Gamma) else float(value)


def expected_log(value: Gamma | float) -> float:
    return float(value.mean_log[0]) if isinstance(value, Gamma) else float(np.log(value))
