"""The log evidence of rows under a model: what its bound is below."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from latens.array import Floats
from latens.array.transfer import host
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.rows.validation import occupied
from latens.families.exposed_counts import ExposedCounts
from latens.families.negative_binomial_columns import NegativeBinomialColumns
from latens.families.sticks import Sticks
from latens.inference.uncertainty.annealing import anneal, collapsed, log_mean_with_error, temperatures
from latens.models.mixture.model import Mixture
from latens.system.seeds import generator

__all__ = ["LogEvidence", "log_evidence"]

MOST_CODES = 20_000  # combinations of codes of all rows up to which they are summed


@dataclass(frozen=True)
class LogEvidence:
    """A log evidence in nats, in the units of the data.

    Attributes
    ----------
    value : float
        The log evidence, or an estimate that is below it on average.
    error : float
        Standard error of the estimate; 0 where the value is exact.
    method : "exact" or "annealing"
    upper : float or None
        An estimate that is above it on average, where the codes that made the rows were given.
    """

    value: float
    error: float
    method: str
    upper: float | None = None

    def __float__(self) -> float:
        return self.value


def log_evidence(
    model: Any,
    X: Any = None,
    *,
    labels: Any = None,
    n_chains: int = 20,
    n_steps: int = 400,
    random_state: Any = 0,
) -> LogEvidence:
    """The log evidence of the rows of a fit, all unknowns integrated out: exact where feasible, else by annealing.

    Exact for mixtures and latent classes of one component, or of so few rows that all their labels can be gone through,
    and for linear regression with given precisions. Else by annealed importance sampling, for mixtures.

    Parameters
    ----------
    model : fitted estimator
    X : rows
        Those of the fit; regression needs none.
    labels : array (n,), optional
        Of simulated rows: the true cluster of each. Chains then go backwards from them as well and give `upper`.
    n_chains, n_steps : int
        Chains of annealing, and temperatures of each.
    random_state : int, RandomState or Generator

    Returns
    -------
    LogEvidence

    Examples
    --------
    >>> import numpy as np
    >>> import latens
    >>> X = np.array([[0.0], [0.2], [4.0], [4.1], [0.1]])
    >>> model = latens.GaussianMixture(2, prune=False, random_state=0).fit(X)
    >>> found = latens.metrics.log_evidence(model, X)
    >>> found.method, bool(found.value > model.elbo_)
    ('exact', True)
    """
    if not hasattr(model, "elbo_"):
        raise ValueError(f"{type(model).__name__} is not fitted; call fit(X) first.")
    parts = fitted_parts(model)
    inner = parts.model
    if getattr(inner, "bound_is_evidence", False):
        return LogEvidence(float(model.elbo_), 0.0, "exact")
    if not isinstance(inner, Mixture):
        raise ValueError(
            f"the evidence of a {type(model).__name__} has no estimate here: mixtures, latent classes and regression "
            "with given precisions have one. Its bound elbo_ is below it."
        )
    if X is None:
        raise ValueError("X is missing: the evidence of a mixture is summed over the rows of the fit; give them.")
    if isinstance(inner.weights, Sticks) or _has_sizes(inner.clusters):
        raise ValueError("weights of a Dirichlet process and sizes of negative binomials have no closed posterior.")
    rows = occupied(model._rows_of_fit(X))
    batch = parts.units.enter(rows)
    units = float(np.sum(host(parts.units.log_volume(rows))))
    k, n = int(parts.state.q.n_components), len(batch)
    if k == 1 or n * np.log(k) <= np.log(MOST_CODES):
        total = logsumexp([collapsed(inner, batch, np.array(codes), k) for codes in product(range(k), repeat=n)])
        return LogEvidence(float(total) - units, 0.0, "exact")
    why = inner.cannot_sample(model.posterior_)
    if why or (batch.seen is not None and not inner.samples_with_holes(model.posterior_)):
        raise ValueError(f"no chain can be run: {why or 'rows with missing entries are not drawn with covariances'}.")
    rng, at = generator(random_state), temperatures(int(n_steps))
    start = n * np.log(k)  # there are so many codes, and uniform ones have the weight of all
    forwards = np.array([anneal(inner, batch, k, at, rng) for _ in range(int(n_chains))])
    value, error = log_mean_with_error(forwards + start)
    upper = None
    if labels is not None:
        true = _checked_labels(labels, n, k)
        back: Floats = np.array([anneal(inner, batch, k, at, rng, states=true) for _ in range(int(n_chains))])
        upper = -log_mean_with_error(-(back + start))[0] - units
    return LogEvidence(value - units, error, "annealing", upper)


def _has_sizes(clusters: Any) -> bool:
    parts = getattr(clusters, "parts", {"": clusters})
    return any(isinstance(part, NegativeBinomialColumns | ExposedCounts) for part in parts.values())


def _checked_labels(labels: Any, n: int, k: int) -> Any:
    true = np.asarray(labels)
    if true.shape != (n,) or true.dtype.kind not in "iu" or true.min() < 0 or true.max() >= k:
        raise ValueError(f"labels must be {n} whole numbers from 0 to {k - 1}, one for each row.")
    return true
