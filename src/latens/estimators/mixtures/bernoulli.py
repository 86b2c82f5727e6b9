"""Clusters of binary rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from latens.array import Array, Floats
from latens.array.transfer import is_sparse
from latens.core import Rows, Statistics
from latens.estimators.display.strongest import standard_errors
from latens.estimators.fitting.context import FitContext
from latens.estimators.mixtures.base import MixtureEstimator
from latens.estimators.parameters import positive_number
from latens.estimators.rows.sampling import column_places, filled
from latens.estimators.rows.units import Units
from latens.families.bernoulli_columns import BernoulliColumns
from latens.families.beta import Beta
from latens.models.mixture.model import Mixture, MixturePosterior

__all__ = ["BernoulliMixture"]

# Weight of each of the two values in the prior, beside that of the column's own share. Without it the prior of a rare
# column says that a cluster has the value always or never: rows of rare values become clusters of their own, and what
# a cluster has not shown is next to impossible in it.
EACH_VALUE = 0.1


class BernoulliMixture(MixtureEstimator):
    """Find clusters of rows of zeros and ones, and their number.

    Parameters
    ----------
    n_components : int, optional
        Largest number of clusters; unneeded clusters are merged or deleted. None chooses this limit.
    weight_prior : {"dirichlet", "dirichlet_process", "uniform"}
        Prior of the cluster sizes: learnt sizes, learnt sizes that favour a few large clusters, or equal sizes.
    binarize : float, optional
        Values above it count as 1, the others as 0, with a warning if X has other values than 0 and 1; None refuses
        such values.
    weight_concentration_prior : float, optional
        Concentration of the Dirichlet prior per cluster, or the mean concentration of the Dirichlet process; None is 1.
    probability_prior : float
        Weight w of the prior of each probability, in rows: Beta(w (m + .1), w (1 - m + .1)), where m is the share of
        ones in the column.
    max_iter, tol : int, float
        Largest number of iterations, and the gain of the bound in nats per row below which a fit has converged.
    max_time : float, optional
        Seconds after which a fit ends with the best state so far, and with a warning; None: no limit.
    n_init : int
        Number of starts; the fit with the highest bound is kept.
    init : {"auto", "random"}, array of shape (K, D) or dict
        k-means++ starts, random probabilities as in the textbook, or given ones (also as ``{"means": array}``).
    moves : bool
        Whether to try merging, splitting, deleting and exchanging clusters; accepted only if the bound rises.
    prune : bool
        Whether unneeded components are left out; False fits and publishes exactly `n_components`.
    random_state : int, RandomState, Generator or None
    warm_start : bool
        Whether `fit` continues from the last fit.
    verbose : int
        1 shows a progress bar.
    callbacks : callable or list of callables
        Called with an `Iteration` each; returning True stops the fit.
    n_jobs : int, optional
        Threads; None uses all cores. The result does not depend on it.
    learning_method : {"batch", "online"}
        Whether every iteration uses all rows, or parameters are updated after each batch of rows (Robbins-Monro). An
        online fit begins with a search on a sample; `max_iter` is then the largest number of passes, and two are often
        enough. The bounds of single passes are estimates; `elbo_` is the bound for all rows.
    batch_size, learning_decay, learning_offset : int, float, float
        Rows of a batch, and the weight of batch t, (learning_offset + t) ** -learning_decay.
    forget : float
        For streams (`partial_fit`) whose distribution changes: only the last 1/forget rows count, and the
        model is that of a `fit` to these rows. 0: all rows count. `fit` gives every row the same weight.

    Attributes
    ----------
    weights_ : array (K,)
        Expected share of each cluster, the largest first.
    means_ : array (K, D)
        Probability of a 1 in each column of each cluster.
    share_ : array (K,)
        Share of the rows in each cluster.
    elbo_, elbo_history_, trace_, n_iter_, converged_, posterior_, n_components_
        As in every estimator; the reference describes them.

    Notes
    -----
    X may be a SciPy sparse matrix of zeros and ones, which stays sparse; time grows with the number of ones. Other
    values in a sparse matrix are refused, not binarized.

    Examples
    --------
    >>> import latens
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> chance = np.array([[0.9] * 6 + [0.1] * 6, [0.1] * 6 + [0.9] * 6])
    >>> X = (rng.random((200, 12)) < chance[rng.integers(2, size=200)]).astype(float)
    >>> model = latens.BernoulliMixture(8, random_state=0).fit(X)
    >>> model.n_components_
    2
    """

    scaled: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    sparse_cut: ClassVar[bool] = (
        False  # scikit-learn takes whoever predicts chances from any such rows for a classifier
    )

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weight_prior: str = "dirichlet",
        binarize: float | None = 0.5,
        weight_concentration_prior: float | None = None,
        probability_prior: float = 1.0,
        max_iter: int = 500,
        max_time: float | None = None,
        tol: float = 1e-5,
        n_init: int = 3,
        init: Any = "auto",
        moves: bool = True,
        prune: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Any = None,
        n_jobs: int | None = None,
        learning_method: str = "batch",
        batch_size: int = 1024,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        forget: float = 0.0,
    ) -> None:
        super().__init__(
            n_components,
            max_iter=max_iter,
            max_time=max_time,
            tol=tol,
            n_init=n_init,
            init=init,
            moves=moves,
            prune=prune,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            callbacks=callbacks,
            n_jobs=n_jobs,
        )
        self.learning_method = learning_method
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.forget = forget
        self.weight_prior = weight_prior
        self.binarize = binarize
        self.weight_concentration_prior = weight_concentration_prior
        self.probability_prior = probability_prior

    def _build(self, context: FitContext) -> Mixture:
        sample = context.sample
        x: Array = sample.x if is_sparse(sample.x) else filled(sample)
        worth = positive_number("probability_prior", self.probability_prior)
        ones = np.asarray(x.sum(axis=0), dtype=np.float64)
        share = (ones + 0.5) / (x.shape[0] + 1.0)
        chances = Beta(worth * (share + EACH_VALUE)[None], worth * (1.0 - share + EACH_VALUE)[None])
        return Mixture(self._weight_family(), BernoulliColumns(chances))

    def _strength_errors(self) -> Floats:
        """(K, D), by how a column varies among all rows: in few rows that lack a rare one it would not vary at all."""
        spread = np.maximum(self._column_spread(), np.finfo(float).tiny)
        return np.asarray(standard_errors(spread**2, self._rows_shown()) / spread)

    def _random_centres(self, x: Array, k: int, rng: np.random.Generator) -> Floats:
        """The textbook's start: uniform between a quarter and three quarters."""
        return rng.uniform(0.25, 0.75, size=(k, x.shape[1]))[:, column_places(Rows(x))]

    def _publish(self, q: MixturePosterior, stats: Statistics, units: Units) -> dict[str, Any]:
        return {"weights": q.weights.mean, "means": q.clusters.mean, "components": q.clusters.mean}
