"""The axes of X'X where columns differ in size by many powers of ten.

An eigensolver errs by rounding times the largest eigenvalue, which hides what small columns say. Here

    X'X = D R D,  D the sizes of the columns;   R = Q L Q';   sqrt(L) Q'D = U S V'  by Jacobi's method

and the error is that of R alone: rounding times the condition of the columns once each has its own unit. Directions
that no row moved along (L = 0) are the null space of R, made orthonormal in the units of the caller; projections
onto it along D^-2 stay bounded whatever D is (Stewart, 1989), and QR with sorted rows keeps their digits (Cox &
Higham, 1998). Cost O(D^3), twice that of an eigensolver.

References: Demmel & Veselic (1992); Drmac & Veselic (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dgejsv

from latens.array import Floats

__all__ = ["GradedAxes", "graded_axes", "spanned_axes"]

ALIKE_SIZES = 1e3  # ratio of sizes up to which an eigensolver loses little
MANY_COLUMNS = 2000  # beyond them products of columns cost minutes, and fewer digits have to do
ROUGHLY_ALIKE_SIZES = 1e6  # a ratio that leaves four digits


@dataclass(frozen=True)
class GradedAxes:
    """X'X = V diag(values) V', by which every column keeps its digits; R directions of D have a positive value."""

    size: Floats  # (D,), of the columns
    values: Floats  # (R,), positive
    scaled: Floats  # (D, D), size times V; the last D - R columns are directions that no row moved along, or left out
    root: Floats  # (R, D), sqrt(values) V'; root'root is X'X

    @property
    def is_whole(self) -> bool:
        """Whether `scaled` has directions that no row moved along, too."""
        return bool(self.scaled.shape[1] == len(self.size))


def graded_axes(gram: Floats) -> GradedAxes:
    """Of a symmetric matrix of sums of products, positive semi-definite up to rounding of each column's own size.

    Examples
    --------
    >>> axes = graded_axes(np.array([[1e24, 5e11], [5e11, 1.0]]))
    >>> [f"{value:.4g}" for value in axes.values]
    ['1e+24', '0.75']
    """
    size = np.sqrt(np.maximum(np.diag(gram), 0.0))
    largest = float(size.max()) or 1.0
    size = np.where(size > 0, size, largest)
    alike = largest < ALIKE_SIZES * float(size.min())
    if alike:
        size = np.full(len(size), largest)
    values, vectors = np.linalg.eigh(gram / size / size[:, None])
    there = values > 8 * len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)  # the rest is rounding
    half, moved, still = np.sqrt(values[there]), vectors[:, there], vectors[:, ~there]
    root = half[:, None] * moved.T * size
    if alike or not len(half):
        return GradedAxes(size, (half * largest) ** 2, np.hstack([moved, still]) * size[:, None], root)
    lengths, turn = _singular(root)
    if still.shape[1]:
        order = np.argsort(size, kind="stable")  # large rows first
        basis, corner, pivot = qr((still / size[:, None])[order], mode="economic", pivoting=True)
        still = still[:, pivot]
        moved = moved - still @ solve_triangular(corner, basis.T @ (moved / size[:, None])[order])
        still = solve_triangular(corner, still.T, trans="T").T
    return GradedAxes(size, lengths**2, np.hstack([(moved / half) @ turn * lengths, still]), turn.T @ root)


def spanned_axes(rows: Floats) -> GradedAxes | None:
    """Of X'X where X (N, D) has fewer rows than columns: the R directions that rows span, and no others.

    None where columns differ in size by so much that the largest of them would lose their digits.

    Examples
    --------
    >>> axes = spanned_axes(np.array([[3.0, 0.0, 4.0]]))
    >>> axes.values, axes.scaled.shape, axes.is_whole
    (array([25.]), (3, 1), False)
    """
    n_columns = rows.shape[1]
    size = np.sqrt(np.einsum("nd,nd->d", rows, rows))
    largest = float(size.max()) or 1.0
    size = np.where(size > 0, size, largest)
    if largest >= (ALIKE_SIZES if n_columns <= MANY_COLUMNS else ROUGHLY_ALIKE_SIZES) * float(size.min()):
        return None
    _, lengths, directions = np.linalg.svd(rows / largest, full_matrices=False)
    values = lengths**2
    there = values > 8 * n_columns * np.finfo(float).eps * float(values[0])  # the rest is rounding
    lengths, directions = lengths[there] * largest, directions[there]
    return GradedAxes(np.full(n_columns, largest), lengths**2, directions.T * largest, lengths[:, None] * directions)


def _singular(root: Floats) -> tuple[Floats, Floats]:
    """Singular values (R,) and left vectors (R, R) of (R, D), each value to its own digits."""
    lengths, _, turn, scale, _, info = dgejsv(root.T, joba=2, jobu=3, jobv=0, jobp=0)
    if info != 0:
        raise np.linalg.LinAlgError(f"Jacobi's method ended with code {info}.")
    return lengths * (scale[1] / scale[0]), turn
