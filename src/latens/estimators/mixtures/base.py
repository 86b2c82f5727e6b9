"""What estimators of clusters share: weights, starts, predictions."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from array_api_compat import array_namespace
from sklearn.utils.validation import check_is_fitted

from latens.array import Array, Floats
from latens.array.transfer import is_sparse
from latens.core import Rows
from latens.estimators.base import VariationalTransformer
from latens.estimators.parameters import one_of, positive_number, whole_number
from latens.estimators.rows.lazy import lazily
from latens.estimators.rows.sampling import column_variances, filled
from latens.estimators.rows.units import Frame
from latens.estimators.starts import kmeans_labels, nearest_labels
from latens.families.dirichlet import Dirichlet
from latens.families.proportions import Proportions
from latens.families.sticks import Sticks
from latens.models.mixture.model import Memberships, Mixture, MixturePosterior

__all__ = ["MixtureEstimator"]

FEWEST_ROWS = 8  # per cluster, where the number of clusters is to be found
MOST_CLUSTERS = 24


class MixtureEstimator(VariationalTransformer):
    """Adds memberships to the shell; a subclass builds the prior of one cluster and publishes it."""

    weight_prior: str
    weight_concentration_prior: float | None

    @lazily
    def predict(self, X: Any) -> Array:
        """The most probable cluster of each row (n,), numbered as in `means_`."""
        proba = self.predict_proba(X)
        return array_namespace(proba).argmax(proba, axis=1)

    @lazily
    def predict_proba(self, X: Any) -> Array:
        """Probability of each cluster for each row (n, K)."""
        return self._ask(X, lambda rows, local: (local.mean,))[0]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the most probable cluster of each row (n,)."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def top_features(self, n: int = 5) -> dict[str, list[str]]:
        """For each cluster, the `n` columns in which it differs most from all rows together."""
        check_is_fitted(self)
        n, names = whole_number("n", n), self._feature_names()
        clusters, weights = self.posterior_.clusters, self.posterior_.weights.mean
        overall = weights @ clusters.mean
        spread = weights @ ((clusters.mean - overall) ** 2 + clusters.row_variance)
        apart = np.abs(clusters.mean - overall) / np.sqrt(np.maximum(spread, np.finfo(float).tiny))
        order = np.argsort(-apart, axis=1, kind="stable")[:, :n]
        return {
            str(name): [str(names[d]) for d in row]
            for name, row in zip(self.get_feature_names_out(), order, strict=True)
        }

    def _extra_numbers(self, q: Any, stats: Any) -> dict[str, Any]:
        return {}  # a cluster's share is its weight

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("bic", "aic", "lower_bound_", "lower_bounds_"):
            raise AttributeError(
                f"{type(self).__name__} has no {name}: use elbo_, a lower bound on the log evidence with all its "
                "constants; of models of the same rows, prefer the one whose elbo_ is higher."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _weight_family(self) -> Dirichlet | Sticks | Proportions:
        """The prior of the weights, for one component."""
        kind = one_of("weight_prior", self.weight_prior, ["dirichlet", "dirichlet_process", "uniform"])
        given = self.weight_concentration_prior
        level = 1.0 if given is None else positive_number("weight_concentration_prior", given)
        if kind == "dirichlet":
            return Dirichlet(np.array([level]))
        return Sticks.prior(1.0, 1.0 / level) if kind == "dirichlet_process" else Proportions(np.ones(1))

    def _start(
        self, model: Mixture, sample: Rows, rng: np.random.Generator, restart: int, frame: Frame
    ) -> MixturePosterior:
        x: Array = sample.x if is_sparse(sample.x) else filled(sample)
        variance = column_variances(x)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        if not isinstance(self.init, str):
            centres = self._given_centres(x.shape[1], frame)
            return _posterior_of(model, x, nearest_labels(x / scale, centres / scale), len(centres))
        k = self._starting_size(sample)
        if one_of("init", self.init, ["auto", "random"]) == "random":
            centres = self._random_centres(x, k, rng)
            return model.global_step(model.prior(k), model.imagined(np.full(k, x.shape[0] / k), centres, variance))
        return _posterior_of(model, x, kmeans_labels(x / scale, k, rng), k)

    def _random_centres(self, x: Array, k: int, rng: np.random.Generator) -> Floats:
        """The textbook's start: normal about the mean of the data, at their scale."""
        return np.asarray(x.mean(axis=0) + rng.normal(size=(k, x.shape[1])) * x.std(axis=0))

    def _given_centres(self, d: int, frame: Frame) -> Floats:
        """(K, D), centres that the caller gave in data units."""
        given = self.init.get("means") if isinstance(self.init, dict) else self.init
        try:
            centres = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            centres = np.zeros(0)
        k = self.n_components or (len(centres) if centres.ndim else 0)
        if centres.ndim != 2 or centres.shape != (k, d) or not np.isfinite(centres).all():
            raise ValueError(
                f"init={self.init!r} gives no centres; expected 'auto', 'random', or finite values of shape "
                f"({self.n_components or 'K'}, {d}), as an array or as {{'means': array}}."
            )
        return frame.enter_direction(centres - frame.origin)

    def _default_size(self, sample: Rows) -> int:
        return int(max(1, min(MOST_CLUSTERS, len(sample) // FEWEST_ROWS)))


def _posterior_of(model: Mixture, x: Array, labels: Any, k: int) -> MixturePosterior:
    """What rows would say if their clusters were known."""
    local = Memberships(np.eye(k)[labels])
    return model.global_step(model.prior(k), model.statistics(Rows(x), local))
