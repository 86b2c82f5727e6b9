"""Whether a loading is there, judged by the likelihood itself and by codes that its own column had no part in.

A fit holds codes for known while it looks at loadings, bounds likelihoods by parabolas that may be several times as
curved (counts), and lets a column judge codes that it has pulled itself. Here each column d is asked anew:

    cavity       q(z_n) without what column d said of it:   C_ = C + C mu c mu' C / (1 - c mu'C mu),   z_ = z - C_ mu g
    its entries  y_nd = eta_nd + g / c  ~  Normal(w'z_ + levels,  1 / c + w'C_ w)

mu being the fitted loadings of the column, g and c the expected slope and curvature of its log likelihood (`matched`),
found anew where eta is. The density of the entries is a parabola in w, in which spikes and slabs are found as in a
fit. What the parabolas of a fit have made of the priors (`loose` likelihoods) is learnt anew, too.

What is left out: that the loadings of the other columns, and with them the axes, are not known either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from latens.array import Floats
from latens.array.kernels.spike_slab import sweep_spikes
from latens.array.packed_symmetric import upper
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods import Columns
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.coefficients import Regressors, ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

__all__ = ["loading_odds"]

ROUNDS, SWEEPS = 15, 3  # of slopes and curvatures, and over the coefficients in each
AT_ONCE = 4_000_000  # numbers, for as many columns as are done together
LEAST_LEFT = 0.05  # of the information about a code that must be other columns': a column that alone makes a factor


def loading_odds(
    model: MultiView, q: MultiViewPosterior, parts: Sequence[tuple[Rows, JointCodes | SparseCodes]]
) -> dict[str, Floats]:
    """(D_m, K) by view, the probability that each loading is in; `parts` are samples and their codes, settled."""
    codes = []
    for rows, local in parts:
        wide = model.curved(q, rows, local)
        spread = host(wide.spread) if wide.kind is None else host(wide.spread)[host(wide.kind)]
        codes.append(_Codes(rows, Regressors.of(local, model.given(rows)), spread))
    return {view.name: _of_view(view, model.prior(q.n_components).views[view.name], q, codes) for view in model.views}


@dataclass(frozen=True, eq=False)
class _Codes:
    rows: Rows
    at: Regressors
    spread: Floats  # (1 or n, K, K)


def _of_view(view: View, prior: ViewPosterior, q: MultiViewPosterior, codes: Sequence[_Codes]) -> Floats:
    p = q.views[view.name]
    on = p.weights.on.copy()
    if p.theta is None or prior.theta is None or p.parameters is not None or not on.size:
        return on  # all loadings are in, or the likelihood has parameters of its own
    (d, k), mean, square = on.shape, p.mean.copy(), p.square.copy()
    alpha, (log_on, log_off) = p.alpha.mean, p.theta.mean_log
    said = [_said(view, p, part) for part in codes]
    for _ in range(ROUNDS):
        odds = np.concatenate([log_on - log_off, np.full(mean.shape[1] - k, np.inf)])
        for columns in _together(d, codes):
            pull, gram = _sums(view, p, codes, said, columns, mean[columns], square[columns])
            wide = np.broadcast_to(prior.given_precision, (d, mean.shape[1] - k))[columns]
            precision = np.concatenate([np.broadcast_to(alpha, (len(wide), k)), wide], axis=1)
            for _ in range(SWEEPS):
                found = sweep_spikes(pull, gram, np.ones(len(wide)), precision, odds[None], mean[columns])
                mean[columns] = found.mean
            on[columns] = found.on[:, :k]
            square[columns] = found.on * (found.slab**2 + found.variance)
        if view.likelihood.loose:
            used = on.sum(axis=0)
            alpha = (prior.alpha.shape + 0.5 * used) / (prior.alpha.rate + 0.5 * square[:, :k].sum(axis=0))
            log_on, log_off = prior.theta.observe(used, d - used).mean_log
    return on


def _together(d: int, codes: Sequence[_Codes]) -> Iterator[slice]:
    """Columns whose regressors are in memory at once."""
    most = max(len(part.rows) * (part.at.mean.shape[1] + 4) for part in codes)
    step = max(1, AT_ONCE // max(most, 1))
    yield from (slice(start, min(start + step, d)) for start in range(0, d, step))


def _said(view: View, p: ViewPosterior, part: _Codes) -> tuple[Floats, Floats]:
    """(n, D) each: what every column said of the codes in the fit, g / (1 - c mu'C mu) and c / (1 - c mu'C mu)."""
    regressors, (d, k) = host(part.at.mean), p.weights.on.shape
    eta = regressors @ p.mean.T
    lean = np.einsum("nij,di,dj->nd", part.spread, p.mean[:, :k], p.mean[:, :k], optimize=True)
    known = regressors**2 @ (p.square - p.mean**2).T
    slope, bend = _matched(view, p, part.rows, slice(0, d), eta, lean + known)
    left = np.maximum(1 - bend * lean, LEAST_LEFT)
    return slope / left, bend / left


def _sums(
    view: View,
    p: ViewPosterior,
    codes: Sequence[_Codes],
    said: Sequence[tuple[Floats, Floats]],
    columns: slice,
    mean: Floats,
    square: Floats,
) -> tuple[Floats, Floats]:
    """Pull (D, K + G) and packed Gram (D, P) of the columns' parabolas, their coefficients being these."""
    (d, width), k = mean.shape, p.n_components
    pull, gram = np.zeros((d, width)), np.zeros((d, width, width))
    for part, (pulled, stiff) in zip(codes, said, strict=True):
        moved = np.einsum("nij,dj->ndi", part.spread, p.mean[columns, :k])  # C mu
        without = np.repeat(host(part.at.mean)[:, None], d, axis=1)
        without[:, :, :k] -= moved * pulled[:, columns, None]
        eta = np.einsum("ndi,di->nd", without, mean)
        across = np.einsum("ndi,di->nd", moved, mean[:, :k])
        doubt = np.einsum("nij,di,dj->nd", part.spread, mean[:, :k], mean[:, :k], optimize=True)
        doubt = doubt + stiff[:, columns] * across**2  # w'C_ w
        known = np.einsum("ndi,di->nd", without**2, square - mean**2)
        slope, bend = _matched(view, p, part.rows, columns, eta, doubt + known)
        weight = 1 / (1 + bend * doubt)
        if part.rows.weight is not None:
            weight = weight * host(part.rows.weight)[:, None]
        pull += np.einsum("nd,ndi->di", weight * (slope + bend * eta), without)
        by_column = np.ascontiguousarray(without.transpose(1, 0, 2))
        gram += np.swapaxes(by_column * (weight * bend).T[:, :, None], 1, 2) @ by_column
    return pull, np.asarray(upper(gram))


def _matched(
    view: View, p: ViewPosterior, rows: Rows, columns: slice, eta: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """(n, D) each: expected slope and curvature of the log likelihood; 0 at missing entries."""
    part = rows.columns(slice(view.start + columns.start, view.start + columns.stop))
    part = Rows(host(part.x), None if part.seen is None else host(part.seen))
    given, offset = view.given_precision(rows), view.log_exposure(rows)
    about = Columns(
        p.noise.only(np.arange(columns.start, columns.stop)), None if given is None else host(given)[:, columns]
    )
    mean = eta if offset is None else eta + host(offset)
    return view.likelihood.only(columns).matched(part, mean, variance, about)
