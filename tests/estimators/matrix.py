"""Every estimator with quick settings, as the robustness matrix runs them; a new one adds its row."""

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
    binary: bool = False  # rows of 0 and 1
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weight = {} if sample_weight is None else {"sample_weight": sample_weight}
            return model.fit(X, targets(X), **weight) if self.supervised else model.fit(X, **weight)

    def answer(self, model: Any, X: Any) -> np.ndarray:
        """What it says about rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(model.predict(X) if self.supervised else model.transform(X))


def targets(X: Any) -> Any:
    """As many targets as X has rows, whatever X is."""
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
        Subject("NoisyICA", QUICK),
        Subject("FactorAnalysis", QUICK),
        Subject("MultiViewFactorAnalysis", QUICK),
        Subject("BayesianLinearRegression", supervised=True, missing=False),
    )
}

Check = Callable[[Subject], None]
