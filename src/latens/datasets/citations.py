"""Papers that cite authors, by community: binary rows whose causes are known."""

from __future__ import annotations

import numpy as np

from latens.datasets.switching import probabilities, whole
from latens.datasets.truth import CauseTruth
from latens.system.seeds import Seed, generator

__all__ = ["make_citations"]

COMMUNITIES = (
    "kernel machines",
    "graphical models",
    "neural networks",
    "message passing",
    "reinforcement learning",
    "Gaussian processes",
    "theory of learning",
    "text and language",
)


def make_citations(
    n_samples: int = 5000,
    *,
    n_authors: int = 40,
    n_communities: int = 5,
    bridge: float = 0.15,
    activity: float = 0.25,
    leak: float = 0.01,
    random_state: Seed = None,
) -> tuple[np.ndarray, CauseTruth]:
    """Draw which authors each paper cites: every community has its authors, and some authors have two communities.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of papers, N.
    n_authors : int, default=40
        Number of authors, D; they are dealt to the communities in turn.
    n_communities : int, default=5
        Number of communities, K, from 1 to 8.
    bridge : float, default=0.15
        Share of the authors who are cited by a second community as well.
    activity : float, default=0.25
        Probability with which a paper belongs to a community, independently of the others.
    leak : float, default=0.01
        Probability with which an author is cited for no community at all.
    random_state : int, RandomState, Generator or None, default=None
        An integer makes the same rows every time.

    Returns
    -------
    X : ndarray of shape (N, D)
        1.0 where a paper cites an author; `truth.features` names the authors.
    truth : CauseTruth
        The chance of each author to be cited by a paper of each community, and which paper belongs to which.

    Examples
    --------
    >>> from latens.datasets import make_citations
    >>> X, truth = make_citations(100, random_state=0)
    >>> X.shape, truth.names[0], truth.features[:2]
    ((100, 40), 'kernel machines', ('author 00', 'author 01'))
    """
    n, rng = whole("n_samples", n_samples, smallest=1), generator(random_state)
    k = whole("n_communities", n_communities, smallest=1, largest=len(COMMUNITIES))
    d = whole("n_authors", n_authors, smallest=k)
    shared = probabilities("bridge", bridge, 1)[0]
    usage = np.full(k, probabilities("activity", activity, 1)[0])
    leaks = np.full(d, probabilities("leak", leak, 1)[0])
    home = np.sort(np.arange(d) % k)  # authors of one community stand side by side
    components = np.zeros((k, d))
    components[home, np.arange(d)] = rng.uniform(0.3, 0.8, size=d)
    if k > 1:
        second = (home + rng.integers(1, k, size=d)) % k
        also = np.flatnonzero(rng.random(d) < shared)
        components[second[also], also] = rng.uniform(0.3, 0.8, size=len(also))
    codes = (rng.random((n, k)) < usage).astype(np.float64)
    dark = (1 - leaks) * np.exp(codes @ np.log1p(-components))
    names = tuple(f"author {j:02d}" for j in range(d))
    truth = CauseTruth(components, codes, usage, leaks, names, COMMUNITIES[:k], None)
    return (rng.random((n, d)) >= dark).astype(np.float64), truth
