"""Posteriors of every kind collected from one training of many small nets, what each costs, and the last layer's own.

The last layer has a posterior that needs no path: given the hidden units a regression is linear and a classification
convex, so that the inverse curvature about the trained weights is exact for the one and Laplace's for the other.
`LangevinOptimizer` draws from the same law where the weights are those of a torch module.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from latens import BayesianLinearRegression
from latens.experiments.experiment import Numbers
from latens.experiments.small_nets import Data, Nets, hidden_units
from latens.system.optional_imports import require

__all__ = [
    "KINDS",
    "LAST_LAYER",
    "METHODS",
    "SEVERAL",
    "SINGLE",
    "Collection",
    "cost_table",
    "last_layer_deviations",
]

LAST_LAYER = "last layer"
ONLINE = {"transport": "transport", "online EM": "em", "online gradient": "gradient"}
KINDS = ("SWAG", "FactorPosterior", *ONLINE)  # what is collected along the path
SEVERAL = {
    "SGD": "several SGD",
    "SWAG": "MultiSWAG",
    "FactorPosterior": "MultiPosterior",
    **{kind: f"several {kind}" for kind in (*ONLINE, LAST_LAYER)},
}
SINGLE = ("SGD", *KINDS, LAST_LAYER)  # of one training; each has its counterpart of several
METHODS = (*SINGLE, *(SEVERAL[kind] for kind in SINGLE))


class Collection:
    """One posterior of every kind for each net; all see the same snapshots."""

    def __init__(self, nets: Nets, rank: int, swag_rank: int) -> None:
        from latens.nets import SWAG, FactorPosterior, OnlineFactorPosterior

        modules = nets.modules()
        self.posteriors: dict[str, list[Any]] = {
            "SWAG": [SWAG(module, swag_rank) for module in modules],
            "FactorPosterior": [FactorPosterior(module, rank) for module in modules],
        }
        for kind, method in ONLINE.items():
            self.posteriors[kind] = [OnlineFactorPosterior(module, rank, method=method) for module in modules]
        self.seconds = dict.fromkeys(KINDS, 0.0)
        self.n_snapshots = 0

    def take(self) -> None:
        """A snapshot of all nets into all posteriors, each on the processor's clock."""
        self.n_snapshots += 1
        for kind, posteriors in self.posteriors.items():
            start = time.process_time()
            for posterior in posteriors:
                posterior.update()
            self.seconds[kind] += time.process_time() - start

    def draws(self, n: int, source: Any) -> dict[str, tuple[Any, Any]]:
        """For each kind mean (M, 1, weights) and deviations (M, n, weights)."""
        torch = require("torch", "torch")
        made = {}
        for kind, posteriors in self.posteriors.items():
            means = torch.stack([posterior.mean for posterior in posteriors])[:, None]
            made[kind] = means, torch.stack([_drawn(posterior, n, source) for posterior in posteriors]) - means
        return made

    def costs(self, name: str) -> list[tuple[str, str, float, float]]:
        """(set, kind, milliseconds a snapshot of one net, words kept for each weight)."""
        rows = []
        for kind, posteriors in self.posteriors.items():
            each = 1e3 * self.seconds[kind] / (self.n_snapshots * len(posteriors))
            n_words = sum(tensor.numel() for tensor in posteriors[0]._tensors().values())
            rows.append((name, kind, each, n_words / posteriors[0].selection.size))
        return rows


def cost_table(rows: list[tuple[str, str, float, float]]) -> Numbers:
    return Numbers.of("costs", ("set", "method", "CPU ms a snapshot", "numbers kept for each weight"), rows)


def _drawn(posterior: Any, n: int, source: Any) -> Any:
    """(n, weights)."""
    torch = require("torch", "torch")
    drawn = (posterior.sample(random_state=source) for _ in range(n))
    return torch.stack([torch.cat([values.flatten() for values in state.values()]) for state in drawn])


def last_layer_deviations(nets: Nets, data: Data, decay: float, n: int, source: Any) -> Any:
    """(M, n, weights): draws of the last layer's posterior about the trained weights, 0 in the other weights."""
    torch = require("torch", "torch")
    vectors, made = nets.vectors(), []
    for i, vector in enumerate(vectors):
        rows = data.rows[i, : data.counts[i]]
        units = hidden_units([w[i : i + 1] for w in nets.weights], data.x[i : i + 1, rows])[0].double().numpy()
        target = data.y[i, rows].double().numpy()
        if target.shape[1] == 1:
            spread = BayesianLinearRegression(fit_intercept=False).fit(units, target[:, 0]).coef_covariance_
        else:
            logits = units @ torch.cat([nets.weights[2][i], nets.weights[3][i]]).double().numpy()
            spread = np.linalg.inv(_softmax_curvature(units, logits, decay * len(rows)))
        root = torch.as_tensor(np.linalg.cholesky(_symmetric(spread)), dtype=vector.dtype)
        deviations = vector.new_zeros((n, len(vector)))
        deviations[:, -len(root) :] = torch.randn(n, len(root), generator=source) @ root.T
        made.append(deviations)
    return torch.stack(made)


def _softmax_curvature(units: np.ndarray, logits: np.ndarray, prior: float) -> np.ndarray:
    """(H C, H C), curvature of minus the log posterior of weights (H, C) of a softmax on units (N, H)."""
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    h, c = units.shape[1], p.shape[1]
    curvature = np.empty((h, c, h, c))
    for a in range(c):
        for b in range(a, c):
            weight = p[:, a] * ((a == b) - p[:, b])
            curvature[:, a, :, b] = curvature[:, b, :, a] = (units * weight[:, None]).T @ units
    return np.asarray(curvature.reshape(h * c, h * c) + prior * np.eye(h * c))


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    """With a trace of the diagonal added, so that rounding leaves it definite."""
    whole = 0.5 * (matrix + matrix.T)
    return np.asarray(whole + 1e-10 * np.trace(whole) / len(whole) * np.eye(len(whole)))
