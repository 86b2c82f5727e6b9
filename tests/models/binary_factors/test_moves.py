"""Moves of binary factors: a split finds a merged pair of causes, a merge repairs a split one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from latens.core import Fit, Rows, State
from latens.estimators.binary_factors import _posterior_at
from latens.inference.ascent import OnIteration, ascend
from latens.inference.search.moves import improve
from latens.metrics import match_components
from latens.models.binary_factors.model import BinaryFactors
from latens.models.binary_factors.moves import merges, splits
from latens.models.binary_factors.posteriors import Automatic, MeanField, Switches, Truncated

CAUSES = np.kron(np.eye(4), np.ones(3)) * np.array([1.0, 0.8, 1.2, 0.9])[:, None]  # (4, 12), each its own columns
E_STEPS = [Automatic(), MeanField(), Truncated(6)]


def drawn(seed: int, n: int = 300, holes: bool = False) -> tuple[Rows, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = (rng.random((n, 4)) < 0.35).astype(float)
    x = codes @ CAUSES + 0.15 * rng.normal(size=(n, 12))
    seen = rng.random(x.shape) < 0.85 if holes else None
    return Rows(x if seen is None else np.where(seen, x, 0.0), seen), codes


def climber(model: BinaryFactors, rows: Rows) -> Callable[[State, int, OnIteration | None], Fit]:
    return lambda start, steps, on: ascend(model, [rows], start, max_iter=steps, tol=1e-6, on_iteration=on)


def at(model: BinaryFactors, rows: Rows, codes: np.ndarray) -> Fit:
    """A fit held to given codes for one step, then climbed to where those codes lead."""
    stats = model.statistics(rows, Switches(codes))
    return climber(model, rows)(State(model.global_step(model.prior(codes.shape[1]), stats)), 100, None)


def causes_found(q: Any) -> int:
    return int(match_components(q.loadings.mean[: q.n_components], CAUSES).found())


def improved(fit: Fit, candidates: Callable[[State], Iterator[Any]], model: BinaryFactors, rows: Rows) -> Fit:
    return improve(fit, candidates, climber(model, rows))


@pytest.mark.parametrize("e_step", E_STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("seed", range(3))
def test_a_split_finds_two_causes_where_one_was_learnt(e_step: Any, holes: bool, seed: int) -> None:
    """Three causes for four: the third stands for either of two. Only a split makes the number grow."""
    rows, codes = drawn(seed, holes=holes)
    model = BinaryFactors(12, e_step=e_step)
    before = at(model, rows, np.column_stack([codes[:, :2], np.maximum(codes[:, 2], codes[:, 3])]))
    assert before.state.q.n_components == 3
    rng = np.random.default_rng(0)
    after = improved(before, lambda s: model.candidates(s.q, s.stats, rows, rng, 6), model, rows)
    assert after.state.q.n_components == 4
    assert causes_found(after.state.q) == 4
    assert after.elbo > before.elbo + 10


def test_a_split_does_not_grow_beyond_the_limit() -> None:
    rows, codes = drawn(0)
    model = BinaryFactors(12)
    before = at(model, rows, np.column_stack([codes[:, :2], np.maximum(codes[:, 2], codes[:, 3])]))
    rng = np.random.default_rng(0)
    sizes = [q.n_components for q in model.candidates(before.state.q, before.state.stats, rows, rng, 3)]
    assert max(sizes) == 3


@pytest.mark.parametrize("points", [False, True], ids=["ard", "ml"])
@pytest.mark.parametrize("seed", [0, 2, 5])  # from which an ascent alone does not get there
def test_a_split_takes_the_place_of_a_cause_that_was_learnt_twice(points: bool, seed: int) -> None:
    """Four causes for four, but one of them twice and two as one: no number needs to change."""
    rows, codes = drawn(seed)
    twice = codes[:, 0] * (np.arange(len(rows)) % 2)
    model = BinaryFactors(12, points=points, floor=1e-4)
    either = np.maximum(codes[:, 2], codes[:, 3])
    before = at(model, rows, np.column_stack([codes[:, 0] - twice, twice, codes[:, 1], either]))
    state = before.state
    assert causes_found(state.q) == 3
    local = np.array(model.local_step(state.q, rows).mean)
    order = np.argsort(-state.stats.on)  # what is spared must come from the pair that is alike, not from the order
    after = improved(before, lambda s: splits(model, s.q, s.stats, rows, local, order), model, rows)
    assert after.state.q.n_components == 4
    assert causes_found(after.state.q) == 4
    assert after.elbo > before.elbo


@pytest.mark.parametrize("kind", ["in turns", "together"])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
@pytest.mark.parametrize("intercept", [False, True], ids=["through 0", "intercept"])
def test_a_merge_repairs_a_cause_that_was_learnt_twice(kind: str, holes: bool, intercept: bool) -> None:
    """Either half of its rows each, or half of its loadings each."""
    rows, codes = drawn(5, holes=holes)
    model = BinaryFactors(12, intercept=intercept, e_step=MeanField())
    parts = np.concatenate([CAUSES[:1], CAUSES])
    turns = codes[:, 0] * (np.arange(len(rows)) % 2)
    halved = np.column_stack([turns, codes[:, 0] - turns, codes[:, 1:]])
    if kind == "together":
        parts[:2] *= 0.5
        halved = np.column_stack([codes[:, 0], codes])
    parts = np.concatenate([parts, np.zeros((1, 12))]) if intercept else parts
    stats = model.statistics(rows, Switches(halved))
    q = model.global_step(_posterior_at(model, parts, 0.15**2), stats)
    first = next(merges(model, q, stats))
    assert first.n_components == 4
    before = Fit(State(q, stats), ascend(model, [rows], State(q), max_iter=1).trace, True)
    after = improved(before, lambda s: merges(model, s.q, s.stats), model, rows)
    assert after.state.q.n_components == 4
    assert causes_found(after.state.q) == 4
    assert after.elbo > before.elbo


def test_merged_statistics_are_those_of_the_merged_code() -> None:
    """Where one of two codes is on in turns, or both are the same code, nothing is lost by adding them up."""
    rows, codes = drawn(7)
    turns = codes[:, 0] * (np.arange(len(rows)) % 2)
    model = BinaryFactors(12)
    truth = model.statistics(rows, Switches(codes))
    for doubled in (
        np.column_stack([turns, codes[:, 0] - turns, codes[:, 1:]]),
        np.column_stack([codes[:, 0], codes]),
    ):
        stats = model.statistics(rows, Switches(doubled))
        start = _posterior_at(model, np.concatenate([CAUSES[:1], CAUSES]), 1.0)
        merged = next(merges(model, start, stats))
        alone = replace(truth, entropy=stats.entropy)
        expected = model.global_step(start.only(np.array([0, 2, 3, 4])), alone)
        assert merged.usage.mean == pytest.approx(expected.usage.mean, rel=1e-12)
        assert merged.loadings.mean == pytest.approx(expected.loadings.mean, rel=1e-10, abs=1e-12)


def test_two_causes_that_add_nothing_are_compared_without_a_warning() -> None:
    rows, codes = drawn(0)
    model = BinaryFactors(12)
    q = _posterior_at(model, CAUSES * np.array([0, 0, 1, 1])[:, None], 1.0)
    with np.errstate(all="raise"):
        assert not list(merges(model, q, model.statistics(rows, Switches(codes))))


def test_causes_that_differ_are_neither_merged_nor_split() -> None:
    rows, codes = drawn(9)
    model = BinaryFactors(12)
    fit = at(model, rows, codes)
    assert not list(merges(model, fit.state.q, fit.state.stats))
    local = np.array(model.local_step(fit.state.q, rows).mean)
    assert not list(splits(model, fit.state.q, fit.state.stats, rows, local, None))


@pytest.mark.parametrize("points", [False, True], ids=["ard", "ml"])
@pytest.mark.parametrize("n", [300, 1500], ids=["few rows", "many rows"])
def test_first_candidates_and_further_ones_are_all_candidates(points: bool, n: int) -> None:
    """Of few rows, and of points, none are further: every start is then carried through all of them."""
    rows, codes = drawn(3, n=n)
    model = BinaryFactors(12, points=points, floor=1e-4)
    doubled = np.column_stack([codes, codes[:, 0]])
    state = at(model, rows, doubled).state

    def proposed(candidates: Callable[..., Iterator[Any]]) -> list[np.ndarray]:
        listed = candidates(state.q, state.stats, rows, np.random.default_rng(0), 8)
        return [getattr(one, "q", one).loadings.mean for one in listed]

    tiers = [proposed(model.first_candidates), proposed(model.further_candidates)]
    every = proposed(model.candidates)
    assert len(every) == sum(map(len, tiers)) > 0
    assert all(np.array_equal(one, other) for one, other in zip(every, [*tiers[0], *tiers[1]], strict=True))
    assert bool(tiers[1]) == (n > 1024 and not points)


def test_stretched_steps_end_sooner_and_no_lower() -> None:
    """Rows that are no sums of on/off causes: which of them a row is due to is learnt slowly."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 8)) + rng.normal(size=(400, 8))
    rows, model = Rows(x), BinaryFactors(8)
    start = State(_posterior_at(model, rng.normal(size=(6, 8)), 1.0))
    stretched = ascend(model, [rows], start, max_iter=500, tol=1e-5)
    state, bounds = start, [-np.inf]
    while len(bounds) < 3 or bounds[-1] - bounds[-2] > 1e-5 * len(rows):
        local = model.local_step(state.q, rows)
        stats = model.statistics(rows, local)
        state = State(model.global_step(state.q, stats), stats)
        bounds.append(sum({**model.data_terms(state.q, stats), **model.global_terms(state.q)}.values()))
    assert stretched.converged
    assert len(stretched.trace) < 0.7 * len(bounds)
    assert stretched.elbo > bounds[-1] - 1e-4 * len(rows)
