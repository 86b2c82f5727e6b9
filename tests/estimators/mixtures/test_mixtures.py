"""GaussianMixture and BernoulliMixture as users meet them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.mixture import GaussianMixture as PlainMixture

import latens
from latens.errors import ValuesCut
from tests.estimators.conventions.verdict import complaints

KINDS = ["full", "tied", "diag", "spherical", "known"]
QUICK = {"random_state": 0, "n_init": 1, "n_jobs": 1}


def rows(seed: int = 0, **options: Any) -> tuple[np.ndarray, Any]:
    return latens.datasets.make_mixture(
        **({"n_samples": 240, "n_components": 3, "n_features": 3, "random_state": seed} | options)
    )


def binary_rows(seed: int = 0, n: int = 240) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    chance = np.repeat([[0.9, 0.1, 0.1], [0.1, 0.9, 0.1], [0.1, 0.1, 0.9]], 5, axis=1)
    labels = rng.integers(3, size=n)
    return (rng.random((n, 15)) < chance[labels]).astype(float), labels


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        latens.GaussianMixture(**QUICK),
        latens.GaussianMixture(2, covariance_type="tied", weight_prior="dirichlet_process", **QUICK),
        latens.GaussianMixture(2, covariance_type="known", weight_prior="uniform", **QUICK),
        latens.BernoulliMixture(**QUICK),
    ],
    ids=lambda e: f"{type(e).__name__}-{getattr(e, 'covariance_type', '')}",
)
def test_scikit_learn_finds_no_fault(estimator: Any) -> None:
    assert complaints(estimator) == []


@pytest.mark.parametrize("weight_prior", ["dirichlet", "dirichlet_process", "uniform"])
@pytest.mark.parametrize("kind", KINDS)
def test_clusters_and_their_number_are_found(kind: str, weight_prior: str) -> None:
    x, truth = rows(spread=8.0)
    model = latens.GaussianMixture(8, covariance_type=kind, weight_prior=weight_prior, **QUICK).fit(x)
    assert model.n_components_ == 3
    assert adjusted_rand_score(truth.labels, model.predict(x)) > 0.95  # two of them touch
    nearest = np.argmin(np.sum((model.means_[:, None] - truth.means) ** 2, axis=2), axis=1)
    assert np.abs(model.means_ - truth.means[nearest]).max() < 0.5
    assert np.all(np.diff(model.share_) <= 0)
    assert np.all(np.diff(model.elbo_history_) > -1e-8)


@pytest.mark.parametrize("weight_prior", ["dirichlet", "dirichlet_process", "uniform"])
def test_binary_clusters_and_their_number_are_found(weight_prior: str) -> None:
    x, labels = binary_rows()
    model = latens.BernoulliMixture(8, weight_prior=weight_prior, **QUICK).fit(x)
    assert model.n_components_ == 3
    assert adjusted_rand_score(labels, model.predict(x)) > 0.95
    assert model.means_.shape == (3, 15)
    assert model.weights_.sum() == pytest.approx(1)


@pytest.mark.parametrize("options", [{"moves": False}, {"init": "random", "moves": False}, {"init": "given"}])
def test_sparse_binary_rows_are_fitted_like_dense_ones(options: dict[str, Any]) -> None:
    x, _ = binary_rows()
    x[:, 3], x[:, 7] = 0.0, 1.0  # columns that never vary
    if options.get("init") == "given":
        options = {"init": np.clip(x[:4] + 0.3, 0.2, 0.8), "moves": False}
    weight = np.random.default_rng(1).integers(1, 4, len(x))
    dense, thin = (
        latens.BernoulliMixture(4, **options, **QUICK).fit(rows, sample_weight=weight) for rows in (x, csr_matrix(x))
    )
    assert thin.elbo_ == pytest.approx(dense.elbo_, rel=1e-10)
    assert thin.means_ == pytest.approx(dense.means_, rel=1e-8)
    for name in ("predict_proba", "score_samples", "transform", "impute"):
        assert getattr(thin, name)(csr_array(x)) == pytest.approx(getattr(dense, name)(x), rel=1e-8, abs=1e-12), name
    thin.partial_fit(csr_array(x))
    dense.partial_fit(x)
    assert thin.elbo_ == pytest.approx(dense.elbo_, rel=1e-10)


@pytest.mark.parametrize("estimator", [latens.BernoulliMixture, latens.NoisyOr])
def test_sparse_rows_may_have_long_indices(estimator: Any) -> None:
    X = csr_array((np.random.default_rng(0).random((60, 6)) < 0.4).astype(float))
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    short_fit, long_fit = (estimator(2, max_iter=10, random_state=0).fit(rows) for rows in (X, long))
    assert long_fit.elbo_ == short_fit.elbo_
    np.testing.assert_array_equal(long_fit.transform(long), short_fit.transform(X))
    assert long.indices.dtype == np.int64  # the caller's matrix stays as it was


def test_other_values_in_sparse_rows_are_refused_with_a_remedy() -> None:
    counts = csr_array(np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    with pytest.raises(ValueError, match=r"sparse X holds 2 value\(s\) other than 0 and 1.*pass \(X > 0.5\)"):
        latens.BernoulliMixture(2).fit(counts)
    assert latens.BernoulliMixture(2).fit(counts > 0.5).n_components_ >= 1


def test_sparse_binary_rows_are_never_made_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    chance = np.kron(np.eye(3), np.full((1, 40), 0.25)) + 0.002
    labels = rng.integers(3, size=600)
    x = csr_array((rng.random((600, 120)) < chance[labels]).astype(float))

    def refuse(self: Any, *arguments: Any, **options: Any) -> Any:
        if self.shape[0] > 1:
            raise AssertionError("made dense")
        return toarray(self, *arguments, **options)

    toarray = csr_array.toarray
    monkeypatch.setattr(csr_array, "toarray", refuse)
    monkeypatch.setattr(csr_array, "todense", refuse)
    model = latens.BernoulliMixture(8, random_state=0, n_jobs=1).fit(x)
    assert model.n_components_ == 3
    assert adjusted_rand_score(labels, model.predict(x)) > 0.9
    assert np.isfinite(model.score_samples(x)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_have_the_names_and_shapes_of_scikit_learn(kind: str) -> None:
    x, _ = rows(spread=8.0)
    model = latens.GaussianMixture(3, covariance_type=kind, **QUICK).fit(x)
    plain = PlainMixture(3, covariance_type="spherical" if kind == "known" else kind, random_state=0).fit(x)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        ours, theirs = getattr(model, name), getattr(plain, name)
        assert ours.shape == theirs.shape, name
    order = np.argsort(-model.weights_), np.argsort(-plain.weights_)
    assert model.means_[order[0]] == pytest.approx(plain.means_[order[1]], abs=0.1)
    covariance = model.covariances_ if kind == "tied" else model.covariances_[order[0]]
    expected = plain.covariances_ if kind == "tied" else plain.covariances_[order[1]]
    if kind != "known":
        assert covariance == pytest.approx(expected, abs=0.4)
    if kind in ("full", "tied"):
        root = model.precisions_cholesky_
        assert root @ np.swapaxes(root, -1, -2) == pytest.approx(model.precisions_)
        assert np.allclose(np.tril(root, -1), 0)
        assert model.precisions_ @ model.covariances_ == pytest.approx(np.broadcast_to(np.eye(3), root.shape), abs=1e-9)


@pytest.mark.parametrize("weights", ["dirichlet", "dirichlet_process"])
@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_everything_the_variational_mixture_of_scikit_learn_publishes_is_there(kind: str, weights: str) -> None:
    x, _ = rows(spread=8.0)
    model = latens.GaussianMixture(3, covariance_type=kind, weight_prior=weights, **QUICK).fit(x)
    their = "dirichlet_process" if weights == "dirichlet_process" else "dirichlet_distribution"
    peer = BayesianGaussianMixture(
        n_components=3, covariance_type=kind, weight_concentration_prior_type=their, random_state=0
    ).fit(x)
    public = [name for name in vars(peer) if name.endswith("_") and not name.startswith(("_", "lower_bound"))]
    assert len(public) > 12
    for name in public:
        ours, theirs = getattr(model, name), getattr(peer, name)
        assert np.shape(ours) == np.shape(theirs), name


def test_the_prior_is_published_in_data_units() -> None:
    x, _ = rows()
    given = {
        "mean_prior": np.array([1.0, 2.0, 3.0]),
        "covariance_prior": 2 * np.eye(3),
        "mean_precision_prior": 0.3,
        "degrees_of_freedom_prior": 7.0,
        "weight_concentration_prior": 0.5,
    }
    for prior in ("dirichlet", "dirichlet_process"):
        model = latens.GaussianMixture(3, weight_prior=prior, **given, **QUICK).fit(100 * x)
        for name, value in given.items():
            assert getattr(model, f"{name}_") == pytest.approx(value), name
    for kind, scatter in (("diag", np.array([1.0, 2.0, 3.0])), ("spherical", 4.0)):
        model = latens.GaussianMixture(3, covariance_type=kind, covariance_prior=scatter, **QUICK).fit(100 * x)
        assert model.covariance_prior_ == pytest.approx(scatter)
    assert not hasattr(latens.GaussianMixture(3, weight_prior="uniform").fit(x), "weight_concentration_prior_")
    assert not hasattr(latens.GaussianMixture(3, covariance_type="known").fit(x), "covariance_prior_")
    assert not hasattr(latens.GaussianMixture(3), "mean_prior_")


@pytest.mark.parametrize("name", ["lower_bound_", "lower_bounds_"])
def test_what_the_bound_replaces_is_refused_by_name(name: str) -> None:
    model = latens.GaussianMixture(2)
    with pytest.raises(AttributeError, match=r"elbo_.*higher"):
        getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = model.nonsense


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_weights_are_repetitions(kind: str, holes: bool) -> None:
    x, _ = rows(1, n_samples=60)
    rng = np.random.default_rng(2)
    if holes:
        x = np.where(rng.random(x.shape) < 0.15, np.nan, x)
    times = rng.integers(0, 4, len(x))
    model = latens.GaussianMixture(4, covariance_type=kind, **QUICK)
    one = model.fit(x, sample_weight=times)
    bound, means, score = one.elbo_, one.means_, one.score_samples(x)
    two = latens.GaussianMixture(4, covariance_type=kind, **QUICK).fit(np.repeat(x, times, axis=0))
    assert two.elbo_ == pytest.approx(bound, rel=1e-10)
    assert two.means_ == pytest.approx(means, rel=1e-8, abs=1e-8)
    assert two.score_samples(x) == pytest.approx(score, rel=1e-8)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("factor", [1e-150, 1e-4, 3.0, 1e150])
def test_the_unit_of_measurement_changes_nothing(kind: str, factor: float) -> None:
    x, _ = rows(3)
    make = lambda: latens.GaussianMixture(5, covariance_type=kind, **QUICK)  # noqa: E731
    one, two = make().fit(x), make().fit(factor * x)
    assert two.n_components_ == one.n_components_
    assert two.predict_proba(factor * x) == pytest.approx(one.predict_proba(x), abs=1e-6)
    assert two.means_ / factor == pytest.approx(one.means_, rel=1e-6)
    assert two.elbo_ == pytest.approx(one.elbo_ - x.size * np.log(factor), rel=1e-9)


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_neither_do_the_units_of_single_columns(kind: str) -> None:
    x, _ = rows(4)
    units = np.array([1.0, 1e4, 1e-3])
    one, two = (latens.GaussianMixture(5, covariance_type=kind, **QUICK).fit(z) for z in (x, x * units))
    assert two.n_components_ == one.n_components_
    assert two.predict_proba(x * units) == pytest.approx(one.predict_proba(x), abs=1e-6)


def test_known_variances_are_in_the_units_of_the_data() -> None:
    x, _ = rows(5)
    one = latens.GaussianMixture(3, covariance_type="known", mean_prior_variance=25.0, **QUICK).fit(x)
    two = latens.GaussianMixture(
        3, covariance_type="known", noise_variance=1e6, mean_prior_variance=25e6, mean_prior=np.zeros(3), **QUICK
    ).fit(1e3 * x)
    assert one.covariances_ == pytest.approx(np.ones(one.n_components_))
    assert two.covariances_ == pytest.approx(np.full(two.n_components_, 1e6))
    assert two.means_ / 1e3 == pytest.approx(one.means_, rel=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_one_cluster_s_bound_is_its_evidence_through_the_estimator_too(kind: str) -> None:
    """In the caller's units, with the caller's priors."""
    from scipy.stats import multivariate_normal, multivariate_t

    rng = np.random.default_rng(6)
    x = 40.0 + 7 * rng.normal(size=(9, 2))
    options = {"mean_prior": np.array([35.0, 30.0])}
    if kind == "known":
        options |= {"noise_variance": 30.0, "mean_prior_variance": 100.0}
        cov = np.kron(np.eye(9), 30.0 * np.eye(2)) + np.kron(np.ones((9, 9)), 100.0 * np.eye(2))
        exact = multivariate_normal.logpdf(x.ravel(), np.tile([35.0, 30.0], 9), cov)
    else:
        prior = {"full": 20.0 * np.eye(2), "tied": 20.0 * np.eye(2), "diag": np.full(2, 20.0), "spherical": 20.0}[kind]
        options |= {"covariance_prior": prior, "mean_precision_prior": 0.3, "degrees_of_freedom_prior": 5.0}
        exact, m, b, nu, s = 0.0, np.array([35.0, 30.0]), 0.3, 5.0, 20.0 * np.eye(2)
        for row in x:
            gap = row - m
            if kind in ("full", "tied"):
                exact += multivariate_t.logpdf(gap, shape=s * (b + 1) / (b * (nu - 1)), df=nu - 1)
                s, nu = s + b / (b + 1) * np.outer(gap, gap), nu + 1
            elif kind == "diag":
                scale = np.diag(s) / nu * (b + 1) / b
                exact += sum(multivariate_t.logpdf(g, shape=v, df=nu) for g, v in zip(gap, scale, strict=True))
                s, nu = s + np.diag(b / (b + 1) * gap**2), nu + 1
            else:
                exact += multivariate_t.logpdf(gap, shape=s[0, 0] / nu * (b + 1) / b * np.eye(2), df=nu)
                s, nu = s + b / (b + 1) * (gap @ gap) * np.eye(2), nu + 2
            m, b = m + gap / (b + 1), b + 1
    model = latens.GaussianMixture(1, covariance_type=kind, **options, **QUICK).fit(x)
    assert model.elbo_ == pytest.approx(exact, abs=1e-9 * abs(exact))


def test_densities_are_those_of_the_data_s_units() -> None:
    x, _ = rows(7, n_features=1)
    model = latens.GaussianMixture(3, **QUICK).fit(1000 + 50 * x)
    grid = np.linspace(-3000, 5000, 40_001)
    density = np.exp(model.score_samples(grid[:, None]))
    assert np.trapezoid(density, grid) == pytest.approx(1, abs=1e-3)
    assert not model.score_is_bound_


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_missing_entries_are_filled_from_their_cluster(kind: str) -> None:
    x, truth = rows(8, spread=8.0)
    rng = np.random.default_rng(9)
    hole = rng.random(x.shape) < 0.2
    hole[np.all(hole, axis=1), 0] = False
    gappy = np.where(hole, np.nan, x)
    model = latens.GaussianMixture(6, covariance_type=kind, **QUICK).fit(gappy)
    filled, std = model.impute(gappy, return_std=True)
    assert np.array_equal(filled[~hole], x[~hole])
    assert np.all(std[~hole] == 0)
    error = filled[hole] - x[hole]
    assert np.sqrt(np.mean(error**2)) < 0.4 * np.std(x)
    assert 0.85 < np.mean(np.abs(error) < 2 * std[hole]) <= 1
    assert adjusted_rand_score(truth.labels, model.predict(gappy)) > 0.8
    empty = np.full((1, 3), np.nan)
    assert model.predict_proba(empty)[0] == pytest.approx(model.posterior_.weights.mean, abs=0.1)
    assert model.score_samples(empty)[0] == pytest.approx(0, abs=1e-12)


def test_a_stream_of_batches_gains_nearly_what_all_rows_gain() -> None:
    x, truth = rows(10, n_samples=2000, n_features=4, spread=4.0)
    whole = latens.GaussianMixture(3, moves=False, **QUICK).fit(x)
    stream = latens.GaussianMixture(3, moves=False, **QUICK)
    for start in range(0, 2000, 250):
        stream.partial_fit(x[start : start + 250])
    alone = latens.GaussianMixture(1, **QUICK).fit(x).score(x)
    assert stream.score(x) - alone > 0.99 * (whole.score(x) - alone)
    assert adjusted_rand_score(truth.labels, stream.predict(x)) > 0.95


def test_textbook_behaviour_can_be_had() -> None:
    """Random centres, no moves: the number stays as given, and starts differ."""
    x, _ = rows(11, n_samples=400, n_features=2, n_components=12, spread=9.0)
    options = {"covariance_type": "known", "weight_prior": "uniform", "init": "random", "moves": False, "n_init": 1}
    bounds = {
        round(latens.GaussianMixture(12, random_state=seed, mean_prior_variance=81.0, **options).fit(x).elbo_, 3)
        for seed in range(6)
    }
    assert len(bounds) > 1
    best = latens.GaussianMixture(12, random_state=0, mean_prior_variance=81.0, **(options | {"moves": True})).fit(x)
    assert best.elbo_ >= max(bounds) - 1e-2


def test_starts_may_be_given() -> None:
    x, truth = rows(12, spread=8.0)
    one = latens.GaussianMixture(init=truth.means, moves=False, **QUICK).fit(x)
    two = latens.GaussianMixture(3, init={"means": truth.means}, moves=False, **QUICK).fit(x)
    assert one.elbo_ == two.elbo_
    assert one.n_components_ == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance_type": "round"}, "covariance_type='round' is not known; choose one of 'full'"),
        ({"weight_prior": 3}, "weight_prior=3 is not known"),
        ({"covariance_type": "known", "noise_variance": 0.0}, "noise_variance=0.0 is out of range"),
        ({"covariance_type": "known", "mean_prior_variance": -1}, "mean_prior_variance=-1 is out of range"),
        ({"weight_concentration_prior": 0}, "weight_concentration_prior=0 is out of range"),
        ({"mean_prior": [1.0]}, r"mean_prior=\[1.0\] does not fit; expected finite numbers of shape \(3,\)"),
        ({"degrees_of_freedom_prior": 1.5}, "too small for 3 columns; choose more than 2"),
        ({"covariance_prior": np.zeros((3, 3))}, "not positive definite"),
        ({"init": "kmeans"}, "init='kmeans' is not known"),
        ({"init": np.zeros((2, 5))}, r"finite values of shape \(K, 3\)"),
        ({"init": {"centres": 1}}, "gives no centres"),
        ({"n_components": 0}, "n_components=0 is too small"),
    ],
)
def test_bad_parameters_are_named_with_what_was_expected(options: dict[str, Any], message: str) -> None:
    x, _ = rows()
    with pytest.raises(ValueError, match=message):
        latens.GaussianMixture(**(QUICK | options)).fit(x)


def test_values_that_are_not_binary_are_cut_or_refused() -> None:
    x, _ = binary_rows()
    odd = x.copy()
    odd[0, :3] = [0.7, 2.0, -1.0]
    with pytest.warns(ValuesCut, match="3 value"):
        model = latens.BernoulliMixture(3, **QUICK).fit(odd)
    assert np.all((model.means_ > 0) & (model.means_ < 1))
    with pytest.raises(ValueError, match=r"X\[0, 0\] is 0\.7"):
        latens.BernoulliMixture(3, binarize=None, **QUICK).fit(odd)


def test_binary_holes_are_filled_with_probabilities() -> None:
    x, _ = binary_rows(1)
    gappy = x.copy()
    gappy[:40, :4] = np.nan
    model = latens.BernoulliMixture(5, **QUICK).fit(gappy)
    filled = model.impute(gappy)
    assert np.all((filled[:40, :4] > 0) & (filled[:40, :4] < 1))
    assert np.mean(np.abs(filled[:40, :4] - x[:40, :4])) < 0.25
    total = sum(np.exp(model.score_samples(row[None])[0]) for row in _every_row(15, fixed=x[0]))
    assert 0 < total < 1


def _every_row(d: int, fixed: np.ndarray) -> list[np.ndarray]:
    return [np.concatenate([np.array([(i >> b) & 1 for b in range(4)], float), fixed[4:d]]) for i in range(16)]


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_single_precision_clusters_alike(kind: str) -> None:
    x, _ = rows(13, n_samples=1000, n_features=5)
    far = 1e4 + x  # a mean large beside the spread
    one = latens.GaussianMixture(5, covariance_type=kind, **QUICK).fit(far)
    two = latens.GaussianMixture(5, covariance_type=kind, **QUICK).fit(far.astype(np.float32))
    assert two.n_components_ == one.n_components_
    assert two.predict_proba(far.astype(np.float32)).dtype == np.float32
    assert adjusted_rand_score(one.predict(far), two.predict(far.astype(np.float32))) > 0.99
    again = latens.GaussianMixture(covariance_type=kind, init=one.means_, moves=False, max_iter=5, tol=0).fit(far)
    single = far.astype(np.float32)
    assert np.abs(again.predict_proba(single.astype(float)) - again.predict_proba(single)).max() < 1e-4


def test_columns_that_set_a_cluster_apart_come_first() -> None:
    rng = np.random.default_rng(14)
    x = rng.normal(size=(300, 4))
    x[:100, 2] += 12
    model = latens.GaussianMixture(4, **QUICK).fit(x)
    assert model.n_components_ == 2
    assert [names[0] for names in model.top_features(1).values()] == ["x2", "x2"]
    assert len(model.summary()) == 2


def test_rows_are_drawn_as_they_were_learnt() -> None:
    x, _ = rows(15)
    model = latens.GaussianMixture(3, **QUICK).fit(x)
    drawn, codes = model.sample(500)
    assert drawn.shape == (500, 3)
    assert np.all(codes.sum(axis=1) == 1)
    assert np.abs(drawn.mean(axis=0) - x.mean(axis=0)).max() < 1.5
    posterior = model.sample_posterior(4)
    assert posterior["means"].shape == (4, *model.means_.shape)
    assert posterior["covariances"].shape == (4, *model.covariances_.shape)


@pytest.mark.parametrize("degenerate", ["constant", "one column", "duplicates", "two rows", "more columns than rows"])
@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_data_give_finite_answers(kind: str, degenerate: str) -> None:
    rng = np.random.default_rng(16)
    x = {
        "constant": np.column_stack([rng.normal(size=30), np.full(30, 7.0)]),
        "one column": rng.normal(size=(30, 1)),
        "duplicates": np.repeat(rng.normal(size=(2, 3)), 10, axis=0),
        "two rows": rng.normal(size=(2, 2)),
        "more columns than rows": rng.normal(size=(6, 20)),
    }[degenerate]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = latens.GaussianMixture(3, covariance_type=kind, **QUICK).fit(x)
    for values in (model.elbo_, model.means_, model.covariances_, model.weights_, model.score_samples(x)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("kind", [*KINDS, "bernoulli"])
@pytest.mark.parametrize("weight_prior", ["dirichlet", "dirichlet_process", "uniform"])
def test_models_survive_their_file(kind: str, weight_prior: str, tmp_path: Any) -> None:
    if kind == "bernoulli":
        x, _ = binary_rows()
        model: Any = latens.BernoulliMixture(4, weight_prior=weight_prior, **QUICK).fit(x)
    else:
        x, _ = rows()
        model = latens.GaussianMixture(4, covariance_type=kind, weight_prior=weight_prior, **QUICK).fit(x)
    latens.save(model, tmp_path / "model.latens")
    again = latens.load(tmp_path / "model.latens")
    assert np.array_equal(again.predict_proba(x), model.predict_proba(x))
    assert np.array_equal(again.score_samples(x), model.score_samples(x))
    assert again.elbo_ == model.elbo_


@pytest.mark.parametrize("given", [None, [0.0, 0.0, 7.0]])
def test_a_column_first_seen_in_a_later_batch_gets_an_origin_unless_its_prior_was_given(given: Any) -> None:
    X = rows()[0] + [0, 0, 1e6]
    X[:120, 2] = np.nan
    model = latens.GaussianMixture(3, covariance_type="diag", mean_prior=given, **QUICK).partial_fit(X[:120])
    model.partial_fit(X[120:])
    if given is None:
        assert model.mean_prior_[2] == pytest.approx(1e6, abs=100)
        assert model.means_[:, 2] == pytest.approx(1e6, abs=100)
    else:
        assert model.mean_prior_ == pytest.approx(given, abs=1e-9)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.slow
def test_correlated_columns_with_holes_are_searched_without_slow_ascents() -> None:
    """Column means in the holes would look like clusters of their own, which hundreds of iterations take apart."""
    x, events = load_breast_cancer().data, list[Any]()
    holes = np.where(np.random.default_rng(0).random(x.shape) < 0.15, np.nan, x)
    model = latens.GaussianMixture(callbacks=events.append, random_state=0, n_jobs=1).fit(holes)
    assert model.converged_
    assert model.n_components_ <= 11  # as many as complete rows have
    assert len(events) < 400  # 1,455 of starts from column means


@pytest.mark.parametrize("seed", [0, 4])
def test_rare_ones_form_no_clusters_of_single_rows(seed: int) -> None:
    """Rows differ in how many of 97 rare things they have, as tumours do in mutations."""
    rng = np.random.default_rng(seed)

    def rows(n: int) -> np.ndarray:
        rates = 0.008 * rng.gamma(0.3, 1 / 0.3, size=n)
        return (rng.random((n, 97)) < np.minimum(rates, 0.5)[:, None]).astype(float)

    X, new = rows(90), rows(2000)
    share = (X.sum(axis=0) + 0.5) / 91
    independent = (new * np.log(share) + (1 - new) * np.log1p(-share)).sum(axis=1).mean()
    assert latens.BernoulliMixture(random_state=0).fit(X).score(new) > independent


def test_a_small_cluster_is_described_by_the_rare_ones_it_has() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((120, 40))
    X[2:, :30] = rng.random((118, 30)) < 0.05
    X[0, 30:] = X[1, 30:38] = 1.0  # two rows with ones that no other row has, two of these in one of them only
    model = latens.BernoulliMixture(2, random_state=0).fit(X)
    small = int(np.argmin(model.share_))
    named = model.top_features(10)[model.get_feature_names_out()[small]]
    assert sorted(named) == [f"x{j}" for j in range(30, 40)]
