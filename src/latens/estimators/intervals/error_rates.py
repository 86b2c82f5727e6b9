"""At what rates rows are assigned to the wrong cluster, the clusters being estimated themselves, and how sure that is.

    s_n          the cluster a row is assigned to
    p_nk         the probability that it is of cluster k, of which assignments have error rates
                 H_ks = sum_n p_nk [s_n = s] / sum_n p_nk
    eta          the posterior of the clusters in free coordinates, with covariance C by linear response
    b_n(eta)     a row's part of the bound

Clusters that were fitted to a row suit it better than the true ones, and those that are taken as known are surer of it
than anyone can be. So p_nk are taken as of a row that the fit has not seen, with eta unknown as it is:

    log p_n - J_n C (d b_n / d eta), normal about it with covariance J_n C J_n'          J_n = d log p_n / d eta

What is left is chance. Row n moves the rates by being one of the rows, and through the clusters it took part in:

    dH_n = p_nk ([s_n = s] - H_ks) / sum_m p_mk + (dH / d eta) C (d b_n / d eta)

Where the rows are others than those of the fit, the second part is the fit's own, and independent of their outcomes.
Assignments stay as they are: whatever the rule, corrected estimates are right where its error rates are.

References: Bakk, Oberski & Vermunt (2014); Newey & McFadden (1994) for stacked estimates; Efron (1982) for rows that
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from latens.array import Floats, Index
from latens.array.transfer import host, like
from latens.core import Rows, blocks
from latens.core.coordinates import Chart
from latens.inference.uncertainty.response import respond

__all__ = ["ErrorRates", "MembershipErrors", "error_rates", "rates_of"]

MOST_COORDINATES = 500  # of the posterior, as of intervals by response
MOST_ROWS = 4096  # by which curvature and slopes are found; others stand for equal shares of them
MOST_SLOPES = 2_000_000  # numbers J that are held at once
STEP = 1e-4  # of a coordinate, in differences
N_PAIRS = 32  # draws of log p_n, each with its mirror image
N_DRAWS, MOST_DRAWN = 64, 16_000_000  # draws of the errors of all memberships at once, and numbers in them


@dataclass(frozen=True)
class MembershipErrors:
    """What memberships of some rows are expected to be, and draws of their errors, to first order in eta."""

    place: Index  # (m,), which rows
    expected: Floats  # (m, K), as of rows that the fit has not seen
    errors: Floats  # (B, m, K), in single precision; a draw is of one eta for all rows
    slopes: Floats  # (m, B), of each row's bound along that eta; 0 where the fit was of other rows


@dataclass(frozen=True)
class ErrorRates:
    """Rates, and independent parts of mean 0 of which their error is the sum."""

    rates: Floats  # (K, K), how probable it is that a row of cluster k is assigned to s
    by_row: Floats  # (n, K, K), with whose outcomes they may go
    others: Floats  # (m, K, K), that have nothing to do with these rows
    memberships: MembershipErrors | None = None


def rates_of(share: Floats, labels: Index) -> Floats:
    """(K, K), error rates of assignments by memberships (n, K)."""
    mass = np.maximum(share.sum(axis=0), np.finfo(float).tiny)
    return np.asarray(share.T @ np.eye(share.shape[1])[labels] / mass[:, None])


def error_rates(model: Any, q: Any, rows: Rows, share: Floats, n_of_fit: float, of_fit: bool) -> ErrorRates | None:
    """Of rows with memberships (n, K), those of the fit or others; None where the posterior is too large.

    Rows are in the units of the model, and the fit had `n_of_fit`.
    """
    chart, k, labels = Chart(q), share.shape[1], np.argmax(share, axis=1)
    if chart.size > MOST_COORDINATES:
        return None
    place = np.arange(len(rows))
    few = rows
    if len(rows) > MOST_ROWS:
        place = np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)
        few = rows.take(place)
    each = like(np.full(len(few), n_of_fit / len(few)), few.x)  # so many rows of the fit each stands for
    found = respond(model, _blocks(model, q, replace(few, weight=each)), q, ascent=False)
    covariance = replace(found, gradient=np.zeros(chart.size)).covariance  # the fit has settled, on all of its rows
    unseen, slopes, drawn = _as_of_unseen_rows(model, chart, covariance, few, share[place], labels[place], of_fit)
    drawn = replace(drawn, place=place[drawn.place])
    plain = rates_of(share, labels)
    rates = np.maximum(plain + rates_of(unseen, labels[place]) - rates_of(share[place], labels[place]), 0.0)
    rates = rates / rates.sum(axis=1, keepdims=True)
    mass = np.maximum(share.sum(axis=0), np.finfo(float).tiny)
    by_row = share[:, :, None] * (np.eye(k)[labels][:, None, :] - plain) / mass[:, None]
    ways = (covariance @ slopes.reshape(chart.size, -1)).T  # (K K, P), directions of eta
    if of_fit:
        every = _blocks(model, q, rows)
        moved = np.stack([_slopes_of_rows(model, chart, way, every) for way in ways], axis=1)
        return ErrorRates(rates, by_row + moved.reshape(-1, k, k), np.zeros((0, k, k)), drawn)
    values, vectors = np.linalg.eigh(ways @ slopes.reshape(chart.size, -1))
    return ErrorRates(rates, by_row, (vectors * np.sqrt(np.maximum(values, 0.0))).T.reshape(-1, k, k), drawn)


def _as_of_unseen_rows(
    model: Any, chart: Chart, covariance: Floats, rows: Rows, share: Floats, labels: Index, of_fit: bool
) -> tuple[Floats, Floats, MembershipErrors]:
    """(n, K), memberships as if rows had no part in the fit and eta were unknown; (P, K, K), slopes of error rates.

    Errors of the memberships of every so many rows are drawn as well.
    """
    k, p = share.shape[1], chart.size
    values, vectors = np.linalg.eigh(covariance)
    etas = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.random.default_rng(1).normal(size=(p, N_DRAWS))
    chosen = np.arange(0, len(rows), -(-N_DRAWS * k * len(rows) // MOST_DRAWN) or 1)
    drawn, moved_bounds = list[Floats](), list[Floats]()
    mass, rates = np.maximum(share.sum(axis=0), np.finfo(float).tiny), rates_of(share, labels)
    unseen, slopes, pairs = (
        np.empty_like(share),
        np.zeros((p, k, k)),
        np.random.default_rng(0).normal(size=(N_PAIRS, k)),
    )
    for at in _parts(len(rows), max(256, MOST_SLOPES // (k * p))):
        part = rows[at]
        by_share, by_bound = np.empty((len(part), k, p)), np.zeros((len(part), p))
        for i in range(p):
            ends = [chart.shift(i, step) for step in (STEP, -STEP)]
            up, down = (np.log(np.maximum(host(model.predicted_memberships(q, part)), 1e-300)) for q in ends)
            by_share[:, :, i] = (up - down) / (2 * STEP)
            if of_fit:
                more, less = (_row_bounds(model, q, part) for q in ends)
                by_bound[:, i] = (more - less) / (2 * STEP)
        moved = share[at][:, :, None] * by_share  # d p_n / d eta
        slopes += np.einsum("ns,nkp->pks", np.eye(k)[labels[at]], moved) / mass[:, None]
        slopes -= moved.sum(axis=0).T[:, :, None] * rates / mass[:, None]
        centre = np.log(np.maximum(share[at], 1e-300)) - np.einsum("nkp,np->nk", by_share, by_bound @ covariance)
        spread = np.einsum("nkp,nlp->nkl", by_share @ covariance, by_share)
        values, vectors = np.linalg.eigh(0.5 * (spread + np.swapaxes(spread, 1, 2)))
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        draws = [softmax(centre + sign * root @ z, axis=1) for z in pairs for sign in (1.0, -1.0)]
        unseen[at] = np.mean(draws, axis=0)
        own = chosen[(chosen >= at.start) & (chosen < at.stop)] - at.start
        drawn.append((moved[own] @ etas).astype(np.float32))
        moved_bounds.append(by_bound[own] @ etas)
    errors = np.moveaxis(np.concatenate(drawn), 2, 0)
    return unseen, slopes, MembershipErrors(chosen, unseen[chosen], errors, np.concatenate(moved_bounds))


def _parts(n: int, size: int) -> Iterator[slice]:
    return (slice(at, min(at + size, n)) for at in range(0, n, size))


def _blocks(model: Any, q: Any, rows: Rows) -> list[Rows]:
    return blocks(rows, model.floats_per_row(q.n_components))


def _row_bounds(model: Any, q: Any, rows: Rows) -> Floats:
    return np.asarray(host(model.row_bounds(q, rows, model.local_step(q, rows))))


def _slopes_of_rows(model: Any, chart: Chart, way: Floats, batches: list[Rows]) -> Floats:
    """(n,), the slope of each row's bound along a direction of eta, whatever its length."""
    size = float(np.abs(way).max(initial=0.0))
    if size < np.finfo(float).tiny:  # of clusters that share no row; a step over so little has no end
        return np.zeros(sum(map(len, batches)))
    way = way / size
    up, down = (np.concatenate([_row_bounds(model, chart.at(side * way), rows) for rows in batches])
                for side in (STEP, -STEP))  # fmt: skip
    return np.asarray((up - down) * (size / (2 * STEP)))
