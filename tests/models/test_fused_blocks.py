"""Blocks that a model takes at once, beside a local step and statistics after it, in every library and precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows
from latens.families.relevance import Relevance
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.multi_view.model import MultiView, View
from latens.models.noisy_ica.model import IcaPosterior, NoisyIca
from latens.models.noisy_ica.turns import Turning, best_turn, best_turn_plain

N, D, K = 700, 11, 4
KINDS_OF_ROWS = [
    ("numpy", "float64", 1e-12),
    ("numpy", "float32", 1e-4),
    pytest.param("torch", "float64", 1e-11, marks=pytest.mark.extras),
    pytest.param("torch", "float32", 1e-4, marks=pytest.mark.extras),
]


def as_given(rows: Rows, library: str, dtype: str) -> Rows:
    if library == "numpy":
        return Rows(*(None if part is None else np.array(part, dtype) for part in (rows.x,)), rows.seen, rows.weight)
    import torch

    def sent(values: Any) -> Any:
        return None if values is None else torch.tensor(values, dtype=getattr(torch, dtype))

    return Rows(sent(rows.x), None if rows.seen is None else torch.tensor(rows.seen), sent(rows.weight))


def same(found: Any, expected: Any, close: float, path: str = "") -> None:
    for part in fields(expected):
        a, b = getattr(found, part.name), getattr(expected, part.name)
        name = f"{path}{part.name}"
        if isinstance(b, Mapping):
            for key in b:
                same(a[key], b[key], close, f"{name}.{key}.")
        elif b is None:
            assert a is None, name
        else:
            assert np.shape(a) == np.shape(b), name
            size = max(float(np.max(np.abs(b), initial=0.0)), float(N))  # of sums over rows
            assert np.asarray(a) == pytest.approx(np.asarray(b), abs=close * size), name


def views() -> tuple[MultiView, Any, Rows]:
    rng = np.random.default_rng(0)
    model = MultiView((View("a", 0, 6, Gaussian()), View("b", 6, D, Gaussian())))
    x = rng.normal(size=(N, K)) @ rng.normal(size=(K, D)) + 0.3 * rng.normal(size=(N, D)) + 1.0
    q, rows = model.prior(K), Rows(x)
    start = {
        name: replace(view, weights=replace(view.weights, slab=rng.normal(size=view.weights.slab.shape)))
        for name, view in q.views.items()
    }
    q = replace(q, views=start)
    for _ in range(2):
        q = model.global_step(q, model.statistics(rows, model.local_step(q, rows)))
    return model, q, rows


def sources(intercept: bool) -> tuple[NoisyIca, IcaPosterior, Rows]:
    rng = np.random.default_rng(1)
    model = NoisyIca(D, intercept=intercept)
    x = rng.laplace(size=(N, K)) @ rng.normal(size=(K, D)) + 0.3 * rng.normal(size=(N, D)) + 1.0 * intercept
    q, rows = model.prior(K), Rows(x)
    loadings = q.loadings
    assert isinstance(loadings, Relevance)
    mean = rng.normal(size=loadings.mean.shape)
    q = replace(q, loadings=replace(loadings, weights=replace(loadings.weights, mean=mean)))
    for _ in range(2):
        q = model.global_step(q, model.statistics(rows, model.local_step(q, rows)))
    return model, q, rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "with holes"])
@pytest.mark.parametrize(("library", "dtype", "close"), KINDS_OF_ROWS)
def test_views_of_measurements(library: str, dtype: str, close: float, holes: bool, weighted: bool) -> None:
    model, q, rows = views()
    rng = np.random.default_rng(2)
    if holes:
        seen = rng.random((N, D)) < 0.8
        seen[:40, :6], seen[40:50] = False, False  # samples without a view, and without any
        rows = Rows(np.where(seen, rows.x, 0.0), seen)
    if weighted:
        rows = replace(rows, weight=rng.integers(1, 4, N).astype(float))
    expected = model.statistics(rows, model.local_step(q, rows))
    found = model.inferred(q, as_given(rows, library, dtype), None)
    if found is None:
        assert library == "numpy"
        assert holes, "only rows of NumPy with holes have a long way"
        assert weighted or dtype == "float32"
        return
    assert found[0] is None
    same(found[1], expected, close)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("library", "dtype", "close"), KINDS_OF_ROWS)
def test_sources_with_heavy_tails(library: str, dtype: str, close: float, intercept: bool, weighted: bool) -> None:
    model, q, rows = sources(intercept)
    if weighted:
        rows = replace(rows, weight=np.random.default_rng(2).integers(1, 4, N).astype(float))
    given, long, short = as_given(rows, library, dtype), None, None
    for _ in range(3):  # each step goes on from what was kept of the last
        long = model.local_step(q, rows, long)
        found = model.inferred(q, given, short)
        assert found is not None
        short, stats = found
        same(stats, model.statistics(rows, long), close)


def test_what_has_no_shorter_way_is_left_alone() -> None:
    model, q, rows = views()
    assert model.inferred(q.only(np.arange(0)), rows, None) is None
    whole = np.ones((N, D), bool)
    whole[:90, :6] = False  # samples show each view wholly or not at all, and those of a kind share a covariance
    assert model.inferred(q, Rows(np.where(whole, rows.x, 0.0), whole), None) is None
    answers = MultiView((View("a", 0, D, Bernoulli()),))
    assert answers.inferred(answers.prior(2), Rows((rows.x > 0).astype(float)), None) is None
    ica, p, sensors = sources(False)
    light = replace(p, shapes=replace(p.shapes, split=np.array([0.5, 0.0, 0.0, 0.0])))
    assert ica.inferred(light, sensors, None) is None
    assert replace(ica, diagonal=True).inferred(p, sensors, None) is None
    assert ica.inferred(p, Rows(sensors.x, np.ones((N, D), bool)), None) is None


@pytest.mark.parametrize(("k", "r"), [(1, 1), (3, 3), (3, 4), (8, 9)])
@pytest.mark.parametrize("columns", [0, 20], ids=["points", "loadings"])
@pytest.mark.parametrize("sizes_only", [False, True])
def test_compiled_turns_are_those_of_single_operations(k: int, r: int, columns: int, sizes_only: bool) -> None:
    rng = np.random.default_rng(k + r)
    root, side = rng.normal(size=(k, r, 2 * r)), rng.normal(size=(r, 3 * r))
    quadratic, linear = 500.0 / r * root @ np.swapaxes(root, 1, 2), 300.0 * rng.normal(size=(k, r))
    turning = Turning(1000.0, quadratic, linear, 5.0 * side @ side.T, columns, (1e-3, 1e-3) if columns else (0.0, 1.0))
    for n_steps in (1, 2, 5):
        found = best_turn(turning, n_steps, 0.0, sizes_only=sizes_only)
        assert found == pytest.approx(best_turn_plain(turning, n_steps, 0.0, sizes_only=sizes_only), abs=1e-10)
    assert not np.array_equal(found, np.eye(k, r))
