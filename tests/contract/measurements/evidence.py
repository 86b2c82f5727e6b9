"""Exact evidences by enumeration and quadrature: plain linear algebra that shares nothing with the library."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.special import betaln, gammaln, logsumexp

from latens.core import Rows

LOG_2PI = np.log(2 * np.pi)


def observed(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Values and which of them were seen, with each row repeated as often as it counts."""
    x = np.asarray(rows.x, float)
    seen = np.ones(x.shape, bool) if rows.seen is None else np.asarray(rows.seen)
    if rows.weight is None:
        return x, seen
    times = np.asarray(rows.weight).astype(int)
    assert np.array_equal(times, rows.weight), "only whole weights can be written as repetitions"
    return np.repeat(x, times, axis=0), np.repeat(seen, times, axis=0)


def counts_of(rows: Rows) -> Rows:
    """Whole numbers from 0 on, where the contract gives real ones; counts are left as they are."""
    xp = array_namespace(rows.x)
    return replace(rows, x=xp.round(xp.abs(rows.x)))


def states(k: int) -> np.ndarray:
    """(2^K, K), every code once."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=k))).reshape(2**k, k)


def with_ones(codes: np.ndarray, intercept: bool) -> np.ndarray:
    return np.hstack([codes, np.ones((len(codes), 1))]) if intercept else codes


def row_log_joints(model: Any, q: Any, x: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(n, 2^K), log p(row, code) at the point estimates q."""
    codes = states(q.n_components)
    pi, w = q.usage.mean, q.loadings.mean
    noise = np.broadcast_to(q.loadings.noise, w.shape[1:])
    prior = np.log(np.where(codes > 0, pi, 1 - pi)).sum(axis=1)
    centres = with_ones(codes, model.intercept) @ w
    density = -0.5 * (LOG_2PI + np.log(noise) + (x[:, None] - centres) ** 2 / noise)  # (n, C, D)
    return prior + np.where(seen[:, None], density, 0.0).sum(axis=2)


def likelihood_at_the_point(model: Any, q: Any, rows: Rows) -> float:
    """log p(rows | point): what the bound of maximum likelihood is below."""
    return float(logsumexp(row_log_joints(model, q, *observed(rows)), axis=1).sum())


def binary_factors(model: Any, q: Any, rows: Rows) -> float:
    """log p(rows) with usage, loadings and noise integrated in closed form, and relevances by quadrature.

    sum over all codes of p(codes) * integral over alpha of p(alpha) p(rows | codes, alpha).
    """
    x, seen = observed(rows)
    n, k = len(x), q.n_components
    alpha, log_mass = _alpha_grid(k + model.intercept, *model.relevance)
    a, b = model.usage
    total = []
    for flat in itertools.product((0.0, 1.0), repeat=n * k):
        codes = np.array(flat).reshape(n, k)
        on = codes.sum(axis=0)
        prior = np.sum(betaln(a + on, b + n - on) - betaln(a, b))
        given = _regression_evidence(model, with_ones(codes, model.intercept), x, seen, alpha)
        total.append(prior + logsumexp(log_mass + given))
    return float(logsumexp(total))


def _alpha_grid(k: int, shape: float, rate: float, step: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Trapezoids in log alpha, which converge exponentially fast for so smooth an integrand."""
    u = np.arange(-28.0 / shape, np.log(40.0 / rate), step)
    log_mass = shape * np.log(rate) - gammaln(shape) + shape * u - rate * np.exp(u) + np.log(step)
    grid = np.array(list(itertools.product(range(len(u)), repeat=k)))
    return np.exp(u)[grid], log_mass[grid].sum(axis=1)


def _regression_evidence(model: Any, z: np.ndarray, x: np.ndarray, seen: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """(A,), log p(x | codes, alpha): a linear regression whose weights have prior variance 1 / (alpha tau)."""
    a0, b0 = model.noise
    half_counts, halves, level = [], [], 0.0
    for d in range(x.shape[1]):
        zd, xd = z[seen[:, d]], x[seen[:, d], d]
        precision = alpha[:, :, None] * np.eye(z.shape[1]) + zd.T @ zd  # (A, K', K')
        pulled = zd.T @ xd
        fitted = np.linalg.solve(precision, np.broadcast_to(pulled, alpha.shape)[:, :, None])[:, :, 0] @ pulled
        halves.append(0.5 * (xd @ xd - fitted))
        half_counts.append(0.5 * len(xd))
        level = level + 0.5 * (np.log(alpha).sum(axis=1) - np.linalg.slogdet(precision)[1]) - 0.5 * len(xd) * LOG_2PI
    if not model.diagonal:
        half_counts, halves = [sum(half_counts)], [sum(halves)]
    for count, half in zip(half_counts, halves, strict=True):
        level = level + a0 * np.log(b0) - gammaln(a0) + gammaln(a0 + count) - (a0 + count) * np.log(b0 + half)
    return level
