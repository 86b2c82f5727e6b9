"""Every estimator with quick settings: the table of all tests that hold for each of them. A new one adds its row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import latens

N, D, K = 40, 4, 2


@dataclass(frozen=True)
class Subject:
    name: str
    options: dict[str, Any] = field(default_factory=dict)  # quick and repeatable
    binary: bool = False  # rows of 0 and 1, which have no unit
    supervised: bool = False  # needs y, and answers `predict`
    missing: bool = True  # NaN means missing
    sparse: bool = False  # takes CSR rows

    def make(self, **options: Any) -> Any:
        return getattr(latens, self.name)(**{**self.options, **options})

    def rows(self, n: int = N, d: int = D, seed: int = 0) -> np.ndarray:
        """Rows in which there is something to find."""
        rng = np.random.default_rng(seed)
        codes = (rng.random((n, K)) < 0.4).astype(float)
        x = codes @ np.where(rng.random((K, d)) < 0.6, 2.0, -1.0) + 0.4 * rng.normal(size=(n, d))
        return (x > 0.8).astype(float) if self.binary else x

    def fit(self, X: Any, sample_weight: Any = None, **options: Any) -> Any:
        return self.fit_to(self.make(**options), X, sample_weight)

    def fit_to(self, model: Any, X: Any, sample_weight: Any = None) -> Any:
        """Fit, told nothing of convergence."""
        return self.learn(model.fit, X, sample_weight)

    def stream_to(self, model: Any, X: Any, sample_weight: Any = None) -> Any:
        """One batch, told nothing of convergence."""
        return self.learn(model.partial_fit, X, sample_weight)

    def learn(self, method: Callable[..., Any], X: Any, sample_weight: Any = None) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            return method(X, targets(X), **weight) if self.supervised else method(X, **weight)

    def answer(self, model: Any, X: Any) -> np.ndarray:
        """What it says about rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.predict(X) if self.supervised else model.transform(X))


def targets(X: Any) -> Any:
    """As many targets as X has rows, whatever X is; those of rows that stand in both of two tables are the same."""
    try:
        n = len(X)
    except TypeError:
        n = getattr(X, "shape", (5,))[0] if getattr(X, "shape", ()) else 5
    return np.random.default_rng(1).normal(size=n)


QUICK = {"n_components": K, "random_state": 0, "n_init": 1, "max_iter": 30}

SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("BinaryFactorAnalysis", QUICK),
        Subject("NoisyOr", QUICK, binary=True, sparse=True),
        Subject("GaussianMixture", QUICK),
        Subject("BernoulliMixture", QUICK, binary=True, sparse=True),
        Subject("LatentClassAnalysis", QUICK),
        Subject("NoisyICA", QUICK),
        Subject("FactorAnalysis", QUICK),
        Subject("MultiViewFactorAnalysis", QUICK),
        Subject("BayesianLinearRegression", supervised=True, missing=False),
    )
}


def _variant(name: str, **options: Any) -> Subject:
    plain = SUBJECTS[name]
    return Subject(name, {**plain.options, **options}, plain.binary, plain.supervised, plain.missing, plain.sparse)


# every estimator again, long enough to converge, and the ways of fitting that take other paths through its model
LONG = {"max_iter": 3000}
VARIANTS: dict[str, Subject] = {
    **{name: _variant(name, **LONG) for name in SUBJECTS},
    "binary, ml, truncated": _variant("BinaryFactorAnalysis", **LONG, prior="ml", e_step="truncated"),
    "binary, mean field, diagonal, intercept": _variant(
        "BinaryFactorAnalysis", **LONG, e_step="mean-field", noise="diagonal", fit_intercept=True
    ),
    "noisy-OR, ml": _variant("NoisyOr", **LONG, prior="ml"),
    "mixture, diagonal, process": _variant(
        "GaussianMixture", **LONG, covariance_type="diag", weight_prior="dirichlet_process"
    ),
    "mixture, tied": _variant("GaussianMixture", **LONG, covariance_type="tied"),
    "factors, relevance": _variant("FactorAnalysis", **LONG, prior="ard"),
    "regression, Gamma": _variant("BayesianLinearRegression", weight_precision="gamma", noise_precision="gamma"),
}

_fits: dict[tuple[str, str], Any] = {}


def table(subject: Subject, holes: bool = False, n: int = 100, d: int = 6) -> np.ndarray:
    """The rows that shared fits have seen."""
    x = subject.rows(n, d, seed=5)
    return np.where(np.random.default_rng(7).random(x.shape) < 0.1, np.nan, x) if holes else x


def shared_fit(name: str, holes: bool = False) -> Any:
    """A variant fitted to `table`, one for all tests of a process: look at it, and change only a copy."""
    key = (name, "holes" if holes else "complete")
    if key not in _fits:
        subject = VARIANTS[name]
        _fits[key] = subject.fit(table(subject, holes))
    return _fits[key]
