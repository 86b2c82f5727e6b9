"""Slow ascents go on along their way: they end in the same place, sooner, and the bound never falls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from latens.core import Rows, State, Statistics
from latens.inference import extrapolation
from latens.inference.ascent import ascend
from tests.contract.cases import CASES, random_rows
from tests.inference.toy import some_rows

RATE = 0.97  # of the distance from the top that an iteration leaves


@dataclass(frozen=True)
class Spot:
    at: float
    n_components: int = 1


@dataclass(frozen=True)
class Seen:
    at: float


@dataclass(frozen=True)
class Sums(Statistics):
    n: float
    entries: float
    at: float


@dataclass(frozen=True)
class Slope:
    """A hill with its top at 0, towards which plain iterations crawl."""

    edge: float = np.inf  # a global step from sums beyond it fails

    def local_step(self, q: Spot, batch: Rows, warm: Any = None) -> Seen:
        return Seen(RATE * q.at)

    def statistics(self, batch: Rows, local: Seen) -> Sums:
        return Sums(batch.n, batch.n, batch.n * local.at)

    def global_step(self, q: Spot, stats: Sums) -> Spot:
        if stats.at / stats.n > self.edge:
            raise np.linalg.LinAlgError("beyond the edge")
        return replace(q, at=stats.at / stats.n)

    def data_terms(self, q: Spot, stats: Sums) -> dict[str, float]:
        return {"hill": -1000.0 * q.at**2}

    def global_terms(self, q: Spot) -> dict[str, float]:
        return {}

    def exact_local(self, q: Spot) -> bool:
        return True


def climbed(model: Any, **options: Any) -> Any:
    return ascend(model, [some_rows()], State(Spot(-5.0)), **{"max_iter": 1000, "tol": 1e-6, **options})


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Any:
    def ascent(model: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(extrapolation, "WAIT", 10**6)
            return climbed(model)

    return ascent


def test_a_slow_ascent_ends_sooner_and_not_lower(plain: Any) -> None:
    slow, fast = plain(Slope()), climbed(Slope())
    assert len(fast.trace) < len(slow.trace) / 3
    assert fast.elbo >= slow.elbo
    assert np.all(np.diff([event.elbo for event in fast.trace]) >= 0)
    assert fast.converged


def test_the_first_iterations_are_plain(plain: Any) -> None:
    """As many as a trial of moves has: what short ascents reach does not change."""
    slow, fast = (fit.trace[: extrapolation.WAIT] for fit in (plain(Slope()), climbed(Slope())))
    assert [event.elbo for event in slow] == [event.elbo for event in fast]


def test_a_step_too_far_is_taken_back(plain: Any) -> None:
    """Where sums on the way are none that a model can use, the plain iteration follows."""
    near = climbed(Slope(edge=1e-6))
    assert near.converged
    assert near.elbo == pytest.approx(plain(Slope()).elbo, abs=1e-2)
    assert np.all(np.diff([event.elbo for event in near.trace]) >= 0)


def test_nothing_of_it_is_left_when_an_ascent_ends() -> None:
    assert climbed(Slope()).state.momentum is None
    assert climbed(Slope(), max_iter=20).state.momentum is None


@pytest.mark.parametrize("name", ["binary-ml-mean-field", "ica-heavy", "mixture-full-dirichlet"])
@pytest.mark.parametrize("at", [4, 14, 17])
def test_an_ascent_broken_off_on_a_long_way_goes_on_to_the_same_bits(name: str, at: int) -> None:
    rng = np.random.default_rng(1)
    rows = random_rows(rng, 60, 4, holes=True, weighted=True)
    case = CASES[name]
    model = case.build(4)
    start, met = State(case.start(model, 3, rows.x, rng)), list[tuple[State, Any]]()
    whole = ascend(model, [rows], start, max_iter=25, tol=0, on_state=lambda *seen: met.append(seen))  # type: ignore[arg-type]
    assert any(state.momentum is not None and state.momentum.reach != 1.0 for state, _ in met)
    again = ascend(model, [rows], met[at][0], max_iter=25, tol=0, so_far=met[at][1])
    assert [event.elbo for event in again.trace] == [event.elbo for event in whole.trace]
