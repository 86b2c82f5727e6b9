"""Blocks of measurements at once: codes of their samples and the sums over them, without the steps in between.

Where all views are measurements of one group of samples, codes are normal and nothing of them is kept: a block is then
a few products of its rows, the columns of all views together, with what the posterior says to all samples alike. The
same as a local step and statistics after it, which serve all other blocks.

A GPU is asked for these products as soon as a posterior is there, and makes them while the host has other work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from scipy.sparse import csr_array

from latens.array import Array, Floats, Index
from latens.array.packed_symmetric import diagonal_places, moment_pairs, upper
from latens.array.row_matrices import normal_rows, with_ones
from latens.array.transfer import cross_sums_begun, is_on_gpu, like, take
from latens.core import Rows
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.multi_view.coefficients import ViewPosterior, ViewStatistics, code_blocks, code_places
from latens.system.cached_value import cached_value

if TYPE_CHECKING:
    from latens.models.multi_view.model import MultiView, MultiViewPosterior, MultiViewStatistics

__all__ = ["Shared", "begin_on_gpu", "measured_sums", "shared_by_samples"]

Answer = Callable[[], "MultiViewStatistics"]  # what waits for the sums over a block


@dataclass(frozen=True, eq=False)
class Shared:
    """What a posterior says to all samples alike; K codes and, beside them, the level."""

    views: list[ViewPosterior]
    grams: Floats  # (V, P), sums over the columns of each view of tau_d E[w_d w_d'], K + 1 coefficients
    precision: Floats  # (1, K), of the prior of codes
    spread: Floats  # (K, K), the covariance of codes of a sample that shows everything
    volume: float  # log determinant of that
    lead: Floats  # (D, K), of each column to the mean of such codes
    shift: Floats  # (K,), what levels take from it

    @cached_value
    def weights(self) -> Floats:
        """(D, K), tau_d E[w_d], of all columns at once, as samples with gaps need it."""
        return np.concatenate([view.scaled[:, : len(self.spread)] for view in self.views])

    @cached_value
    def pairs(self) -> Floats:
        """(P, D), tau_d E[w_d w_d'], of all columns at once, as samples with gaps need it."""
        return np.concatenate([view.scaled_pairs.T for view in self.views], axis=1)


def shared_by_samples(model: MultiView, q: MultiViewPosterior) -> Shared | None:
    """Found once for each posterior; None where blocks have no shorter way."""
    if "shared" not in vars(q):
        vars(q)["shared"] = found = _shared(model, q)
        if found is not None and vars(model).get("has_met_gaps"):  # before threads ask for it all at once
            _ = found.weights, found.pairs
    known: Shared | None = vars(q)["shared"]
    return known


def _shared(model: MultiView, q: MultiViewPosterior) -> Shared | None:
    k, views = q.n_components, [q.views[view.name] for view in model.views]
    plain = all(type(view.likelihood) is Gaussian and not view.exposed for view in model.views)
    if not plain or not k or q.usage is not None or model.n_given != 1:
        return None
    grams, precision = np.concatenate([view.gram for view in views]), q.activity.mean
    inner, (beside,) = code_places(k, 1)
    whole = grams.sum(axis=0)
    _, spreads, volume = normal_rows(np.zeros((1, k)), whole[None, inner], precision)
    spread, lead = spreads[0], np.empty((sum(len(view.mean) for view in views), k))
    for view, p in zip(model.views, views, strict=True):
        np.dot(p.scaled[:, :k], spread, out=lead[view.columns])
    return Shared(views, grams, precision, spread, float(volume[0]), lead, whole[beside] @ spread)


def begin_on_gpu(model: MultiView, q: MultiViewPosterior, batches: Sequence[Any]) -> None:
    """Ask a GPU that holds blocks for their sums under q, which `measured_sums` then waits for."""
    for batch in batches:
        if isinstance(batch, Rows) and is_on_gpu(batch.x):  # and not a place in a file
            vars(batch)["begun"] = q, _asked(model, q, batch)  # with the block, since posteriors outlive a fit


def measured_sums(model: MultiView, q: MultiViewPosterior, batch: Rows) -> MultiViewStatistics | None:
    """Statistics of a block under the best codes for q; None where it takes the long way."""
    begun_for, answer = vars(batch).pop("begun", (None, None))
    if begun_for is not q:
        answer = _asked(model, q, batch)
    return None if answer is None else answer()


def _asked(model: MultiView, q: MultiViewPosterior, batch: Rows) -> Answer | None:
    """What waits for the statistics of a block; None where it takes the long way."""
    known, x = shared_by_samples(model, q), batch.x
    if known is None or not len(batch):
        return None
    compiled = isinstance(x, np.ndarray) and x.dtype == np.float64 and x.flags.c_contiguous and batch.weight is None
    if batch.seen is None:
        return partial(_of_complete, model, known, batch) if compiled else _of_complete_plain(model, known, batch)
    parts = [batch.columns(view.columns) for view in model.views]
    if all(part.whole for part in parts):
        return None  # few kinds of samples
    if not isinstance(x, np.ndarray):
        return _of_gaps_plain(model, known, batch)
    served = compiled and all(part.whole or part.few_gaps for part in parts)
    return partial(_of_gaps, model, known, batch) if served else None


def _of_complete(model: MultiView, known: Shared, batch: Rows) -> MultiViewStatistics:
    from latens.array.kernels.row_posteriors.joint_codes_numba import complete_samples

    d, k = known.lead.shape
    sums, second = np.zeros((k + 1, d)), np.zeros((k + 1, k + 1))
    complete_samples(batch.x, known.lead, known.shift, sums, second)
    return _of_means(model, known, batch, sums, second)


def _of_complete_plain(model: MultiView, known: Shared, batch: Rows) -> Answer:
    x, (d, k) = batch.x, known.lead.shape
    sent = like(np.concatenate([known.lead.T.reshape(-1), known.shift]), x)  # at once
    drive, shift = _view_by_view(model, batch, array_namespace(x).reshape(sent[: d * k], (k, d))), sent[d * k :]
    if (found := _codes_on_gpu(batch, drive, shift)) is not None:
        full, chunks = found
        sums = cross_sums_begun((full, x), chunks=chunks)
    else:
        full = with_ones(drive.T - shift, True)
        weighted = batch.weigh(full)
        sums = cross_sums_begun((weighted, x), (weighted, full))
    return lambda: _of_means(model, known, batch, *sums())


def _codes_on_gpu(batch: Rows, drive: Array, shift: Array) -> tuple[Array, Array] | None:
    """(z, 1) of rows of single precision on a GPU, and sums of its products by chunks; None elsewhere."""
    if not is_on_gpu(drive) or batch.weight is not None or drive.dtype != array_namespace(drive).float32:
        return None
    from latens.array.kernels.joint_codes_triton import MOST_CODES, codes_on_gpu

    found: tuple[Array, Array] | None = None
    if codes_on_gpu is not None and drive.shape[0] <= MOST_CODES:
        found = codes_on_gpu(drive, shift)
    return found


def _of_means(model: MultiView, known: Shared, batch: Rows, sums: Floats, second: Floats) -> MultiViewStatistics:
    """Of sums of (z, 1) x' and of (z, 1) (z, 1)', z being means, which vary as all do."""
    k = len(known.spread)
    second[:k, :k] += batch.n * known.spread
    return _statistics(
        model, batch, sums, upper(second[None]), np.array(np.diagonal(second)[None, :k]), batch.n * known.volume
    )


def _of_gaps(model: MultiView, known: Shared, batch: Rows) -> MultiViewStatistics:
    from latens.array.kernels.row_posteriors.joint_codes_numba import samples_with_gaps

    vars(model)["has_met_gaps"] = True
    (d, k), p = known.weights.shape, known.grams.shape[1]
    sums, grams, squares, volume = np.zeros((k + 1, d)), np.empty((p, d)), np.empty(k), np.empty(1)
    inner, (beside,) = code_places(k, 1)
    terms, outs = (known.weights, known.pairs, known.grams), (sums, grams, squares, volume)
    precision = np.ascontiguousarray(known.precision.T)
    samples_with_gaps(batch.x, *terms, *_gaps(model, batch), precision, (inner, beside), outs)
    return _statistics(model, batch, sums, grams.T, squares[None], float(volume[0]))


def _of_gaps_plain(model: MultiView, known: Shared, batch: Rows) -> Answer:
    xp, x, k = array_namespace(batch.x), batch.x, known.weights.shape[1]
    mask = xp.astype(batch.seen, x.dtype)
    inner, (level,) = code_blocks(mask @ like(known.pairs, x).T, k, 1)
    drive = _view_by_view(model, batch, like(known.weights.T, x)).T - level
    mean, spread, volume = normal_rows(drive, inner, like(known.precision, x))
    full = with_ones(mean, True)
    pairs = moment_pairs(full, spread)
    weighted, weight = batch.weigh(pairs), batch.weigh(full[:, k:])
    own = xp.concat([take(pairs, np.array(diagonal_places(k + 1)[:k]), axis=1), volume[:, None]], axis=1)
    answers = cross_sums_begun((batch.weigh(full), x), (weighted, mask), (weight, own))

    def found() -> MultiViewStatistics:
        sums, grams, squares = answers()
        return _statistics(model, batch, sums, grams.T, np.array(squares[:, :k]), float(squares[0, k]))

    return found


def _view_by_view(model: MultiView, batch: Rows, turned: Array) -> Array:
    """(K, n), weights (K, D) times rows: products of fewer columns at once are faster, and in this order."""
    parts = [batch.columns(view.columns).x for view in model.views]
    return reduce(add, (turned[:, view.columns] @ x.T for view, x in zip(model.views, parts, strict=True)))


def _gaps(model: MultiView, batch: Rows) -> tuple[Floats, Index, Index, Index, Index, Floats]:
    """Which views samples show (V, n); columns that they lack of these, and samples that lack a column, as CSR lists;
    which view a column belongs to (V, D). Made once for a block."""
    if "gaps_of_views" not in vars(batch):
        vars(batch)["gaps_of_views"] = _gaps_of_views(model, batch)
    found: tuple[Floats, Index, Index, Index, Index, Floats] = vars(batch)["gaps_of_views"]
    return found


def _gaps_of_views(model: MultiView, batch: Rows) -> tuple[Floats, Any, Any, Any, Any, Floats]:
    n, d = batch.x.shape
    lacking, there, shown = np.zeros((n, d), bool), np.ones((len(model.views), n)), np.zeros((len(model.views), d))
    for number, view in enumerate(model.views):
        part = batch.columns(view.columns)
        shown[number, view.columns] = 1.0
        if part.seen is not None:
            there[number] = part.present
            lacking[:, view.columns] = ~part.seen & (part.present > 0)[:, None]
    across = csr_array(lacking)
    down = across.tocsc()
    return there, across.indptr, across.indices, down.indptr, down.indices, shown


def _statistics(
    model: MultiView, batch: Rows, sums: Floats, gram: Floats, squares: Floats, volume: float
) -> MultiViewStatistics:
    """gram (1 or D, P)."""
    from latens.models.multi_view.model import MultiViewStatistics

    views, n = {}, batch.n
    for view in model.views:
        part, columns = batch.columns(view.columns), view.columns
        pull, own = sums[:, columns].T, gram if len(gram) == 1 else gram[columns]
        views[view.name] = ViewStatistics(n, part.counts, -0.5 * part.squares, pull, own)
    k = squares.shape[1]
    return MultiViewStatistics(n, np.array([n]), squares, np.full((1, k), n), 0.5 * (volume + n * k), views)
