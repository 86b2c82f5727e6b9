"""Data sets whose parameters are known, and a fit's numbers beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

import latens

__all__ = ["PROBLEMS", "Problem", "truth_beside"]

Truth = dict[str, np.ndarray]  # as published: components first


@dataclass(frozen=True)
class Problem:
    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, Truth]]
    model: Callable[[], Any]
    loadings: str  # by which components are matched
    signed: bool = False  # whether their sign is free
    n_sets: int = 100


def _shares(variances: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """(K,), of the variance of a column, averaged over columns; `variances` (K, D) are those that components add."""
    return np.asarray(np.mean(variances / (variances.sum(axis=0) + noise), axis=1))


def _clusters(gap: float, n: int) -> Callable[[np.random.Generator], tuple[np.ndarray, Truth]]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
        centres, weights = np.array([[0.0, 0.0], [gap, 0.0]]), np.array([0.6, 0.4])
        x = centres[rng.choice(2, n, p=weights)] + rng.normal(size=(n, 2))
        return x, {"weights": weights, "means": centres, "covariances": np.array([np.eye(2)] * 2)}

    return draw


def _classes(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    means = np.array([[0.8, 0.7, 0.6, 0.2, 0.3, 0.5], [0.2, 0.3, 0.4, 0.7, 0.6, 0.5]])
    weights = np.array([0.6, 0.4])
    x = rng.random((400, 6)) < means[rng.choice(2, 400, p=weights)]
    return x.astype(float), {"weights": weights, "means": means}


def _kinds(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    """Two measurements and four yes/no columns."""
    means = np.array([[0.0, 1.0, 0.8, 0.7, 0.3, 0.4], [1.5, -0.5, 0.2, 0.3, 0.7, 0.8]])
    weights = np.array([0.6, 0.4])
    label = rng.choice(2, 300, p=weights)
    measured = means[label, :2] + rng.normal(size=(300, 2))
    said = (rng.random((300, 4)) < means[label, 2:]).astype(float)
    return np.hstack([measured, said]), {"weights": weights, "means": means}


def _switches(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    loadings, usage = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 2.0, 1.5, 0.0]]), np.array([0.45, 0.35])
    x = (rng.random((200, 2)) < usage) @ loadings + rng.normal(size=(200, 4))
    noise = np.ones(4)
    share = _shares(loadings**2 * (usage * (1 - usage))[:, None], noise)
    return x, {"components": loadings, "usage": usage, "noise_variance": np.array(1.0), "share": share}


def _factor(n: int) -> Callable[[np.random.Generator], tuple[np.ndarray, Truth]]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
        loadings, noise = np.array([[1.0, 0.8, -0.6, 0.5, 0.9, 0.0]]), np.array([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
        x = rng.normal(size=(n, 1)) @ loadings + rng.normal(size=(n, 6)) * np.sqrt(noise) + 1
        share = _shares(loadings**2, noise)
        return x, {"components": loadings, "noise_variance": noise, "mean": np.ones(6), "share": share}

    return draw


def _weak_factor(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    """Two factors that rows tell well and one that they hardly do; noise is alike and loadings are orthogonal.

    Which is where relevances put the axes.
    """
    loadings = np.array(
        [
            [1.2, 1.2, 1.2, 1.2, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
            [0.3, -0.3, 0.3, -0.3, 0.0, 0.0, 0.0, 0.6, 0.6],
        ]
    )
    x = rng.normal(size=(150, 3)) @ loadings + rng.normal(size=(150, 9))
    share = _shares(loadings**2, np.ones(9))
    return x, {"components": loadings, "noise_variance": np.ones(9), "mean": np.zeros(9), "share": share}


def _two_close(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    """Three clusters, two of them 3 sd apart."""
    centres, weights = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 8.0]]), np.array([0.4, 0.3, 0.3])
    x = centres[rng.choice(3, 250, p=weights)] + rng.normal(size=(250, 2))
    return x, {"weights": weights, "means": centres, "covariances": np.array([np.eye(2)] * 3)}


def _causes(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    strength = np.array([[0.8, 0.8, 0.7, 0.4, 0.02, 0.02], [0.02, 0.02, 0.4, 0.7, 0.8, 0.8]])
    usage, leak = np.array([0.45, 0.3]), np.full(6, 0.05)
    on = (rng.random((300, 2)) < usage).astype(float)
    chance = 1 - (1 - leak) * np.prod(1 - on[:, :, None] * strength, axis=1)
    x = (rng.random((300, 6)) < chance).astype(float)
    caused = usage * strength.sum(axis=1)
    share = caused / (caused.sum() + leak.sum())
    return x, {"components": strength, "usage": usage, "leak": leak, "share": share}


def _sources(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
    mixing = np.array([[1.0, 0.5], [0.8, -0.6], [0.2, 1.0], [-0.7, 0.4], [0.5, 0.9]])
    x = rng.standard_t(4, size=(400, 2)) / np.sqrt(2) @ mixing.T + 0.4 * rng.normal(size=(400, 5))
    noise = np.full(5, 0.16)
    return x, {"mixing": mixing, "noise_variance": noise, "share": _shares(mixing.T**2, noise)}


def _views(n: int) -> Callable[[np.random.Generator], tuple[np.ndarray, Truth]]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, Truth]:
        loadings = np.zeros((2, 12))
        loadings[0, :6], loadings[1, 6:] = [1.2, -1.0, 0.8, 1.0, -0.9, 1.1], [1.0, 0.9, -1.1, 0.8, 1.2, -1.0]
        x = rng.normal(size=(n, 2)) @ loadings + rng.normal(size=(n, 12))
        noise = np.ones(12)
        return x, {"components": loadings, "noise_variance": noise, "share": _shares(loadings**2, noise)}

    return draw


def _mixture(**options: Any) -> Callable[[], Any]:
    return lambda: latens.GaussianMixture(2, random_state=0, **options)


def _multi_view() -> Any:
    return latens.MultiViewFactorAnalysis(2, random_state=0)


NO_SEARCH = {"moves": False, "prune": False}  # both clusters stay, however little they are worth

PROBLEMS = (
    Problem("mixture, 5 sd, N = 200", _clusters(5.0, 200), _mixture(), "means", n_sets=200),
    Problem("mixture, 3 sd, N = 200", _clusters(3.0, 200), _mixture(), "means", n_sets=200),
    Problem("mixture, 2.5 sd, N = 200", _clusters(2.5, 200), _mixture(), "means", n_sets=200),
    Problem("mixture, 2.5 sd, N = 800", _clusters(2.5, 800), _mixture(), "means", n_sets=200),
    Problem("mixture, 3 sd, N = 200, two told", _clusters(3.0, 200), _mixture(**NO_SEARCH), "means", n_sets=200),
    Problem("mixture, 2.5 sd, N = 200, two told", _clusters(2.5, 200), _mixture(**NO_SEARCH), "means", n_sets=200),
    Problem("mixture, 2 sd, N = 200, two told", _clusters(2.0, 200), _mixture(**NO_SEARCH), "means", n_sets=200),
    Problem("Bernoulli mixture", _classes, lambda: latens.BernoulliMixture(2, random_state=0), "means", n_sets=200),
    Problem("latent classes", _kinds, lambda: latens.LatentClassAnalysis(2, random_state=0), "means", n_sets=200),
    Problem(
        "binary factors, similar causes",
        _switches,
        lambda: latens.BinaryFactorAnalysis(2, e_step="exact", random_state=0),
        "components",
    ),
    Problem("factor analysis, ml, N = 200", _factor(200), lambda: latens.FactorAnalysis(1), "components", signed=True),
    Problem(
        "factor analysis, ard, N = 30",
        _factor(30),
        lambda: latens.FactorAnalysis(1, prior="ard", random_state=0),
        "components",
        signed=True,
    ),
    Problem(
        "factor analysis, ard, a weak factor",
        _weak_factor,
        lambda: latens.FactorAnalysis(3, prior="ard", random_state=0),
        "components",
        signed=True,
    ),
    Problem(
        "mixture, two of three close",
        _two_close,
        lambda: latens.GaussianMixture(3, random_state=0, **NO_SEARCH),
        "means",
        n_sets=200,
    ),
    Problem("noisy-OR", _causes, lambda: latens.NoisyOr(2, random_state=0), "components"),
    Problem("noisy ICA", _sources, lambda: latens.NoisyICA(2, random_state=0), "mixing", signed=True),
    Problem("multi-view, N = 100", _views(100), _multi_view, "components", signed=True),
    Problem("multi-view, N = 400", _views(400), _multi_view, "components", signed=True),
)


def truth_beside(problem: Problem, truth: Truth, fitted: np.ndarray) -> Truth:
    """The truth with components in the order and with the signs of a fit's loadings (K, D)."""
    own = truth[problem.loadings]
    own = own.T if problem.loadings == "mixing" else own
    signs = (1.0, -1.0) if problem.signed else (1.0,)
    best, least = (tuple(range(len(own))), np.ones(len(own))), np.inf
    for order in permutations(range(len(own))):
        gaps = np.array(
            [[np.sum((s * own[i] - row) ** 2) for s in signs] for i, row in zip(order, fitted, strict=True)]
        )
        if gaps.min(axis=1).sum() < least:
            best, least = (order, np.array(signs)[gaps.argmin(axis=1)]), gaps.min(axis=1).sum()
    order, sign = np.array(best[0]), best[1]
    moved = {}
    for name, value in truth.items():
        if name == "mixing":
            moved[name] = value[:, order] * sign
        elif name in ("noise_variance", "leak", "mean"):
            moved[name] = value
        else:
            moved[name] = value[order] * (sign[:, None] if name == problem.loadings else 1.0)
    return moved
