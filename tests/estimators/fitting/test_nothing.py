"""Nothing can be what is found: noise has no factors, causes or sources."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import gammaln
from scipy.stats import norm
from scipy.stats import t as student

import latens
from latens.core import Rows
from latens.errors import ElboDecreased, NothingFound
from latens.estimators.fitting.independent_columns import (
    binary_evidence,
    in_axes,
    independent_axes,
    shuffled,
    tails_gain,
)

CASES: dict[str, tuple[Any, str]] = {
    "views": (lambda: latens.MultiViewFactorAnalysis(random_state=0), "real"),
    "binary views": (lambda: latens.MultiViewFactorAnalysis(random_state=0), "binary"),
    "sparse factors": (lambda: latens.MultiViewFactorAnalysis(sparse_factors=True, random_state=0), "real"),
    "noisy-or": (lambda: latens.NoisyOr(n_init=1, random_state=0), "binary"),
    "noisy-or by jensen": (lambda: latens.NoisyOr(3, e_step="jensen", n_init=1, random_state=0), "binary"),
    "binary factors": (lambda: latens.BinaryFactorAnalysis(n_init=1, random_state=0), "real"),
    "with an intercept": (lambda: latens.BinaryFactorAnalysis(fit_intercept=True, n_init=1, random_state=0), "real"),
    "sources": (lambda: latens.NoisyICA(random_state=0), "real"),
    "factors": (lambda: latens.FactorAnalysis(prior="ard", random_state=0), "real"),
}


def noise(kind: str, seed: int, n: int = 200, d: int = 5) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x if kind == "real" else (x > 0.3).astype(float)


@cache
def nothing(name: str) -> tuple[Any, np.ndarray]:
    """A model that was given noise, and the noise; look at it, and change only a copy."""
    make, kind = CASES[name]
    X = noise(kind, 0)
    with pytest.warns(NothingFound, match="finds nothing"):
        return make().fit(X), X


@pytest.mark.parametrize("name", CASES)
def test_noise_has_nothing_in_it_and_every_answer_is_of_that_shape(name: str) -> None:
    model, X = nothing(name)
    assert model.n_components_ == 0
    parts = model.components_
    for part in parts.values() if isinstance(parts, dict) else [parts]:
        assert part.shape == (0, 5)
    assert model.transform(X).shape == (200, 0)
    assert len(model.share_) == len(model.get_feature_names_out()) == 0
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    assert np.isfinite(model.impute(holes)).all()
    assert np.isfinite(model.score_samples(X)).all()
    assert model.elbo_ / len(X) <= model.score(X)


@pytest.mark.parametrize("e_step", ["exact", "truncated", "mean-field"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"fit_intercept": True, "noise": "diagonal"}])
def test_no_cause_of_rows_with_holes_answers_whatever_the_posterior_of_codes(
    e_step: str, options: dict[str, Any], tmp_path: Any
) -> None:
    X = noise("real", 0, 60, 4)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    with pytest.warns(NothingFound):
        model = latens.BinaryFactorAnalysis(2, e_step=e_step, n_init=1, random_state=0, **options).fit(X)
    assert [part.shape for part in model.transform(X, return_std=True)] == [(60, 0), (60, 0)]
    assert np.isfinite(model.impute(X)).all()
    assert np.isfinite(model.score_samples(X)).all()
    assert [part.shape for part in model.sample(3)] == [(3, 4), (3, 0)]
    latens.save(model, tmp_path / "nothing.latens")
    assert latens.load(tmp_path / "nothing.latens").partial_fit(X).n_components_ == 0


def something(name: str, kind: str) -> np.ndarray:
    rng = np.random.default_rng(2)
    X = rng.laplace(size=(200, 1)) @ rng.normal(size=(1, 5)) + 0.5 * rng.normal(size=(200, 5))
    if name == "binary factors":
        X = (rng.random((200, 1)) < 0.4) @ (2.0 * np.ones((1, 5))) + 0.3 * rng.normal(size=(200, 5))
    if kind == "binary":
        on = rng.random((200, 1)) < 0.4
        X = (rng.random((200, 5)) < np.where(on, 0.9, 0.05)).astype(float)
    return X


@cache
def found(name: str) -> tuple[Any, list[float]]:
    """A model of rows in which there is something, and the bounds of all states that its fit visited."""
    make, kind = {**CASES, **MIXTURES}[name]
    heights: list[float] = []
    model = make().set_params(callbacks=lambda event: heights.append(event.elbo))
    with warnings.catch_warnings(action="ignore"):
        return model.fit(something(name, kind)), heights


@pytest.mark.parametrize("name", ["views", "noisy-or", "binary factors", "sources", "factors"])
def test_something_is_not_taken_for_nothing(name: str) -> None:
    model, _ = found(name)
    assert model.n_components_ >= 1
    assert "nothing-found" not in [each.code for each in model.warnings_]


def test_nothing_can_be_saved_and_loaded(tmp_path: Any) -> None:
    model, X = nothing("sources")
    latens.save(model, tmp_path / "nothing.latens")
    again = latens.load(tmp_path / "nothing.latens")
    assert again.n_components_ == 0
    assert again.score(X) == model.score(X)


@pytest.mark.parametrize("name", ["views", "noisy-or", "binary factors", "sources", "factors"])
def test_nothing_has_a_page(name: str, tmp_path: Any) -> None:
    model, X = nothing(name)
    latens.report(model, X, tmp_path / "page.html")
    assert "finds nothing" in (tmp_path / "page.html").read_text()


def test_a_cause_that_only_says_how_frequent_ones_are_is_refused_for_that_reason() -> None:
    """Leaks are rare beforehand: a cause of frequent ones is above none, not above columns of any frequency."""
    X = (np.random.default_rng(0).random((150, 6)) < 0.97).astype(float)
    with pytest.warns(NothingFound) as caught:
        model = latens.NoisyOr(n_init=1, random_state=0).fit(X)
    words = next(str(each.message) for each in caught if issubclass(each.category, NothingFound))
    found = re.search(
        r"is (-[\d.,]+) nats without .* and (-[\d.,]+) with one, below the (-[\d.,]+) of independent columns", words
    )
    assert found is not None, words
    without, one, alone = (float(number.replace(",", "")) for number in found.groups())
    assert without == round(model.elbo_, 1)
    assert without < one < alone
    assert alone == round(binary_evidence(Rows(X)), 1)
    assert "tails" not in words


MIXTURES: dict[str, tuple[Any, str]] = {
    "clusters": (lambda: latens.GaussianMixture(random_state=0), "real"),
    "round clusters": (lambda: latens.GaussianMixture(covariance_type="spherical", random_state=0), "real"),
    "binary clusters": (lambda: latens.BernoulliMixture(random_state=0), "binary"),
    "classes": (lambda: latens.LatentClassAnalysis(random_state=0), "real"),
}
HEAVY = {name: case for name, case in {**CASES, **MIXTURES}.items() if case[1] == "real"}


@pytest.mark.parametrize("name", MIXTURES)
def test_one_is_what_a_mixture_says_of_noise(name: str) -> None:
    make, kind = MIXTURES[name]
    for x in (noise(kind, 0), noise(kind, 2, 50, 10)):
        assert make().fit(x).n_components_ == 1


@pytest.mark.parametrize("name", HEAVY)
def test_tails_of_single_columns_are_no_components(name: str) -> None:
    make, _ = HEAVY[name]
    x = np.random.default_rng(3).standard_t(5, size=(300, 4))
    with warnings.catch_warnings(action="ignore"):
        assert make().fit(x).n_components_ == (1 if name in MIXTURES else 0)


def test_clusters_are_found_in_columns_of_heavy_tails() -> None:
    rng = np.random.default_rng(4)
    x = 8 * (rng.random((400, 1)) < 0.3) * np.ones(4) + rng.standard_t(8, size=(400, 4))
    assert latens.GaussianMixture(random_state=0).fit(x).n_components_ == 2


@pytest.mark.parametrize("holes", [0.0, 0.05])
@pytest.mark.parametrize("kind", ["full", "tied"])
def test_sensors_that_hear_the_same_loud_things_have_their_tails_once(kind: str, holes: float) -> None:
    """Columns that go together are as heavy-tailed as what they hear; shuffled, each would have tails of its own."""
    rng = np.random.default_rng(5)
    x = rng.standard_t(3, size=(400, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(400, 6))
    x = np.column_stack([x, np.full(400, 0.1)])  # a sensor that is dead changes nothing
    x[rng.random(x.shape) < holes] = np.nan
    heights: list[float] = []
    model = latens.GaussianMixture(
        covariance_type=kind, callbacks=lambda event: heights.append(event.elbo), random_state=0
    )
    assert model.fit(x).n_components_ > 1
    assert model.elbo_ >= max(heights) - 0.1


def test_axes_along_which_columns_do_not_go_together_are_near_the_columns() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2000, 3)) * [1.0, 1e-9, 1e6]
    rows = Rows(x, weight=rng.integers(1, 4, 2000).astype(float))
    z = in_axes(rows, independent_axes(rows)).x
    assert np.cov(z.T, aweights=rows.weight, ddof=0) == pytest.approx(np.eye(3), abs=1e-9)
    assert all(np.corrcoef(z[:, j], x[:, j])[0, 1] > 0.99 for j in range(3))
    dead = in_axes(Rows(with_dead := np.column_stack([x, np.full(2000, 0.1)])), independent_axes(Rows(with_dead))).x
    assert np.ptp(dead[:, 3]) == 0
    assert np.cov(dead[:, :3].T, ddof=0) == pytest.approx(np.eye(3), abs=1e-9)
    assert independent_axes(Rows(x[:3])) is None


def skewed_views(seed: int) -> dict[str, np.ndarray]:
    """Three factors in a view of large skewed values, as sequencing gives them, and in one of small normal values."""
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(60, 3))
    logs = 0.5 * codes @ rng.normal(size=(3, 60)) + 0.7 * rng.normal(size=(60, 60))
    return {"large": 1e4 * np.exp(logs), "small": 0.1 * (codes @ rng.normal(size=(3, 8)) + rng.normal(size=(60, 8)))}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("names", [("large",), ("large", "small")])
def test_factors_are_found_in_views_whose_tails_would_gain_more_than_they_do(names: tuple[str, ...], seed: int) -> None:
    views = skewed_views(seed)
    heights: list[float] = []
    model = latens.MultiViewFactorAnalysis(random_state=0, callbacks=lambda event: heights.append(event.elbo))
    with warnings.catch_warnings(action="error", category=NothingFound):
        model.fit({name: views[name] for name in names})
    assert model.n_components_ >= 1
    assert model.elbo_ >= max(heights)


def test_samples_in_groups_without_a_factor_are_given_one_more_to_try() -> None:
    views = latens.datasets.make_multiview(40, (8, 6), n_factors=2, random_state=0)[0]
    with pytest.warns(NothingFound), warnings.catch_warnings(action="error", category=ElboDecreased):
        model = latens.MultiViewFactorAnalysis(2, max_iter=30, random_state=0).fit(views, groups=["a", "b"] * 20)
    assert model.n_components_ == 0


@pytest.mark.parametrize("frequency", [0.5, 0.9])
def test_columns_that_are_mostly_on_have_no_cause(frequency: float) -> None:
    x = (np.random.default_rng(5).random((60, 6)) < frequency).astype(float)
    with pytest.warns(NothingFound):
        assert latens.NoisyOr(n_init=1, random_state=0).fit(x).n_components_ == 0


def test_a_component_that_is_dead_is_not_published_without_moves() -> None:
    with pytest.warns(NothingFound):
        model = latens.NoisyICA(4, moves=False, random_state=0).fit(noise("real", 0))
    assert model.n_components_ == 0


@pytest.mark.parametrize("weights", [None, np.full(60, 2.0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_evidence_of_independent_binary_columns_counts_rows_as_often_as_they_weigh(
    weights: np.ndarray | None, sparse: bool
) -> None:
    x = (np.random.default_rng(6).random((60, 3)) < 0.3).astype(float)
    on, n = (1.0 if weights is None else 2.0) * x.sum(axis=0), 60.0 if weights is None else 120.0
    expected = sum(gammaln(1 + k) + gammaln(1 + n - k) - gammaln(2 + n) for k in on)
    assert binary_evidence(Rows(csr_array(x) if sparse else x, weight=weights)) == pytest.approx(expected)


@pytest.mark.parametrize("name", {**CASES, **MIXTURES})
def test_no_state_that_a_fit_has_visited_is_higher_than_its_answer(name: str) -> None:
    model, heights = found(name)
    # nats a row; starts that differ by less are one, of which the first is gone on from
    tol = model._tolerances(0.0)[0]
    assert model.elbo_ >= max(heights) - tol * 200


class BeginsWithoutTheHeaviest(latens.NoisyICA):
    """Its first starts lack the sources of the last column, which shuffled columns begin with."""

    def _starts_of_restart(self, model: Any, context: Any, restart: int) -> list[Any]:
        starts = super()._starts_of_restart(model, context, restart)
        if context.rng is not vars(self).setdefault("first_rng", context.rng):
            return starts
        last = context.sample.x.shape[1] - 1
        strongest = [np.argmax(np.abs(q.loadings.mean[: q.n_components]), axis=1) for q in starts]
        return [q.only(np.flatnonzero(at != last)[:1]) for q, at in zip(starts, strongest, strict=True)]


def test_a_fit_goes_on_from_tails_that_it_has_missed_before_it_is_told_to_be_nothing() -> None:
    """Its source gains 46 nats, the tails of one column, found where columns are shuffled, 314, and both 354."""
    rng = np.random.default_rng(0)
    x = 0.5 * rng.standard_t(4, size=(400, 1)) * [1.0, 1.0, 1.0, 1.0, 0.0] + rng.normal(size=(400, 5))
    x[:, 4] = rng.standard_t(1.2, size=400)
    heights: list[float] = []
    model = BeginsWithoutTheHeaviest(random_state=0, callbacks=lambda event: heights.append(event.elbo)).fit(x)
    assert model.n_components_ == 2
    assert np.argmax(np.abs(model.mixing_[:4]), axis=1).tolist() == [int(np.argmax(np.abs(model.mixing_[0])))] * 4
    assert np.all(np.diff(model.elbo_history_) > -1e-9 * abs(model.elbo_))
    assert model.elbo_ >= max(heights) - 1e-5 * len(x)


def test_shuffled_columns_have_the_same_entries_and_holes() -> None:
    rng = np.random.default_rng(8)
    x, seen = rng.normal(size=(50, 3)), rng.random((50, 3)) < 0.7
    rows = Rows(np.where(seen, x, 0.0), seen)
    other = shuffled(rows, rng)
    assert other.seen is rows.seen
    assert not other.x[~seen].any()
    for j in range(3):
        assert sorted(other.x[seen[:, j], j]) == sorted(x[seen[:, j], j])
        assert (other.x[:, j] != rows.x[:, j]).sum() > 20


def test_tails_gain_where_there_are_any() -> None:
    rng = np.random.default_rng(7)
    normal, heavy = Rows(rng.normal(size=(2000, 2))), Rows(rng.standard_t(4, size=(2000, 2)))
    assert tails_gain(normal, normal, range(2)) < 3
    gain = tails_gain(heavy, heavy, range(2))
    exact = student.logpdf(heavy.x, 4).sum() - sum(
        norm.logpdf(heavy.x[:, j], heavy.x[:, j].mean(), heavy.x[:, j].std()).sum() for j in range(2)
    )
    assert abs(gain - exact) < 15
    assert tails_gain(heavy, heavy, [0]) < gain
