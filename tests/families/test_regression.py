"""Normal-Gamma regressions, their relevance, and their point estimates, against evidences, integrals and draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from latens.families.gamma import Gamma
from latens.families.normal_gamma import NormalGamma
from latens.families.point_normal_gamma import PointNormalGamma
from latens.families.relevance import Relevance

Sums = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(params=["shared", "diagonal"])
def n_noises(request: pytest.FixtureRequest) -> int:
    return {"shared": 1, "diagonal": 3}[request.param]


@pytest.fixture(params=["complete", "holes"])
def holes(request: pytest.FixtureRequest) -> bool:
    return request.param == "holes"


def random_prior(
    rng: np.random.Generator, n_noises: int, k: int = 2, d: int = 3, per_column: bool = False
) -> NormalGamma:
    root = rng.normal(size=(d if per_column else 1, k, k))
    precision = root @ np.swapaxes(root, 1, 2) + np.eye(k)
    return NormalGamma(rng.normal(size=(k, d)), precision, rng.uniform(1.5, 4, n_noises), rng.uniform(0.5, 3, n_noises))


def random_data(rng: np.random.Generator, n: int, holes: bool, k: int = 2, d: int = 3) -> tuple[np.ndarray, ...]:
    """Codes, values, which were seen."""
    seen = rng.random((n, d)) < 0.7 if holes else np.ones((n, d), bool)
    return rng.normal(size=(n, k)), np.where(seen, rng.normal(size=(n, d)), 0.0), seen


def sums(z: np.ndarray, x: np.ndarray, seen: np.ndarray) -> Sums:
    """What a regression is told: per column, or once for all where nothing is missing."""
    zz = z.T @ z[None] if seen.all() else np.einsum("nd,ni,nj->dij", seen, z, z)
    return seen.sum(axis=0).astype(float), zz, z.T @ x, np.sum(x**2, axis=0)


def log_evidence(prior: NormalGamma, z: np.ndarray, x: np.ndarray, seen: np.ndarray) -> float:
    """log p(x | z): a multivariate Student t of all values that share a noise, written with dense covariances."""
    groups = [[d] for d in range(x.shape[1])] if len(prior.shape) > 1 else [list(range(x.shape[1]))]
    total = 0.0
    for group, (a, b) in zip(groups, zip(prior.shape, prior.rate, strict=True), strict=True):
        values, centre, blocks = [], [], []
        for d in group:
            zd = z[seen[:, d]]
            precision = prior.precision[d if len(prior.precision) > 1 else 0]
            values.append(x[seen[:, d], d])
            centre.append(zd @ prior.mean[:, d])
            blocks.append(np.eye(len(zd)) + zd @ np.linalg.inv(precision) @ zd.T)
        size = sum(map(len, values))
        shape = np.zeros((size, size))
        at = 0
        for block in blocks:
            shape[at : at + len(block), at : at + len(block)] = block
            at += len(block)
        gap = np.concatenate(values) - np.concatenate(centre)
        quadratic = gap @ np.linalg.solve(shape, gap) / (2 * b)
        total += gammaln(a + size / 2) - gammaln(a) - size / 2 * np.log(2 * np.pi * b)
        total += -0.5 * np.linalg.slogdet(shape)[1] - (a + size / 2) * np.log1p(quadratic)
    return float(total)


def test_bound_at_the_posterior_is_the_evidence(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(0)
    prior = random_prior(rng, n_noises)
    data = random_data(rng, 7, holes)
    stats = sums(*data)
    after = prior.observe(*stats)
    assert after.log_likelihood(*stats) - after.kl(prior) == pytest.approx(log_evidence(prior, *data), rel=1e-11)


def test_bound_anywhere_else_is_below_the_evidence(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(1)
    prior = random_prior(rng, n_noises)
    data = random_data(rng, 7, holes)
    stats = sums(*data)
    exact = log_evidence(prior, *data)
    for _ in range(30):
        q = random_prior(rng, n_noises, per_column=holes)
        assert q.log_likelihood(*stats) - q.kl(prior) < exact


def test_observing_twice_is_observing_the_sum(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(2)
    prior = random_prior(rng, n_noises)
    one, two = (sums(*random_data(rng, 6, holes)) for _ in range(2))
    chained = prior.observe(*one).observe(*two)
    at_once = prior.observe(*(a + b for a, b in zip(one, two, strict=True)))
    for name in ("mean", "precision", "shape", "rate"):
        assert getattr(chained, name) == pytest.approx(getattr(at_once, name), rel=1e-9), name


def test_observing_a_gappy_block_after_a_complete_one_is_observing_both(n_noises: int) -> None:
    rng = np.random.default_rng(3)
    prior = random_prior(rng, n_noises)
    plain, gappy = random_data(rng, 6, False), random_data(rng, 6, True)
    chained = prior.observe(*sums(*plain)).observe(*sums(*gappy))
    both = tuple(np.concatenate(parts) for parts in zip(plain, gappy, strict=True))
    assert chained.mean == pytest.approx(prior.observe(*sums(*both)).mean, rel=1e-9)
    assert chained.rate == pytest.approx(prior.observe(*sums(*both)).rate, rel=1e-9)


def test_a_shared_precision_is_shorthand_for_equal_precisions(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(4)
    short = random_prior(rng, n_noises)
    long = replace(short, precision=np.repeat(short.precision, 3, axis=0))
    other = random_prior(rng, n_noises)
    stats = sums(*random_data(rng, 6, holes))
    states, x = rng.random((4, 2)), rng.normal(size=(5, 3))
    assert long.kl(other) == pytest.approx(short.kl(other), rel=1e-12)
    assert other.kl(long) == pytest.approx(other.kl(short), rel=1e-12)
    assert long.log_likelihood(*stats) == pytest.approx(short.log_likelihood(*stats), rel=1e-12)
    assert long.gram == pytest.approx(short.gram, rel=1e-12)
    assert long.grams == pytest.approx(short.grams, rel=1e-12)
    dense = long.log_density(states, x, np.ones((1, 3)))
    assert dense == pytest.approx(short.log_density(states, x, np.ones((1, 3))), rel=1e-12)


def log_joint(q: NormalGamma, w: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """(n,), log q(w, tau) of draws, by scipy's densities."""
    total = stats.gamma(q.shape, scale=1 / q.rate).logpdf(tau).sum(axis=1)
    for d in range(q.mean.shape[1]):
        cover = np.linalg.inv(q.precision[d if len(q.precision) > 1 else 0])
        each = tau[:, d if len(q.shape) > 1 else 0]
        root = np.sqrt(each)[:, None] * (w[:, :, d] - q.mean[:, d])
        total += stats.multivariate_normal(cov=cover).logpdf(root) + 0.5 * len(cover) * np.log(each)
    return total


def draws_of(q: NormalGamma, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    points = [q.sample(rng) for _ in range(n)]
    return np.array([p.mean for p in points]), 1 / np.array([p.noise for p in points])


@pytest.mark.parametrize("per_column", [False, True], ids=["one precision", "one per column"])
def test_divergence_is_the_mean_log_ratio_of_densities(n_noises: int, per_column: bool) -> None:
    rng = np.random.default_rng(5)
    one, two = (random_prior(rng, n_noises, per_column=per_column) for _ in range(2))
    w, tau = draws_of(one, 4000, rng)
    ratio = log_joint(one, w, tau) - log_joint(two, w, tau)
    assert one.kl(two) == pytest.approx(ratio.mean(), abs=5 * ratio.std() / np.sqrt(len(ratio)))
    assert one.kl(one) == pytest.approx(0, abs=1e-12)


def test_divergence_of_one_weight_has_its_closed_form() -> None:
    """K = D = 1: the Gamma's own, plus 1/2 [p2/p1 - 1 - log(p2/p1) + p2 E[tau] shift^2]."""
    one = NormalGamma(np.array([[1.0]]), np.array([[[2.0]]]), np.array([3.0]), np.array([1.5]))
    two = NormalGamma(np.array([[0.4]]), np.array([[[5.0]]]), np.array([2.0]), np.array([1.0]))
    normal = 0.5 * (2.5 - 1 - np.log(2.5) + 5 * 2.0 * 0.36)
    assert one.kl(two) == pytest.approx(normal + one.noise.kl(two.noise), rel=1e-12)


def test_moments_are_those_of_draws(n_noises: int) -> None:
    rng = np.random.default_rng(6)
    q = random_prior(rng, n_noises, per_column=True)
    q = replace(q, shape=q.shape + 3)
    w, tau = draws_of(q, 20_000, rng)

    def close(values: np.ndarray, expected: np.ndarray) -> None:
        error = values.std(axis=0) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=0) - expected) < 5 * error)

    close(tau, q.tau)
    close(np.log(tau), q.log_tau)
    close(1 / tau, q.mean_noise)
    close(w, q.mean)
    per_column = np.broadcast_to(tau, (len(tau), 3))
    products = np.einsum("nd,nid,njd->ndij", per_column, w, w)
    close(products, q.grams)
    close(products.sum(axis=1), q.gram)
    gaps = w - q.mean
    close(np.einsum("nid,njd->ndij", gaps, gaps), np.broadcast_to(q.mean_noise, (3,))[:, None, None] * q.spread)


def test_draws_of_tau_and_weights_follow_their_laws(n_noises: int) -> None:
    rng = np.random.default_rng(7)
    q = random_prior(rng, n_noises)
    w, tau = draws_of(q, 4000, rng)
    assert stats.kstest(tau[:, 0], stats.gamma(q.shape[0], scale=1 / q.rate[0]).cdf).pvalue > 1e-4
    scale = np.sqrt(q.spread[0, 1, 1] * q.rate[0] / q.shape[0])
    law = stats.t(2 * q.shape[0], loc=q.mean[1, 0], scale=scale)
    assert stats.kstest(w[:, 1, 0], law.cdf).pvalue > 1e-4


def test_expected_likelihood_is_that_of_draws(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(8)
    q = replace(random_prior(rng, n_noises, per_column=True), shape=np.full(n_noises, 8.0))
    stats = sums(*random_data(rng, 5, holes))
    values = np.array([q.sample(rng).log_likelihood(*stats) for _ in range(8000)])
    assert q.log_likelihood(*stats) == pytest.approx(values.mean(), abs=5 * values.std() / np.sqrt(len(values)))


def test_density_of_a_row_is_a_ratio_of_evidences(n_noises: int, holes: bool) -> None:
    """p(row | rows) = p(row, rows) / p(rows), which the closed Student t must equal to rounding."""
    rng = np.random.default_rng(9)
    prior = random_prior(rng, n_noises)
    z, x, seen = random_data(rng, 7, holes)
    after = prior.observe(*sums(z, x, seen))
    for _ in range(5):
        state, row, there = (part[0] for part in random_data(rng, 1, holes))
        both = np.vstack([z, state]), np.vstack([x, row]), np.vstack([seen, there])
        ratio = log_evidence(prior, *both) - log_evidence(prior, z, x, seen)
        density = after.log_density(state[None], row[None], there[None].astype(float))
        assert density[0, 0] == pytest.approx(ratio, rel=1e-9, abs=1e-9)


def test_density_of_rows_is_the_mean_over_draws(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(10)
    q = replace(random_prior(rng, n_noises, per_column=True), shape=np.full(n_noises, 5.0))
    states, x, seen = random_data(rng, 4, holes)
    mask = seen.astype(float)
    values = np.array([np.exp(q.sample(rng).log_density(states, x, mask)) for _ in range(8000)])
    error = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - np.exp(q.log_density(states, x, mask))) < 5 * error + 1e-12)


def test_only_is_the_marginal_of_the_kept_weights(n_noises: int) -> None:
    rng = np.random.default_rng(11)
    q = random_prior(rng, n_noises, k=3, per_column=True)
    keep = np.array([2, 0])
    part = q.only(keep)
    assert np.array_equal(part.mean, q.mean[keep])
    assert part.spread == pytest.approx(q.spread[:, keep][:, :, keep], rel=1e-9)
    states, x = rng.normal(size=(4, 2)), rng.normal(size=(5, 3))
    padded = np.zeros((4, 3))
    padded[:, keep] = states
    one, two = (f.log_density(s, x, np.ones((1, 3))) for f, s in ((part, states), (q, padded)))
    assert one == pytest.approx(two, rel=1e-9)


def test_point_density_is_a_normal_density(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(12)
    q = PointNormalGamma(rng.normal(size=(2, 3)), rng.uniform(0.5, 2, n_noises))
    states, x, seen = random_data(rng, 5, holes)
    each = stats.norm((states @ q.mean)[None], np.sqrt(q.noise)).logpdf(x[:, None])
    expected = np.sum(each * seen[:, None], axis=2)
    assert q.log_density(states, x, seen.astype(float)) == pytest.approx(expected, rel=1e-11)
    assert q.log_likelihood(*sums(states, x, seen)) == pytest.approx(np.trace(expected), rel=1e-11)


def test_point_estimate_beats_every_other_point(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(13)
    stats = sums(*random_data(rng, 30, holes))
    start = PointNormalGamma(np.zeros((2, 3)), np.ones(n_noises))
    best = start.observe(*stats, current=start)
    top = best.log_likelihood(*stats)
    for _ in range(50):
        mean = best.mean + 0.1 * rng.normal(size=best.mean.shape)
        noise = best.noise * np.exp(0.1 * rng.normal(size=n_noises))
        assert PointNormalGamma(mean, noise).log_likelihood(*stats) < top


def test_point_estimate_of_a_direction_nobody_used_is_zero() -> None:
    rng = np.random.default_rng(14)
    z, x, seen = random_data(rng, 20, False)
    z[:, 1] = 0.0
    start = PointNormalGamma(np.ones((2, 3)), np.ones(1))
    best = start.observe(*sums(z, x, seen), current=start)
    assert np.all(best.mean[1] == 0)
    assert best.mean[0] == pytest.approx(z[:, 0] @ x / (z[:, 0] @ z[:, 0]))


@pytest.mark.parametrize("n_matrices", [1, 3])
def test_point_estimate_of_a_cause_that_is_nearly_always_on_keeps_its_digits(n_matrices: int) -> None:
    """Beside an intercept it is nearly undetermined, which must not blur the sum of the two, nor the noise."""
    rng = np.random.default_rng(15)
    z = np.column_stack([rng.random(30) < 0.5, np.ones(30), np.ones(30)])
    z[0, 1] -= 1e-5
    x = z @ rng.normal(size=(3, 3)) + 0.1 * rng.normal(size=(30, 3))
    seen, zz, zx, xx = sums(z, x, np.ones(x.shape, bool))
    start = PointNormalGamma(np.zeros((3, 3)), np.ones(1))
    best = start.observe(seen, np.repeat(zz, n_matrices, axis=0), zx, xx, current=start)
    truth = np.linalg.lstsq(z[:, :2], x, rcond=None)[0]
    assert best.noise[0] == pytest.approx(np.mean((x - z[:, :2] @ truth) ** 2), rel=0.1)
    assert best.noise[0] == pytest.approx(np.mean((x - z @ best.mean) ** 2), rel=1e-4)


def test_point_noise_never_falls_below_its_floor() -> None:
    z, x = np.eye(2), np.arange(6.0).reshape(2, 3)
    start = PointNormalGamma(np.zeros((2, 3)), np.ones(1), floor=1e-3)
    assert start.observe(*sums(z, x, np.ones((2, 3), bool)), current=start).noise == pytest.approx([1e-3])


def relevance(rng: np.random.Generator, n_noises: int, k: int = 2) -> tuple[Relevance, Relevance]:
    """A prior and a posterior that differs from it."""
    noise = Gamma(np.full(n_noises, 2.2), np.full(n_noises, 1.3))
    prior = Relevance.prior(k, 3, noise, (1.7, 0.9))
    q = Relevance(random_prior(rng, n_noises, k), Gamma(rng.uniform(2, 5, k), rng.uniform(1, 3, k)))
    return prior, q


def test_divergence_with_relevance_is_the_mean_log_ratio(n_noises: int) -> None:
    """E_q[log q(w, tau) + log q(alpha) - log p(w, tau | alpha) - log p(alpha)] over draws of all three."""
    rng = np.random.default_rng(15)
    prior, q = relevance(rng, n_noises)
    n = 16_000
    w, tau = draws_of(q.weights, n, rng)
    alpha = rng.gamma(q.alpha.shape, 1 / q.alpha.rate, size=(n, 2))
    ratio = log_joint(q.weights, w, tau)
    ratio += stats.gamma(q.alpha.shape, scale=1 / q.alpha.rate).logpdf(alpha).sum(axis=1)
    ratio -= stats.gamma(1.7, scale=1 / 0.9).logpdf(alpha).sum(axis=1)
    ratio -= stats.gamma(2.2, scale=1 / 1.3).logpdf(tau).sum(axis=1)
    each = alpha[:, :, None] * np.broadcast_to(tau, (n, 3))[:, None, :]
    ratio -= stats.norm(scale=each**-0.5).logpdf(w).sum(axis=(1, 2))
    assert q.kl(prior) == pytest.approx(ratio.mean(), abs=5 * ratio.std() / np.sqrt(n))


def test_divergence_with_a_known_relevance_is_that_of_the_weights(n_noises: int) -> None:
    """As the prior of alpha closes in on one value, only the weights' own divergence is left."""
    rng = np.random.default_rng(16)
    noise = Gamma(np.full(n_noises, 2.2), np.full(n_noises, 1.3))
    prior = Relevance.prior(2, 3, noise, (1e9, 0.5e9))
    q = Relevance(random_prior(rng, n_noises), prior.alpha)
    plain = NormalGamma(np.zeros((2, 3)), 2.0 * np.eye(2)[None], noise.shape, noise.rate)
    assert q.kl(prior) == pytest.approx(q.weights.kl(plain), rel=1e-6)
    assert prior.kl(prior) == pytest.approx(0, abs=1e-6)


def test_each_half_of_a_relevance_step_raises_the_bound(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(17)
    prior, q = relevance(rng, n_noises)
    stats = sums(*random_data(rng, 15, holes))
    heights = [q.log_likelihood(*stats) - q.kl(prior)]
    for _ in range(30):
        after = prior.observe(*stats, current=q)
        half = replace(q, weights=after.weights)
        for step in (half, after):
            heights.append(step.log_likelihood(*stats) - step.kl(prior))
        q = after
    assert np.all(np.diff(heights) > -1e-10)
    assert heights[-1] - heights[-3] < 1e-3 * (heights[2] - heights[0])


def test_relevances_of_turned_weights_are_found_without_turning_them(n_noises: int, holes: bool) -> None:
    rng = np.random.default_rng(12)
    prior = Relevance.prior(2, 3, Gamma(np.full(n_noises, 2.0), np.full(n_noises, 1.5)), (0.7, 0.4))
    weights = random_prior(rng, n_noises, per_column=holes)
    q, axes = Relevance(weights, prior.alpha), rng.normal(size=(2, 2))
    turned, found = q.transformed(axes, prior), q.with_relevances_at(axes, prior)
    assert found.alpha.shape == pytest.approx(turned.alpha.shape)
    assert found.alpha.rate == pytest.approx(turned.alpha.rate)
    assert found.weights is weights


def test_a_weight_without_use_gets_a_large_relevance() -> None:
    rng = np.random.default_rng(18)
    z, x = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    x += z[:, :1] * 4
    prior = Relevance.prior(2, 3, Gamma(np.ones(1), np.ones(1)), (1e-3, 1e-3))
    q = prior
    stats = sums(z, x, np.ones(x.shape, bool))
    for _ in range(50):
        q = prior.observe(*stats, current=q)
    used, unused = q.alpha.mean
    assert unused > 50 * used


def test_only_keeps_weights_and_their_relevance() -> None:
    rng = np.random.default_rng(19)
    _, q = relevance(rng, 1, k=3)
    part = q.only(np.array([1]))
    assert np.array_equal(part.alpha.shape, q.alpha.shape[[1]])
    assert np.array_equal(part.mean, q.mean[[1]])


@pytest.mark.parametrize("n_noises", [1, 3], ids=["shared", "diagonal"])
def test_the_density_of_weights_has_relevances_integrated_out(n_noises: int) -> None:
    """Against a sum over a grid of log alpha of densities written out."""
    shape, rate = np.full(n_noises, 2.3), np.linspace(1.1, 1.9, n_noises)
    prior = Relevance.prior(2, 3, Gamma(shape, rate), (1.7, 0.6))
    point = PointNormalGamma(np.array([[0.3, -1.2, 0.8], [0.1, 0.0, -0.4]]), np.linspace(0.5, 0.9, n_noises))
    tau, log_alpha = np.broadcast_to(1 / point.noise, 3), np.linspace(-12, 6, 4001)
    alpha = np.exp(log_alpha)
    level = stats.gamma.logpdf(1 / point.noise, shape, scale=1 / rate).sum()
    for w in point.mean:
        density = stats.norm.pdf(w[:, None], scale=1 / np.sqrt(tau[:, None] * alpha)).prod(axis=0)
        mass = stats.gamma.pdf(alpha, 1.7, scale=1 / 0.6) * alpha * (log_alpha[1] - log_alpha[0])
        level += np.log(np.sum(density * mass))
    assert prior.log_density_at(point) == pytest.approx(level, rel=1e-9)


def test_a_point_to_a_power_has_its_density_of_rows_to_that_power_but_for_a_factor() -> None:
    point = PointNormalGamma(np.array([[0.3, -1.2], [0.1, 0.7]]), np.array([0.5, 0.9]))
    x, codes, seen = np.array([[0.2, 0.4], [1.0, -2.0]]), np.array([[0.0, 1.0], [1.0, 1.0]]), np.ones((1, 2))
    whole, flat = (each.log_density(codes, x, seen) for each in (point, point.to_power(0.3)))
    assert np.ptp(0.3 * whole - flat) == pytest.approx(0, abs=1e-12)
