"""FactorAnalysis: one pass in any split, units, holes, degenerate data, and scikit-learn's names."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import FactorAnalysis as Peer
from sklearn.exceptions import ConvergenceWarning

import latens
from latens.metrics import covariance_distance, gaussian_kl
from tests.estimators.conventions.verdict import complaints


def rows(n: int = 400, d: int = 12, k: int = 3, seed: int = 0, **options: Any) -> tuple[np.ndarray, Any]:
    return latens.datasets.make_factor_model(n, n_features=d, n_components=k, random_state=seed, **options)


def with_holes(x: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


def gap(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.max(np.abs(one - two)) / np.max(np.abs(two)))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"prior": "ard"}], ids=["none", "two", "ard"])
def test_scikit_learn_finds_no_fault(options: dict[str, Any]) -> None:
    assert complaints(latens.FactorAnalysis(**options)) == []


@pytest.mark.parametrize("size", [1, 7, 150])
def test_a_stream_in_any_split_is_one_fit(size: int) -> None:
    X, _ = rows(300, 8, 2)
    whole, stream = latens.FactorAnalysis(2).fit(X), latens.FactorAnalysis(2)
    stream.partial_fit(X[:10])
    for at in range(10, 300, size):
        stream.partial_fit(X[at : at + size])
    assert gap(stream.get_covariance(), whole.get_covariance()) < 1e-10
    assert stream.elbo_ == pytest.approx(whole.elbo_, rel=1e-12)
    assert stream.mean_ == pytest.approx(whole.mean_, rel=1e-12)


def test_rows_added_to_a_fit_count_as_if_they_had_been_there() -> None:
    X, _ = rows(300, 8, 2)
    more = latens.FactorAnalysis(2).fit(X[:200]).partial_fit(X[200:])
    assert gap(more.get_covariance(), latens.FactorAnalysis(2).fit(X).get_covariance()) < 1e-10


def test_the_bound_of_maximum_likelihood_is_the_log_likelihood() -> None:
    X, _ = rows()
    model = latens.FactorAnalysis(3).fit(X)
    at = multivariate_normal(model.mean_, model.get_covariance())
    assert model.elbo_ == pytest.approx(at.logpdf(X).sum())
    assert model.score_samples(X) == pytest.approx(at.logpdf(X))
    assert model.loglike_[-1] == model.elbo_
    assert not model.score_is_bound_


def test_the_likelihood_is_at_least_that_of_scikit_learn() -> None:
    for seed in range(5):
        X, _ = rows(500, 15, 3, seed=seed, spectrum=(1, 100))
        peer = Peer(3, tol=1e-10, max_iter=5000, svd_method="lapack").fit(X)
        assert latens.FactorAnalysis(3).fit(X).score(X) >= peer.score(X) - 1e-9


def test_names_and_shapes_are_those_of_scikit_learn() -> None:
    X, _ = rows()
    model, peer = latens.FactorAnalysis(3).fit(X), Peer(3, tol=1e-12, max_iter=10000, svd_method="lapack").fit(X)
    for name in ("components_", "noise_variance_", "mean_"):
        assert getattr(model, name).shape == getattr(peer, name).shape
    assert model.get_covariance() == pytest.approx(peer.get_covariance(), abs=1e-3)
    assert model.get_precision() == pytest.approx(peer.get_precision(), abs=1e-3)
    assert model.score(X) == pytest.approx(peer.score(X), abs=1e-6)
    assert isinstance(model.loglike_, list)
    assert list(model.get_feature_names_out()) == ["factor0", "factor1", "factor2"]


def test_a_bound_without_constants_is_refused_by_name() -> None:
    model = latens.FactorAnalysis(2).fit(rows()[0])
    assert not hasattr(model, "lower_bound_")
    with pytest.raises(AttributeError, match=r"elbo_.*higher"):
        _ = model.lower_bound_


def test_information_criteria_count_parameters_but_for_the_rotation_and_find_the_number() -> None:
    X = latens.datasets.make_factor_model(800, n_features=12, n_components=3, random_state=1)[0]
    models = {k: latens.FactorAnalysis(k).fit(X) for k in range(1, 6)}
    assert models[3].n_parameters_ == 12 + 12 + 3 * 12 - 3
    density = models[3].score_samples(X).sum()
    assert models[3].bic(X) == pytest.approx(-2 * density + models[3].n_parameters_ * np.log(800))
    assert models[3].aic(X) == pytest.approx(-2 * density + 2 * models[3].n_parameters_)
    assert min(models, key=lambda k: models[k].bic(X)) == 3


def test_precision_is_the_inverse_of_the_covariance() -> None:
    model = latens.FactorAnalysis(3).fit(rows()[0])
    assert model.get_precision() @ model.get_covariance() == pytest.approx(np.eye(12), abs=1e-9)
    low = model.to_low_rank()
    assert low.covariance() == pytest.approx(model.get_covariance())
    X = rows(5)[0]
    assert low.log_density(X) == pytest.approx(model.score_samples(X))


def test_the_number_of_factors_is_found() -> None:
    for k in (1, 3, 5):
        X, _ = rows(3000, 15, k, seed=k)
        assert latens.FactorAnalysis().fit(X).n_components_ == k
        assert latens.FactorAnalysis(prior="ard").fit(X).n_components_ == k


def test_factors_are_ordered_signed_and_orthogonal_in_units_of_the_noise() -> None:
    model = latens.FactorAnalysis(3, init="random", random_state=0).fit(rows()[0])
    w = model.components_
    inner = (w / model.noise_variance_) @ w.T
    assert inner == pytest.approx(np.diag(np.diag(inner)), abs=1e-8)
    assert np.all(np.diff(np.sum(w**2, axis=1)) < 0)
    assert np.all(w[np.arange(3), np.argmax(np.abs(w), axis=1)] > 0)


def test_rotation_keeps_the_distribution_and_makes_loadings_sparse() -> None:
    rng = np.random.default_rng(0)
    truth = np.kron(np.eye(3), np.ones(4)) * rng.uniform(1, 2, 12)
    X = rng.normal(size=(2000, 3)) @ truth + 0.3 * rng.normal(size=(2000, 12))
    model = latens.FactorAnalysis(3).fit(X)
    before, codes = model.get_covariance(), model.transform(X)
    model.rotate("varimax")
    assert model.get_covariance() == pytest.approx(before)
    assert latens.metrics.match_components(model.components_, truth, signed=True).similarity.min() > 0.995
    assert np.sum(model.transform(X) ** 2, axis=1) == pytest.approx(np.sum(codes**2, axis=1))
    assert latens.FactorAnalysis(3, rotation="varimax").fit(X).components_ == pytest.approx(model.components_)


def test_covariances_of_factors_come_on_request() -> None:
    X, _ = rows(50)
    model = latens.FactorAnalysis(3).fit(X)
    mean, cov = model.transform(X, return_cov=True)
    _, std = model.transform(X, return_std=True)
    assert cov.shape == (3, 3)
    assert np.all(std > np.sqrt(np.diag(cov)))  # with what estimated parameters add
    many, _ = rows(1200)
    settled = latens.FactorAnalysis(3).fit(many)
    given = np.sqrt(np.diag(settled.transform(many[:50], return_cov=True)[1]))
    assert settled.transform(many[:50], return_std=True)[1] == pytest.approx(np.broadcast_to(given, (50, 3)))
    gappy, each = model.transform(with_holes(X, 0.3), return_cov=True)
    assert each.shape == (50, 3, 3)
    assert mean == pytest.approx(model.transform(X))
    assert not np.allclose(gappy, mean)


@pytest.mark.parametrize("solver", ["exact", "transport"])
@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1e150])
def test_units_change_nothing(solver: str, scale: float) -> None:
    X, _ = rows(300)
    one, two = (latens.FactorAnalysis(3, solver=solver, random_state=0).fit(c * X) for c in (1.0, scale))
    assert two.components_ / scale == pytest.approx(one.components_, rel=1e-6)
    assert two.noise_variance_ / scale / scale == pytest.approx(one.noise_variance_, rel=1e-6)
    assert two.elbo_ == pytest.approx(one.elbo_ - X.size * np.log(scale), rel=1e-9)


def test_each_column_may_have_its_own_unit() -> None:
    X, _ = rows(300)
    units = 10.0 ** np.random.default_rng(0).integers(-12, 6, 12)
    for prior, tol in (("ml", 1e-6), ("ard", 1e-3)):
        one, two = (latens.FactorAnalysis(3, prior=prior).fit(x) for x in (X, X * units))
        cov = two.get_covariance() / units / units[:, None]
        assert cov == pytest.approx(one.get_covariance(), abs=tol * np.abs(one.get_covariance()).max())


def test_signals_in_tesla_are_explained() -> None:
    """Where scikit-learn's estimator finds nothing and says nothing."""
    X, truth = rows(1000, 20, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        peer, model = Peer(3).fit(1e-12 * X), latens.FactorAnalysis(3).fit(1e-12 * X)
    total = np.var(1e-12 * X, axis=0).sum()
    assert np.sum(peer.components_**2) / total < 1e-3
    assert np.sum(model.components_**2) / total == pytest.approx(
        np.sum(truth.components**2) / np.sum(truth.to_low_rank().variance), abs=0.05
    )


def test_single_precision_with_large_means() -> None:
    X, _ = rows(2000)
    shifted = (X + 1e4 * X.std()).astype(np.float32)
    model = latens.FactorAnalysis(3).fit(shifted)
    exact = latens.FactorAnalysis(3).fit(shifted.astype(np.float64))
    assert model.get_covariance() == pytest.approx(exact.get_covariance(), abs=1e-4 * exact.get_covariance().max())
    assert covariance_distance(model, latens.FactorAnalysis(3).fit(X)) < 1e-3
    assert model.transform(shifted).dtype == np.float32


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_missing_entries_cost_little(share: float) -> None:
    X, truth = rows(4000, 20, 3)
    gappy = with_holes(X, share)
    full = covariance_distance(latens.FactorAnalysis(3).fit(X), truth)
    batch = latens.FactorAnalysis(3).fit(gappy)
    stream = latens.FactorAnalysis(3)
    for at in range(0, 4000, 500):
        stream.partial_fit(gappy[at : at + 500])
    assert covariance_distance(batch, truth) < 1.4 * full + 0.01
    assert covariance_distance(stream, truth) < 1.6 * full + 0.02
    filled, std = batch.impute(gappy, return_std=True)
    hole = np.isnan(gappy)
    assert filled[~hole] == pytest.approx(gappy[~hole])
    error = (filled[hole] - X[hole]) / std[hole]
    assert 0.93 < np.mean(np.abs(error) < 1.96) < 0.97
    assert np.mean((filled[hole] - X[hole]) ** 2) < np.mean((truth.mean - X)[hole] ** 2)


def test_missing_entries_by_maximum_likelihood_are_a_stationary_point_of_the_observed_likelihood() -> None:
    X = with_holes(rows(150, 6, 2)[0], 0.2)
    model = latens.FactorAnalysis(2, tol=1e-12, max_iter=20000).fit(X)

    def height(noise: np.ndarray, mean: np.ndarray) -> float:
        cov = model.components_.T @ model.components_ + np.diag(noise)
        return sum(
            multivariate_normal(mean[s], cov[np.ix_(s, s)]).logpdf(row[s])
            for row, s in ((row, ~np.isnan(row)) for row in X)
            if s.any()
        )

    noise, mean = model.noise_variance_, model.mean_
    assert model.elbo_ == pytest.approx(height(noise, mean))
    for d in range(6):
        bump = 1e-4 * np.eye(6)[d]
        assert height(noise * np.exp(bump), mean) == pytest.approx(height(noise * np.exp(-bump), mean), abs=1e-5)
        assert height(noise, mean + bump) == pytest.approx(height(noise, mean - bump), abs=1e-5)


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_constant_columns_stay_constant(prior: str) -> None:
    X = rows(3000)[0].copy()
    X[:, 3], X[:, 7] = 5.0, 0.0
    model = latens.FactorAnalysis(3, prior=prior).fit(X)
    assert model.components_[:, [3, 7]] == pytest.approx(0, abs=1e-8)
    assert model.mean_[[3, 7]] == pytest.approx([5.0, 0.0], abs=1e-9)
    assert np.all(model.noise_variance_[[3, 7]] < 1e-2)
    assert np.isfinite(model.score_samples(X)).all()
    rest = np.delete(np.arange(12), [3, 7])
    alone = latens.FactorAnalysis(3, prior=prior).fit(X[:, rest])
    assert gap(model.get_covariance()[np.ix_(rest, rest)], alone.get_covariance()) < 1e-2


@pytest.mark.parametrize(("n", "d", "k"), [(3, 10, 5), (2, 4, 1), (8, 50, 3), (40, 3, 3), (20, 1, 1)])
@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_few_rows_and_many_factors_give_finite_answers(n: int, d: int, k: int, prior: str) -> None:
    X = np.random.default_rng(n).normal(size=(n, d))
    model = latens.FactorAnalysis(k, prior=prior).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.transform(X)).all()
    assert np.all(model.noise_variance_ > 0)


def test_relevance_determination_is_no_worse_than_the_better_of_likelihood_and_independence() -> None:
    for n in (30, 100, 400):
        losses = []
        for seed in range(6):
            X, truth = rows(n, 40, 4, seed=100 + seed)
            ard, ml = (gaussian_kl(truth, latens.FactorAnalysis(4, prior=p).fit(X)) for p in ("ard", "ml"))
            diagonal = gaussian_kl(truth, (X.mean(axis=0), np.diag(X.var(axis=0))))
            losses.append((ard, ml, diagonal))
        ard, ml, diagonal = np.mean(losses, axis=0)
        assert ard < 1.02 * min(ml, diagonal)


def test_without_structure_relevance_determination_turns_factors_off() -> None:
    X = np.random.default_rng(0).normal(size=(100, 20)) * np.arange(1, 21)
    model = latens.FactorAnalysis(5, prior="ard").fit(X)
    assert model.n_components_ == 0
    assert model.noise_variance_ == pytest.approx(X.var(axis=0), rel=0.05)
    bare = latens.FactorAnalysis(5, prior="ard", moves=True).fit(X)
    assert bare.n_components_ == 0
    assert bare.elbo_ == pytest.approx(model.elbo_)
    assert bare.transform(X).shape == (100, 0)
    assert bare.get_covariance() == pytest.approx(model.get_covariance(), rel=0.05, abs=1e-3)


def test_transport_comes_close_to_maximum_likelihood() -> None:
    X, truth = rows(3000, 30, 3)
    exact = latens.FactorAnalysis(3).fit(X)
    stream = latens.FactorAnalysis(3, solver="transport", random_state=0)
    for at in range(0, 3000, 300):
        stream.partial_fit(X[at : at + 300])
    assert (exact.solver_, stream.solver_) == ("exact", "transport")
    assert stream.mean_ == pytest.approx(exact.mean_)
    assert covariance_distance(stream, truth) < 1.05 * covariance_distance(exact, truth)
    assert gaussian_kl(truth, stream) < 1.15 * gaussian_kl(truth, exact)
    assert stream.n_components_ == 3
    assert stream._state.q.n_components == 9


def test_online_algorithms_stream_as_they_fit() -> None:
    X, _ = rows(400)
    for solver in ("online-em", "online-sga"):
        whole = latens.FactorAnalysis(3, solver=solver, random_state=0).fit(X)
        stream = latens.FactorAnalysis(3, solver=solver, random_state=0).partial_fit(X[:150]).partial_fit(X[150:])
        assert stream.get_covariance() == pytest.approx(whole.get_covariance())
        assert stream.elbo_ == pytest.approx(whole.elbo_)
        assert whole.mean_ == pytest.approx(X.mean(axis=0))


@pytest.mark.parametrize("rule", ["momentum", "adagrad", "adam"])
def test_rules_of_steps_stream_as_they_fit_and_are_kept_by_files(rule: str, tmp_path: Path) -> None:
    X, _ = rows(400)
    model = latens.FactorAnalysis(3, solver="online-sga", step_rule=rule, learning_rate=0.01, random_state=0)
    whole, first = clone(model).fit(X), model.partial_fit(X[:150])
    latens.save(first, tmp_path / "first.latens")
    stream = latens.load(tmp_path / "first.latens").partial_fit(X[150:])
    assert stream.get_covariance() == pytest.approx(whole.get_covariance())
    plain = latens.FactorAnalysis(3, solver="online-sga", learning_rate=0.01, random_state=0).fit(X)
    assert np.abs(plain.components_ - whole.components_).max() > 0.01


def test_textbook_em_climbs_to_the_maximum_that_exact_finds_at_once() -> None:
    X, _ = rows(600)
    exact = latens.FactorAnalysis(3, solver="exact").fit(X)
    em = latens.FactorAnalysis(3, solver="em", tol=1e-9, max_iter=5000, random_state=1).fit(X)
    assert em.solver_ == "em"
    assert np.diff(em.loglike_).min() > -1e-9 * abs(em.elbo_)
    assert em.n_iter_ > 10 * exact.n_iter_
    assert exact.elbo_ - 0.1 < em.elbo_ < exact.elbo_ + 1e-6
    assert em.get_covariance() == pytest.approx(exact.get_covariance(), abs=0.02)
    stream = clone(em).partial_fit(X[:300]).partial_fit(X[300:])
    assert stream.solver_ == "em"
    assert stream.elbo_ == pytest.approx(exact.elbo_, abs=0.5)


def test_gradient_ascent_reports_that_it_diverged() -> None:
    X, _ = rows(400, spectrum=(1, 1e8))
    with pytest.warns(ConvergenceWarning, match=r"diverged.*learning_rate=0\.001"):
        model = latens.FactorAnalysis(3, solver="online-sga", random_state=0).fit(X)
    assert not model.converged_
    assert np.isfinite(model.get_covariance()).all()


def test_large_problems_choose_transport() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5001)) + rng.normal(size=(60, 5001))
    assert latens.FactorAnalysis(2, random_state=0).fit(X).solver_ == "transport"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 13}, "n_components=13 is too large: X has 12 columns; choose at most 12"),
        ({"n_components": 0}, "n_components=0 is too small"),
        ({"solver": "svd"}, "solver='svd' is not known; choose one of 'auto', 'exact'"),
        ({"prior": "map"}, "prior='map' is not known"),
        ({"rotation": "promax"}, "rotation='promax' is not known"),
        ({"n_components": 2, "solver": "transport", "prior": "ard"}, "prior='ard' needs solver='exact'"),
        ({"solver": "transport"}, "solver='transport' needs n_components; give a number from 1 to 12"),
        ({"n_components": 2, "solver": "online-sga", "learning_rate": -1}, "learning_rate=-1 is out of range"),
        ({"n_components": 2, "solver": "online-sga", "step_rule": "adadelta"}, "step_rule='adadelta' is not known"),
        ({"solver": "em"}, "solver='em' needs n_components"),
        ({"n_components": 2, "init": np.ones((3, 12))}, r"init has shape \(3, 12\); expected .* \(2, 12\)"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        latens.FactorAnalysis(**options).fit(rows(50)[0])


def test_what_a_solver_cannot_see_is_refused() -> None:
    X, _ = rows(50)
    with pytest.raises(ValueError, match=r"missing entries.*choose solver='exact'"):
        latens.FactorAnalysis(2, solver="online-em").fit(with_holes(X, 0.2))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        latens.FactorAnalysis(2, solver="online-em").fit(X, sample_weight=np.ones(50))


def test_given_loadings_are_a_start() -> None:
    X, truth = rows()
    model = latens.FactorAnalysis(3, init=truth.components, tol=1e-10, max_iter=5000).fit(X)
    assert model.elbo_ == pytest.approx(latens.FactorAnalysis(3).fit(X).elbo_, abs=1e-3)
    assert model.n_iter_ > 5


@pytest.mark.parametrize("prior", ["ml", pytest.param("ard", marks=pytest.mark.slow)])
def test_a_stream_with_few_patterns_of_holes_is_exact(prior: str) -> None:
    X, _ = rows(900, 8, 2)
    X = X.copy()
    X[X[:, 0] > X[:, 0].mean(), 3:6] = np.nan  # by what is seen: pairwise sums would be biased
    X[::7, 7] = np.nan
    X[5] = np.nan
    options: dict[str, Any] = {"prior": prior, "tol": 1e-9, "max_iter": 5000}
    batch = latens.FactorAnalysis(2, **options).fit(X)
    stream = latens.FactorAnalysis(2, **options)
    for at in range(0, 900, 100):
        stream.partial_fit(X[at : at + 100])
    assert len(stream._state.data.patterns.rows) == 4
    assert stream.elbo_ == pytest.approx(batch.elbo_, rel=1e-7)
    scale = np.abs(batch.get_covariance()).max()
    assert stream.get_covariance() == pytest.approx(batch.get_covariance(), abs=1e-3 * scale)


def test_pure_noise_has_no_factor() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 10)) * np.exp(rng.normal(size=10))
        model = latens.FactorAnalysis(prior="ard").fit(X)
        assert model.n_components_ == 0
        assert model.components_.shape == (0, 10)
        assert model.transform(X).shape == (200, 0)
        assert np.isfinite(model.score(X))
        assert model.get_covariance() == pytest.approx(np.diag(X.var(axis=0)), rel=0.05, abs=1e-12)
        assert model.rotate("varimax").n_components_ == 0


def test_relevance_determination_of_correlated_columns_converges() -> None:
    """Plain ascent was at -6884 after 2,000 iterations, still rising."""
    X = load_breast_cancer().data
    model = latens.FactorAnalysis(prior="ard", random_state=0).fit((X - X.mean(axis=0)) / X.std(axis=0))
    assert model.converged_
    assert model.n_iter_ < 200
    assert model.elbo_ > -6722
    assert np.diff(model.elbo_history_).min() > -1e-6


def test_axes_that_codes_and_relevances_agree_with_are_a_fixed_point() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2)) @ np.random.default_rng(1).normal(size=(2, 6))
    X = X + 0.5 * np.random.default_rng(2).normal(size=X.shape)
    model = latens.FactorAnalysis(2, prior="ard", tol=1e-10, random_state=0).fit(X)
    q, stats = model._state.q, model._state.stats
    again = model._model.expanded(q, stats)
    before, after = (np.abs(each.loadings.mean) for each in (q, again))
    order = [np.argsort(np.sum(each**2, axis=1)) for each in (before, after)]
    np.testing.assert_allclose(after[order[1]], before[order[0]], rtol=1e-3, atol=1e-4)


def test_relevance_goes_on_from_every_start() -> None:
    """The start that leads after a few iterations ends with 2 factors, 31 nats below another that keeps 7."""
    spectrum = (1.0, 10.0)
    x, _ = latens.datasets.make_factor_model(
        300, n_features=100, n_components=10, spectrum=spectrum, random_state=50_100
    )
    assert latens.FactorAnalysis(10, prior="ard", random_state=0).fit(x).elbo_ > -64_212.5


def test_many_holes_do_not_leave_a_fit_at_the_floor_of_its_noise():
    x = load_diabetes().data.copy()
    x[np.random.default_rng(1).random(x.shape) < 0.3] = np.nan
    model = latens.FactorAnalysis(4).fit(x)
    textbook = latens.FactorAnalysis(4, solver="em", random_state=0).fit(x)
    assert model.elbo_ > textbook.elbo_ - 0.1  # 36 nats below, from factors that follow single columns
