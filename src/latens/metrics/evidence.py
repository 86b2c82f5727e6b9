"""The log evidence of rows under a model: what its bound is below."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp

from latens.array import Floats
from latens.array.transfer import host
from latens.core import PointEstimating, Rows
from latens.errors import LatensWarning
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.rows.validation import occupied
from latens.families.exposed_counts import ExposedCounts
from latens.families.negative_binomial_columns import NegativeBinomialColumns
from latens.families.sticks import Sticks
from latens.inference.uncertainty.annealing import (
    Tempered,
    anneal,
    coldest,
    collapsed,
    log_mean_with_error,
    path_of,
    temperatures,
)
from latens.metrics.label_chains import LabelChains
from latens.models.mixture.model import Mixture
from latens.system.seeds import generator
from latens.system.threads import one_blas_thread

__all__ = ["LogEvidence", "log_evidence"]

MOST_ERROR = 0.5  # of chains of labels, above which they set out from the fit
TIMES_LONGER = 4  # steps of chains that have not arrived, once
MOST_CODES = 20_000  # combinations of codes of all rows up to which they are summed


@dataclass(frozen=True)
class LogEvidence:
    """A log evidence in nats, in the units of the data.

    Attributes
    ----------
    value : float
        The log evidence, or an estimate that is below the log evidence on average.
    error : float
        Standard error of the estimate; 0 if the value is exact. Infinite if the estimate has failed, that is, if it is
        below the lower bound.
    method : "exact" or "annealing"
    upper : float or None
        An estimate that is above the log evidence on average, if the true codes of simulated rows were given.
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
    """The log evidence of the rows of a fit, all unknowns integrated out: exact if feasible, otherwise by annealing.

    Exact for mixtures and latent classes with one component, or with so few rows that all assignments can be summed,
    and for linear regression with given precisions. Otherwise estimated by annealed importance sampling. Point
    estimates of a fit stay fixed: the means of `FactorAnalysis`, the tails of the sources of `NoisyICA`.

    Parameters
    ----------
    model : fitted estimator
        With posteriors, not point estimates: `prior="ard"` if there is a choice.
    X : rows
        Those of the fit; regression needs none.
    labels : array (n,) or (n, K), optional
        For simulated rows: the true cluster of each row, or its true codes. Chains then also run backwards from these
        and give `upper`.
    n_chains, n_steps : int
        Number of annealing chains, and of temperatures of each. If `error` is not far below 1, use more steps. If
        `value` is below `elbo_`, which is impossible for the evidence, chains are run again with four times the steps,
        or, for clusters and classes, from the memberships of the fit; if that does not help, `error` is infinite, with
        a warning.
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
    inner, q = parts.model, parts.state.q
    if getattr(inner, "bound_is_evidence", False):
        return LogEvidence(float(model.elbo_), 0.0, "exact")
    if isinstance(inner, PointEstimating) and inner.points:
        raise ValueError(
            f"{type(model).__name__} was fitted by maximum likelihood: points have no evidence. "
            "Fit with prior='ard', or compare log densities of rows that were not fitted, by score(X)."
        )
    if not isinstance(inner, Tempered):
        raise ValueError(
            f"the evidence of a {type(model).__name__} fitted like this has no estimate here: no codes are drawn "
            "from its posterior. Its bound elbo_ is below it."
        )
    if X is None:
        raise ValueError("X is missing: the evidence is that of the rows of the fit; give them.")
    if isinstance(inner, Mixture) and (isinstance(inner.weights, Sticks) or _has_sizes(inner.clusters)):
        raise ValueError("weights of a Dirichlet process and sizes of negative binomials have no closed posterior.")
    rows = occupied(model._rows_of_fit(X))
    n, counted = len(rows), float(parts.state.stats.n)
    if rows.weight is not None or not np.isclose(n, counted, rtol=1e-9):
        raise ValueError(
            f"X has {n} rows and the fit counted {counted:g}: rows with weights, and those of a stream that forgets, "
            "have no evidence. Give the rows of the fit."
        )
    batch = parts.units.enter(rows)
    units = float(np.sum(host(parts.units.log_volume(rows))))
    if isinstance(inner, Mixture) and (q.n_components == 1 or n * np.log(q.n_components) <= np.log(MOST_CODES)):
        return LogEvidence(_enumerated(inner, batch, q.n_components) - units, 0.0, "exact")
    why = inner.cannot_anneal(q)
    if why or (batch.seen is not None and not inner.anneals_with_holes(q)):
        raise ValueError(f"no chain can be run: {why or 'rows with missing entries are not drawn with covariances'}.")
    rng, path = generator(random_state), path_of(inner, batch, q)
    true = None if labels is None else _checked_labels(labels, n, q.n_components, clusters=isinstance(inner, Mixture))
    upper = None
    with one_blas_thread():
        for again in (False, True):
            steps = int(n_steps)
            if again and isinstance(inner, Mixture):
                path = LabelChains(inner, batch, q)
            elif again:
                steps *= TIMES_LONGER
            at = temperatures(steps, coldest(path))
            forwards: Floats = np.array([anneal(path, at, rng) for _ in range(int(n_chains))])
            start = path.log_states if isinstance(path, LabelChains) else inner.log_states(batch, q)
            value, error = log_mean_with_error(forwards + start)
            failed = value + 2 * min(np.nan_to_num(error), 1.0) - units < model.elbo_
            if not failed and not (error > MOST_ERROR and isinstance(inner, Mixture)):
                break
        if true is not None:
            back: Floats = np.array([anneal(path, at, rng, true) for _ in range(int(n_chains))])
            upper = -log_mean_with_error(-(back + start))[0] - units
    if failed:
        error = np.inf
        warnings.warn(
            f"the estimate {value - units:.1f} is below the bound {model.elbo_:.1f}, which the evidence is above, and "
            f"has failed: {steps} steps are too few for these rows; give n_steps={TIMES_LONGER * steps}.",
            LatensWarning,
            stacklevel=2,
        )
    return LogEvidence(value - units, error, "annealing", upper)


def _enumerated(model: Mixture, batch: Rows, k: int) -> float:
    """The sum over all labels of all rows."""
    every = (np.array(codes) for codes in product(range(k), repeat=len(batch)))
    return float(
        logsumexp([collapsed(model, model.statistics(batch, model.with_codes(codes, k)), k)[0] for codes in every])
    )


def _has_sizes(clusters: Any) -> bool:
    parts = getattr(clusters, "parts", {"": clusters})
    return any(isinstance(part, NegativeBinomialColumns | ExposedCounts) for part in parts.values())


def _checked_labels(labels: Any, n: int, k: int, *, clusters: bool) -> Any:
    true = np.asarray(labels)
    if not clusters:
        if true.shape != (n, k) or true.dtype.kind not in "biuf" or not np.all(np.isfinite(true)):
            raise ValueError(f"labels must be {n} x {k} numbers, the true codes of each row; got shape {true.shape}.")
        return true.astype(float)
    if true.shape != (n,) or true.dtype.kind not in "iu" or true.min() < 0 or true.max() >= k:
        raise ValueError(f"labels must be {n} whole numbers from 0 to {k - 1}, one for each row.")
    return true
