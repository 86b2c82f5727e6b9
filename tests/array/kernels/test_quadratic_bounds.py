"""Parabolas: compiled and plain forms agree, whatever was seen and however rows are weighted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from latens.array.kernels.quadratic_bounds import (
    Steps,
    logistic_constant,
    middles,
    softplus_constant,
    steps_constant,
    sum_steps,
    sum_steps_plain,
    touch_logistic,
    touch_logistic_plain,
    touch_rare_counts,
    touch_rare_counts_plain,
    touch_softplus,
    touch_softplus_plain,
    touch_steps,
    touch_steps_plain,
)

SIZES = np.geomspace(0.1, 300.0, 13)  # of rare counts


def _rare(
    form: Callable[..., Any], y: np.ndarray, at: np.ndarray, squares: np.ndarray, seen: Any = None, weight: Any = None
) -> Any:
    return form(y, at, squares, SIZES, seen, weight)


FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "logistic": (touch_logistic, touch_logistic_plain),
    "rare counts": (partial(_rare, touch_rare_counts), partial(_rare, touch_rare_counts_plain)),
    "softplus": (touch_softplus, touch_softplus_plain),
}


def problem(kind: str, n: int = 1100, d: int = 13) -> tuple[np.ndarray, ...]:
    """Places from the tiny to the huge; before them counts, which are some columns of a wider table."""
    rng = np.random.default_rng(n)
    at = rng.normal(size=(n, d)) * rng.choice([1e-9, 0.1, 3.0, 60.0, 900.0], size=(n, d))
    if kind == "logistic":
        return (at**2,)
    counts = rng.poisson(2.0, size=(n, d + 4)).astype(float)[:, 2 : 2 + d]
    return (counts, at, at**2 + 0.3) if kind == "rare counts" else (counts, at)


def fresh(given: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """What may be written over, and counts that lie as they did."""
    return *given[:-1], given[-1].copy()


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_compiled_and_plain_parabolas_agree(kind: str, holes: bool, weighted: bool) -> None:
    given, rng = problem(kind), np.random.default_rng(3)
    seen = rng.random(given[0].shape) < 0.7 if holes else None
    weight = rng.gamma(1.0, size=len(given[0])) if weighted else None
    (compiled, levels), (plain, sums) = (form(*fresh(given), seen, weight) for form in FORMS[kind])
    assert compiled == pytest.approx(plain, rel=1e-12, abs=1e-13)
    assert levels == pytest.approx(sums, rel=1e-11)
    if seen is not None:
        assert not compiled[~seen].any()


@pytest.mark.parametrize("kind", FORMS)
def test_a_single_row_counts_as_often_as_it_weighs(kind: str) -> None:
    heavy, light = (FORMS[kind][0](*problem(kind, n=1), None, weight)[1] for weight in (np.array([3.0]), None))
    assert heavy == pytest.approx(3 * light, rel=1e-12)


def test_however_many_rows_their_product_stays_in_range() -> None:
    """Unweighted rows share a logarithm; at eta = 0 each has the largest factor, 2."""
    levels = touch_logistic(np.zeros((1500, 3)))[1]
    assert levels == pytest.approx(-1500 * np.log(2.0), rel=1e-8)  # xi^2 is 1e-12, not 0


@pytest.mark.parametrize("kind", FORMS)
def test_levels_are_sums_of_the_constants(kind: str) -> None:
    given = problem(kind, n=700)
    seen = np.random.default_rng(1).random(given[0].shape) < 0.7
    if kind == "rare counts":
        each = logistic_constant(given[2], seen)
        each = np.stack([each, given[0] * each])
    else:
        each = {"logistic": logistic_constant, "softplus": softplus_constant}[kind](*given, seen)[None]
    assert not each[:, ~seen].any()
    levels = np.atleast_2d(FORMS[kind][0](*fresh(given), seen)[1])
    assert levels[: len(each)] == pytest.approx(each.sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("kind", FORMS)
def test_single_precision_parabolas_stay_single(kind: str) -> None:
    given = [part.astype(np.float32) for part in problem(kind)]
    found, levels = FORMS[kind][0](*fresh(given))
    exact, sums = FORMS[kind][0](*(part.astype(float) for part in given))
    assert found.dtype == np.float32
    assert levels.dtype == np.float64
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-6)
    assert levels == pytest.approx(sums, rel=1e-10)


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_compiled_and_plain_parabolas_of_steps_agree(holes: bool, weighted: bool) -> None:
    _, at, squares = problem("rare counts")
    rng, (n, d) = np.random.default_rng(5), at.shape
    top = rng.integers(1, 5, d).astype(float)
    level = np.floor(rng.random((n, d)) * (top + 1))
    cuts, widths = np.cumsum(rng.uniform(0.2, 2.0, (d, 4)), axis=1) - 3, np.zeros((d, 5))
    inner = np.arange(1, 4) < top[:, None]
    widths[:, 1:-1] = np.where(inner, np.log(-np.expm1(-np.diff(cuts, axis=1))), 0.0)
    seen = rng.random((n, d)) < 0.7 if holes else None
    weight = rng.gamma(1.0, size=n) if weighted else None
    about = np.zeros((d, 5, 5))
    about[:, 1:-1] = middles(cuts[:, :-1], cuts[:, 1:]) * inner[..., None]
    given = (level, at, squares, Steps(cuts, top, widths, about), seen)
    compiled, plain = (form(*given, weight) for form in (touch_steps, touch_steps_plain))
    for one, two in zip(compiled[:4], plain[:4], strict=True):
        assert one == pytest.approx(two, rel=1e-11, abs=1e-12)
        assert seen is None or not one[~seen].any()
    below, above, centre, _, sums, centred = compiled
    assert sums == pytest.approx(plain[4], rel=1e-10)
    assert centred == pytest.approx(plain[5], rel=1e-10)
    times = np.ones(n) if weight is None else weight
    assert sums[0] == pytest.approx(times @ steps_constant(*given), rel=1e-10)
    assert centred[:, :, 0].sum() == pytest.approx(times @ (centre > 0).sum(axis=1))
    assert not np.any((centre > 0) & (below + above > 0))
    assert (centre > 0).any()
    assert (above > 0).any()
    regressors = rng.normal(size=(n, 3))
    products = sum_steps(level, below, above, centre, regressors, 4)
    assert products == pytest.approx(sum_steps_plain(level, below, above, centre, regressors, 4), rel=1e-9, abs=1e-10)
    assert products.sum(axis=1) == pytest.approx((below + above + centre).T @ regressors, rel=1e-9, abs=1e-10)
