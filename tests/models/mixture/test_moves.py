"""Starts and moves of mixtures: clusters joined by their evidence, rows dealt anew, halves that change hands."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import latens
from latens.array.packed_symmetric import upper
from latens.core import Removal, Rows
from latens.families.normal_wishart import NormalWishart
from latens.models.mixture.model import Memberships
from latens.models.mixture.moves import Present, _splits, agglomerated, crossed, deal, gather, rearrange
from latens.models.mixture.nearby import Move, Nearby

N_EACH = 30


@cache
def problem() -> tuple[Any, Any, np.ndarray]:
    """A model, rows about three corners in its units, and which corner each is about."""
    rng, label = np.random.default_rng(5), np.repeat(np.arange(3), N_EACH)
    X = 12.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[label] + rng.normal(size=(3 * N_EACH, 2))
    fitted = latens.GaussianMixture(3, random_state=0).fit(X)
    return fitted._model, fitted._units.enter(Rows(X)), label


def of_labels(labels: np.ndarray, k: int) -> tuple[Any, Any]:
    """Posterior and sums of rows whose clusters are known."""
    model, rows, _ = problem()
    stats = model.statistics(rows, Memberships(np.eye(k)[labels]))
    return model.global_step(model.prior(k), stats), stats


def bound(q: Any) -> float:
    """After three iterations from here."""
    model, rows, _ = problem()
    for _ in range(3):
        stats = model.statistics(rows, model.local_step(q, rows))
        q = model.global_step(q, stats)
    return float(sum((model.data_terms(q, stats) | model.global_terms(q)).values()))


def labels_of(q: Any) -> np.ndarray:
    model, rows, _ = problem()
    return np.asarray(np.argmax(model.local_step(q, rows).mean, axis=1))


def same_groups(one: np.ndarray, other: np.ndarray) -> bool:
    return (
        len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one.tolist())) == len(set(other.tolist()))
    )


@pytest.mark.parametrize("times", [1.0, 1.5, 2.0])
def test_pieces_of_clusters_are_joined_again(times: float) -> None:
    model, _, label = problem()
    pieces = 4 * label + np.arange(len(label)) % 4
    q, stats = of_labels(pieces, 12)
    joined = agglomerated(model, q, stats, times)
    assert joined.n_components == int(np.ceil(3 * times))
    if times == 1:
        assert same_groups(labels_of(joined), label)
        assert bound(joined) == pytest.approx(bound(of_labels(label, 3)[0]), abs=1e-6)


def test_one_cluster_stays_one() -> None:
    model, rows, _ = problem()
    q, stats = of_labels(np.zeros(len(rows), int), 1)
    assert agglomerated(model, q, stats).n_components == 1


def test_rows_dealt_anew_leave_the_clusters_they_do_not_belong_to() -> None:
    model, rows, label = problem()
    wrong = label.copy()
    wrong[:: N_EACH // 3] = (wrong[:: N_EACH // 3] + 1) % 3  # three rows of each
    assert same_groups(labels_of(deal(model, of_labels(wrong, 3)[0], rows, rows.n)), label)


def test_a_half_that_another_cluster_holds_is_given_back() -> None:
    model, rows, label = problem()
    wrong = label.copy()
    wrong[N_EACH : N_EACH + N_EACH // 2] = 2  # half of the second cluster is held by the third
    q, stats = of_labels(wrong, 3)
    proposed = [one for one in rearrange(Present(model, q, stats, rows), 3) if not isinstance(one, Removal)]
    best = max(proposed, key=bound)
    assert best.n_components == 3
    assert same_groups(labels_of(best), label)
    assert bound(best) > bound(q) - 1e-9


def test_halves_of_the_last_round_change_no_candidate() -> None:
    model, rows, label = problem()
    q, stats = of_labels(np.minimum(label, 1), 2)
    first, again, fresh = (
        [one for one in rearrange(Present(model, q, stats, table), 5) if not isinstance(one, Removal)]
        for table in (rows, rows, Rows(rows.x.copy()))
    )
    for one in (again, fresh):
        assert [bound(a) for a in one] == [bound(a) for a in first]
    assert any(a.n_components == 3 and same_groups(labels_of(a), label) for a in first)


def test_each_cluster_is_proposed_to_be_taken_out_the_smallest_first() -> None:
    model, rows, label = problem()
    tied = replace(model, clusters=replace(model.clusters, tied=True))  # whose clusters do not settle by themselves
    rows = Rows(rows.x)  # halves of another model are not kept with these
    stats = tied.statistics(rows, Memberships(np.eye(2)[np.minimum(label, 1)]))
    q = tied.global_step(tied.prior(2), stats)
    removed = [one for one in rearrange(Present(tied, q, stats, rows), 2) if isinstance(one, Removal)]
    assert [one.of.tolist() for one in removed] == [[1], [0]]
    assert all(one.n_components == 1 for one in removed)


def test_a_cluster_that_the_others_cannot_replace_is_not_taken_out() -> None:
    model, rows, label = problem()
    q, stats = of_labels(label, 3)
    assert not [one for one in rearrange(Present(model, q, stats, rows), 3) if one.n_components < 3]
    halved = label.copy()
    halved[:N_EACH:2] = 3  # every other row of the first
    q, stats = of_labels(halved, 4)
    fewer = [one for one in rearrange(Present(model, q, stats, rows), 4) if one.n_components == 3]
    assert fewer
    assert all(same_groups(labels_of(getattr(one, "q", one)), label) for one in fewer)


def test_what_clusters_concerned_gain_the_bound_of_all_gains_at_least() -> None:
    model, rows, label = problem()
    q, stats = of_labels(np.minimum(label, 1), 2)
    for _ in range(30):  # until it settles
        stats = model.statistics(rows, model.local_step(q, rows))
        q = model.global_step(q, stats)
    near, each = Nearby(model, q, rows), np.eye(2)
    splits = [Move((which,), halves, np.eye(2)) for which, halves in halves_of(q, stats)]
    moves = [Move((0, 1), stats, each[[0]] + each[[1]]), Move((1,), stats, np.zeros((0, 2))), *splits]
    settled = near.settled(moves, -1e9)
    assert len(settled) == len(moves)
    assert [one.gain for one in settled] == sorted((one.gain for one in settled), reverse=True)
    now = sum((model.data_terms(q, stats) | model.global_terms(q)).values())
    for one in settled:
        assert bound(near.after([one])) > now + one.gain - 0.1
    assert settled[0].gain > 10


def test_a_move_that_changes_nothing_gains_nothing_in_a_fit_that_has_settled() -> None:
    """Clusters overlap, and the entropy of rows that are in both of them is 11 nats."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2)) + 2.5 * np.repeat([[0.0, 0.0], [1.0, 1.0]], 60, axis=0)
    fitted = latens.GaussianMixture(2, prune=False, n_init=1, moves=False, random_state=0).fit(X)
    model, rows, q, stats = fitted._model, fitted._units.enter(Rows(X)), fitted.posterior_, fitted._state.stats
    assert stats.entropy > 10
    (move,) = Nearby(model, q, rows).settled([Move((0, 1), stats, np.eye(2))], -1e9)
    assert move.gain == pytest.approx(0, abs=0.05)


def test_gains_are_those_of_the_bound_before_a_fit_has_settled() -> None:
    """A move that only goes on with the ascent gains what iterations gain, and no nats of memberships before them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2)) + 2.5 * np.repeat([[0.0, 0.0], [1.0, 1.0]], 60, axis=0)
    fitted = latens.GaussianMixture(2, prune=False, n_init=1, moves=False, random_state=0).fit(X)
    model, rows = fitted._model, fitted._units.enter(Rows(X))
    stats = model.statistics(rows, Memberships(np.eye(2)[(rows.x[:, 0] > 0.3).astype(int)]))  # far from settled
    q = model.global_step(model.prior(2), stats)
    near = Nearby(model, q, rows)
    (move,) = near.settled([Move((0, 1), near.stats, np.eye(2))], -1e9)
    bounds = []
    for _ in range(12):
        after = model.statistics(rows, model.local_step(q, rows))
        q = model.global_step(q, after)
        bounds.append(sum((model.data_terms(q, after) | model.global_terms(q)).values()))
    assert bounds[5] - bounds[0] > 1
    assert bounds[5] - bounds[0] < move.gain < bounds[-1] - bounds[0] + 0.05


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_evidences_of_pairs_are_those_of_their_sums(d: int) -> None:
    rng, k = np.random.default_rng(d), 6
    x = [rng.normal(size=(n, d)) + 3 for n in rng.integers(1, 30, size=k)]
    counts, sums = np.array([[float(len(one))] for one in x]), np.stack([one.sum(axis=0) for one in x])
    products = upper(np.stack([one.T @ one for one in x]))
    prior = NormalWishart(rng.normal(size=(1, d)), np.array([0.3]), np.array([d + 0.5]), 2.0 * np.eye(d)[None])
    i, j = np.triu_indices(k, 1)
    together = prior.pair_evidence((counts, sums, products), i, j)
    expected = prior.evidence(counts[i] + counts[j], sums[i] + sums[j], products[i] + products[j], prior)
    np.testing.assert_allclose(together, expected, rtol=1e-12)


def halves_of(q: Any, stats: Any) -> list[tuple[int, Any]]:
    model, rows, _ = problem()
    return [(which, halves) for _, which, halves in _splits(Present(model, q, stats, rows))]


def test_moves_that_concern_no_cluster_in_common_are_made_together() -> None:
    model, rows, label = problem()
    pieces = np.where(label < 2, 2 * label + np.arange(len(label)) % 2, 4)  # two of three are cut in two
    q, stats = of_labels(pieces, 5)
    stats = model.statistics(rows, model.local_step(q, rows))
    q = model.global_step(q, stats)
    each, near = np.eye(5), Nearby(model, q, rows)
    moves = [Move((i, i + 1), stats, each[[i]] + each[[i + 1]]) for i in (0, 2)]
    settled = near.settled(moves, 0.0)
    together = near.together(settled, 5)
    assert len(together) == 2
    assert same_groups(labels_of(near.after(together)), label)
    assert len(near.together([settled[0], settled[0]], 5)) == 1


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_two_posteriors_of_which_each_lacks_what_the_other_has_are_crossed(kind: str) -> None:
    rng, label = np.random.default_rng(7), np.repeat(np.arange(4), N_EACH)
    X = 12.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[label] + rng.normal(size=(4 * N_EACH, 2))
    fitted = latens.GaussianMixture(4, covariance_type=kind, random_state=0).fit(X)
    model, rows = fitted._model, fitted._units.enter(Rows(X))

    def posterior(labels: list[int]) -> Any:
        share = np.eye(3)[np.array(labels)[label]]
        return model.global_step(model.prior(3), model.statistics(rows, Memberships(share)))

    found = next(crossed(model, posterior([0, 0, 1, 2]), posterior([0, 1, 2, 2]), rows, 8))
    assert same_groups(np.argmax(model.local_step(found, rows).mean, axis=1), label)
    assert not list(crossed(model, found, found, rows, 8))


def test_first_candidates_and_further_ones_are_all_candidates() -> None:
    model, rows, label = problem()
    pieces = 2 * label + np.arange(len(label)) % 2
    q, stats = of_labels(pieces, 6)
    rng = np.random.default_rng(0)
    every = [bound(getattr(one, "q", one)) for one in model.candidates(q, stats, rows, rng, 8)]
    tiers = (model.first_candidates, model.further_candidates)
    assert every == [bound(getattr(one, "q", one)) for tier in tiers for one in tier(q, stats, rows, rng, 8)]
    joined = next(one for one in gather(Present(model, q, stats, rows)) if one.n_components == 5)
    assert bound(joined) > bound(q)


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_rows_are_dealt_by_the_predictive_density(kind: str, holes: bool) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 3.0 * rng.integers(2, size=(60, 1))
    if holes:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[0] = np.nan  # shows nothing
    fitted = latens.GaussianMixture(3, covariance_type=kind, prune=False, max_iter=3, random_state=0).fit(X)
    model, q, rows = fitted._model, fitted.posterior_, fitted._units.enter(fitted._rows_of_fit(X))
    step = model.predicted_step(q, rows)
    np.testing.assert_allclose(step.mean, model.predicted_memberships(q, rows), atol=1e-10)
    expected = model.statistics(rows, replace(model.local_step(q, rows), mean=step.mean))
    np.testing.assert_allclose(model.statistics(rows, step).xx, expected.xx, rtol=1e-10)
