"""Axes that a rule tells: how they turn with loadings and noise, and the intervals of what is published in them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

import latens
from latens.core.coordinates import Chart
from latens.estimators.factor_analysis.axes import RuledAxes, ruled_axes
from latens.estimators.factor_analysis.starts import turned

STEP = 1e-4


def fitted(**options: Any) -> Any:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 3)) * [1.5, 1.2, 1.0] @ rng.normal(size=(3, 8)) + rng.normal(size=(150, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return latens.FactorAnalysis(3, **options).fit(x)


def conditions(b: np.ndarray, noise: np.ndarray, by_varimax: bool) -> np.ndarray:
    """What the rule asks to be 0, for each pair."""
    if not by_varimax:
        return (b / noise @ b.T)[np.triu_indices(len(b), 1)]
    b = b / np.sqrt(np.sum(b**2, axis=0) + noise)
    cubes = b @ (b * (b**2 - np.mean(b**2, axis=1, keepdims=True))).T
    return (cubes - cubes.T)[np.triu_indices(len(b), 1)]


def settled(axes: RuledAxes, q: Any) -> np.ndarray:
    """(K, D), loadings of q in axes of its own, by Newton's steps from those that are given."""
    noise, pairs = 1 / q.loadings.tau, np.triu_indices(3, 1)
    b = axes.rotation @ q.loadings.mean

    def turn(angles: np.ndarray) -> np.ndarray:
        skew = np.zeros((3, 3))
        skew[pairs] = angles
        skew -= skew.T
        return np.asarray(np.linalg.solve(np.eye(3) - skew / 2, np.eye(3) + skew / 2))

    for _ in range(8):
        here = conditions(b, noise, axes.by_varimax)
        h = 1e-6
        slopes = [
            (
                conditions(turn(h * unit) @ b, noise, axes.by_varimax)
                - conditions(turn(-h * unit) @ b, noise, axes.by_varimax)
            )
            / (2 * h)
            for unit in np.eye(3)
        ]
        b = turn(-np.linalg.solve(np.stack(slopes, axis=1), here)) @ b
    return b


@pytest.mark.parametrize("options", [{}, {"rotation": "varimax"}, {"rotation": "varimax", "prior": "ard"}])
def test_axes_turn_as_those_of_posteriors_nearby(options: dict[str, Any]) -> None:
    model = fitted(random_state=0, **options)
    q = model.posterior_
    axes, chart = ruled_axes(q, q, by_varimax="rotation" in options), Chart(q)
    # where the rule is met to the last digit, which varimax ends some digits before
    axes = replace(axes, rotation=settled(axes, q) @ np.linalg.pinv(q.loadings.mean))
    rng = np.random.default_rng(4)

    def loadings(at: Any) -> np.ndarray:
        return np.ravel(at.loadings.mean)

    by_turn, turns = axes.along_turns(loadings), axes.turns(chart)
    for _ in range(3):
        v = rng.normal(size=chart.size)
        up, down = chart.at(STEP * v), chart.at(-STEP * v)
        whole = np.ravel(settled(axes, up) - settled(axes, down)) / (2 * STEP)
        still = (loadings(axes.turned(up)) - loadings(axes.turned(down))) / (2 * STEP)
        assert np.abs(whole - still).max() > 1e-3 * np.abs(whole).max()  # they do turn
        assert still + by_turn @ (turns @ v) == pytest.approx(whole, abs=1e-4 * np.abs(whole).max())


def test_axes_are_those_that_are_published() -> None:
    model = fitted(rotation="varimax")
    q = model.posterior_
    shaken = turned(q, np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0])
    back = ruled_axes(shaken, q, by_varimax=True).turned(shaken)
    assert back.loadings.mean == pytest.approx(q.loadings.mean, abs=1e-4)


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_varimax_does_not_depend_on_units(prior: str) -> None:
    x = load_wine().data
    sizes = x.std(axis=0)
    raw, standard = (
        latens.FactorAnalysis(3, prior=prior, rotation="varimax", random_state=0).fit(each).components_
        for each in (x, x / sizes)
    )
    # signs and order are those of data units: the largest loading is positive, the factor of most variance first
    alike = [max(np.vstack([raw, -raw]) / sizes, key=lambda other: float(other @ one)) for one in standard]
    assert np.stack(alike) == pytest.approx(standard, abs=1e-4)


def test_a_fit_with_a_factor_fewer_is_the_optimum_itself() -> None:
    """What factors are worth after maximum likelihood, beside the likelihood ratio of two fits."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 7)) + rng.normal(size=(200, 7))
    two, one = latens.FactorAnalysis(2).fit(x), latens.FactorAnalysis(1).fit(x)
    nats = two.intervals(x).components["nats"]
    assert min(nats) == pytest.approx(two.elbo_ - one.elbo_ + np.log(2), abs=1e-3)
