"""Rows of any array library give the same numbers and stay in their library; single precision comes close."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace

from latens.array.transfer import host
from latens.core import Rows
from latens.inference.local_fixed_point import local_fixed_point
from tests.contract.cases import CASES, Case, bound, posterior_midway, random_rows

LIBRARIES = ["array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(params=[False, True], ids=["complete", "holes"])
def rows(request: pytest.FixtureRequest) -> Rows:
    return random_rows(np.random.default_rng(41), 40, 4, holes=request.param, weighted=True)


def as_library(rows: Rows, name: str) -> Rows:
    xp = importlib.import_module(name)
    return Rows(*(None if part is None else xp.asarray(part) for part in (rows.x, rows.seen, rows.weight)))


def answers(model: Any, q: Any, rows: Rows) -> dict[str, np.ndarray]:
    """Everything a model says about rows, from a cold and a warm local step, on the host."""
    local = model.local_step(q, rows, model.local_step(q, rows))
    stats = model.statistics(rows, local)
    after = model.global_step(q, stats)
    mean, variance = model.codes(rows, local)
    filled, spread = model.impute(after, rows, local)
    score, bounds = model.log_predictive(after, rows, local), model.row_bounds(after, rows, local)
    settled, _ = model.codes(rows, local_fixed_point(model, after, rows))
    again = model.reconstruct(after, mean)
    answer = {
        "mean": mean,
        "variance": variance,
        "filled": filled,
        "spread": spread,
        "score": score,
        "bounds": bounds,
        "settled": settled,
        "reconstructed": again,
    }
    for name, values in answer.items():
        assert array_namespace(values) is array_namespace(rows.x), name
        assert values.dtype == rows.x.dtype, name
    sums = dict(summed(stats))
    for name, values in sums.items():
        assert np.asarray(values).dtype == np.float64, name
    return {name: host(values) for name, values in answer.items()} | sums | {"bound": bound(model, after, stats)}


def summed(stats: Any) -> Iterator[tuple[str, Any]]:
    """Every field, and every field of what a mapping holds."""
    for f in fields(stats):
        value = getattr(stats, f.name)
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", part) for key in value for name, part in summed(value[key]))
        elif value is not None:  # a sum that this model does not need
            yield f.name, value


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_agree_with_numpy(case: Case, rows: Rows, library: str) -> None:
    model, q = posterior_midway(case, rows, 3, np.random.default_rng(42))
    one, two = answers(model, q, rows), answers(model, q, as_library(rows, library))
    for name in one:
        size = float(np.max(np.abs(one[name]), initial=0.0))
        assert two[name] == pytest.approx(one[name], rel=1e-10, abs=1e-10 * size), name


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_agree_with_numpy_where_scores_are_bounds(rows: Rows, library: str) -> None:
    case = CASES["binary-ard-mean-field-intercept"]
    model = case.build(4)
    q = case.start(model, 13, rows.x, np.random.default_rng(43))
    other = as_library(rows, library)
    one = model.log_predictive(q, rows, model.local_step(q, rows))
    two = host(model.log_predictive(q, other, model.local_step(q, other)))
    assert two == pytest.approx(one, rel=1e-10)


def test_single_precision_comes_close(case: Case, rows: Rows) -> None:
    model, q = posterior_midway(case, rows, 3, np.random.default_rng(44))
    single = Rows(rows.x.astype(np.float32), rows.seen, rows.weight.astype(np.float32))
    one, two = answers(model, q, rows), answers(model, q, single)
    for name in one:
        size = float(np.max(np.abs(one[name]), initial=0.0))
        assert two[name] == pytest.approx(one[name], rel=1e-3, abs=1e-4 * size), name


def test_rows_are_never_written_to(case: Case, rows: Rows) -> None:
    model, q = posterior_midway(case, rows, 3, np.random.default_rng(45))
    frozen = Rows(*(None if part is None else part.copy() for part in (rows.x, rows.seen, rows.weight)))
    local = model.local_step(q, frozen)
    words = getattr(local, "words", None)
    before = local.mean.copy(), None if words is None else words.copy()
    model.local_step(q, frozen, local)
    model.impute(q, frozen, local)
    model.log_predictive(q, frozen, local)
    assert np.array_equal(local.mean, before[0])
    assert words is None or np.array_equal(words, before[1])
    assert np.array_equal(frozen.x, rows.x)
    assert np.array_equal(frozen.weight, rows.weight)
