"""Axes of factors: how those are found in which loadings are sparse, and that nothing else is changed by them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import latens
from latens.array.kernels.spike_slab_numba import axes_height
from latens.core import Rows, State
from latens.inference.ascent import ascend
from latens.models.multi_view.model import MultiViewPosterior
from latens.models.multi_view.moves import _in_other_axes, _noisier
from latens.models.multi_view.turns import (
    Axes,
    Loadings,
    _evidence,
    _highest_of_many,
    _plain,
    _put_together,
    _risen,
    _turn,
    sparser,
)

N = 3000.0


def sparse_loadings(seed: int, k: int = 5, d: int = 40) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.5)


def loadings_of(mean: np.ndarray, second: np.ndarray | None = None, dense: float = 0.0) -> Loadings:
    k, d = mean.shape
    second = N * np.eye(k) if second is None else second
    ends = np.array([d // 2, d])
    return Loadings(mean, np.full(d, 0.25 / N), ends, second, N, np.full(2, dense))


@pytest.mark.parametrize("dense", [0.0, 1.0])
def test_slopes_are_those_of_the_height(dense: float) -> None:
    rng, k, m = np.random.default_rng(0), 3, 2
    root = rng.normal(size=(k, k)) + 3 * np.eye(k)
    loadings = replace(loadings_of(0.2 * rng.normal(size=(k, 30)), N * root @ root.T / 9, dense), weight=3.0)
    x = np.concatenate([(np.eye(k) + 0.1 * rng.normal(size=(k, k))).ravel(), 0.3 * rng.normal(size=2 * m * k)])
    step, slopes, spare = 1e-6, np.empty(len(x)), np.empty(len(x))

    def height(x: np.ndarray) -> float:
        return float(axes_height(*loadings.arrays, x, spare))

    numeric = [(height(x + step * e) - height(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    axes_height(*loadings.arrays, x, slopes)
    assert slopes / N == pytest.approx(np.array(numeric) / N, rel=1e-5, abs=1e-6)


def test_loadings_that_are_all_0_have_no_sparser_axes() -> None:
    for tiny in (0.0, 1e-170):
        assert sparser(loadings_of(np.full((4, 40), tiny)), 1.0) is None


def test_height_of_the_equation() -> None:
    """That of the module's docstring, term by term; singular axes have none."""
    rng, k = np.random.default_rng(1), 3
    root = rng.normal(size=(k, k)) + 3 * np.eye(k)
    loadings = loadings_of(0.2 * rng.normal(size=(k, 30)), N * root @ root.T / 9)
    mixing, width = np.eye(k) + 0.1 * rng.normal(size=(k, k)), np.exp(0.3 * rng.normal(size=(2, k)))
    share = rng.uniform(0.2, 0.8, size=(2, k))
    axes = Axes(mixing, width, share, 0.0)
    back = np.linalg.inv(mixing)
    moved = back @ loadings.second @ back.T
    clear = np.sqrt(np.diagonal(moved) / np.mean(np.diagonal(loadings.second)))
    assert axes.clearness(loadings) == pytest.approx(clear, rel=1e-9)
    worth = _evidence(loadings, clear[:, None] * (mixing.T @ loadings.mean), width, share)
    codes = -0.5 * np.trace(moved) - N * np.linalg.slogdet(mixing)[1]
    expected = worth.sum() + codes + np.sum(np.log(share) + np.log1p(-share))
    x = np.concatenate([mixing.ravel(), np.log(width).ravel(), np.log(share / (1 - share)).ravel()])
    assert axes_height(*loadings.arrays, x, np.empty(len(x))) == pytest.approx(expected, rel=1e-9)
    x[: k * k] = 1.0
    assert axes_height(*loadings.arrays, x, np.empty(len(x))) == -np.inf


def test_a_factor_in_another_unit_is_worth_the_same() -> None:
    """Its loadings, their variance and their prior have one unit: only codes say how large they should be."""
    loadings, k = loadings_of(sparse_loadings(3)), 5
    here = _risen(loadings, _plain(loadings, np.eye(k)), fixed=True)
    times = np.array([1.0, 2.0, 1.0, 1.0, 1.0])
    there = _risen(loadings, _plain(loadings, np.diag(times)), fixed=True)
    codes = -0.5 * N * np.sum(1 / times**2 - 1) - N * np.sum(np.log(times))
    assert there.height - here.height == pytest.approx(codes, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_mixed_factors_are_parted(seed: int) -> None:
    """Whatever turned them, and where codes are correlated as by chance in few rows."""
    rng, truth = np.random.default_rng(seed), sparse_loadings(seed)
    k = len(truth)
    mixing = np.linalg.qr(rng.normal(size=(k, k)))[0] @ (np.eye(k) + 0.02 * rng.normal(size=(k, k)))
    codes = rng.normal(size=(int(N), k)) @ np.linalg.inv(mixing)
    noise = np.sqrt(0.25 / N) * rng.normal(size=truth.shape)
    axes = sparser(loadings_of(mixing @ truth + noise, codes.T @ codes), 1.0)
    assert axes is not None
    found = axes.mixing.T @ (mixing @ truth + noise)
    small = np.sort(np.abs(found), axis=None)[: np.count_nonzero(truth == 0)]
    assert np.sqrt(np.mean(small**2)) < 1.5 * np.sqrt(0.25 / N)  # as small as rows can tell


def test_axes_that_are_as_sparse_as_any_stay() -> None:
    truth = sparse_loadings(1)
    first = sparser(loadings_of(truth), 0.0)
    settled = truth if first is None else first.mixing.T @ truth
    second = (
        loadings_of(truth).second if first is None else np.linalg.solve(first.mixing, np.linalg.inv(first.mixing).T) * N
    )
    assert sparser(loadings_of(settled, second), 0.5) is None


def fitted(seed: int, n: int = 400, k: int = 3, *, mixed: bool = False) -> tuple[Any, Rows, MultiViewPosterior]:
    """A model of two views, its rows, and a posterior that plain ascent leads to, from mixed factors or from any."""
    rng, d = np.random.default_rng(seed), 30
    loadings = rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.5)
    x = rng.normal(size=(n, k)) @ loadings + 0.5 * rng.normal(size=(n, d))
    init = np.linalg.qr(rng.normal(size=(k, k)))[0] @ loadings if mixed else "auto"
    estimator = latens.MultiViewFactorAnalysis(k, random_state=0, moves=False, prune=False, n_jobs=1, init=init)
    estimator.fit({"a": x[:, : d // 2], "b": x[:, d // 2 :]})
    return estimator._model, estimator._units.enter(Rows(x)), estimator._state.q


def test_a_candidate_climbs_above_a_fit_of_mixed_factors() -> None:
    """It begins near the bound that it was chosen for, and ends above the ascent from where it was."""
    model, rows, q = fitted(0, 2000, 5, mixed=True)
    before = ascend(model, [rows], State(q), max_iter=10, tol=0.0)
    turned = list(_in_other_axes(before.state.q, before.state.stats))
    assert len(turned) == 1
    after = ascend(model, [rows], State(turned[0]), max_iter=10, tol=0.0)
    assert after.elbo > before.elbo + 10.0
    assert after.trace[0].elbo > after.elbo - 10.0


def test_noise_that_a_factor_took_for_itself_is_given_back() -> None:
    _, _, q = fitted(1)
    noise = q.views["a"].noise
    rate = np.array(noise.rate)
    rate[0] *= 1e-3
    quiet = replace(q, views={**q.views, "a": replace(q.views["a"], noise=replace(noise, rate=rate))})
    candidates = list(_noisier(quiet))
    assert candidates
    p = candidates[0].views["a"]
    variance = 1 / p.noise.mean[0] + np.sum(p.weights.mean[0] ** 2)
    was = 1 / quiet.views["a"].noise.mean[0] + np.sum(q.views["a"].weights.mean[0] ** 2)
    assert variance == pytest.approx(was, rel=1e-9)
    assert p.noise.mean[0] * variance == pytest.approx(1 / 0.3, rel=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_sizes_of_codes_settle_in_one_step(seed: int) -> None:
    """Loadings and codes in another common unit have the bound of one iteration back at once."""
    m, rows, q = fitted(seed)
    settled = ascend(m, [rows], State(q), max_iter=300, tol=1e-9)
    q = settled.state.q
    assert m.expanded(q, settled.state.stats) is q
    small = replace(q, views={name: view.resized(np.full(q.n_components, 0.7)) for name, view in q.views.items()})
    assert m.expanded(small, m.statistics(rows, m.local_step(small, rows))) is not small
    short = ascend(m, [rows], State(small), max_iter=6, tol=0.0)
    assert short.elbo > settled.elbo - 0.05
    plain = State(small)
    for _ in range(6):
        stats = m.statistics(rows, m.local_step(plain.q, rows))
        plain = State(m.global_step(plain.q, stats), stats)
    assert sum(m.data_terms(plain.q, plain.stats).values()) + sum(m.global_terms(plain.q).values()) < short.elbo


def test_the_best_axes_of_several_tops_are_put_together() -> None:
    """Two tops that have some of the true axes each, and the others mixed."""
    truth = sparse_loadings(4)
    loadings = loadings_of(truth)
    first, second = np.eye(5), np.eye(5)
    turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
    first[:2, :2], second[3:, 3:] = turn, turn
    tops = [_risen(loadings, _plain(loadings, mixing), fixed=True) for mixing in (first, second)]
    best = _put_together(loadings, tops)[0]
    assert np.sort(np.abs(best.mixing).max(axis=0)) == pytest.approx(np.ones(5))
    assert _risen(loadings, best, fixed=True).height > max(top.height for top in tops) + 10


def test_many_axes_lead_out_of_a_top_that_is_not_the_highest() -> None:
    rng, truth = np.random.default_rng(5), sparse_loadings(5)
    loadings = loadings_of(truth)
    wrong = _risen(loadings, _plain(loadings, np.linalg.qr(rng.normal(size=(5, 5)))[0]))
    right = _risen(loadings, _risen(loadings, _plain(loadings, np.eye(5)), fixed=True))
    assert wrong.height < right.height - 10
    assert _highest_of_many(loadings, [wrong]).height > right.height - 0.5


def test_turns_are_rotations() -> None:
    turn = _turn(np.random.default_rng(0), 4)
    assert turn @ turn.T == pytest.approx(np.eye(4))
    assert np.linalg.det(turn) == pytest.approx(1.0)


@pytest.mark.parametrize(("seed", "n", "d", "best"), [(2, 400, 12, -14987.15), (47, 400, 20, -22583.69)])
def test_axes_of_dense_loadings_are_as_high_as_those_of_many_more_draws(seed: int, n: int, d: int, best: float) -> None:
    """Bounds of fits that drew 1,000 axes; where whole sets of axes were drawn or turned alone, 9 and 3 nats lower."""
    rng = np.random.default_rng([991, seed])
    codes, loadings = rng.normal(size=(n, 5)), (rng.random((2, 5, d)) < 1) * rng.normal(size=(2, 5, d))
    views = {name: codes @ w + 0.7 * rng.normal(size=(n, d)) for name, w in zip("ab", loadings, strict=True)}
    model = latens.MultiViewFactorAnalysis(random_state=0, n_jobs=1).fit(views)
    assert model.elbo_ > best - 1
