"""Whether a loading is there, judged by the likelihood itself and by codes that its own column had no part in.

A fit holds codes for known while it looks at loadings, bounds likelihoods by parabolas that may be several times as
curved (counts), and lets a column judge codes that it has pulled itself. Here each column d is asked anew:

    cavity       q(z_n) without what column d said of it:   C_ = C + C mu c mu' C / (1 - c mu'C mu),   z_ = z - C_ mu g
    its entries  y_nd = eta_nd + g / c  ~  Normal(w'z_ + levels,  1 / c + w'C_ w)

mu being the fitted loadings of the column, g and c the expected slope and curvature of its log likelihood (`matched`),
found anew where eta is. The density of the entries is a parabola in w, in which spikes and slabs are found as in a fit.
The priors are learnt anew, too:

    sizes   one precision alpha of slabs for all factors of a view. Of its own, a factor that fits noise makes its slab
            as narrow as its loadings are small, and then it costs nothing to be in
    shares  integrated, not at their posterior mean:  p(theta) prod_d (1 - theta + theta B_d),  B_d the Bayes factors

A factor whose codes the rows do not tell has no Bayes factors: `share_unseen` says how many loadings it may have.

What is left out: that the loadings of the other columns, and with them the axes, are not known either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from latens.array import Floats
from latens.array.kernels.spike_slab import sweep_spikes
from latens.array.packed_symmetric import upper
from latens.array.special import expit
from latens.array.transfer import host
from latens.core import Rows
from latens.models.likelihoods import Columns
from latens.models.multi_view.codes import JointCodes, SparseCodes
from latens.models.multi_view.coefficients import Regressors, ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior
from latens.models.multi_view.view import View

__all__ = ["loading_odds", "matched_entries", "seen_factors", "share_unseen"]

ROUNDS, SWEEPS = 15, 3  # of slopes and curvatures, and over the coefficients in each
AT_ONCE = 4_000_000  # numbers, for as many columns as are done together
LEAST_LEFT = 0.05  # of the information about a code that must be other columns': a column that alone makes a factor
LEAST_SEEN = 0.01  # of a code's variance that the rows must tell
SHARES, MASSES = (0.5 * (each + shift) for each, shift in zip(np.polynomial.legendre.leggauss(32), (1, 0), strict=True))
# that the size of slabs in the fit counts for: columns that a code tells apart have no end of theirs
LOADINGS_OF_FIT = 4
LEAST_CHANCE = 1e-15  # of what is nearly certain


def loading_odds(
    model: MultiView, q: MultiViewPosterior, parts: Sequence[tuple[Rows, JointCodes | SparseCodes]]
) -> dict[str, Floats]:
    """(D_m, K) by view, the probability that each loading is in; `parts` are samples and their codes, settled."""
    codes = []
    for rows, local in parts:
        wide = model.curved(q, rows, local)
        spread = host(wide.spread) if wide.kind is None else host(wide.spread)[wide.kind]
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
    asked = p.parameters is None or p.parameters.only(slice(0, len(on))) is not None
    if p.theta is None or prior.theta is None or not asked or not on.size:
        return on  # all loadings are in, or the likelihood has parameters that are not those of single columns
    (d, k), mean, square = on.shape, p.mean.copy(), p.square.copy()
    evidence, weights = (
        [_evidence_of_entries(view, p, part) for part in codes],
        np.concatenate([_weights(part.rows) for part in codes]),
    )
    seen = seen_factors(np.concatenate([host(part.at.mean)[:, :k] for part in codes]), weights)
    log_odds = np.where(seen, p.theta.mean_log[0] - p.theta.mean_log[1], -np.inf)
    widest = float(p.alpha.mean[seen].min()) if seen.any() else 1.0
    bayes, size = np.zeros((d, k)), widest
    for _ in range(ROUNDS):
        used, power = on[:, seen].sum(), square[:, :k][:, seen].sum()
        size = (LOADINGS_OF_FIT + used) / (LOADINGS_OF_FIT / widest + power)
        odds = np.concatenate([log_odds, np.full(mean.shape[1] - k, np.inf)])
        for columns in _together(d, codes):
            pull, gram = _sums(view, p, codes, evidence, columns, mean[columns], square[columns])
            wide = np.broadcast_to(prior.given_precision, (d, mean.shape[1] - k))[columns]
            precision = np.concatenate([np.full((len(wide), k), size), wide], axis=1)
            for _ in range(SWEEPS):
                found = sweep_spikes(pull, gram, np.ones(len(wide)), precision, odds[None], mean[columns])
                mean[columns] = found.mean
            mean[columns], square[columns] = found.slab, found.slab**2 + found.variance  # where they are in
            bayes[columns] = _logit(found.on[:, :k]) - np.where(seen, log_odds, 0.0)
        for j in np.flatnonzero(seen):
            on[:, j], log_odds[j] = _shared_out(bayes[:, j], prior.theta.on[j], prior.theta.off[j])
        within = np.where(seen, on, 0.0)
        mean[:, :k] *= within
        square[:, :k] *= within
    if not seen.all():
        mean_bends = [np.broadcast_to(each.bend, each.stiff.shape).mean(axis=1) for each in evidence]
        n, bend = float(weights.sum()), float(np.average(np.concatenate(mean_bends), weights=weights))
        for j in np.flatnonzero(~seen):
            on[:, j] = share_unseen(n, bend, size, d, prior.theta.on[j], prior.theta.off[j])
    return on


def _weights(rows: Rows) -> Floats:
    """(n,), how often each row counts."""
    return np.ones(len(rows)) if rows.weight is None else host(rows.weight).astype(float)


def seen_factors(codes: Floats, weights: Floats) -> NDArray[np.bool_]:
    """(K,), whether rows, which count `weights` (n,) times, tell anything of a code; `codes` (n, K) are their means."""
    return np.asarray(weights @ codes**2 > LEAST_SEEN * weights.sum())


def _logit(chance: Floats) -> Floats:
    chance = np.clip(chance, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.asarray(np.log(chance) - np.log1p(-chance))


def _shared_out(bayes: Floats, a: float, b: float) -> tuple[Floats, float]:
    """(D,) chances of being in, the share ~ Beta(a, b) integrated out, and the log odds of its posterior mean.

    `bayes` are the logarithms of the Bayes factors of the D loadings.
    """
    within = np.log(SHARES) + bayes[:, None]
    either = np.logaddexp(within, np.log1p(-SHARES))
    log_mass = np.log(MASSES) + (a - 1) * np.log(SHARES) + (b - 1) * np.log1p(-SHARES) + either.sum(axis=0)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    return np.exp(within - either) @ mass, float(_logit(SHARES @ mass))


def share_unseen(n: float, bend: float, size: float, d: int, a: float, b: float) -> float:
    """Expected share of the d loadings that are in, of a factor that n rows of mean curvature `bend` do not show.

    It has fewer than are worth their cost: with m of them in, n rows gain n (m log(1 + r) - log(1 + m r)) / 2, what m
    columns have in common of which a code explains r = c / alpha times the noise, and pay log(1 + n r) / 2 for each
    loading and for the choice of them.
    """
    m, r = np.arange(d + 1), bend / size
    log_choice = betaln(m + a, d - m + b)
    gain = 0.5 * n * (m * np.log1p(r) - np.log1p(m * r))
    cost = 0.5 * m * np.log1p(n * r) + log_choice[0] - log_choice
    log_mass = log_choice - betaln(m + 1, d - m + 1) + np.log(expit(cost - gain) + np.finfo(float).tiny)
    mass = np.exp(log_mass - log_mass.max())
    return float(m @ mass / mass.sum() / d)


def _together(d: int, codes: Sequence[_Codes]) -> Iterator[slice]:
    """Columns whose regressors are in memory at once."""
    most = max(len(part.rows) * (part.at.mean.shape[1] + 4) for part in codes)
    step = max(1, AT_ONCE // max(most, 1))
    yield from (slice(start, min(start + step, d)) for start in range(0, d, step))


@dataclass(frozen=True, eq=False)
class _EntryEvidence:
    """(n, D) each: the evidence of every entry about the codes of its row, in the fit."""

    pull: Floats  # g / (1 - c mu'C mu)
    stiff: Floats  # c / (1 - c mu'C mu)
    bend: Floats  # c


def _evidence_of_entries(view: View, p: ViewPosterior, part: _Codes) -> _EntryEvidence:
    regressors, (d, k) = host(part.at.mean), p.weights.on.shape
    eta = regressors @ p.mean.T
    lean = np.einsum("nij,di,dj->nd", part.spread, p.mean[:, :k], p.mean[:, :k], optimize=True)
    known = regressors**2 @ (p.square - p.mean**2).T
    slope, bend = matched_entries(view, p, part.rows, slice(0, d), eta, lean + known)
    left = np.maximum(1 - bend * lean, LEAST_LEFT)
    return _EntryEvidence(slope / left, bend / left, bend)


def _sums(
    view: View,
    p: ViewPosterior,
    codes: Sequence[_Codes],
    evidence: Sequence[_EntryEvidence],
    columns: slice,
    mean: Floats,
    square: Floats,
) -> tuple[Floats, Floats]:
    """Pull (D, K + G) and packed Gram (D, P) of the columns' parabolas at coefficients of this mean and mean square."""
    (d, width), k = mean.shape, p.n_components
    pull, gram = np.zeros((d, width)), np.zeros((d, width, width))
    for part, own in zip(codes, evidence, strict=True):
        moved = np.einsum("nij,dj->ndi", part.spread, p.mean[columns, :k])  # C mu
        without = np.repeat(host(part.at.mean)[:, None], d, axis=1)
        without[:, :, :k] -= moved * own.pull[:, columns, None]
        eta = np.einsum("ndi,di->nd", without, mean)
        across = np.einsum("ndi,di->nd", moved, mean[:, :k])
        doubt = np.einsum("nij,di,dj->nd", part.spread, mean[:, :k], mean[:, :k], optimize=True)
        doubt = doubt + own.stiff[:, columns] * across**2  # w'C_ w
        known = np.einsum("ndi,di->nd", without**2, square - mean**2)
        slope, bend = matched_entries(view, p, part.rows, columns, eta, doubt + known)
        weight = 1 / (1 + bend * doubt)
        if part.rows.weight is not None:
            weight = weight * host(part.rows.weight)[:, None]
        pull += np.einsum("nd,ndi->di", weight * (slope + bend * eta), without)
        by_column = np.ascontiguousarray(without.transpose(1, 0, 2))
        gram += np.swapaxes(by_column * (weight * bend).T[:, :, None], 1, 2) @ by_column
    return pull, np.asarray(upper(gram))


def matched_entries(
    view: View, p: ViewPosterior, rows: Rows, columns: slice, eta: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """(n, D) each: expected slope and curvature of the log likelihood; 0 at missing entries."""
    part = rows.columns(slice(view.start + columns.start, view.start + columns.stop))
    part = Rows(host(part.x), None if part.seen is None else host(part.seen))
    given, offset = view.given_precision(rows), view.log_exposure(rows)
    about = Columns(
        p.noise.only(np.arange(columns.start, columns.stop)),
        None if given is None else host(given)[:, columns],
        p.parameters and p.parameters.only(columns),
    )
    mean = eta if offset is None else eta + host(offset)
    return view.likelihood.only(columns).matched(part, mean, variance, about)
