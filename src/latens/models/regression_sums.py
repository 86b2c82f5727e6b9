"""What a linear regression keeps of its rows, and the regression in the axes of X'X.

Rows enter through their first two moments alone. Sums of products hold these in D x D numbers; while there are fewer
rows than columns the rows themselves are the shorter account of them, and add by standing one after the other. Axes
then come from the N x D rows, at a cost of O(N^2 D) where the D x D products would ask for O(D^3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from latens.array import Floats
from latens.array.fields import record, sized
from latens.array.graded_eigen import GradedAxes, graded_axes, spanned_axes
from latens.core import Statistics
from latens.families.gamma import Gamma
from latens.families.point_normal_gamma import LOG_2PI
from latens.models.regression_posterior import RegressionPosterior, expected

__all__ = ["RegressionRows", "RegressionSums", "Spectrum", "regression_sums"]

HAIR = 1e-13  # of the sum of squares of y
ROUNDING = 64 * float(np.finfo(float).eps)  # of a sum of squares: what is left of it below that says nothing
PROBES = 4  # directions along which the products of rows are compared


class _Moments(Statistics):
    """What both accounts of the rows answer."""

    if TYPE_CHECKING:

        def sizes(self, centred: bool) -> tuple[Floats, float]:
            """Sums of squares of the columns (D,) and of the target, as `about` has them."""

        def _spectrum(self, centred: bool, unit: Floats | None) -> Spectrum:
            """Of columns divided by their units (D,), if any are given."""

    def deviations(self, centred: bool) -> Floats:
        """(D,), of the columns, about their means if so asked; that of the largest for those that never vary."""
        found = np.sqrt(self.sizes(centred)[0] / self.n)
        return np.where(found > 0, found, float(found.max()) or 1.0)

    @property
    def entries(self) -> float:
        return self.n

    @cached_property
    def centred_spectrum(self) -> Spectrum:
        return self._spectrum(True, None)

    @cached_property
    def plain_spectrum(self) -> Spectrum:
        return self._spectrum(False, None)

    @cached_property
    def centred_standard_spectrum(self) -> Spectrum:
        return self._spectrum(True, self.deviations(True))

    @cached_property
    def plain_standard_spectrum(self) -> Spectrum:
        return self._spectrum(False, self.deviations(False))


@record(eq=False)
class RegressionSums(_Moments):
    n: float
    x: Floats = sized("d")
    y: float
    xx: Floats = sized("d d")
    xy: Floats = sized("d")
    yy: float

    def __add__(self, other: Any) -> RegressionSums:
        return super().__add__(other.products if isinstance(other, RegressionRows) else other)

    def about(self, centred: bool) -> tuple[Floats, Floats, float]:
        """X'X, X'y and y'y, of columns less their means if so asked; 0 where only rounding would be left of them."""
        if not centred:
            return self.xx, self.xy, self.yy
        mean, level = self.x / self.n, self.y / self.n
        xx, xy, yy = self.xx - np.outer(self.x, mean), self.xy - self.x * level, self.yy - self.y * level
        varied, target_varies = np.diag(xx) > ROUNDING * np.diag(self.xx), yy > ROUNDING * self.yy
        xx = np.where(varied & varied[:, None], 0.5 * (xx + xx.T), 0.0)
        return xx, np.where(varied & target_varies, xy, 0.0), float(yy) if target_varies else 0.0

    def sizes(self, centred: bool) -> tuple[Floats, float]:
        xx, _, yy = self.about(centred)
        return np.diag(xx), yy

    def gap(self, other: RegressionSums | RegressionRows) -> float:
        """The largest difference of X'X from that of others, beside the sizes of two columns."""
        size = np.maximum(np.sqrt(np.diag(self.xx)), np.finfo(float).tiny ** 0.5)
        theirs = other.products.xx if isinstance(other, RegressionRows) else other.xx
        return float(np.max(np.abs(theirs - self.xx) / np.outer(size, size), initial=0.0))

    def _spectrum(self, centred: bool, unit: Floats | None) -> Spectrum:
        xx, xy, yy = self.about(centred)
        if unit is not None:
            xx, xy = xx / unit / unit[:, None], xy / unit
        return Spectrum.of(self.n, xx, xy, yy)


@record(eq=False)
class RegressionRows(_Moments):
    """Fewer rows than columns, as they are; with as many as columns they become sums of products."""

    n: float
    weight: Floats = sized("held")
    rows: Floats = sized("held d")
    target: Floats = sized("held")

    def __add__(self, other: Any) -> Any:
        if isinstance(other, RegressionSums):
            return self.products + other
        parts = ((getattr(self, name), getattr(other, name)) for name in ("weight", "rows", "target"))
        both = RegressionRows(self.n + other.n, *(np.concatenate(pair) for pair in parts))
        return both if both.rows.shape[0] < both.rows.shape[1] else both.products

    def __rmul__(self, factor: float) -> RegressionRows:
        return RegressionRows(factor * self.n, factor * self.weight, self.rows, self.target)

    @cached_property
    def x(self) -> Floats:
        return np.asarray(self.weight @ self.rows)

    @property
    def y(self) -> float:
        return float(self.weight @ self.target)

    @property
    def yy(self) -> float:
        return float(self.weight @ self.target**2)

    @property
    def products(self) -> RegressionSums:
        """Their sums of products."""
        weighted = self.rows * self.weight[:, None]
        return RegressionSums(self.n, self.x, self.y, weighted.T @ self.rows, weighted.T @ self.target, self.yy)

    def about(self, centred: bool) -> tuple[Floats, Floats]:
        """Rows (N, D) and targets (N,) times the roots of their weights, less means if so asked; 0 where only
        rounding would be left of a column.
        """
        rows, target, root = self.rows, self.target, np.sqrt(self.weight)
        if centred:
            rows, target = rows - self.x / self.n, target - self.y / self.n
        rows, target = rows * root[:, None], target * root
        if not centred:
            return rows, target
        plain = self.weight @ self.rows**2
        varied = np.einsum("nd,nd->d", rows, rows) > ROUNDING * plain
        return np.where(varied, rows, 0.0), target if target @ target > ROUNDING * self.yy else np.zeros_like(target)

    def sizes(self, centred: bool) -> tuple[Floats, float]:
        rows, target = self.about(centred)
        return np.einsum("nd,nd->d", rows, rows), float(target @ target)

    def gap(self, other: RegressionSums | RegressionRows) -> float:
        """The largest difference of X'X from that of others, beside the sizes of columns, along a few directions."""
        if isinstance(other, RegressionSums):
            return self.products.gap(other)
        size = np.maximum(np.sqrt(self.sizes(False)[0]), np.finfo(float).tiny ** 0.5)
        probes = np.random.default_rng(0).normal(size=(len(size), PROBES))

        def moved(held: RegressionRows) -> Floats:
            unit_rows = held.rows / size
            return np.asarray(unit_rows.T @ (held.weight[:, None] * (unit_rows @ probes)))

        return float(np.max(np.abs(moved(self) - moved(other)), initial=0.0))

    def _spectrum(self, centred: bool, unit: Floats | None) -> Spectrum:
        rows, target = self.about(centred)
        if unit is not None:
            rows = rows / unit
        found = spanned_axes(rows)
        if found is None:  # columns of very different sizes keep their digits in products alone
            return Spectrum.of(self.n, rows.T @ rows, rows.T @ target, float(target @ target))
        lengths = np.sqrt(found.values)
        heights = found.scaled.T @ (rows.T @ target / found.size) / lengths
        left = target - rows @ (found.scaled @ (heights / lengths) / found.size)
        return Spectrum(self.n, found, heights, float(left @ left))


def regression_sums(x: Floats, y: Floats, weight: Floats | None) -> RegressionSums | RegressionRows:
    """Weighted sums over rows x (n, D) and targets y (n,) of 1, x, y and all their products; or the rows, if few."""
    n = float(len(x)) if weight is None else float(weight.sum())
    if x.shape[0] < x.shape[1]:
        return RegressionRows(n, np.ones(len(x)) if weight is None else np.asarray(weight, dtype=float), x, y)
    weighted_x = x if weight is None else x * weight[:, None]
    weighted_y = y if weight is None else y * weight
    return RegressionSums(
        n=n,
        x=weighted_x.sum(axis=0),
        y=float(weighted_y.sum()),
        xx=weighted_x.T @ x,
        xy=weighted_x.T @ y,
        yy=float(weighted_y @ y),
    )


@dataclass(frozen=True)
class Spectrum:
    """The regression in the axes of X'X."""

    n: float
    axes: GradedAxes
    heights: Floats  # (R,), of y along the directions in which rows differ
    rest: float  # of y'y, which no weights explain

    @classmethod
    def of(cls, n: float, xx: Floats, xy: Floats, yy: float) -> Spectrum:
        axes = graded_axes(xx)
        r = len(axes.values)
        heights = axes.scaled[:, :r].T @ (xy / axes.size) / np.sqrt(axes.values)
        return cls(n, axes, heights, max(yy - float(heights @ heights), 0.0))

    @property
    def yy(self) -> float:
        return float(self.rest + self.heights @ self.heights)

    def weights(self, alpha: Gamma | float, beta: Gamma | float) -> RegressionPosterior:
        """Their posterior given the expectations of both."""
        precisions, (alpha, beta) = (alpha, beta), (expected(alpha), expected(beta))
        at, r = self.axes, len(self.axes.values)
        variances = 1 / (alpha + beta * at.values)
        mean = at.scaled[:, :r] @ (beta * np.sqrt(at.values) * self.heights * variances) / at.size
        if not at.is_whole:
            return RegressionPosterior.spanned(mean, at.scaled / at.size[:, None], variances, 1 / alpha, *precisions)
        variance = np.full(len(at.size), 1 / alpha)
        variance[:r] = variances
        covariance = (at.scaled * variance) @ at.scaled.T / at.size / at.size[:, None]
        log_det = float(np.sum(np.log(variance)))
        return RegressionPosterior(mean, 0.5 * (covariance + covariance.T), *precisions, log_det)

    def misfit(self, mean: Floats) -> float:
        """||y - X m||^2."""
        return self.rest + float(np.sum((self.axes.root @ mean - self.heights) ** 2))

    def log_evidence(self, alpha: float, beta: float, resolution: float = 0.0) -> float:
        return float(self.log_evidences(np.array([alpha]), np.array([beta]), resolution)[0])

    def log_evidences(self, alpha: Floats | float, beta: Floats | float, resolution: float) -> Floats:
        """(J,), of each pair of precisions (J,), of which one may be the same in all."""
        energy = 0.5 * beta * self.left(np.asarray(alpha / beta), resolution)
        volume = -0.5 * np.sum(np.log1p(beta / alpha * self.axes.values[:, None]), axis=0)
        return np.asarray(volume + 0.5 * self.n * (np.log(beta) - LOG_2PI) - energy)

    def left(self, ratios: Floats, resolution: float = 0.0) -> Floats:
        """(J,), ||y - X m||^2 + ratio ||m||^2 at the best m of each ratio.

        A hair more: where columns can explain every row, noise would go to 0 and the evidence to infinity.
        """
        shrunk = self.heights**2 @ (ratios / (ratios + self.axes.values[:, None]))
        return np.asarray(self.rest + shrunk + max(HAIR * self.yy, self.n * resolution))
