"""Annealing against sums and integrals written out, for every model of the contract whose codes can be drawn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows, State
from latens.inference.ascent import ascend
from latens.inference.uncertainty.annealing import Tempered, anneal, log_mean_with_error, path_of, temperatures
from tests.contract.cases import CASES, random_rows

QUICK = {"binary-ard-exact", "factors-ard", "noisy-or-ard-exact-1", "mixture-diag-dirichlet"}
EACH = [  # one of every kind
    *sorted(QUICK),
    "binary-ard-exact-intercept",
    "binary-ard-exact-diagonal",
    "noisy-or-ard-exact-2",
    "views-gaussian",
    "ica-heavy",
    "ica-mixed-intercept",
    "classes-levels",
    "classes-counts",
]
D = 3
POINTS = {"factors-ard": ("center",), "ica-heavy": ("shapes",)}  # what a fit has as points is given with the rows


def model_of(name: str) -> Any:
    """The contract's models see other rows than are given; annealing works on what they see."""
    built = CASES[name].build(D)
    return getattr(built, "model", built)


def annealed(name: str) -> bool:
    model = model_of(name)
    return isinstance(model, Tempered) and not model.cannot_anneal(model.prior(1))


def weights_of(model: Any, batch: Rows, q: Any, steps: int, chains: int, codes: Any = None) -> np.ndarray:
    rng, path = np.random.default_rng(1), path_of(model, batch, q)
    weights = [anneal(path, temperatures(steps), rng, codes) for _ in range(chains)]
    return np.array(weights) + model.log_states(batch, q)


def fitted(name: str, rows: Rows) -> Any:
    case, rng = CASES[name], np.random.default_rng(2)
    model = case.build(D)
    start = case.start(model, min(case.most_components, 2), rows.x, rng)
    return ascend(model, [rows], State(start), max_iter=100, tol=1e-6).state.q


def gap(name: str, steps: int, chains: int, *, holes: bool) -> float:
    case = CASES[name]
    built = case.build(D)
    rows = random_rows(np.random.default_rng(5), 4, D, holes=holes, weighted=False)
    q, batch = fitted(name, rows), built.see(rows) if hasattr(built, "see") else rows
    return log_mean_with_error(weights_of(model_of(name), batch, q, steps, chains))[0] - case.log_evidence(
        built, q, rows
    )


ANNEALED = [name for name in CASES if annealed(name)]


def test_all_kinds_of_models_are_among_them() -> None:
    assert set(EACH) <= set(ANNEALED)
    assert not {"views-binary", "factors-ml", "classes-outliers", "mixture-diag-sticks"} & set(ANNEALED)


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_few_chains_come_within_a_nat_of_the_evidence(name: str) -> None:
    assert abs(gap(name, 50, 5, holes=False)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("name", EACH)
def test_more_chains_come_nearer(name: str, holes: bool) -> None:
    n_steps = 800 if name.startswith("views") else 200  # loadings are drawn one after another
    assert abs(gap(name, n_steps, 10, holes=holes)) < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["binary-ard-exact", "factors-ard", "ica-heavy", "views-gaussian"])
def test_chains_in_both_directions_meet_on_rows_of_the_models_own_making(name: str) -> None:
    """Codes that made the rows are a draw of their posterior: from there chains go backwards."""
    model, rng = model_of(name), np.random.default_rng(3)
    truth = model.draw_prior(model.prior(1), rng)
    rows, codes = model.draw(truth, 6, rng)
    batch = Rows(rows)
    start = CASES[name].start(model, 1, rows, rng)
    points = {field: getattr(truth, field) for field in POINTS.get(name, ())}
    q = replace(ascend(model, [batch], State(start), max_iter=100, tol=1e-6).state.q, **points)
    low = log_mean_with_error(weights_of(model, batch, q, 200, 8))[0]
    high = -log_mean_with_error(-weights_of(model, batch, q, 200, 8, codes))[0]
    assert -0.7 < high - low < 1.5
