"""Default fits of tables that nobody made for them: offsets, units, rounding, as many sources as sensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import latens
from latens.array.rounding import rounding_variances, step
from latens.core import Rows
from latens.estimators.fitted_parts import fitted_parts
from latens.estimators.fitting.independent_columns import independent_bound


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("offset", "intercept"), [(0.0, False), (1e6, True)])
def test_shapes_are_found_whatever_is_added_to_all_pixels(offset: float, intercept: bool) -> None:
    X, _ = latens.datasets.make_shapes(200, random_state=0)
    model = latens.BinaryFactorAnalysis(10, n_init=1, random_state=0).fit(X + offset)
    assert (model.n_components_, fitted_parts(model).model.intercept) == (8, intercept)


def test_auto_takes_the_intercept_that_has_the_higher_bound() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 1)) < 0.35, 5.0, 2.0) + 0.4 * rng.normal(size=(200, 3))
    auto, without, within = (
        latens.BinaryFactorAnalysis(4, n_init=1, fit_intercept=choice, random_state=0).fit(x)
        for choice in ("auto", False, True)
    )
    assert auto.elbo_ == max(without.elbo_, within.elbo_)
    again = auto.set_params(warm_start=True).fit(x)
    assert again.elbo_ >= max(without.elbo_, within.elbo_) - 1e-9 * abs(within.elbo_)
    with pytest.raises(ValueError, match="fit_intercept='sometimes'"):
        latens.BinaryFactorAnalysis(4, fit_intercept="sometimes").fit(x)


def test_auto_stops_after_the_fit_that_a_callback_stops() -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)) + 5
    seen: list[int] = []
    model = latens.BinaryFactorAnalysis(
        2, n_init=1, random_state=0, callbacks=lambda event: seen.append(event.step) or True
    )
    assert len(model.fit(x).trace_) == len(seen) == 1


def test_a_file_of_auto_is_opened(tmp_path: Any) -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)) + 5
    model = latens.BinaryFactorAnalysis(2, n_init=1, random_state=0).fit(x)
    latens.save(model, tmp_path / "auto.latens")
    assert latens.load(tmp_path / "auto.latens").fit_intercept == "auto"


def test_causes_with_noise_of_each_column_do_not_depend_on_the_units_of_columns() -> None:
    rng = np.random.default_rng(1)
    on = rng.random((272, 1)) < 0.36
    x = np.where(on, [2.04, 54.5], [4.29, 80.0]) + rng.normal(size=(272, 2)) * [0.35, 5.9]
    bounds = []
    for unit in ([1, 1], [60, 1], [1, 1e-3]):
        model = latens.BinaryFactorAnalysis(noise="diagonal", fit_intercept=True, n_init=2, random_state=0).fit(
            x * unit
        )
        assert model.n_components_ == 1
        bounds.append(model.elbo_ + 272 * np.log(unit).sum())
    assert bounds == pytest.approx([bounds[0]] * 3, abs=0.5)


def test_causes_with_noise_of_each_column_are_above_independent_columns_of_any_units() -> None:
    rng = np.random.default_rng(2)
    x = (rng.random((150, 2)) < 0.4) @ rng.normal(size=(2, 6)) * 3 + rng.normal(size=(150, 6))
    x = (x + 4) * 10.0 ** np.arange(-2, 4)
    model = latens.BinaryFactorAnalysis(noise="diagonal", n_init=2, random_state=0).fit(x)
    assert model.elbo_ > (independent_bound(Rows(x), binary=False) or 0.0)


def test_relevance_determination_starts_from_maximum_likelihood() -> None:
    X, _ = latens.datasets.make_shapes(random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = latens.FactorAnalysis(prior="ard", random_state=0).fit(X)
    assert model.n_components_ == 8
    assert model.elbo_ > -4520  # -5,619 from leading directions alone
    assert model.converged_


@pytest.mark.parametrize("n_sources", [3, 4])
def test_as_many_sources_as_sensors_are_found(n_sources: int) -> None:
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(n_sources, n_sources)) + 2 * np.eye(n_sources)
    x = rng.laplace(size=(600, n_sources)) @ mixing.T + 0.1 * rng.normal(size=(600, n_sources))
    model = latens.NoisyICA(random_state=0).fit(x)
    assert model.n_components_ == n_sources
    assert latens.metrics.amari_distance(model.unmixing_, mixing) < 0.06


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("width", [0.5, 1.0])
def test_clusters_of_rounded_numbers_do_not_count_values(kind: str, width: float) -> None:
    rng = np.random.default_rng(0)
    x = np.array([[0, 0], [8, 0], [3, 7]])[rng.integers(0, 3, 300)] + rng.normal(size=(300, 2))
    model = latens.GaussianMixture(covariance_type=kind, n_init=1, random_state=0).fit(np.round(x / width) * width)
    assert model.n_components_ == 3
    assert np.all(np.diff(model.elbo_history_) > -1e-9 * abs(model.elbo_))


def test_a_column_of_counts_does_not_add_clusters() -> None:
    rng = np.random.default_rng(0)
    x = 6 * rng.normal(size=(3, 2))[rng.integers(0, 3, 400)] + rng.normal(size=(400, 2))
    model = latens.GaussianMixture(n_init=1, random_state=0).fit(np.column_stack([x, rng.poisson(3, 400)]))
    assert model.n_components_ == 3


def test_steps_of_rounded_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    assert step(np.round(x, 1)) == pytest.approx(0.1)
    assert step(np.round(x)) == 1.0
    assert step(x) == 0.0  # every value is met once
    assert step(np.zeros(9)) == 0.0
    assert step(np.repeat([0.0, 1.0, np.sqrt(2), 7.5], 50)) == 0.0  # ties on no grid
    rounded = rounding_variances(np.column_stack([x, np.round(x), np.round(100 * x)]))
    assert rounded == pytest.approx([0.0, 1 / 12, 0.0])  # a step of a hundredth of the spread tells nothing
    assert rounding_variances(np.column_stack([x, 2 * x])) is None


def test_steps_are_found_in_single_precision_and_under_jitter() -> None:
    rng = np.random.default_rng(0)
    x = np.round(50 + rng.normal(size=400), 1)
    assert step(x.astype(np.float32), 50 * np.finfo(np.float32).eps) == pytest.approx(0.1, rel=1e-4)
    assert step(x + 1e-9 * rng.normal(size=400)) == pytest.approx(0.1, rel=1e-6)
    assert step(x + 1e-3 * rng.normal(size=400)) == 0.0


def test_the_number_of_clusters_does_not_depend_on_the_dtype_or_on_jitter() -> None:
    x = load_iris().data
    tables = (x, x.astype(np.float32), x + 1e-9 * np.random.default_rng(0).normal(size=x.shape))
    fits = [latens.GaussianMixture(random_state=0, n_jobs=1).fit(table) for table in tables]
    assert len({fit.n_components_ for fit in fits}) == 1
    assert all(np.allclose(fit.rounding_, 0.1, rtol=1e-4) for fit in fits)
    assert np.ptp([fit.elbo_ for fit in fits]) < 0.5


@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_units_of_single_columns_change_no_cluster(covariance_type: str) -> None:
    x = load_wine().data
    units = (np.ones(13), 10 ** np.random.default_rng(1).uniform(-6, 6, 13), 2.0 ** np.arange(-6, 7))
    fits = [latens.GaussianMixture(covariance_type=covariance_type, random_state=0).fit(x * unit) for unit in units]
    bounds = [fit.elbo_ + len(x) * np.log(unit).sum() for fit, unit in zip(fits, units, strict=True)]
    assert np.ptp(bounds) < 1e-6
    assert len({fit.n_components_ for fit in fits}) == 1
    assert np.allclose(fits[0].means_, fits[1].means_ / units[1])


@pytest.mark.slow
def test_clusters_are_found_though_missing_entries_make_the_ascent_slow() -> None:
    x, y = load_wine(return_X_y=True)
    x = np.where(np.random.default_rng(0).random(x.shape) < 0.3, np.nan, x)
    model = latens.GaussianMixture(random_state=0).fit(x)
    reference = latens.GaussianMixture(2, init=np.array([np.nanmean(x[part], axis=0) for part in (y == 0, y > 0)])).fit(
        x
    )
    assert model.n_components_ >= 2  # one, 59 nats lower, when all of max_iter was spent on the way
    assert model.elbo_ > reference.elbo_ - 10


def test_mixed_factors_are_turned_apart() -> None:
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(200, 5))
    loadings = [rng.normal(size=(5, d)) * (rng.random((5, d)) < 0.5) for d in (40, 10)]
    views = {f"v{i}": codes @ w + 0.7 * rng.normal(size=(200, w.shape[1])) for i, w in enumerate(loadings)}
    model = latens.MultiViewFactorAnalysis(random_state=0).fit(views)
    assert model.n_components_ == 5
    likeness = np.abs(np.corrcoef(model.transform(views).T, codes.T)[:5, 5:])
    assert likeness.max(axis=0).mean() > 0.95  # .83 without turns


def test_equal_columns_lead_one_factor_more_than_one_of_them_does_alone() -> None:
    """What only the two have in common, the noise of one of them, is a factor; no other owes its head to the copy."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 20)) + rng.normal(size=(200, 20))
    alone = latens.MultiViewFactorAnalysis(random_state=0).fit(x)
    model = latens.MultiViewFactorAnalysis(random_state=0).fit(np.column_stack([x, x[:, 0]]))
    led_by_one = sum(names[0] == "x0" for names in alone.top_features(1).values())
    led_by_both = sum(set(names) == {"x0", "x20"} for names in model.top_features(2).values())
    assert led_by_both <= led_by_one + 1
    assert model.n_components_ <= alone.n_components_ + 1


@pytest.mark.parametrize("allowed", [2, 8, None])
def test_clusters_that_overlap_are_found_though_rough_ones_join_to_one(allowed: int | None) -> None:
    """Sums of rough clusters ask for one; two are 12 nats higher, which starts that leave more of them find."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.where(rng.random(300)[:, None] < 0.4, [3.0, 0.0], 0.0)
    two = latens.GaussianMixture(2, prune=False, random_state=0).fit(X)
    found = latens.GaussianMixture(allowed, random_state=0).fit(X)
    assert found.n_components_ == 2
    assert found.elbo_ > two.elbo_ - 0.1
