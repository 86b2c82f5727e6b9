"""Whether the rows that a file keeps of a stream can be rows of its estimator."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from latens.errors import FileRefused
from latens.estimators.fitting.streams import Stream
from latens.estimators.rows.reservoir import Reservoir
from latens.io.checks.shape_checks import arrays_with_shapes, check_sizes

__all__ = ["check_stream"]


def check_stream(estimator: Any, stream: Stream, width: int) -> None:
    """Refuse rows kept, and what is expected of those to come, where no stream could have left them."""
    _check_reservoir(stream.reservoir, width, binary=estimator.binary)
    watch, least = stream.watch, min(stream.fitted_rows, stream.fitted_weight)
    if (
        least <= 0
        or stream.fitted_rows > stream.reservoir.n_rows
        or watch.n <= 0
        or min(watch.n_since, watch.spread) < 0
    ):
        raise FileRefused("what it expects of the rows of its stream is given by numbers that cannot be.")


def _check_reservoir(held: Reservoir, width: int, *, binary: bool) -> None:
    n = len(held.keys)
    if held.n_columns != width or not 0 < n <= min(held.capacity, held.n_rows) or held.seed < 0:
        raise FileRefused(f"it keeps {n} rows of {held.n_columns} columns of a stream; its model has {width} columns.")
    check_sizes([*arrays_with_shapes(replace(held, aux={}), "stream_.reservoir")], {"d": width})
    if any(values.ndim not in (1, 2) or len(values) != n for values in held.aux.values()):
        raise FileRefused("what is known of the rows that it keeps of a stream is not known of each of them.")
    _check_ones(held, width)
    _check_window(held)
    rows = held.rows
    if rows.seen is not None and rows.x[~rows.seen].any():
        raise FileRefused("the rows that it keeps of a stream have values where they miss them.")
    if binary and held.values is not None and not np.isin(held.values, (0.0, 1.0)).all():
        raise FileRefused("the rows that it keeps of a stream hold other values than 0 and 1.")
    if (held.weight is not None and not (held.weight > 0).all()) or held.n < rows.n * (1 - 1e-9):
        raise FileRefused("the rows that it keeps of a stream count as none, or as more than the stream.")
    if not math.isfinite(held.n):
        raise FileRefused("its stream is endless.")


def _check_window(held: Reservoir) -> None:
    """Of streams that let old rows go."""
    if held.window is None and held.numbers is None:
        return
    if held.window is None or held.numbers is None or held.window < 1:
        raise FileRefused("it tells which rows of its stream it keeps, and not how many count, or the other way round.")
    first = held.n_rows - held.n_within
    if (np.diff(held.numbers) <= 0).any() or not first <= held.numbers[0] <= held.numbers[-1] < held.n_rows:
        raise FileRefused("the rows that it keeps of a stream are not of those that count.")


def _check_ones(held: Reservoir, width: int) -> None:
    """Of rows stored by the columns of their ones, as CSR: damaged bounds would be read beyond their end."""
    if (held.starts is None) != (held.ones is None) or (held.starts is None) == (held.values is None):
        raise FileRefused("the rows that it keeps of a stream are told twice, or not at all.")
    if held.starts is None or held.ones is None:
        return
    if held.starts[0] != 0 or held.starts[-1] != len(held.ones) or (np.diff(held.starts) < 0).any():
        raise FileRefused("the rows that it keeps of a stream do not follow one another.")
    if len(held.ones) and not 0 <= held.ones.min() <= held.ones.max() < width:
        raise FileRefused(f"the rows that it keeps of a stream have ones beyond their {width} columns.")
