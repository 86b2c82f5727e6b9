"""Rows of the contract table for mixtures, and the evidences their bounds are below.

The evidence of a mixture is the sum over all K^N labellings, each worth p(labels) times the evidence of its clusters,
which is a chain of predictive densities: one row, or one entry, given those before it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, logsumexp
from scipy.stats import multivariate_t, norm, t

from latens.core import Rows
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.families.dirichlet import Dirichlet
from latens.families.known_dirichlet import KnownDirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_means import NormalMeans
from latens.families.normal_wishart import NormalWishart
from latens.families.sticks import Sticks
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior
from tests.contract.measurements.evidence import observed
from tests.contract.models.noisy_or_cases import Cut, ones_of

WEIGHTS = {
    "dirichlet": lambda: Dirichlet(np.array([0.7])),
    "process": lambda: Sticks.prior(2.3, 1.7),
    "uniform": lambda: KnownDirichlet(np.ones(1)),
}


def clusters(kind: str, d: int) -> Any:
    """Prior of one cluster, strong enough for its constants to matter."""
    place = np.linspace(-0.4, 0.5, d)[None]
    wide = np.linspace(1.2, 2.1, d)[None]
    if kind in ("full", "tied"):
        scatter = np.diag(wide[0]) + 0.3 * np.ones((d, d))
        return NormalWishart(place, np.array([0.6]), np.array([d + 1.3]), scatter[None], kind == "tied")
    if kind == "diag":
        return NormalColumns(place, np.array([[0.6]]), np.array([[1.7]]), wide)
    if kind == "spherical":
        return NormalColumns(place, np.array([[0.6]]), np.array([[1.7]]), np.array([[1.4]]), True)
    if kind == "known":
        return NormalMeans(np.array([[0.8]]), place, np.array([[2.5]]))
    return BernoulliColumns(Beta(0.5 * wide, 0.9 * wide))


def start(model: Mixture, k: int, x: np.ndarray, rng: np.random.Generator) -> MixturePosterior:
    """From memberships drawn at random."""
    local = Memberships(rng.dirichlet(np.full(k, 0.5), len(x)))
    return model.global_step(model.prior(k), model.statistics(Rows(np.asarray(x, float)), local))


def log_evidence(model: Mixture, q: MixturePosterior, rows: Rows) -> float:
    x, seen = observed(rows)
    k = q.n_components
    each = []
    for labels in itertools.product(range(k), repeat=len(x)):
        counts = np.bincount(np.array(labels, int), minlength=k).astype(float)
        each.append(log_labels(model.weights, counts) + given_labels(model.clusters, x, seen, np.array(labels)))
    return float(logsumexp(each))


def log_labels(weights: Any, counts: np.ndarray) -> float:
    """log p(labels), the weights integrated out."""
    k, n = len(counts), counts.sum()
    if isinstance(weights, KnownDirichlet):
        return float(-n * np.log(k))
    if isinstance(weights, Dirichlet):
        a = weights.concentration[0]
        return float(gammaln(k * a) - gammaln(k * a + n) + np.sum(gammaln(a + counts) - gammaln(a)))
    shape, rate = weights.alpha.shape[0], weights.alpha.rate[0]
    u = np.linspace(-30 / shape, np.log(60 / rate), 4000)
    alpha, later = np.exp(u), np.cumsum(counts[::-1])[::-1]
    level = shape * np.log(rate) - gammaln(shape) + shape * u - rate * alpha + np.log(u[1] - u[0])
    for j in range(k - 1):
        level = level + betaln(1 + counts[j], alpha + later[j + 1]) - betaln(1, alpha)
    return float(logsumexp(level))


def given_labels(prior: Any, x: np.ndarray, seen: np.ndarray, labels: np.ndarray) -> float:
    if isinstance(prior, NormalWishart):
        order = np.argsort(~seen.all(axis=1), kind="stable")  # complete rows first: their chain is closed
        if prior.tied:
            return _chain(prior, x[order], seen[order], labels[order])
        groups = [order[labels[order] == k] for k in range(labels.max(initial=0) + 1)]
        return sum(_chain(prior, x[g], seen[g], labels[g]) for g in groups)
    return sum(_entries(prior, x, seen, labels))


def _chain(prior: NormalWishart, x: np.ndarray, seen: np.ndarray, labels: np.ndarray) -> float:
    """Each row's t given the rows before it; a hole in any but the last row is integrated out."""
    d, n_labels = x.shape[1], int(labels.max(initial=0)) + 1
    b = np.full(n_labels, prior.strength[0])
    m = np.tile(prior.mean[0], (n_labels, 1))
    return _link(b, m, float(prior.dof[0]), prior.scatter[0], x, seen, labels, d)


def _link(
    b: np.ndarray, m: np.ndarray, nu: float, s: np.ndarray, x: np.ndarray, seen: np.ndarray, labels: np.ndarray, d: int
) -> float:
    if not len(x):
        return 0.0
    k, row, there = labels[0], x[0], seen[0]
    dof, scale = nu + 1 - d, s * (b[k] + 1) / (b[k] * (nu + 1 - d))
    if len(x) == 1 and not there.all():
        return float(multivariate_t.logpdf(row[there], m[k][there], scale[np.ix_(there, there)], df=dof))
    if not there.all():
        (hole,) = np.flatnonzero(~there)
        u = (np.arange(400) + 0.5) / 400 * np.pi - np.pi / 2
        values, mass = m[k, hole] + 3 * np.tan(u), 3 * np.pi / 400 / np.cos(u) ** 2
        whole = np.vstack([np.ones((1, d), bool), seen[1:]])
        each = []
        for value in values:
            filled = x.copy()
            filled[0, hole] = value
            each.append(_link(b, m, nu, s, filled, whole, labels, d))
        return float(logsumexp(each, b=mass))
    here = float(multivariate_t.logpdf(row, m[k], scale, df=dof))
    gap = row - m[k]
    b_new, m_new = b.copy(), m.copy()
    b_new[k], m_new[k] = b[k] + 1, m[k] + gap / (b[k] + 1)
    after = s + b[k] / (b[k] + 1) * np.outer(gap, gap)
    return here + _link(b_new, m_new, nu + 1, after, x[1:], seen[1:], labels[1:], d)


def _entries(prior: Any, x: np.ndarray, seen: np.ndarray, labels: np.ndarray) -> Iterator[float]:
    """Each entry's predictive density given the entries before it, where columns are independent in a cluster."""
    d = x.shape[1]
    for k in range(labels.max(initial=0) + 1):
        if isinstance(prior, BernoulliColumns):
            on, off = prior.chance.on[0].copy(), prior.chance.off[0].copy()
        elif isinstance(prior, NormalMeans):
            m, v = prior.mean[0].copy(), np.full(d, prior.spread[0, 0])
        else:
            m, b = prior.mean[0].copy(), np.full(d, prior.strength[0, 0])
            shape, rate = np.full(d, prior.shape[0, 0]), np.broadcast_to(prior.rate[0], (d,)).copy()
        for row, there in zip(x[labels == k], seen[labels == k], strict=True):
            for j in np.flatnonzero(there):
                if isinstance(prior, BernoulliColumns):
                    yield float(np.log((on[j] if row[j] else off[j]) / (on[j] + off[j])))
                    on[j], off[j] = on[j] + row[j], off[j] + 1 - row[j]
                    continue
                gap = row[j] - m[j]
                if isinstance(prior, NormalMeans):
                    noise = prior.noise[0, 0]
                    yield float(norm.logpdf(gap, scale=np.sqrt(v[j] + noise)))
                    m[j], v[j] = m[j] + gap * v[j] / (v[j] + noise), v[j] * noise / (v[j] + noise)
                    continue
                scale = np.sqrt(rate[j] / shape[j] * (1 + 1 / b[j]))
                yield float(t.logpdf(gap, 2 * shape[j], scale=scale))
                m[j], b[j] = m[j] + gap / (b[j] + 1), b[j] + 1
                grown = 0.5 * gap**2 * (b[j] - 1) / b[j]
                if prior.shared:
                    shape, rate = shape + 0.5, rate + grown
                else:
                    shape[j], rate[j] = shape[j] + 0.5, rate[j] + grown


def options(kind: str, weights: str) -> dict[str, Any]:
    """Of a `Case`."""
    return {
        "build": lambda d: Mixture(WEIGHTS[weights](), clusters(kind, d)),
        "start": start,
        "log_evidence": log_evidence,
        "exact_rows": True,
        "hierarchical": weights == "process",
    }


def binary_options(weights: str) -> dict[str, Any]:
    """The same with Bernoulli clusters, before which real rows are cut at 0."""
    return options("bernoulli", weights) | {
        "build": lambda d: Cut(Mixture(WEIGHTS[weights](), clusters("bernoulli", d))),
        "log_evidence": lambda model, q, rows: log_evidence(model, q, ones_of(rows)),
    }


GAUSSIAN = [
    ("full", "dirichlet"),
    ("full", "process"),
    ("full", "uniform"),
    ("tied", "dirichlet"),
    ("tied", "process"),
    ("diag", "dirichlet"),
    ("diag", "process"),
    ("spherical", "dirichlet"),
    ("spherical", "uniform"),
    ("known", "dirichlet"),
    ("known", "process"),
]
