"""How much a bound loses beside quadrature over two factors whose loadings are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logsumexp

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab
from latens.models.likelihoods import Likelihood
from latens.models.multi_view.coefficients import ViewPosterior
from latens.models.multi_view.model import MultiView, MultiViewPosterior, View

D, K, N = 12, 2, 4


def lost_nats(
    likelihood: Likelihood,
    tau: float,
    level: np.ndarray,
    log_density: Callable[[Any, Any], Any],
    rng: np.random.Generator,
    parameters: Any = None,
) -> float:
    """Evidence of rows that are drawn from the model, less their bounds, per entry; levels (D,) of eta."""
    view = View("v", 0, D, likelihood, inclusion=None)
    model, noise = MultiView((view,)), KnownGamma(np.full(D, tau))
    loadings, ones = 0.5 * rng.normal(size=(D, K)), np.ones(K)
    weights = SpikeSlab(np.ones((D, K)), loadings, np.zeros((D, K)), ones)
    offsets = Offsets(level[:, None], np.zeros((D, 1)))
    posterior = ViewPosterior(weights, offsets, Gamma(ones, ones), None, noise, parameters)
    q = MultiViewPosterior({"v": posterior}, KnownGamma(np.ones((1, K))))
    y = likelihood.draw(rng.normal(size=(N, K)) @ loadings.T + level, view.about(posterior), rng)
    rows, local = Rows(y), model.local_step(q, Rows(y))
    for _ in range(200):
        local = model.local_step(q, rows, local)
    bounds, spread = model.row_bounds(q, rows, local), model.curved(q, rows, local).spread
    nodes, mass = hermegauss(20)
    grid = np.stack([part.ravel() for part in np.meshgrid(nodes, nodes)], axis=1)
    log_mass = np.log(np.outer(mass, mass).ravel() / mass.sum() ** 2) + 0.5 * np.sum(grid**2, axis=1)
    evidence = []
    for n in range(N):
        root = np.linalg.cholesky(1.3 * spread[n])
        z = local.mean[n] + grid @ root.T
        eta = z @ loadings.T + level
        entries = log_density(np.broadcast_to(y[n], eta.shape), eta)
        evidence.append(logsumexp(entries.sum(axis=1) - 0.5 * np.sum(z**2, axis=1) + log_mass))
        evidence[-1] += np.log(np.linalg.det(root))
    return float(np.mean(np.array(evidence) - bounds)) / D
