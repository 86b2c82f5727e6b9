"""The log evidence, exact and by annealing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

import latens
from latens.errors import LatensWarning
from latens.estimators.fitted_parts import fitted_parts
from latens.inference.uncertainty.annealing import log_mean_with_error
from latens.metrics import evidence, log_evidence


def rows(n: int = 10) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) + 3.0 * (np.arange(n) % 2)[:, None]


def fitted(kind: str, X: np.ndarray) -> tuple[Any, np.ndarray]:
    if kind == "bernoulli":
        X = (X > 1).astype(float)
        return latens.BernoulliMixture(2, prune=False, random_state=0).fit(X), X
    return latens.GaussianMixture(2, covariance_type=kind, prune=False, random_state=0).fit(X), X


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("tied", "diag", "spherical", "known")]


@pytest.mark.parametrize("kind", ["full", "bernoulli", *SLOW])
def test_annealing_is_within_a_nat_of_enumeration(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X = fitted(kind, rows())
    exact = log_evidence(model, X)
    assert (exact.method, exact.error) == ("exact", 0.0)
    assert exact.value >= model.elbo_ - 1e-9
    monkeypatch.setattr(evidence, "MOST_CODES", 1)
    sampled = log_evidence(model, X, n_chains=6, n_steps=120)
    assert sampled.method == "annealing"
    assert abs(sampled.value - exact.value) < 1
    assert 0 < sampled.error < 1


@pytest.mark.parametrize(("k", "distance"), [(2, 0.5), (2, 4.0), (3, 1.0)])
def test_chains_from_the_fit_are_within_a_nat_of_enumeration(
    k: int, distance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether clusters overlap, so that draws of the memberships have other names, or not."""
    rng = np.random.default_rng(1)
    X = distance * (np.arange(8) % k)[:, None] + rng.normal(size=(8, 2))
    model = latens.GaussianMixture(k, covariance_type="diag", prune=False, moves=False, random_state=0).fit(X)
    exact = log_evidence(model, X)
    assert exact.method == "exact"
    monkeypatch.setattr(evidence, "MOST_CODES", 1)
    monkeypatch.setattr(evidence, "MOST_ERROR", 0.0)
    found = log_evidence(model, X, n_chains=12, n_steps=150, labels=np.arange(8) % k)
    assert abs(found.value - exact.value) < 0.5
    assert 0 < found.error < 0.5


def test_chains_that_do_not_come_upon_clusters_set_out_from_the_fit() -> None:
    """Three clusters far apart: from labels at random the estimate was 88 nats below the bound, its error infinite."""
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=60)
    X = 5.0 * rng.normal(size=(3, 6))[label] + rng.normal(size=(60, 6))
    model = latens.GaussianMixture(3, prune=False, random_state=0, n_jobs=1).fit(X)
    found = log_evidence(model, X, n_chains=6, n_steps=60)
    assert model.elbo_ < found.value < model.elbo_ + 10
    assert found.error < 1


def test_enumeration_is_the_sum_over_all_labels() -> None:
    """Bernoulli rows by hand: Dirichlet weights and Beta columns integrated in closed form."""
    X = (rows(6) > 1).astype(float)
    model = latens.BernoulliMixture(2, prune=False, random_state=0).fit(X)
    inner = fitted_parts(model).model
    a, b = inner.clusters.chance.on[0], inner.clusters.chance.off[0]
    level = float(inner.weights.concentration[0])
    total = []
    for codes in np.ndindex(*(2,) * 6):
        label = np.array(codes)
        counts = np.bincount(label, minlength=2)
        value = gammaln(2 * level) - gammaln(2 * level + 6) + np.sum(gammaln(level + counts) - gammaln(level))
        for k in range(2):
            ones, n = X[label == k].sum(axis=0), counts[k]
            value += np.sum(betaln(a + ones, b + n - ones) - betaln(a, b))
        total.append(value)
    assert log_evidence(model, X).value == pytest.approx(logsumexp(total), abs=1e-9)


@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")  # the bound is that of other rows
def test_chains_in_both_directions_bracket_the_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """From rows of the prior's own making the labels are a draw of their posterior."""
    X = rows()
    model = latens.BernoulliMixture(2, prune=False, random_state=0).fit((X > 1).astype(float))
    rng = np.random.default_rng(1)
    point = fitted_parts(model).model.prior(2).sample(rng)
    labels = rng.choice(2, 10, p=point.weights.mean)
    made = np.asarray(point.clusters.draw(labels, rng))
    exact = log_evidence(model, made).value
    monkeypatch.setattr(evidence, "MOST_CODES", 1)
    found = log_evidence(model, made, labels=labels, n_chains=10, n_steps=200)
    assert found.upper is not None
    assert found.value - 0.5 < exact < found.upper + 0.5


def test_units_of_the_data_only_shift_it() -> None:
    X = rows(8)
    small, large = (latens.GaussianMixture(1, random_state=0).fit(scale * X) for scale in (1.0, 1024.0))
    gap = log_evidence(small, X).value - log_evidence(large, 1024.0 * X).value
    assert gap == pytest.approx(16 * np.log(1024.0), rel=1e-9)


def test_one_cluster_of_any_number_of_rows_is_exact_and_equals_its_bound() -> None:
    X = rows(300)
    model = latens.GaussianMixture(1, random_state=0).fit(X)
    assert log_evidence(model, X).value == pytest.approx(model.elbo_, rel=1e-9)


def test_regression_with_given_precisions_is_exact() -> None:
    X = rows(20)
    model = latens.BayesianLinearRegression(weight_precision=1.0, noise_precision=2.0).fit(X, X[:, 0])
    assert log_evidence(model) == evidence.LogEvidence(float(model.elbo_), 0.0, "exact")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            latens.FactorAnalysis(1, random_state=0),
            "fitted by maximum likelihood: points have no evidence",
        ),
        (
            latens.MultiViewFactorAnalysis(1, likelihoods={"x": "student"}, random_state=0),
            "are no measurements: a power of their likelihood has no draws",
        ),
    ],
)
def test_models_without_an_estimate_say_so(model: Any, words: str) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        log_evidence(model, rows(30))
    model.fit(rows(30))
    with pytest.raises(ValueError, match=words):
        log_evidence(model, rows(30))


VAGUE = {
    "factors": latens.FactorAnalysis(1, prior="ard", moves=False, prune=False, random_state=0),
    "views": latens.MultiViewFactorAnalysis(1, moves=False, prune=False, random_state=0),
    "causes": latens.BinaryFactorAnalysis(1, n_init=1, moves=False, prune=False, fit_intercept=True, random_state=0),
}


@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")
@pytest.mark.parametrize("name", VAGUE)
def test_chains_take_the_same_steps_in_other_units(name: str) -> None:
    """The estimate moves by the log of the units, whatever the units of vague priors."""
    found, X = [], rows(12)
    for scale in (1.0, 1024.0):
        model = VAGUE[name].fit(scale * X)
        found.append(log_evidence(model, scale * X, n_chains=1, n_steps=30).value)
    assert found[0] - found[1] == pytest.approx(24 * np.log(1024.0), abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")
@pytest.mark.parametrize("name", VAGUE)
def test_under_vague_priors_it_is_above_the_bound(name: str) -> None:
    model = VAGUE[name].fit(rows(12))
    found = log_evidence(model, rows(12), n_chains=10, n_steps=800)
    assert model.elbo_ - found.error < found.value < model.elbo_ + 8


def test_rows_of_another_number_are_refused() -> None:
    X = rows(40)
    weighted = latens.GaussianMixture(2, prune=False, random_state=0).fit(X, sample_weight=np.full(40, 2.0))
    with pytest.raises(ValueError, match="X has 40 rows and the fit counted 80: rows with weights"):
        log_evidence(weighted, X)


def test_chains_that_end_below_the_bound_are_run_longer_and_then_have_failed() -> None:
    X = rows(40)
    model = latens.BinaryFactorAnalysis(2, n_init=1, prune=False, random_state=0).fit(X)
    with pytest.warns(LatensWarning, match=r"below the bound .* has failed: 16 steps .* give n_steps=64"):
        assert log_evidence(model, X, n_chains=1, n_steps=4).error == np.inf


@pytest.mark.slow
def test_chains_of_columns_in_unlike_units_come_above_the_bound() -> None:
    """Draws of vague priors are very far from columns of small numbers; sparse factors are hard to come upon."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=(120, 1))
    X = (z * [0.8, 1.0, 0.9, 0.7] + 0.4 * rng.normal(size=(120, 4))) * [5.0, 2.0, 14.0, 800.0] + 100.0
    model = latens.MultiViewFactorAnalysis(1, random_state=0).fit(X)
    found = log_evidence(model, X, n_chains=4, n_steps=200)
    assert np.isfinite(found.error)
    assert model.elbo_ - 2 < found.value < model.elbo_ + 30


def test_the_error_of_chains_far_apart_is_no_less_than_how_far_they_are() -> None:
    """Relative weights, of which one is all, would say 1."""
    assert log_mean_with_error(np.array([0.0, -500.0, -900.0, -1400.0]))[1] > 200
    near = np.array([0.1, -0.1, 0.05, 0.0])
    assert log_mean_with_error(near)[1] == pytest.approx(np.std(np.exp(near), ddof=1) / 2, rel=0.1)


def test_labels_that_are_none_are_refused() -> None:
    X = rows(40)
    model = latens.GaussianMixture(2, prune=False, random_state=0).fit(X)
    with pytest.raises(ValueError, match="labels must be 40 whole numbers from 0 to 1"):
        log_evidence(model, X, labels=np.full(40, 2), n_chains=1, n_steps=4)
    with pytest.raises(ValueError, match="X is missing"):
        log_evidence(model)
    factors = latens.FactorAnalysis(1, prior="ard", random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"labels must be 40 x 1 numbers.*got shape \(40,\)"):
        log_evidence(factors, X, labels=np.zeros(40), n_chains=1, n_steps=4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latens.errors.LatensWarning")
def test_sources_of_two_narrow_levels_come_above_the_bound() -> None:
    """Signs that are drawn given sources stay what they are, and draws of the prior come upon sources late or never."""
    rng = np.random.default_rng(0)
    levels = np.where(rng.random((150, 2)) < 0.5, -1.0, 1.0) + 0.05 * rng.normal(size=(150, 2))
    X = levels @ (2 * rng.normal(size=(2, 4))) + 0.3 * rng.normal(size=(150, 4))
    model = latens.NoisyICA(2, random_state=0).fit(X)
    assert (model.levels_ > 0.9).all()
    found = log_evidence(model, X, n_chains=4, n_steps=200)
    assert np.isfinite(found.error)
    assert model.elbo_ - 2 < found.value < model.elbo_ + 30
