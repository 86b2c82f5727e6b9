"""The search on a part of the rows, and what it leaves to all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from latens.core import Fit, Rows, State
from latens.errors import ElboDecreased
from latens.estimators.rows.data import InMemory
from latens.families.dirichlet import Dirichlet
from latens.families.normal_columns import NormalColumns
from latens.families.normal_gamma import NormalGamma
from latens.inference.ascent import ascend
from latens.inference.local_fixed_point import local_fixed_point
from latens.inference.search import optimum
from latens.inference.search.optimum import NATS_OF_CODES, Search
from latens.inference.search.surprise import badly_explained
from latens.inference.sweep import serial_sweep
from latens.models.binary_factors.model import BinaryFactors
from latens.models.binary_factors.posteriors import MeanField, Switches
from latens.models.mixture.model import Mixture
from latens.models.noisy_ica.model import NoisyIca
from tests.inference.toy import fit_at, some_rows


def two_columns() -> Mixture:
    prior = NormalColumns(np.zeros((1, 2)), np.full((1, 1), 0.1), np.full((1, 1), 1.0), np.ones((1, 2)), False)
    return Mixture(Dirichlet(np.ones(1)), prior)


def clumps(rng: np.random.Generator, sizes: list[int], places: list[float]) -> np.ndarray:
    return np.concatenate([place + rng.normal(size=(n, 2)) for n, place in zip(sizes, places, strict=True)])


def at(model: Mixture, places: list[float]) -> Any:
    centres = np.array(places)[:, None] * np.ones((1, 2))
    k = len(centres)
    return model.global_step(model.prior(k), model.imagined(np.full(k, 20.0), centres, np.ones(2)))


def searching(model: Mixture, **options: Any) -> Search:
    given = {"seed": 0, "limit": 6, "max_iter": 100, "tol": 1e-6, "moves": True, **options}
    return Search(model, partial(ascend, model, tol=1e-6), **given)


def test_badly_explained_rows_are_those_of_lowest_density_and_a_few_for_each_of_the_others() -> None:
    rng, model = np.random.default_rng(0), two_columns()
    x = clumps(rng, [900, 10], [0.0, 30.0])
    mixed = rng.permutation(len(x))
    q = at(model, [0.0])
    which, weight = badly_explained(model, q, [Rows(x[:500]), Rows(x[500:])], 40)
    assert set(range(900, 910)) <= set(which[:20])
    assert weight[:20] == pytest.approx(1.0)
    assert weight.sum() == pytest.approx(910)
    again, _ = badly_explained(model, q, [Rows(x[mixed])], 40)
    assert set(mixed[again]) == set(which)


def worst(model: Mixture, rows: Rows) -> Callable[[Any, int], Rows]:
    """Rows that a posterior explains badly, as a search asks for them."""
    return partial(InMemory(rows).badly_explained, model)


def test_too_many_clusters_go_though_rows_are_many() -> None:
    rng, model = np.random.default_rng(1), two_columns()
    rows = Rows(clumps(rng, [2000, 2000], [-6.0, 6.0]))
    part = Rows(rows.x[::10])
    start = State(at(model, [-7.0, -5.0, 0.0, 5.0, 7.0]))
    fit = searching(model).by_part(part, [rows], rows.n, worst(model, rows), [start])
    reference = ascend(model, [rows], State(at(model, [-6.0, 6.0])), tol=1e-6)
    assert fit.state.q.n_components == 2
    assert fit.elbo == pytest.approx(reference.elbo, abs=0.5)


def test_a_cluster_that_the_part_has_not_met_is_found_on_all_rows() -> None:
    rng, model = np.random.default_rng(2), two_columns()
    x = clumps(rng, [2000, 2000, 12], [-6.0, 6.0, 0.0])
    x[-12:] += [8.0, -8.0]
    rows, part = Rows(x), Rows(x[:4000:10])
    fit = searching(model).by_part(part, [rows], rows.n, worst(model, rows), [State(at(model, [-6.0, 6.0]))])
    assert sorted(np.round(fit.state.stats.counts)) == [12, 2000, 2000]


@pytest.mark.parametrize("pause", [0, 3])
def test_a_start_that_pauses_goes_on_to_its_end(pause: int) -> None:
    rng, model = np.random.default_rng(4), two_columns()
    rows = Rows(clumps(rng, [200, 200], [-4.0, 4.0]))
    fit = searching(model, pause=pause).on_all([rows], rows, [State(at(model, [0.5, -0.5]))])
    assert fit.converged
    assert sorted(np.round(fit.state.stats.counts)) == [200, 200]


def test_a_start_found_on_all_rows_is_not_searched_again_on_a_part() -> None:
    rng, model = np.random.default_rng(3), two_columns()
    x = clumps(rng, [1000, 1000, 8], [-6.0, 6.0, 20.0])
    rows, part = Rows(x), Rows(x[:2000:10])
    start = State(at(model, [-6.0, 6.0, 20.0]))
    seen: list[int] = []

    def count(event: Any) -> None:
        seen.append(event.n_components)

    fit = searching(model).by_part(part, [rows], rows.n, worst(model, rows), [start], from_scratch=False, notify=count)
    assert fit.state.q.n_components == 3
    assert min(seen) == 3  # on a part the third would have gone first


@dataclass(frozen=True)
class Pressed:
    """An ascent that the keyboard interrupts on the part."""

    model: Mixture

    def __call__(self, batches: Any, start: State, **options: Any) -> Fit:
        fit = ascend(self.model, batches, start, **options)
        return fit if len(batches[0]) > 100 else Fit(fit.state, fit.trace, False, interrupted=True)


def test_an_interrupt_on_the_part_leaves_a_fit_of_all_rows() -> None:
    rng, model = np.random.default_rng(4), two_columns()
    rows = Rows(clumps(rng, [400, 400], [-6.0, 6.0]))
    search = Search(model, Pressed(model), 0, 6, 100, 1e-6, True)
    fit = search.by_part(Rows(rows.x[::10]), [rows], rows.n, worst(model, rows), [State(at(model, [-1.0, 1.0]))])
    assert fit.interrupted
    assert not fit.converged
    assert fit.state.stats.n == 800


def test_falls_smaller_than_rounding_of_a_nat_are_no_falls() -> None:
    model = two_columns()
    rows = Rows(np.random.default_rng(5).normal(size=(50, 2)), weight=np.full(50, 1e-9))
    with warnings.catch_warnings(action="error", category=ElboDecreased):
        fit = ascend(model, [rows], State(at(model, [-1.0, 1.0])), max_iter=20, tol=0)
    assert len(fit.trace) == 20


@dataclass(frozen=True)
class Spot:
    """A posterior that is known by its name alone."""

    name: str
    n_components: int = 2

    def only(self, keep: np.ndarray) -> Spot:
        return Spot(self.name + " pruned", len(keep))


@dataclass(frozen=True)
class Landscape:
    """A model whose bounds, candidates and dead components are listed."""

    heights: dict[str, float]
    ways: dict[str, list[str]]
    dead: tuple[str, ...] = ()

    def candidates(self, q: Spot, *_: Any) -> Iterator[Spot]:
        return (Spot(name) for name in self.ways.get(q.name, []))

    def importance(self, q: Spot, stats: Any) -> np.ndarray:
        return np.arange(q.n_components) if q.name in self.dead else np.ones(q.n_components)

    def exact_local(self, q: Spot) -> bool:
        return True

    def ascend(self, batches: Any, start: State, **_: Any) -> Fit:
        return fit_at(self.heights[start.q.name], q=start.q)

    def searched(self, *starts: str) -> Fit:
        search = Search(self, self.ascend, 0, 6, 100, 1e-6, True)
        return search.on_all([some_rows()], some_rows(), [State(Spot(name)) for name in starts])


def test_every_start_is_moved_before_they_are_compared() -> None:
    land = Landscape({"high": -5.0, "low": -9.0, "higher": -4.0, "top": -1.0}, {"high": ["higher"], "low": ["top"]})
    assert land.searched("high").elbo == -4.0
    assert land.searched("high", "low").elbo == -1.0


def test_a_start_that_ends_where_another_did_is_moved_once() -> None:
    names: list[str] = []
    land = Landscape({"a": -5.0, "b": -5.0, "c": -6.0}, {"a": ["c"], "b": ["c"], "c": []})
    watched = replace(land, ways=Noted(land.ways, names))
    assert watched.searched("a", "b", "c").state.q.name == "a"
    assert names == ["a", "c"]


class Noted(dict[str, list[str]]):
    """Ways that are noted down when they are asked for."""

    def __init__(self, ways: dict[str, list[str]], asked: list[str]) -> None:
        super().__init__(ways)
        self.asked = asked

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.append(name)
        return super().get(name, default)


def test_moves_go_on_from_what_is_left_without_dead_components() -> None:
    land = Landscape(
        {"start": -5.0, "start pruned": -4.0, "beyond": -2.0}, {"start pruned": ["beyond"]}, dead=("start",)
    )
    assert land.searched("start").elbo == -2.0
    lower = replace(land, heights={**land.heights, "start pruned": -6.0})
    assert lower.searched("start").elbo == -5.0


def test_a_bound_that_rests_on_codes_which_rows_do_not_find_again_is_not_returned() -> None:
    """Sums of 20 causes in three columns without noise: of a million sums, rows do not find theirs from the start."""
    rng, k = np.random.default_rng(0), 20
    codes = (rng.random((150, k)) < 0.5).astype(float)
    rows = Rows(codes @ rng.normal(size=(k, 3)) + 1e-3 * rng.normal(size=(150, 3)))
    model = BinaryFactors(3, e_step=MeanField())
    planted = Switches(codes)
    q = model.prior(k)
    for _ in range(20):
        q = model.global_step(q, model.statistics(rows, planted))
    search = Search(model, partial(ascend, model, tol=1e-6), seed=0, limit=k, max_iter=100, tol=1e-6, moves=True)
    search = replace(search, fixed=True)
    start = State(q, locals=(planted,))
    highest = max(fit.elbo for fit in search._found([rows], rows, [start], 1))
    fit = search.on_all([rows], rows, [start])
    assert highest > fit.elbo + 2 * NATS_OF_CODES * rows.n
    stats = model.statistics(rows, local_fixed_point(model, fit.state.q, rows, say=False))
    lost = sum(model.data_terms(fit.state.q, fit.state.stats).values()) - sum(
        model.data_terms(fit.state.q, stats).values()
    )
    assert lost < NATS_OF_CODES * rows.n
    assert {event.restart for event in fit.trace} == {0}
    plain = replace(search, moves=False).on_all([rows], rows, [start])
    assert plain.elbo > fit.elbo  # an ascent that is asked for without a search is what it is


def test_codes_that_rows_do_not_find_again_are_settled_before_moves_are_judged_by_them() -> None:
    rng, k = np.random.default_rng(0), 20
    codes = (rng.random((150, k)) < 0.5).astype(float)
    rows = Rows(codes @ rng.normal(size=(k, 3)) + 1e-3 * rng.normal(size=(150, 3)))
    model, planted = BinaryFactors(3, e_step=MeanField()), Switches(codes)
    q = model.prior(k)
    for _ in range(20):
        q = model.global_step(q, model.statistics(rows, planted))
    search = Search(model, partial(ascend, model, tol=1e-6), seed=0, limit=k, max_iter=100, tol=1e-6, moves=True)
    start = State(q, locals=(planted,))
    first = search._ascended(search._ascend([rows]), [start], None, map)[0]
    paused = replace(search, pause=10)._settled([first], [rows], serial_sweep)[0]
    assert paused.elbo < first.elbo - 2 * NATS_OF_CODES * rows.n
    assert len(paused.trace) <= 10
    assert {event.restart for event in paused.trace} == {0}
    honest = search._found_again(first, [rows], serial_sweep)
    found = replace(search, pause=10, fixed=True)._found([rows], rows, [start], 1)
    assert max(fit.elbo for fit in found) < first.elbo - NATS_OF_CODES * rows.n
    assert max(fit.elbo for fit in found) > honest.elbo - NATS_OF_CODES * rows.n


def test_what_stays_far_behind_with_more_components_allowed_is_not_moved_on_all_rows() -> None:
    rng, model, ascents = np.random.default_rng(0), two_columns(), list[int]()
    rows = Rows(clumps(rng, [200, 200], [0.0, 6.0]))

    def counted(batches: Any, start: Any, **options: Any) -> Fit:
        ascents.append(sum(map(len, batches)))
        return ascend(model, batches, start, **{"tol": 1e-6, **options})

    search = replace(searching(model, pause=5), ascend=counted)
    part = Rows(rows.x[::4])
    screens = [search._ascend([part])]
    start = State(at(model, [3.0]))
    whole = search.on_all([rows], part, [start], screens=screens)
    assert whole.state.q.n_components == 2
    before = len(ascents)
    behind = replace(search, least=whole.elbo + 1.0 * rows.n).on_all([rows], part, [start], screens=screens)
    assert len(ascents) == before + 1
    assert len(behind.trace) <= 5
    near = replace(search, least=whole.elbo - 1.2 * rows.n).on_all([rows], part, [start], screens=screens)
    assert near.elbo == whole.elbo


def test_scales_of_heavy_sources_that_settle_in_a_few_local_steps_are_found_again() -> None:
    """A single local step from anywhere leaves them far away: an ascent from there would be for nothing."""
    rng, k = np.random.default_rng(0), 4
    rows = Rows(
        rng.standard_t(0.5, size=(150, k)).clip(-1e3, 1e3) @ rng.normal(size=(k, 6)) + rng.normal(size=(150, 6))
    )
    model = NoisyIca(6)
    q = replace(
        model.prior(k), loadings=replace(model.prior(k).loadings, weights=weights_about(rng.normal(size=(k, 6))))
    )
    ascents = []

    def ascent(*given: Any, **options: Any) -> Fit:
        ascents.append(fit := ascend(model, *given, **{"tol": 1e-6, **options}))
        return fit

    search = Search(model, ascent, seed=0, limit=k, max_iter=60, tol=1e-6, moves=True, fixed=True)
    fit = search._found([rows], rows, [State(q)], 1)[0]
    ascents.clear()
    again = search._found_again(fit, [rows], serial_sweep)
    assert ascents[0].elbo < fit.elbo - NATS_OF_CODES * rows.n
    assert again is fit
    assert [len(one.trace) for one in ascents] == [1, 1]


def weights_about(mixing: np.ndarray) -> NormalGamma:
    n = 100.0
    return NormalGamma(mixing, n * np.eye(len(mixing))[None], np.full(6, n), np.full(6, n))


def test_an_interrupt_of_moves_keeps_a_higher_start_that_was_only_glanced_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> Fit:
        raise KeyboardInterrupt

    rng, model = np.random.default_rng(5), two_columns()
    rows = Rows(clumps(rng, [200, 200], [-4.0, 4.0]))
    starts = [State(at(model, [0.0])), State(at(model, [-4.0, 4.0]))]
    monkeypatch.setattr(optimum, "leading_at_glance", lambda fits, tol: fits[:1])  # as of starts that hardly differ
    monkeypatch.setattr(Search, "_moved", interrupt)
    fit = searching(model, glance=1).on_all([rows], rows, starts)
    assert fit.interrupted
    assert fit.state.q.n_components == 2
