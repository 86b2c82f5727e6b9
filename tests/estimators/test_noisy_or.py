"""The noisy-OR estimator: what it finds, what it takes, what it answers and what it refuses."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from sklearn.datasets import load_digits

import latens
from latens.errors import ValuesCut
from latens.estimators import noisy_or
from latens.estimators.noisy_or import NoisyOr
from latens.inference.ascent import ascend
from latens.metrics import match_components
from tests.estimators.conventions.verdict import complaints

QUICK: dict[str, Any] = {"n_init": 1, "max_iter": 40, "tol": 1e-3, "random_state": 0}
WAYS: dict[str, dict[str, Any]] = {
    "ard": {},
    "ml": {"prior": "ml"},
    "truncated": {"e_step": "truncated"},
    "profiles": {"prior": "ml", "n_profiles": 2},
    "jensen": {"e_step": "jensen", "prior": "ml", "moves": False, "tol": 1e-2},
}


def make(way: str, n_components: int = 3, **options: Any) -> NoisyOr:
    return NoisyOr(n_components, **{**QUICK, **WAYS[way], **options})


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    """Three overlapping causes of nine columns, and a little leak."""
    rng = np.random.default_rng(4)
    causes = 0.85 * np.array([[1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1, 1.0]])
    codes = rng.random((300, 3)) < 0.35
    dark = 0.99 * np.prod(1 - codes[:, :, None] * causes, axis=1)
    return (rng.random(dark.shape) > dark).astype(float)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"prior": "ml", "n_components": 2}], ids=["ard", "ml"])
def test_scikit_learn_finds_no_fault(options: dict[str, Any]) -> None:
    assert complaints(NoisyOr(**{**QUICK, **options})) == []


@pytest.mark.slow
def test_all_eight_pictures_are_found_and_their_number_too() -> None:
    X, truth = latens.datasets.make_noisy_or(1000, random_state=11)
    model = NoisyOr(12, n_init=3, random_state=0).fit(X)
    match = match_components(model.components_, truth.components)
    assert model.n_components_ == 8
    assert match.found(0.95) == 8
    assert model.usage_[match.index] == pytest.approx(truth.usage, abs=0.06)
    assert model.components_[match.index] == pytest.approx(truth.components, abs=0.2)
    assert model.leak_.mean() < 0.02
    assert model.n_profiles_ == 1
    assert np.mean((model.transform(X)[:, match.index] > 0.5) == (truth.codes > 0.5)) > 0.98


@pytest.mark.parametrize(("n_columns", "n_causes"), [(6, 8), (24, 8), (30, 15)])
def test_a_search_begins_with_half_as_many_causes_as_columns(n_columns: int, n_causes: int) -> None:
    """8 of few columns: all of their combinations are listed, which is both the fastest and the tightest."""
    rows, sizes = np.random.default_rng(0).random((200, n_columns)) < 0.3, list[int]()

    def watch(event: Any) -> bool:
        sizes.append(event.n_components)
        return True  # the first iteration tells

    NoisyOr(random_state=0, callbacks=watch).fit(1.0 * rows)
    assert sizes[0] == n_causes


def test_profiles_grow_where_causes_depend_on_each_other() -> None:
    rng = np.random.default_rng(3)
    kind = rng.random(2000) < 0.5
    codes = rng.random((2000, 4)) < np.where(kind[:, None], [0.7, 0.7, 0.02, 0.02], [0.02, 0.02, 0.7, 0.7])
    causes = 0.9 * np.kron(np.eye(4), np.ones((1, 4)))
    X = (rng.random((2000, 16)) > 0.99 * np.prod(1 - codes[:, :, None] * causes, axis=1)).astype(float)
    grown = NoisyOr(4, n_init=2, random_state=0).fit(X)
    alone = NoisyOr(4, n_init=2, n_profiles=1, random_state=0).fit(X)
    assert grown.n_profiles_ >= 2
    assert alone.n_profiles_ == 1
    assert grown.elbo_ > alone.elbo_ + 100
    assert grown.profile_weights_.sum() == pytest.approx(1)
    assert grown.profile_weights_ @ grown.profiles_ == pytest.approx(grown.usage_)


@pytest.mark.parametrize("container", [csr_matrix, csr_array, csc_matrix])
def test_sparse_rows_give_the_fit_of_dense_ones(way: str, container: Any, X: np.ndarray) -> None:
    dense, sparse = make(way).fit(X), make(way).fit(container(X))
    assert sparse.elbo_ == pytest.approx(dense.elbo_, rel=1e-10)
    assert sparse.components_ == pytest.approx(dense.components_, abs=1e-6)
    S = container(X[:40])
    assert sparse.transform(S) == pytest.approx(dense.transform(X[:40]), abs=1e-6)
    assert sparse.score_samples(S) == pytest.approx(dense.score_samples(X[:40]), abs=1e-6)
    assert isinstance(sparse.impute(S), np.ndarray)


def test_sparse_rows_are_never_made_dense(monkeypatch: pytest.MonkeyPatch, X: np.ndarray) -> None:
    def refuse(self: Any, *args: Any, **options: Any) -> None:
        raise AssertionError("made dense")

    for kind in (csr_array, csr_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    for options in ({"e_step": "truncated"}, {"e_step": "exact"}):
        model = NoisyOr(3, moves=False, **{**QUICK, **options}).fit(csr_array(X))
        assert np.isfinite(model.score(csr_array(X)))


def test_stored_zeros_and_duplicates_mean_what_they_mean(X: np.ndarray) -> None:
    S = csr_matrix(X)
    odd = csr_matrix((np.append(S.data, 0.0), np.append(S.indices, 0), np.append(S.indptr[:-1], S.nnz + 1)), S.shape)
    before = odd.data.copy()
    assert make("ard").fit(odd).elbo_ == pytest.approx(make("ard").fit(S).elbo_, rel=1e-10)
    assert np.array_equal(odd.data, before)


def test_weights_count_rows_and_order_changes_nothing(way: str, X: np.ndarray) -> None:
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    one = make(way).fit(X, sample_weight=weight)
    two = make(way).fit(np.repeat(X, weight.astype(int), axis=0))
    assert two.elbo_ == pytest.approx(one.elbo_, rel=1e-8)
    turned = make(way).fit(X[::-1])
    assert turned.elbo_ == pytest.approx(make(way).fit(X).elbo_, rel=1e-8)


def test_missing_entries_are_imputed_by_probabilities(way: str, X: np.ndarray) -> None:
    holes = np.random.default_rng(2).random(X.shape) < 0.15
    gappy = np.where(holes, np.nan, X)
    model = make(way, n_init=3).fit(gappy)
    filled, deviation = model.impute(gappy, return_std=True)
    assert np.array_equal(filled[~holes], X[~holes])
    assert np.all((filled >= 0) & (filled <= 1))
    assert np.all(deviation[~holes] == 0)
    guess = filled[holes]
    loss = -np.mean(np.where(X[holes] > 0, np.log(guess), np.log1p(-guess)))
    rate = X.mean()
    assert loss < -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate)) - 0.1
    nothing = np.full((1, 9), np.nan)
    assert model.score_samples(nothing) == pytest.approx(0, abs=1e-9)


def test_scores_are_log_probabilities_of_rows(way: str, X: np.ndarray) -> None:
    model = make(way).fit(X[:, :6])
    every = np.array([[(i >> j) & 1 for j in range(6)] for i in range(64)], dtype=float)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1, abs=1e-9)
    assert not model.score_is_bound_


def test_with_many_causes_the_score_is_a_lower_bound_and_says_so() -> None:
    X, _ = latens.datasets.make_noisy_or(400, random_state=5)
    options = {**QUICK, "prior": "ml", "moves": False, "max_iter": 15, "tol": 0}
    model = NoisyOr(14, e_step="truncated", **options).fit(X)
    assert model.score_is_bound_
    whole = NoisyOr(14, e_step="exact", **{**options, "max_iter": 1}).fit(X[:50])
    assert not whole.score_is_bound_
    exact = whole._model.log_predictive(model.posterior_, latens.core.Rows(X), None)
    gap = exact - model.score_samples(X)
    assert gap.min() > -1e-9
    assert gap.mean() < 0.03


def test_more_states_tighten_the_bound() -> None:
    X, _ = latens.datasets.make_noisy_or(300, random_state=6)
    options = {**QUICK, "prior": "ml", "moves": False, "max_iter": 12, "tol": 0, "e_step": "truncated", "n_profiles": 1}
    few, many = (NoisyOr(8, n_states=n, **options).fit(X) for n in (2, 30))
    assert many.elbo_ > few.elbo_ + 1.0
    assert few._model.n_states == 2
    assert NoisyOr(8, **{**options, "n_profiles": 3}).fit(X)._model.n_states == 40
    with pytest.raises(ValueError, match="n_states=1 is too small; choose at least 2"):
        NoisyOr(8, n_states=1, **options).fit(X)


def test_codes_draws_and_tables(way: str, X: np.ndarray) -> None:
    model = make(way).fit(X)
    codes, deviation = model.transform(X, return_std=True)
    assert codes.shape == deviation.shape == (len(X), model.n_components_)
    assert np.all((codes >= 0) & (codes <= 1))
    rebuilt = model.inverse_transform(codes)
    assert np.all((rebuilt > 0) & (rebuilt < 1))
    assert np.mean((rebuilt > 0.5) == (X > 0.5)) > 0.85
    rows, hidden = model.sample(4000)
    assert set(np.unique(rows)) <= {0.0, 1.0}
    assert rows.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.08)
    assert hidden.shape == (4000, model.n_components_)
    draws = model.sample_posterior(3)
    assert draws["components"].shape == (3, *model.components_.shape)
    top = model.top_features(2)
    assert len(top) == model.n_components_
    assert all(len(names) == 2 for names in top.values())
    assert len(model.summary()) == model.n_components_


def test_a_stream_comes_close_to_the_whole(way: str) -> None:
    X, _ = latens.datasets.make_noisy_or(300 if way == "jensen" else 900, random_state=6)
    whole, stream = make(way, 8, moves=False).fit(X), make(way, 8)
    for part in np.split(X, 3):
        stream.partial_fit(part)
    assert stream.score(X) > whole.score(X) - 0.8
    assert stream._state.stats.n == len(X)


def test_other_values_are_cut_with_a_warning_that_counts_them(X: np.ndarray) -> None:
    grey = X.copy()
    grey[0, :3] = [0.7, 0.2, 3.0]
    with pytest.warns(ValuesCut, match=r"^3 value\(s\) of X were not 0 or 1.*binarize=0.5"):
        model = make("ard").fit(grey)
    clear = X.copy()
    clear[0, :3] = [1.0, 0.0, 1.0]
    assert model.elbo_ == make("ard").fit(clear).elbo_
    with pytest.warns(ValuesCut, match="3 value"):
        assert make("ard").fit(csr_array(grey)).elbo_ == pytest.approx(model.elbo_, rel=1e-10)


def test_none_refuses_other_values_and_names_the_first(X: np.ndarray) -> None:
    grey = X.copy()
    grey[4, 2], grey[7, 1] = 0.25, 9.0
    for rows in (grey, csr_array(grey)):
        with pytest.raises(ValueError, match=r"X\[4, 2\] is 0.25, and binarize=None takes only 0, 1 and NaN"):
            make("ard", binarize=None).fit(rows)
    grey[4, 2], grey[7, 1] = np.nan, np.nan
    assert np.isfinite(make("ard", binarize=None).fit(grey).elbo_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "map"}, "prior='map' is not known; choose one of 'ard', 'ml'"),
        ({"e_step": "mean-field"}, "e_step='mean-field' is not known"),
        ({"n_profiles": 0}, "n_profiles=0 is too small"),
        ({"n_profiles": "many"}, "n_profiles='many' is not a whole number"),
        ({"n_profiles": 3, "e_step": "jensen"}, "n_profiles=3 needs another e_step"),
        ({"n_components": 15, "e_step": "exact"}, "e_step='exact' goes no further; choose at most 14"),
        ({"n_components": 63, "e_step": "truncated"}, "choose at most 62"),
        ({"n_components": None, "prior": "ml"}, "n_components=None needs prior='ard'"),
        ({"binarize": -1.0}, "binarize=-1.0 is out of range"),
        ({"binarize": "yes"}, "binarize='yes' is not a finite number"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"init": np.full((3, 9), 1.5)}, r"expected probabilities of shape \(3, 9\)"),
        ({"tol": -1}, "tol=-1"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(options: dict[str, Any], message: str, X: np.ndarray) -> None:
    model = NoisyOr(**{"n_components": 3, **QUICK, **options})
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "posterior_")


@pytest.mark.parametrize(
    "rows",
    [np.zeros((20, 4)), np.ones((20, 4)), np.eye(6), np.tile([[1.0, 0.0]], (30, 1)), np.array([[0.0], [1.0]])],
    ids=["dark", "bright", "identity", "constant", "tiny"],
)
@pytest.mark.parametrize("prior", ["ard", "ml"])
def test_degenerate_rows_give_finite_answers(rows: np.ndarray, prior: str) -> None:
    model = NoisyOr(2, prior=prior, **QUICK).fit(rows)
    assert np.isfinite(model.elbo_)
    for answer in (model.transform(rows), model.score_samples(rows), model.components_, model.leak_):
        assert np.all(np.isfinite(answer))


def test_given_probabilities_may_start_a_fit(X: np.ndarray) -> None:
    given = np.kron(np.eye(3), np.full((1, 3), 0.8))
    model = NoisyOr(init=given, moves=False, **QUICK).fit(X)
    assert model.n_components_ == 3
    assert match_components(model.components_, given).found(0.7) == 3


def test_a_saved_model_answers_the_same(way: str, X: np.ndarray, tmp_path: Any) -> None:
    model = make(way).fit(X)
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert np.array_equal(again.transform(X), model.transform(X))
    assert np.array_equal(again.score_samples(X), model.score_samples(X))


def test_fits_of_many_rows_settle_by_the_gain_of_all_of_them() -> None:
    assert np.allclose(NoisyOr()._tolerances(1_000), [1e-4])
    assert np.allclose(NoisyOr()._tolerances(6_000), [1e-4, 1e-5])
    assert np.allclose(NoisyOr()._tolerances(30_000), [1e-4, 1e-5])
    assert NoisyOr(tol=1e-4, n_init=1, moves=False)._tolerances(30_000) == [1e-4]


@pytest.mark.slow
def test_fits_of_many_rows_have_settled() -> None:
    """Within 1e-4 nats a row of where a hundredth of the tolerance leads from the truth."""
    rng, n = np.random.default_rng(9), 20_000
    causes, codes = 0.8 * (rng.random((3, 12)) < 0.4), rng.random((n, 3)) < 0.25
    dark = 0.97 * np.prod(1 - codes[:, :, None] * causes, axis=1)
    X = (rng.random(dark.shape) > dark).astype(float)
    model = NoisyOr(random_state=0).fit(X)
    end = NoisyOr(3, init=causes, moves=False, random_state=0, tol=1e-6).fit(X)
    assert model.n_components_ == 3
    assert model.elbo_ > end.elbo_ - 1e-4 * n


@pytest.mark.parametrize("options", [{"e_step": "jensen"}, {"n_components": 12}], ids=["jensen", "truncated"])
def test_rows_that_settle_elsewhere_are_still_those_of_the_fit(options: dict[str, Any]) -> None:
    X, _ = latens.datasets.make_noisy_or(200, random_state=1)
    model = latens.NoisyOr(**{"n_components": 4, **options}, moves=False, prune=False, random_state=0).fit(X)
    assert model._rows_in_blocks(X, {})
    with pytest.raises(ValueError, match="not the data of the fit"):
        model._rows_in_blocks(1 - X, {})
    if "e_step" not in options:  # lists of states differ by far less than Jensen's optima
        other = X.copy()
        other[0, 0] = 1 - other[0, 0]
        with pytest.raises(ValueError, match="not the data of the fit"):
            model._rows_in_blocks(other, {})


def test_causes_begin_as_whole_rows_where_most_rows_have_one() -> None:
    digits = (load_digits().data[:400] > 7.5).astype(float)
    images, _ = latens.datasets.make_noisy_or(400, random_state=0)
    chosen = []
    for x in (digits, images):
        model = latens.NoisyOr(12, moves=False, n_init=1, max_iter=2, random_state=0)
        with patch.object(noisy_or, "_whole_rows", wraps=noisy_or._whole_rows) as rows:
            model.fit(x)
        chosen.append(rows.call_count == 2)  # in the race, and for the start
    assert chosen == [True, False]


def test_a_race_that_rows_have_won_is_over() -> None:
    digits, lengths = (load_digits().data[:400] > 7.5).astype(float), list[int]()

    def ascended(*given: Any, **options: Any) -> Any:
        fit = ascend(*given, **options)
        lengths.append(len(fit.trace))
        return fit

    with patch.object(noisy_or, "ascend", ascended):
        NoisyOr(12, moves=False, n_init=1, max_iter=2, random_state=0).fit(digits)
    assert lengths[0] == noisy_or.N_RACE
    assert lengths[1] < noisy_or.N_RACE


@pytest.mark.parametrize("seed", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_states_of_rows_are_looked_for_anew(seed: int) -> None:
    """The search ends at least where a fit does that starts at the truth: with its causes, and states as good."""
    rng = np.random.default_rng(seed)
    strength = (rng.random((12, 50)) < 0.4) * rng.uniform(0.6, 0.95, size=(12, 50))
    dark = 0.97 * np.exp((rng.random((1200, 12)) < 0.2) @ np.log1p(-strength))
    rows = (rng.random((1200, 50)) > dark).astype(float)
    at_truth = NoisyOr(12, init=strength, moves=False, random_state=0).fit(rows)
    found = NoisyOr(12, random_state=0).fit(rows)
    assert found.n_components_ == 12
    assert found.elbo_ > at_truth.elbo_ - 0.5


def test_causes_that_a_sample_has_too_few_rows_for_are_found_on_all() -> None:
    rng = np.random.default_rng(0)
    strength = np.kron(np.eye(4), np.full(3, 0.4))
    on = rng.random((8000, 4)) < 0.04
    x = (rng.random((8000, 12)) > 0.99 * np.exp(on @ np.log1p(-strength))).astype(float)
    found = latens.NoisyOr(6, random_state=0, n_jobs=1).fit(x)
    assert found.n_components_ > 0  # a search on 2,048 of them leaves nothing, 284 nats below


@pytest.mark.parametrize("n_components", [None, pytest.param(5, marks=pytest.mark.slow)])
def test_causes_that_are_lacking_are_added(n_components: int | None) -> None:
    """On in few rows of many: a part of these shows two of them, and the others are found in pairs of all rows."""
    rng, strength = np.random.default_rng(0), np.kron(np.eye(5), np.full(4, 0.5))
    on = rng.random((12_000, 5)) < np.array([0.2, 0.2, 0.015, 0.015, 0.015])
    x = (rng.random((12_000, 20)) > 0.97 * np.exp(on @ np.log1p(-strength))).astype(float)
    at_truth = NoisyOr(5, init=strength, moves=False, random_state=0).fit(x)
    found = NoisyOr(n_components, random_state=0, n_jobs=1).fit(x)
    assert found.n_components_ == 5
    assert found.elbo_ > at_truth.elbo_ - 0.5
