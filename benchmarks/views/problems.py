"""The four cases: two Gaussian views, the same with holes, three likelihoods, and a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import latens

__all__ = ["CASES", "Problem", "correlations", "problem", "subspace"]

CASES: dict[str, dict[str, Any]] = {
    "a": {"n_samples": 500, "n_features": (1000, 500)},
    "b": {"n_samples": 500, "n_features": (1000, 500), "missing": 0.2},
    "c": {
        "n_samples": 500,
        "n_features": (500, 300, 300),
        "likelihoods": ("gaussian", "bernoulli", "poisson"),
    },
    "d": {"n_samples": 5000, "n_features": (2000, 1000), "n_factors": 10},
}
UPPER = {"a": 10, "b": 10, "c": 10, "d": 15}  # factors to start from
SMALL = {"n_samples": 100, "n_features": (40, 30)}


@dataclass(frozen=True, eq=False)
class Problem:
    views: dict[str, np.ndarray]
    truth: Any
    n_components: int


def problem(case: str, seed: int, small: bool = False, **changes: Any) -> Problem:
    options = {"n_factors": 5} | CASES[case] | changes
    if small:
        options |= {**SMALL, "n_features": (40, 30, 20)[: len(options["n_features"])], "n_factors": 2}
    views, truth = latens.datasets.make_multiview(random_state=seed, **options)
    return Problem(views, truth, 4 if small else UPPER[case])


def correlations(codes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """(K,), of each true factor with the one found that is most like it."""
    spread = scores.std(axis=0) > 1e-12
    both = np.corrcoef(codes.T, scores[:, spread].T)[: codes.shape[1], codes.shape[1] :]
    return np.abs(both).max(axis=1, initial=0.0)


def subspace(codes: np.ndarray, scores: np.ndarray) -> float:
    """Mean canonical correlation: what rotations of the factors do not change."""
    q, r = (np.linalg.qr(x - x.mean(axis=0))[0] for x in (codes, scores))
    return float(np.linalg.svd(q.T @ r, compute_uv=False)[: codes.shape[1]].mean())
