"""Codes that are known stay as they are, the rest is inferred given them, and the bound is that of rows and codes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows, State
from latens.inference.ascent import ascend
from tests.contract.cases import CASES, posterior_midway, random_rows

N, D, K = 20, 3, 2


def of_kind(*begins: str) -> list[str]:
    return [name for name in CASES if name.startswith(begins) and "jensen" not in name]


EXACT = [name for name in of_kind("binary", "noisy", "mixture", "class") if CASES[name].exact_rows]
LOOSE = [name for name in of_kind("binary") if not CASES[name].exact_rows]


def with_known(rows: Rows, known: np.ndarray) -> Rows:
    return replace(rows, aux={"known": known})


def one_code(name: str, value: int) -> np.ndarray:
    """(N, K), the first switch known, or the cluster."""
    if name.startswith(("mixture", "class")):
        return np.repeat(np.eye(K)[[value]], N, axis=0)
    return np.tile([float(value), np.nan], (N, 1))


def setting(name: str) -> tuple[Any, Any, Rows]:
    case = CASES[name]
    rows = random_rows(np.random.default_rng(3), N, D, holes=True, weighted=False)
    model, q = posterior_midway(case, rows, K, np.random.default_rng(4))
    return model, q, rows


@pytest.mark.parametrize("name", EXACT)
def test_chances_of_all_that_may_be_known_add_up_to_that_of_the_row(name: str) -> None:
    model, q, rows = setting(name)
    free = model.row_bounds(q, rows, model.local_step(q, rows))
    each = []
    for value in (0, 1):
        batch = with_known(rows, one_code(name, value))
        local = model.local_step(q, batch)
        assert np.nan_to_num(one_code(name, value) - local.mean, nan=0.0) == pytest.approx(0, abs=1e-12)
        each.append(model.row_bounds(q, batch, local))
    assert np.logaddexp(*each) == pytest.approx(free, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", EXACT[::3] + LOOSE)
def test_known_codes_stay_and_the_bound_never_falls(name: str) -> None:
    model, q, rows = setting(name)
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (N, K)).astype(float)
    known = np.where(rng.random((N, K)) < 0.5, codes, np.nan)
    if name.startswith(("mixture", "class")):
        known = np.where(rng.random((N, 1)) < 0.5, np.eye(K)[codes[:, 0].astype(int)], np.nan)
    batch = with_known(rows, known)
    fit = ascend(model, [batch[:9], batch[9:]], State(q), max_iter=30, tol=0.0)
    trace = np.array([event.elbo for event in fit.trace])
    assert np.diff(trace).min() > -1e-9 * np.abs(trace).max()
    mean = model.local_step(fit.state.q, batch).mean
    is_known = ~np.isnan(known)
    assert mean[is_known] == pytest.approx(known[is_known], abs=1e-12)
    if not is_known.all():
        assert np.ptp(mean[~is_known]) > 0.01
