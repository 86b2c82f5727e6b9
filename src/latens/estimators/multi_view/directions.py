"""Principal directions of several views of the same samples, turned to sparse loadings.

Several starts ask for them, of all views or of one, of columns as they are or each in a unit of its own, more or fewer:
what they share is found once. Of few samples that is the products of all pairs, in whose place no column is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from latens.array import Floats, Index
from latens.array.varimax import varimax
from latens.core import Rows
from latens.estimators.rows.sampling import column_places

__all__ = ["ColumnsOfView", "principal_codes", "standing_out"]

LARGEST_RATIO_OF_SIZES = 1.1  # times that columns may differ in size and still be as good as in the same unit
MOST_COMPARED = 512  # samples up to which directions are found, and counted, by the products of all pairs
TIMES_THE_NOISE = 1.05  # times the end of what noise makes, from which a direction is one of a factor
LEAST_SIZE = 1e-70  # of entries, whose fourth powers are still numbers
N_POWERS, N_SPARE = 4, 8  # of the subspace iteration: steps, and directions beside those that are asked for
GAIN_OF_TURN = 1e-6  # share that a turn gains where it is good enough for a start


@dataclass(frozen=True, eq=False)
class ColumnsOfView:
    """Centred columns, each times a number of its own."""

    x: Floats  # (n, D), which is not written over
    times: Floats | None = None  # (D,); None: 1
    known_places: Index | None = None  # those of the same columns times other numbers

    @cached_property
    def places(self) -> Index:
        """(D,), of each column in an order that depends neither on where it stands nor on its unit."""
        return column_places(Rows(self.x)) if self.known_places is None else self.known_places

    @cached_property
    def squares(self) -> Floats:
        """(D,), sums of squares."""
        found = np.einsum("nd,nd->d", self.x, self.x)
        return np.asarray(found if self.times is None else found * self.times**2)

    @cached_property
    def size(self) -> float:
        """Root of the mean square of all entries; 1 where there is nothing."""
        size = float(np.sqrt(self.squares.sum() / max(self.x.size, 1)))
        return size if size > LEAST_SIZE else 1.0

    @cached_property
    def products(self) -> Floats:
        """(n, n), of all pairs of samples."""
        scaled = self.x if self.times is None else self.x * self.times
        return np.asarray(scaled @ scaled.T)

    def across(self, samples: Floats) -> Floats:
        """(D, m), sums over samples (n, m) times these."""
        found = self.x.T @ samples
        return np.asarray(found if self.times is None else self.times[:, None] * found)

    def along(self, columns: Floats) -> Floats:
        """(n, m), sums over columns (D, m) times these."""
        return np.asarray(self.x @ (columns if self.times is None else self.times[:, None] * columns))

    def evened_out(self) -> ColumnsOfView:
        """Columns in units of their own; itself where they have them already."""
        sizes = np.sqrt(self.squares / len(self.x))
        sizes = np.where(sizes > 0, sizes, 1.0)
        if sizes.max() < LARGEST_RATIO_OF_SIZES * sizes.min():
            return self
        return ColumnsOfView(self.x, 1 / sizes, self.places)


def principal_codes(
    parts: Sequence[ColumnsOfView],
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    alike: bool,
    sparse_codes: bool = False,
) -> list[Floats]:
    """(n, K) for each K of `sizes`, the largest first: unit-variance scores on the first directions of all views.

    They are rotated by varimax: to sparse loadings, or to sparse scores. With `alike` every view counts the same,
    however many columns it has and whatever their unit.
    """
    n, width = _shape(parts)
    shares = [1 / (part.size * (np.sqrt(part.x.shape[1]) if alike else 1.0)) for part in parts]
    rank = min(sizes[0], n - 1, width)
    first = _leading(parts, shares, rank, rng) if rank > 0 else np.zeros((n, 0))
    found = []
    for k in sizes:
        codes, scores = rng.normal(size=(n, k)), first[:, :k]
        spread = scores.std(axis=0)
        scores = scores[:, spread > 1e-9 * max(spread.max(initial=0.0), np.finfo(float).tiny)]
        if scores.shape[1]:
            scores = scores / scores.std(axis=0)
            loadings = [share * part.across(scores) / n for part, share in zip(parts, shares, strict=True)]
            turn = varimax((scores if sparse_codes else np.concatenate(loadings)).T, least_gain=GAIN_OF_TURN)
            codes[:, : scores.shape[1]] = scores @ turn.T
        found.append(codes)
    return found


def standing_out(parts: Sequence[ColumnsOfView], k: int) -> int:
    """Directions of many columns and few samples that are wider than noise alone would be, at least one, at most k.

    Eigenvalues of noise end at (1 + sqrt(n / D))^2 of their mean, after Marchenko and Pastur. Other tables have k.
    """
    n, width = _shape(parts)
    if not _are_few(parts):
        return k
    values = np.linalg.eigvalsh(_products(parts, [1 / part.size for part in parts]))
    end = TIMES_THE_NOISE * float(np.median(values)) * (1 + np.sqrt(n / width)) ** 2
    return int(np.clip(np.count_nonzero(values > end), 1, k))


def _leading(parts: Sequence[ColumnsOfView], shares: Sequence[float], rank: int, rng: np.random.Generator) -> Floats:
    """(n, rank), leading left singular vectors times singular values, by subspace iteration."""
    both = list(zip(parts, shares, strict=True))
    products = _products(parts, shares) if _are_few(parts) else None
    drawn = (share * rng.standard_normal((part.x.shape[1], rank + N_SPARE))[part.places] for part, share in both)
    basis = np.asarray(sum(part.along(random) for part, random in zip(parts, drawn, strict=True)))
    for _ in range(N_POWERS):
        basis = np.linalg.qr(basis)[0]
        if products is None:
            basis = np.asarray(sum(share**2 * part.along(part.across(basis)) for part, share in both))
        else:
            basis = products @ basis
    basis = np.linalg.qr(basis)[0]
    small = np.concatenate([share * part.across(basis) for part, share in both])
    _, values, right = np.linalg.svd(small, full_matrices=False)
    return np.asarray(basis @ (right.T[:, :rank] * values[:rank]))


def _products(parts: Sequence[ColumnsOfView], shares: Sequence[float]) -> Floats:
    """(n, n), of all pairs of samples, columns being multiplied by the share of their view."""
    return np.asarray(sum(share**2 * part.products for part, share in zip(parts, shares, strict=True)))


def _are_few(parts: Sequence[ColumnsOfView]) -> bool:
    """Whether samples are so few, and columns so many, that products of all pairs are quicker."""
    n, width = _shape(parts)
    return n <= min(MOST_COMPARED, width)


def _shape(parts: Sequence[ColumnsOfView]) -> tuple[int, int]:
    """Samples, and columns of all views."""
    return len(parts[0].x), sum(part.x.shape[1] for part in parts)
