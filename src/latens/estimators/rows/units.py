"""The units a model works in: rows about an origin, divided by a power of two.

    x_model = (x - origin) / 2^exponent          elbo(x) = elbo(x_model) - entries exponent log 2

Where columns of one prior are measured in different units, each is divided by its standard deviation (`factor` beside
the power of two), so that it does not matter which units they are.

This is the one place for location and scale: data from 1e-150 to 1e150, and large means in
float32, look alike to every model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from latens.array import Array, Floats, Index
from latens.array.fields import record, sized
from latens.array.transfer import column_sums, host, is_sparse, like
from latens.core import Rows, Survey, blocks

__all__ = ["Units", "column_sizes", "exponents_of", "too_large"]

MOST_EXPONENT = 505  # powers of two whose squares are still numbers
MOST_SINGLE = 57  # the same in single precision
ONE_STEP = 64  # powers of two by which rows are multiplied at once, in single precision too
SURE_DIGITS = 2.0**16  # roundings of a mean below which its digits depend on the order of the rows
TIE = 1e-9  # powers of two that are this close to half-way are rounded up
LEAST_SHARE_OF_MEAN = 1e-6  # of its mean: the spread below which a column may not vary at all
GRID = 2.0**-10  # origins lie on a grid: the order in which rows were summed must not reach the model


@record
class Units:
    origin: Floats = sized("d")  # in the units of the data
    exponent: int | Index = sized("d")  # one for all columns, or one each
    unseen: tuple[int, ...] = field(default=(), kw_only=True)  # columns no row has shown yet: their origin is free
    factor: Floats | None = sized("d", default=None, kw_only=True)  # of the powers of two, about 1; None: 1

    @classmethod
    def of(
        cls, rows: Rows, *, centred: bool, scaled: bool = True, by_column: bool = False, standardized: bool = False
    ) -> Units:
        """From the means and the spread of the observed entries; not centred where zero means something.

        One unit for all columns, or one for each: where columns have noise of their own, none is to lead for its unit.
        With `standardized`, that of each is its standard deviation itself, and not a power of two near it.
        """
        d = rows.x.shape[1]
        if not scaled:
            return cls(np.zeros(d), 0)
        xp = array_namespace(rows.x)
        parts = blocks(rows, 2 * d)  # so that nothing of the size of the data is formed
        sizes = column_sizes(rows)
        shown = sum(block.counts for block in parts)
        unseen = tuple(np.flatnonzero(shown == 0).tolist()) if centred else ()
        if not np.any(sizes > 0):
            return cls(np.zeros(d), np.zeros(d, dtype=np.intp) if by_column else 0, unseen=unseen)
        by_column = by_column or standardized
        largest = _divisors(sizes, by_column)
        divisor = like(largest, rows.x) if by_column else float(largest)
        counts, mean = np.maximum(shown, np.finfo(float).tiny), np.zeros(d)
        if centred:
            mean = sum(column_sums(block.weigh(block.x / divisor)) for block in parts) / counts
        squares = np.zeros(d)
        for block in parts:
            gaps = block.x / divisor - like(mean, block.x)
            gaps = gaps if block.seen is None else gaps * block.mask
            squares += column_sums(block.weigh(gaps**2))
        rounding = float(xp.finfo(rows.x.dtype).eps)
        constant = (
            _constants(rows, np.sqrt(squares / counts) <= LEAST_SHARE_OF_MEAN * np.abs(mean)) if centred else None
        )
        return cls._of_moments(
            counts, mean, squares, largest, rounding, centred, unseen, len(rows), standardized, constant
        )

    @classmethod
    def of_survey(
        cls,
        survey: Survey,
        dtype: np.dtype[Any],
        *,
        centred: bool,
        scaled: bool = True,
        by_column: bool = False,
        standardized: bool = False,
    ) -> Units:
        """The same from the moments of a survey, for rows that are read in blocks."""
        d, sizes = len(survey.mean), survey.sizes
        unseen = tuple(np.flatnonzero(survey.count == 0).tolist()) if centred and scaled else ()
        if not scaled:
            return cls(np.zeros(d), 0)
        if not np.any(sizes > 0):
            return cls(np.zeros(d), np.zeros(d, dtype=np.intp) if by_column else 0, unseen=unseen)
        by_column = by_column or standardized
        largest = _divisors(sizes, by_column)
        counts = np.maximum(survey.count, np.finfo(float).tiny)
        mean = survey.mean / largest if centred else np.zeros(d)
        squares = (survey.deviation / largest) ** 2
        if not centred:
            squares = squares + counts * (survey.mean / largest) ** 2
        rounding = float(np.finfo(dtype).eps)
        constant = np.where((survey.count > 0) & (survey.low == survey.high), survey.low, np.nan)
        return cls._of_moments(
            counts, mean, squares, largest, rounding, centred, unseen, survey.n_rows, standardized, constant
        )

    @classmethod
    def _of_moments(
        cls,
        counts: Floats,
        mean: Floats,
        squares: Floats,
        largest: Floats,
        rounding: float,
        centred: bool,
        unseen: tuple[int, ...],
        n_rows: int,
        standardized: bool,
        constant: Floats | None,
    ) -> Units:
        """From moments of the columns in units of `largest`, a number () or one for each column (D,).

        `constant` (D,) has the only value of each column that never varies, and NaN for the others.
        """
        # columns that hardly vary beside their size still need a scale: that of rounding; of one row, that of its size
        least = rounding if n_rows > 1 else 1.0
        by_column = largest.ndim == 1
        variance = squares / counts if by_column else np.asarray(squares.sum() / counts.sum())
        spread, factor = np.maximum(np.sqrt(variance), least), None
        if standardized:  # what does not vary yet may do so in later rows: in units of its size, not of its rounding
            spread = np.where(spread > least, spread, 1.0)
        exponent = _rounded_exponent(spread, largest)
        whole: int | Index = exponent if by_column else int(exponent)
        if standardized:
            fraction, power = np.frexp(largest)
            factor = np.ldexp(spread * fraction, power - exponent)
        if not centred:
            return cls(np.zeros(len(mean)), whole, factor=factor)
        origin = largest * mean  # one row has no order, and may lie far from 0 in units of a spread still to be seen
        if n_rows > 1:  # columns of small units have finer origins, down to the rounding of their means
            own = np.maximum(np.sqrt(squares / counts), SURE_DIGITS * least * np.abs(mean))
            finer = _rounded_exponent(np.maximum(own, least**4), largest)
            origin = _on_grid(origin, np.minimum(finer, exponent))
            if constant is not None:  # what a grid leaves of it would be vast beside the noise of a column without any
                origin = np.where(np.isnan(constant), origin, constant)
        return cls(origin, whole, unseen=unseen, factor=factor)

    def meeting(self, rows: Rows) -> Units:
        """The same with an origin for each column that these rows are the first to show: no sum knows of it yet.

        Refuses rows so large, in these units, that they cannot be squared.
        """
        if is_sparse(rows.x):
            return self
        units, shown = self, np.zeros(0, dtype=np.intp)
        if self.unseen:
            shown = np.flatnonzero(np.isin(np.arange(len(self.origin)), self.unseen) & (rows.counts > 0))
        if len(shown):
            sums = column_sums(rows.weigh(rows.x[:, int(shown[0]) : int(shown[-1]) + 1]))[shown - shown[0]]
            exponent, origin = np.broadcast_to(self.exponent, self.origin.shape)[shown], self.origin.copy()
            origin[shown] = _on_grid(sums / rows.counts[shown], exponent)
            units = replace(self, origin=origin, unseen=tuple(sorted({*self.unseen} - {*shown.tolist()})))
        self.check_sizes(rows)
        return units

    def check_sizes(self, rows: Rows) -> None:
        """Refuse rows so large, in these units, that they cannot be squared."""
        if is_sparse(rows.x):
            return
        xp = array_namespace(rows.x)
        sizes = host(xp.max(xp.abs(rows.x), axis=0))
        most = MOST_EXPONENT if str(rows.x.dtype).endswith("float64") else MOST_SINGLE
        if np.any(sizes > np.ldexp(1.0, most + np.minimum(self.exponent, 500))):
            raise too_large(float(np.max(sizes)))

    @classmethod
    def joined(cls, frames: Sequence[Units]) -> Units:
        """Columns side by side, each in its own units."""
        exponents = [np.full(len(units.origin), units.exponent, dtype=np.intp) for units in frames]
        factors = [np.ones(len(units.origin)) if units.factor is None else units.factor for units in frames]
        factor = None if all(units.factor is None for units in frames) else np.concatenate(factors)
        return cls(np.concatenate([units.origin for units in frames]), np.concatenate(exponents), factor=factor)

    def check_range(self) -> None:
        """Refuse data whose squares would leave the range of numbers."""
        exponent = int(max(np.ravel(self.exponent), key=abs))
        if abs(exponent) > MOST_EXPONENT:
            scale = math.ldexp(1.0, exponent)
            raise ValueError(
                f"the entries of X are about {scale:.0e} in size, too {'large' if exponent > 0 else 'small'} "
                f"to be squared; divide X by {scale:.0e} or so."
            )

    def only_of(self, columns: Sequence[int]) -> Units:
        """The same units of these columns; the others as they are."""
        keep = np.isin(np.arange(len(self.origin)), columns)
        exponent = np.where(keep, self.exponent, 0).astype(np.intp)
        unseen = tuple(sorted({*self.unseen} & {*columns}))
        factor = None if self.factor is None else np.where(keep, self.factor, 1.0)
        return Units(np.where(keep, self.origin, 0.0), exponent, unseen=unseen, factor=factor)

    @property
    def log_scale(self) -> Any:
        """A number, or one for each column."""
        return self.exponent * math.log(2) + (0.0 if self.factor is None else np.log(self.factor))

    @cached_property
    def scale(self) -> Any:
        return np.ldexp(1.0 if self.factor is None else self.factor, self.exponent)

    def log_volume(self, rows: Rows) -> Array:
        """(n,), what a density in data units is divided by, as a logarithm: the units of the entries seen."""
        if np.ndim(self.log_scale):
            volume = rows.mask @ like(self.log_scale, rows.x)
            return array_namespace(volume).broadcast_to(volume, (len(rows),))
        return float(self.log_scale) * rows.observed

    def enter(self, rows: Rows, *, spare: bool = False) -> Rows:
        """Rows of data as the model sees them; with `spare` they are written over where NumPy holds them."""
        if not np.any(self.origin) and not np.any(self.exponent) and self.factor is None:
            return rows
        if spare and is_numpy_array(rows.x):
            for block in blocks(rows, 0):  # a mask of all rows would be as large as they are
                self._enter(block, block.x)
            return rows
        x = rows.x
        return replace(rows, x=self._enter(rows, x - like(self.origin, x) if np.any(self.origin) else x * 1.0))

    def _enter(self, rows: Rows, x: Array) -> Array:
        """Write the model's units into x."""
        if x is rows.x:
            x -= like(self.origin, x)
        if rows.seen is not None and np.any(self.origin):
            x *= array_namespace(x).astype(rows.seen, x.dtype)
        for exponent in self._steps:
            if np.any(exponent):
                x *= like(np.ldexp(1.0, np.negative(exponent)), x)
        if self.factor is not None:
            x /= like(self.factor, x)
        return x

    @property
    def _steps(self) -> tuple[Any, ...]:
        """The exponent; in two halves where it is large, since single precision has no 2^146 for rows of 1e-44."""
        if np.all(np.abs(self.exponent) <= ONE_STEP):
            return (self.exponent,)
        half = np.asarray(self.exponent) // 2
        return half, self.exponent - half

    def leave(self, x: Array) -> Array:
        """Positions in data units."""
        return self.leave_direction(x) + like(self.origin, x)

    def leave_direction(self, x: Array) -> Array:
        """Differences in data units: loadings, standard deviations."""
        return x * like(self.scale, x) if np.ndim(self.scale) else x * float(self.scale)

    def enter_direction(self, x: Floats) -> Floats:
        entered = x * np.ldexp(1.0, np.negative(self.exponent))
        return np.asarray(entered if self.factor is None else entered / self.factor)

    def leave_variance(self, x: Floats) -> Floats:
        return np.asarray(x * self.scale * self.scale)

    def enter_variance(self, x: Any) -> Floats:
        return np.asarray(x / self.scale / self.scale)

    def leave_covariance(self, x: Floats) -> Floats:
        """Covariances (..., D, D) in data units."""
        return np.asarray(x * self.scale * np.expand_dims(self.scale, -1))

    def enter_covariance(self, x: Floats) -> Floats:
        return np.asarray(x / self.scale / np.expand_dims(self.scale, -1))


def column_sizes(rows: Rows) -> Floats:
    """(D,), the largest entry of each column without its sign, 0 where none is observed."""
    xp = array_namespace(rows.x)
    parts = [
        host(xp.maximum(xp.max(block.x, axis=0), -xp.min(block.x, axis=0)))  # nothing of the size of the block is made
        for block in blocks(rows, 0)
    ]
    return np.asarray(np.max(parts, axis=0), dtype=np.float64)


def _constants(rows: Rows, likely: Any) -> Floats:
    """(D,), the only value of each column that never varies, NaN for the others; only `likely` ones are looked at."""
    values = np.full(len(likely), np.nan)
    for j in np.flatnonzero(likely).tolist():
        column = np.asarray(host(rows.x[:, j]), dtype=np.float64)
        if rows.seen is not None:
            column = column[host(rows.seen[:, j]) > 0]
        if len(column) and bool(np.all(column == column[0])):
            values[j] = column[0]
    return values


def exponents_of(sizes: Floats) -> Index:
    """(D,), powers of two that bring such sizes to between 1/2 and 1; 0 where there is no size."""
    return np.asarray(np.frexp(sizes)[1], dtype=np.intp)


def _divisors(sizes: Floats, by_column: bool) -> Floats:
    """What entries are divided by before they are squared: the largest of all, or of each column."""
    return np.where(sizes > 0, sizes, 1.0) if by_column else np.asarray(sizes.max())


def _rounded_exponent(spread: Floats, largest: Floats) -> Index:
    """log2(spread * largest), rounded; exactly one more where `largest` is twice as large."""
    fraction, exponent = np.frexp(largest)
    power = np.log2(spread * fraction) + TIE  # a variance of 2 lies half-way, whatever its rounding
    return np.asarray(np.clip(np.round(power) + exponent, -1000, 1000).astype(np.intp))


def too_large(largest: float) -> ValueError:
    return ValueError(
        f"the entries of X are up to {largest:.0e} in size, too large to be squared beside those seen before; "
        f"divide all of them by {largest:.0e} or so."
    )


def _on_grid(position: Floats, exponent: int | Index) -> Floats:
    grid = GRID * np.ldexp(1.0, exponent)
    return np.asarray(np.round(position / grid) * grid)
