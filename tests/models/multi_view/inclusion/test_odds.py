"""Whether loadings are in, asked of the rows: beside Bayes' rule, and beside what was drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, gammaln

import latens
from latens.core import Rows
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods.bernoulli import Bernoulli
from latens.models.likelihoods.counts import PoissonCounts
from latens.models.likelihoods.gaussian import Gaussian
from latens.models.likelihoods.interface import Columns
from latens.models.multi_view.inclusion import draws
from latens.models.multi_view.inclusion import odds as module


@pytest.fixture(autouse=True, params=["draws", "columns"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How inclusion is found: by draws, or as in large tables column by column."""
    if request.param == "columns":
        monkeypatch.setattr(draws, "MOST_WORK", 0.0)
    return str(request.param)


def fitted(x: Any, kind: str, k: int = 1, **options: Any) -> latens.MultiViewFactorAnalysis:
    options = {"moves": False, "prune": False, "random_state": 0, **options}
    return latens.MultiViewFactorAnalysis(k, likelihoods={"x": kind}, **options).fit({"x": x})


def drawn(kind: str, seed: int, n: int = 100, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Entries of one factor, and which of its loadings are not 0."""
    rng = np.random.default_rng([seed, 8])
    on = rng.random(d) < 0.5
    eta = rng.normal(size=(n, 1)) * (on * rng.normal(size=d))
    if kind == "gaussian":
        return eta + rng.normal(size=eta.shape), on
    if kind == "bernoulli":
        return (rng.random(eta.shape) < expit(eta)).astype(float), on
    return rng.poisson(np.exp(0.4 * eta + 1)).astype(float), on


def test_where_codes_are_known_it_is_bayes_rule() -> None:
    """Of a factor that 300 columns tell, each loading is that of a regression with a spike."""
    rng = np.random.default_rng(0)
    w = np.where(rng.random(300) < 0.5, 0.6 * rng.normal(size=300), 0.0)
    x = rng.normal(size=(60, 1)) * w + rng.normal(size=(60, 300))
    model = fitted(x, "gaussian")
    odds = model.inclusion_probabilities({"x": x})["x"][0]
    p, units = model.posterior_.views["x"], model._units
    z, y = model.transform({"x": x})[:, 0], units.enter(Rows(x)).x
    tau, alpha, (log_on, log_off) = p.noise.mean, p.alpha.mean[0], p.theta.mean_log
    y = y - p.offsets.mean[:, 0]
    stiff = tau * np.sum(z**2) + alpha
    exact = expit((log_on - log_off)[0] + 0.5 * np.log(alpha / stiff) + 0.5 * (tau * (z @ y)) ** 2 / stiff)
    assert np.abs(odds - exact).max() < 0.1
    assert np.abs(odds - exact).mean() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "poisson"])
def test_what_is_stated_is_no_farther_from_what_is_in(kind: str) -> None:
    of_fit, asked = [], []
    for seed in range(12):
        x, on = drawn(kind, seed)
        model = fitted(x, kind)
        of_fit.append(np.mean((model.inclusion_["x"][0] - on) ** 2))
        asked.append(np.mean((model.inclusion_probabilities({"x": x})["x"][0] - on) ** 2))
    if kind == "poisson":  # whose parabola is several times as narrow
        assert np.mean(asked) < 0.9 * np.mean(of_fit)
    assert np.mean(asked) < 1.02 * np.mean(of_fit)


def test_the_share_is_integrated_out() -> None:
    """Beside sums over all sets of three loadings, each as probable as a uniform share makes it."""
    bayes = np.array([2.0, -0.5, 0.3])
    sets = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)], dtype=float)
    size = sets.sum(axis=1)
    weight = np.exp(sets @ bayes + gammaln(size + 1) + gammaln(4 - size))
    chances, log_odds = module._shared_out(bayes, 1.0, 1.0)
    assert chances == pytest.approx(weight @ sets / weight.sum(), abs=1e-12)
    assert expit(log_odds) == pytest.approx(weight @ (size + 1) / weight.sum() / 5, abs=1e-12)


@pytest.mark.parametrize("kind", ["bernoulli", "poisson"])  # of measurements a column alone may be one
def test_a_factor_that_rows_do_not_show_has_few_loadings(kind: str) -> None:
    rng = np.random.default_rng(2)
    x, _ = drawn(kind, 2, n=150)
    noise = rng.permuted(x, axis=0)  # nothing in common is left
    model = fitted(noise, kind, k=2)
    codes = model.transform({"x": noise})
    absent = np.mean(codes**2, axis=0) < module.LEAST_SEEN
    assert absent.any()
    odds = model.inclusion_probabilities({"x": noise})["x"][absent]
    assert odds.min() > 0
    assert odds.max() < 0.2


def test_more_rows_leave_less_unseen() -> None:
    def share(n: int) -> float:
        return module.share_unseen(n, 0.25, 1.0, 40, 1.0, 1.0)

    shares = [share(n) for n in (10, 100, 1000)]
    assert np.all(np.diff(shares) < 0)
    assert shares[0] < 0.5
    assert share(100_000) > 0.01  # none, or one, which nothing has to do with


def test_a_row_of_weight_2_counts_as_two() -> None:
    x, _ = drawn("poisson", 5, n=40, d=8)
    once, weight = fitted(np.vstack([x, x[:10]]), "poisson"), np.repeat([2.0, 1.0], [10, 30])
    rows = once._units.enter(Rows(np.vstack([x, x[:10]]))), once._units.enter(Rows(x, None, weight))
    model, q = once._model, once.posterior_
    found = [module.loading_odds(model, q, [(part, model.local_step(q, part))])["x"] for part in rows]
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_blocks_and_columns_may_be_asked_in_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = drawn("poisson", 6, n=40, d=9)
    x[3, 2] = x[7, 5] = np.nan
    model = fitted(x, "poisson")
    whole = model.inclusion_probabilities({"x": x})["x"]
    monkeypatch.setattr(module, "AT_ONCE", 40 * 12)
    assert model.inclusion_probabilities({"x": x})["x"] == pytest.approx(whole, abs=1e-12)
    inner, q = model._model, model.posterior_
    parts = [(part, inner.local_step(q, part)) for part in model._rows_in_blocks({"x": x}, {})]
    halves = [(half, inner.local_step(q, half)) for part, _ in parts for half in (part[:15], part[15:])]
    together, by_halves = (module.loading_odds(inner, q, each)["x"] for each in (parts, halves))
    assert together == pytest.approx(by_halves, abs=1e-9)


def test_other_samples_are_refused_and_dense_loadings_are_in() -> None:
    x, _ = drawn("gaussian", 7, n=30, d=6)
    model = fitted(x, "gaussian")
    with pytest.raises(ValueError, match="not the data"):
        model.inclusion_probabilities({"x": x + 1.0})
    dense = fitted(x, "gaussian", sparse_loadings=False)
    assert np.all(dense.inclusion_probabilities({"x": x})["x"] == 1)


def average(log_density: Any, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    points, masses = np.polynomial.hermite_e.hermegauss(40)
    values = [m * log_density(mean + p * np.sqrt(variance)) for p, m in zip(points, masses, strict=True)]
    return np.sum(values, axis=0) / masses.sum()


TAU = np.array([0.5, 3.0, 30.0])


@pytest.mark.parametrize("kind", ["bernoulli", "rare counts", "gaussian"])
def test_slopes_and_curvatures_are_those_of_the_expected_log_likelihood(kind: str) -> None:
    rng, h = np.random.default_rng(1), 1e-4
    mean, variance = rng.normal(size=(5, 3)), rng.uniform(0.01, 0.5, size=(5, 3))
    if kind == "bernoulli":
        x = (rng.random((5, 3)) < 0.5).astype(float)
        likelihood: Any = Bernoulli()
        noise = KnownGamma(np.ones(3))

        def log_density(eta: np.ndarray) -> np.ndarray:
            return x * eta - np.logaddexp(0, eta)

    elif kind == "gaussian":
        x, likelihood, noise = rng.normal(size=(5, 3)), Gaussian(), KnownGamma(TAU)

        def log_density(eta: np.ndarray) -> np.ndarray:
            return -0.5 * TAU * (x - eta) ** 2

    else:
        x, likelihood, noise = rng.poisson(2.0, size=(5, 3)).astype(float), PoissonCounts(np.ones(3)), KnownGamma(TAU)

        def log_density(eta: np.ndarray) -> np.ndarray:
            return gammaln(x + TAU) + x * eta - (x + TAU) * np.logaddexp(0, eta)

    slope, bend = likelihood.matched(Rows(x), mean, variance, Columns(noise))
    up, here, down = (average(log_density, mean + step, variance) for step in (h, 0.0, -h))
    assert slope == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-4)
    assert bend + 0 * mean == pytest.approx((2 * here - up - down) / h**2, rel=1e-3, abs=1e-3)


def test_common_counts_have_the_slope_of_their_log_normal_likelihood() -> None:
    """By quadrature over the noise; the approximation is Laplace's."""
    x, mean, tau, h = np.array([[3.0, 12.0, 40.0]]), np.log([[6.0, 10.0, 30.0]]), np.array([5.0, 20.0, 100.0]), 1e-3
    points, masses = np.polynomial.hermite_e.hermegauss(60)

    def log_density(eta: np.ndarray) -> np.ndarray:
        rates = [eta + point / np.sqrt(tau) for point in points]
        terms = [np.log(m) + x * rate - np.exp(rate) for rate, m in zip(rates, masses, strict=True)]
        return np.logaddexp.reduce(terms, axis=0)

    slope, bend = PoissonCounts(np.zeros(3)).matched(Rows(x), mean, 0 * mean, Columns(KnownGamma(tau)))
    up, here, down = (log_density(mean + step) for step in (h, 0.0, -h))
    assert slope == pytest.approx((up - down) / (2 * h), rel=0.05, abs=0.05)
    assert bend == pytest.approx((2 * here - up - down) / h**2, rel=0.1)
