"""How sure the prior of a cluster is that its columns do not go together, found in the rows.

A Wishart prior with D + 1 degrees of freedom leaves correlations open, and expects large ones: given the other columns,
it takes what is left of a column for small. Where columns go together that is so. Where they do not, clusters of few
rows are described too narrowly: on wine with a fifth of the entries hidden, intervals at nominal 95 % held 89. The same
expected variances with more degrees of freedom say that columns are closer to being independent; so do those of all
rows, where there are no clusters. The evidence of rough clusters, which is exact and needs their sums alone, tells
which of a few priors describes the rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from latens.array import Floats, Index
from latens.array.packed_symmetric import upper
from latens.estimators.fitting.starts import kmeans_labels
from latens.families.normal_wishart import NormalWishart

__all__ = ["with_likeliest_degrees"]

MORE_DEGREES = (0.5, 1.0, 2.0, 4.0)  # for each column, beyond those of the prior
NUMBERS_OF_CLUSTERS = (1, 2, 4, 8)  # rough ones, of which those with the largest evidence count
FEWEST_ROWS = 8  # of a rough cluster, on average
MOST_ROWS = 1024  # that are looked at
MOST_COLUMNS = 256  # beyond which a prior stays as it is: evidences would take as long as a fit
LEAST_NATS = 3.0  # by which the evidence is larger where a prior is changed


def with_likeliest_degrees(prior: NormalWishart, x: Floats) -> NormalWishart:
    """The prior of one cluster with as many degrees of freedom as complete rows x (n, D) ask for."""
    (n, d), stride = x.shape, -(-len(x) // MOST_ROWS)
    if d < 2 or d > MOST_COLUMNS or n < 2 * FEWEST_ROWS:
        return prior
    x = x[::stride]
    scale = np.sqrt(np.maximum(x.var(axis=0), np.finfo(float).tiny))
    numbers = [k for k in NUMBERS_OF_CLUSTERS if k == 1 or k * FEWEST_ROWS <= len(x)]
    rough = [_sums(x, kmeans_labels(x / scale, k, np.random.default_rng(0)) if k > 1 else None) for k in numbers]
    # rows that are no clusters spread as far as they do, and not as far as within rough ones
    widened = replace(prior, scatter=prior.scatter * _wider(prior, x)[:, None] * _wider(prior, x))
    priors = [prior, *(_with_more(one, times * d) for one in (prior, widened) for times in MORE_DEGREES)]
    evidences = np.array([[_evidence(one, *sums) for sums in rough] for one in priors])
    best, number = np.unravel_index(np.argmax(evidences), evidences.shape)
    # where one cluster is likeliest, a prior made for it would leave no room for clusters that overlap
    is_better = numbers[number] > 1 and evidences[best, number] > evidences[0].max() + LEAST_NATS
    return priors[best] if is_better else prior


def _with_more(prior: NormalWishart, more: float) -> NormalWishart:
    """With so many degrees of freedom more, about the same variances."""
    spare = prior.dof - prior.mean.shape[1] + 1
    return replace(prior, dof=prior.dof + more, scatter=(1 + more / spare)[:, None, None] * prior.scatter)


def _wider(prior: NormalWishart, x: Floats) -> Floats:
    """(D,), how many times as far the rows spread as the prior expects of a cluster, where that is further."""
    spare = prior.dof - prior.mean.shape[1] + 1
    inside = np.diagonal(prior.scatter[0]) / spare
    return np.asarray(np.sqrt(np.maximum(x.var(axis=0) / inside, 1.0)))


def _sums(x: Floats, labels: Index | None) -> tuple[Floats, Floats, Floats]:
    """Counts (K, 1), sums (K, D) and packed sums of products of the rows of each cluster."""
    groups = [x] if labels is None else [x[labels == k] for k in range(labels.max() + 1)]
    counts = np.array([[float(len(group))] for group in groups])
    return counts, np.stack([group.sum(axis=0) for group in groups]), upper(np.stack([g.T @ g for g in groups]))


def _evidence(prior: NormalWishart, counts: Floats, sums: Floats, products: Floats) -> float:
    """Log probability of the rows and of who is in which cluster, all weights of clusters being as likely."""
    k, n = len(counts), counts.sum()
    labels = gammaln(k) - gammaln(k + n) + np.sum(gammaln(1 + counts))
    many = prior.tiled(k)
    return float(np.sum(many.evidence(counts, sums, products, many)) + labels)
