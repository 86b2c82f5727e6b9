"""The bound against its own definition, written out literally or summed over all states."""

from __future__ import annotations

from dataclasses import replace
from math import lgamma
from typing import Any

import numpy as np
import pytest
from scipy import stats as distributions
from scipy.special import digamma, expit, logsumexp

from latens.core import Rows
from latens.families.point_beta import PointBeta
from latens.families.point_normal_gamma import PointNormalGamma
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.posteriors import Automatic, Exact, MeanField, States, Switches, Truncated
from tests.contract.cases import CASES, Case, bound, posterior_midway, random_rows
from tests.contract.measurements.evidence import row_log_joints, states


def point(rng: np.random.Generator, k: int, d: int, noise: float = 0.7) -> BinaryPosterior:
    return BinaryPosterior(
        PointBeta.of(rng.uniform(0.1, 0.9, k)), PointNormalGamma(rng.normal(size=(k, d)), np.array([noise]))
    )


def free_energy(x: np.ndarray, lam: np.ndarray, q: BinaryPosterior) -> float:
    """F of mean field, term by term as it is printed, with the ratio inside the logarithm."""
    n, d = x.shape
    pi, w, tau = q.usage.mean, q.loadings.mean, 1 / q.loadings.noise[0]
    codes = np.sum(lam * np.log(pi / lam) + (1 - lam) * np.log((1 - pi) / (1 - lam)))
    residual = np.sum((x - lam @ w) ** 2) + np.sum((lam - lam**2) * np.sum(w**2, axis=1))
    return float(codes - 0.5 * n * d * np.log(2 * np.pi / tau) - 0.5 * tau * residual)


def enumerated(model: BinaryFactors, x: np.ndarray, chance: np.ndarray, q: BinaryPosterior) -> float:
    """sum_s q(s) [log p(x, s) - log q(s)], over all states of every row."""
    joint = row_log_joints(model, q, x, np.ones(x.shape, bool))
    return float(np.sum(chance * (joint - np.log(chance))))


@pytest.mark.parametrize("k", range(1, 9))
def test_free_energy_is_its_formula_and_its_enumeration(k: int) -> None:
    rng = np.random.default_rng(k)
    x, lam = rng.normal(size=(7, 5)), rng.uniform(0.01, 0.99, (7, k))
    q, model = point(rng, k, 5), BinaryFactors(5, points=True, e_step=MeanField())
    ours = bound(model, q, model.statistics(Rows(x), Switches(lam)))
    codes = states(k)
    chance = np.prod(np.where(codes > 0, lam[:, None], 1 - lam[:, None]), axis=2)
    assert ours == pytest.approx(free_energy(x, lam, q), rel=1e-10)
    assert ours == pytest.approx(enumerated(model, x, chance, q), rel=1e-10)
    assert np.sum(model.row_bounds(q, Rows(x), Switches(lam))) == pytest.approx(ours, rel=1e-10)


@pytest.mark.parametrize("k", range(1, 9))
def test_any_distribution_over_states_has_its_enumerated_bound(k: int) -> None:
    rng = np.random.default_rng(50 + k)
    x, q = rng.normal(size=(6, 4)), point(rng, k, 4)
    model = BinaryFactors(4, points=True, e_step=Exact())
    local = States(None, k, rng.dirichlet(np.ones(2**k), 6))
    alike = np.all(local.bits[0][:, None] == states(k)[None], axis=2)  # the library's order of states in ours
    ours = bound(model, q, model.statistics(Rows(x), local))
    assert ours == pytest.approx(enumerated(model, x, local.chance @ alike, q), rel=1e-10)


@pytest.mark.parametrize("k", range(1, 9))
def test_exact_step_makes_the_free_energy_the_likelihood(k: int) -> None:
    rng = np.random.default_rng(100 + k)
    x, q = rng.normal(size=(9, 4)), point(rng, k, 4)
    model = BinaryFactors(4, points=True, e_step=Exact())
    likelihood = logsumexp(row_log_joints(model, q, x, np.ones(x.shape, bool)), axis=1).sum()
    rows = Rows(x)
    local = model.local_step(q, rows)
    assert bound(model, q, model.statistics(rows, local)) == pytest.approx(likelihood, rel=1e-10)
    assert model.log_predictive(q, rows, local).sum() == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("points", [True, False], ids=["ml", "ard"])
def test_truncation_that_keeps_all_states_is_exact(k: int, points: bool) -> None:
    rng = np.random.default_rng(150 + k)
    rows = random_rows(rng, 20, 4, holes=bool(k % 2), weighted=True)
    exact = BinaryFactors(4, points=points, e_step=Exact())
    q = posterior_midway(CASES["binary-ml-exact" if points else "binary-ard-exact"], rows, k, rng)[1]
    kept_all = replace(exact, e_step=Truncated(n_states=2**k, n_rounds=2 * k))
    one, two = (model.local_step(q, rows) for model in (exact, kept_all))
    assert two.mean == pytest.approx(one.mean, abs=1e-10)
    assert two.entropy == pytest.approx(one.entropy, abs=1e-9)
    heights = [bound(exact, q, exact.statistics(rows, local)) for local in (one, two)]
    assert heights[1] == pytest.approx(heights[0], rel=1e-10)


@pytest.mark.parametrize("name", ["binary-ml-mean-field", "binary-ard-mean-field", "binary-ard-mean-field-intercept"])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_mean_field_with_one_cause_is_exact(name: str, holes: bool) -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 20, 3, holes=holes, weighted=True)
    model, q = posterior_midway(CASES[name], rows, 1, rng)
    one, two = (replace(model, e_step=step).local_step(q, rows) for step in (MeanField(), Exact()))
    assert one.mean == pytest.approx(two.mean, abs=1e-12)
    heights = [bound(model, q, model.statistics(rows, local)) for local in (one, two)]
    assert heights[0] == pytest.approx(heights[1], rel=1e-12)


@pytest.mark.parametrize("prior", ["ml", "ard"])
def test_richer_posteriors_are_never_worse(prior: str) -> None:
    """Given the same globals: mean field is below exact, fewer kept states are below more."""
    rng = np.random.default_rng(9)
    rows = random_rows(rng, 30, 4, holes=False, weighted=True)
    model, q = posterior_midway(CASES[f"binary-{prior}-exact"], rows, 5, rng)

    def height(step: Any) -> float:
        own = replace(model, e_step=step)
        local = own.local_step(q, rows)
        return bound(own, q, own.statistics(rows, own.local_step(q, rows, local)))

    exact = height(Exact())
    heights = [height(Truncated(n_states)) for n_states in (1, 2, 4, 8, 16, 32)]
    assert np.all(np.diff(heights) >= -1e-9)
    assert heights[-1] == pytest.approx(exact, rel=1e-10)
    assert height(MeanField()) < exact
    assert height(Automatic()) == exact


def test_mean_field_solves_its_printed_fixed_point() -> None:
    rng = np.random.default_rng(4)
    x, q = rng.normal(size=(15, 6)), point(rng, 4, 6)
    model = BinaryFactors(6, points=True, e_step=MeanField(n_sweeps=500, tol=0))
    lam = model.local_step(q, Rows(x)).mean
    w, tau = q.loadings.mean, 1 / q.loadings.noise[0]
    gram, pi = w @ w.T, q.usage.mean
    others = lam @ gram - lam * np.diag(gram)
    printed = expit(np.log(pi / (1 - pi)) + tau * (x @ w.T - others - 0.5 * np.diag(gram)))
    assert lam == pytest.approx(printed, abs=1e-12)


def test_maximum_likelihood_step_is_the_printed_one() -> None:
    rng = np.random.default_rng(5)
    n, d, k = 40, 5, 3
    x, lam = rng.normal(size=(n, d)), rng.uniform(0.05, 0.95, (n, k))
    model = BinaryFactors(d, points=True)
    q = model.global_step(model.prior(k), model.statistics(Rows(x), Switches(lam)))
    ess = lam.T @ lam
    np.fill_diagonal(ess, lam.sum(axis=0))
    w = np.linalg.solve(ess, lam.T @ x)
    variance = (np.sum(x**2) - 2 * np.sum((lam.T @ x) * w) + np.sum((w @ w.T) * ess)) / (n * d)
    assert q.loadings.mean == pytest.approx(w, rel=1e-10)
    assert q.loadings.noise == pytest.approx([variance], rel=1e-10)
    assert q.usage.mean == pytest.approx(lam.mean(axis=0), rel=1e-12)


@pytest.mark.parametrize(("dtype", "noise"), [(np.float64, 1e-6), (np.float64, 1e-9), (np.float32, 1e-3)])
@pytest.mark.parametrize("e_step", [Exact(), Truncated(4)], ids=["exact", "truncated"])
def test_chances_of_states_add_up_to_one_however_small_the_noise(dtype: Any, noise: float, e_step: Any) -> None:
    """Scores are then huge, and a normaliser subtracted from them keeps few digits after the point."""
    rng = np.random.default_rng(6)
    q = point(rng, 3, 4, noise)
    twins = q.loadings.mean[[0, 0, 2]]  # two causes that nothing tells apart share the blame
    q = replace(q, loadings=replace(q.loadings, mean=twins))
    codes = np.eye(3)[rng.integers(3, size=30)]
    x = codes @ twins + np.sqrt(noise) * rng.normal(size=(30, 4))
    local = BinaryFactors(4, points=True, e_step=e_step).local_step(q, Rows(x.astype(dtype)))
    assert local.chance.dtype == dtype
    assert np.any((local.chance > 0.1) & (local.chance < 0.9))
    assert local.chance.sum(axis=1) == pytest.approx(1, abs=8 * float(np.finfo(dtype).eps))


BAYESIAN = {name: case for name, case in CASES.items() if name.startswith("binary-ard") and "auto" not in name}


@pytest.fixture(params=BAYESIAN)
def bayesian(request: pytest.FixtureRequest) -> Case:
    return BAYESIAN[request.param]


@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_bayesian_bound_is_expected_log_joint_plus_entropies(bayesian: Case, holes: bool) -> None:
    """E_q log p(x, z, pi, w, tau, alpha) - E_q log q, every density written out by itself, constants included."""
    rng = np.random.default_rng(8)
    rows = random_rows(rng, 25, 3, holes=holes, weighted=False)
    model, q = posterior_midway(bayesian, rows, 2, rng)
    local = model.local_step(q, rows)
    ours = bound(model, q, model.statistics(rows, local))

    n, d = rows.x.shape
    seen = np.ones((n, d), bool) if rows.seen is None else rows.seen
    usage, weights, alpha = q.usage, q.loadings.weights, q.loadings.alpha
    size = len(weights.mean)
    mean_alpha = alpha.shape / alpha.rate
    log_alpha = digamma(alpha.shape) - np.log(alpha.rate)
    second = local.second()
    mean = local.mean
    if model.intercept:
        mean = np.hstack([mean, np.ones((n, 1))])
        second = np.array(
            [np.block([[s, m[:2, None]], [m[None, :2], np.ones((1, 1))]]) for s, m in zip(second, mean, strict=True)]
        )
    total = 0.0
    for column in range(d):
        at = column if len(weights.shape) > 1 else 0
        shape, rate = weights.shape[at], weights.rate[at]
        tau, log_tau = shape / rate, digamma(shape) - np.log(rate)
        precision = weights.precision[column if len(weights.precision) > 1 else 0]
        cover, m = np.linalg.inv(precision), weights.mean[:, column]
        ww = tau * np.outer(m, m) + cover  # E[tau w w']
        for i in np.flatnonzero(seen[:, column]):
            x = rows.x[i, column]
            quadratic = tau * (x**2 - 2 * x * mean[i] @ m) + np.sum(second[i] * ww)
            total += 0.5 * (log_tau - np.log(2 * np.pi)) - 0.5 * quadratic
        total += 0.5 * np.sum(log_tau + log_alpha - np.log(2 * np.pi) - mean_alpha * np.diag(ww))
        total += 0.5 * (size * (1 + np.log(2 * np.pi)) - size * log_tau - np.linalg.slogdet(precision)[1])
    a0, b0 = model.noise
    for shape, rate in zip(weights.shape, weights.rate, strict=True):
        log_tau = digamma(shape) - np.log(rate)
        total += a0 * np.log(b0) - lgamma(a0) + (a0 - 1) * log_tau - b0 * shape / rate
        total += float(distributions.gamma(shape, scale=1 / rate).entropy())
    g0, h0 = model.relevance
    total += np.sum(g0 * np.log(h0) - lgamma(g0) + (g0 - 1) * log_alpha - h0 * mean_alpha)
    total += np.sum(distributions.gamma(alpha.shape, scale=1 / alpha.rate).entropy())
    u0, v0 = model.usage
    both = digamma(usage.on + usage.off)
    log_on, log_off = digamma(usage.on) - both, digamma(usage.off) - both
    total += np.sum(lgamma(u0 + v0) - lgamma(u0) - lgamma(v0) + (u0 - 1) * log_on + (v0 - 1) * log_off)
    total += np.sum(distributions.beta(usage.on, usage.off).entropy())
    total += np.sum(local.mean * log_on + (1 - local.mean) * log_off) + np.sum(local.entropy)
    assert ours == pytest.approx(total, rel=1e-10)
