"""The same model with each of several numbers of components."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.diagnose.numbers import Sweep
from latens.estimators.comparisons.copies import fit_beside


@cache
def rows(n: int = 240, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0, 0], [5, 0, 0], [0, 5, 5], [5, 5, 0.0]])
    return rng.normal(size=(n, 3)) + centres[np.arange(n) % 4]


@cache
def swept() -> Sweep:
    return latens.sweep(latens.GaussianMixture(random_state=0), rows(), range(2, 6))


def test_every_fit_has_exactly_the_number_it_was_asked_for() -> None:
    assert {k: len(fit.means_) for k, fit in swept().models.items()} == {2: 2, 3: 3, 4: 4, 5: 5}
    assert all(not fit.prune for fit in swept().models.values())


def test_the_number_that_made_the_rows_is_found_and_the_table_goes_by_number() -> None:
    assert (swept().best, swept().leader) == (4, 4)
    assert swept().table["components"] == [2, 3, 4, 5]
    assert swept().table["bound"] == [fit.elbo_ for fit in swept().models.values()]
    assert swept().verdict.startswith("K=4 has the highest bound")


def test_the_given_model_is_not_changed() -> None:
    model = latens.GaussianMixture(7, random_state=0)
    latens.sweep(model, rows(), [1])
    assert (model.n_components, model.prune, hasattr(model, "elbo_")) == (7, True, False)


def test_a_fit_that_is_also_started_from_a_smaller_one_never_ends_lower() -> None:
    # all centres within one cluster, and no moves: alone that ends in a poor optimum
    X, near = rows(), 0.1 * np.arange(12.0).reshape(4, 3)
    plain = {"init": near, "moves": False, "prune": False, "random_state": 0, "max_iter": 20}
    smaller = latens.GaussianMixture(3, prune=False, random_state=0).fit(X)
    alone = latens.GaussianMixture(4, **plain).fit(X)
    warm = fit_beside(latens.GaussianMixture(4, **plain), smaller, X, {})
    assert warm.elbo_ > alone.elbo_ + 10
    assert warm.fit(X).elbo_ == alone.elbo_  # the smaller fit was for that one alone


def test_an_estimator_that_a_callback_fits_does_not_start_from_the_smaller_fit() -> None:
    X, near = rows(), 0.1 * np.arange(12.0).reshape(4, 3)
    plain = {"init": near, "moves": False, "prune": False, "random_state": 0, "max_iter": 20}
    smaller = latens.GaussianMixture(3, prune=False, random_state=0).fit(X)
    alone, within = latens.GaussianMixture(4, **plain).fit(X), latens.GaussianMixture(4, **plain)

    def fit_another(event: object) -> bool:
        within.fit(X)
        return True  # once will do

    fit_beside(latens.GaussianMixture(4, **plain, callbacks=fit_another), smaller, X, {})
    assert within.elbo_ == alone.elbo_


def test_point_estimates_are_compared_by_new_rows_only() -> None:
    model = latens.FactorAnalysis(random_state=0)
    blind = latens.sweep(model, rows(), [1, 2])
    assert (blind.best, blind.leader) == (None, None)
    assert "pass X_test" in blind.verdict
    assert "prior='ard'" in blind.verdict
    seen = latens.sweep(model, rows(), [1, 2], X_test=rows(seed=1))
    assert seen.leader is not None
    assert "error" in seen.table.columns


def test_numbers_for_which_no_time_is_left_are_named() -> None:
    found = latens.sweep(latens.GaussianMixture(random_state=0), rows(), [2, 3, 4], max_time=1e-3)
    assert list(found.models) == [2]
    assert "No time was left for 3, 4" in found.verdict


def test_the_largest_number_tried_asks_for_more() -> None:
    assert "try more" in latens.sweep(latens.GaussianMixture(random_state=0), rows(), [2, 3]).verdict


@pytest.mark.parametrize("numbers", [[], [0, 1], [2.5]])
def test_numbers_that_are_none_are_refused(numbers: Any) -> None:
    with pytest.raises(ValueError, match=r"give a range such as range\(2, 13\)"):
        latens.sweep(latens.GaussianMixture(), rows(), numbers)


@pytest.mark.parametrize("seconds", [0, -1.0])
def test_no_time_at_all_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds above 0"):
        latens.sweep(latens.GaussianMixture(), rows(), [2], max_time=seconds)


def test_a_model_without_components_is_refused() -> None:
    with pytest.raises(ValueError, match="BayesianLinearRegression has no number of components to try"):
        latens.sweep(latens.BayesianLinearRegression(), rows())


def test_the_default_range_is_that_of_the_documentation() -> None:
    assert inspect.signature(latens.sweep).parameters["n_components"].default == range(2, 13)


def test_the_page_shows_the_curve(tmp_path: Path) -> None:
    page = swept().report(tmp_path / "page.html").read_text("utf-8")
    assert "bound (nats) by components" in page


@pytest.mark.extras
def test_the_result_draws_itself() -> None:
    import matplotlib

    matplotlib.use("agg")
    axes = swept().plot()
    assert axes.get_xlabel() == "components"
    assert list(axes.get_xticks()) == [2, 3, 4, 5]


def test_numbers_of_causes_are_swept_whatever_the_fits_choose_of_an_intercept() -> None:
    # with and without an intercept, loadings have another shape: a larger fit of the one is no start of the other
    X, _ = latens.datasets.make_shapes(random_state=0)
    found = latens.sweep(latens.BinaryFactorAnalysis(random_state=0, max_iter=60, n_init=1), X, [1, 2])
    assert {k: fit.n_components_ for k, fit in found.models.items()} == {1: 1, 2: 2}
    assert found.models[2].elbo_ > found.models[1].elbo_
