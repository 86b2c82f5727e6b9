"""Counts: how much their bounds lose beside quadrature, and what they say of new entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom

from latens.core import Rows
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.models.likelihoods import Columns, Predictor
from latens.models.likelihoods.counts import NegativeBinomial, PoissonCounts
from tests.contract.models.view_cases import log_counts
from tests.models.likelihoods.quadrature import D, lost_nats


def lost_in_counts(mean: float, tau: float) -> float:
    rng = np.random.default_rng(round(10 * mean + 100 * tau))
    likelihood = NegativeBinomial.for_rows(Rows(np.full((2, D), mean)))
    kind = "rare" if likelihood.rare.any() else "common"
    level = likelihood.link(np.full(D, mean), Columns(KnownGamma(np.full(D, tau))))
    return lost_nats(likelihood, tau, level, lambda y, eta: log_counts(kind, y, eta, np.full(eta.shape, tau)), rng)


@pytest.mark.parametrize("mean", [0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 19.0, 20.0, 100.0, 1000.0, 10_000.0])
def test_the_bound_loses_a_tenth_of_a_nat_an_entry_at_most(mean: float) -> None:
    lost = [lost_in_counts(mean, tau) for tau in (1.0, 3.0, 10.0)]
    assert min(lost) > -1e-6  # it is a bound
    assert max(lost) < 0.1


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_the_mean_and_variance_of_new_counts_are_those_of_draws(rare: float) -> None:
    rng, tau = np.random.default_rng(0), Columns(KnownGamma(np.array([4.0])))
    likelihood = NegativeBinomial(np.array([rare]))
    mean, variance = np.array([[0.4]]), np.array([[0.2]])
    eta = 0.4 + np.sqrt(0.2) * rng.normal(size=(400_000, 1))
    draws = likelihood.draw(eta, tau, rng)
    first, spread = likelihood.expect(mean, variance, tau)
    assert first[0, 0] == pytest.approx(draws.mean(), rel=0.01)
    assert spread[0, 0] == pytest.approx(draws.var(), rel=0.03)
    at_one = likelihood.draw(np.full((400_000, 1), 0.4), tau, rng)
    assert likelihood.middle(mean, tau)[0, 0] == pytest.approx(at_one.mean(), rel=0.01)


@pytest.mark.parametrize("rare", [0.0, 1.0])
@pytest.mark.parametrize("level", [-1.0, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(("tau", "variance"), [(0.15, 0.3), (0.15, 0.01), (2.0, 2.0), (50.0, 0.5), (20.0, 0.02)])
def test_limits_leave_out_as_many_new_counts_as_they_say(
    rare: float, level: float, tau: float, variance: float
) -> None:
    rng, known = np.random.default_rng(0), Columns(KnownGamma(np.array([tau])))
    likelihood = NegativeBinomial(np.array([rare]))
    eta = likelihood.link(np.exp([level]), known)
    draws = likelihood.draw(eta + np.sqrt(variance) * rng.normal(size=(100_000, 1)), known, rng)
    low, high = likelihood.between(eta[None], np.array([[variance]]), known, 0.05)
    share = 0.008 if tau < 20 or variance > 0.1 else 0.015  # of moments
    assert np.mean(draws < low) < 0.05 + share
    assert np.mean(draws <= low) > 0.05 - share
    assert np.mean(draws > high) < 0.05 + share
    assert np.mean(draws >= high) > 0.05 - share


@pytest.mark.parametrize("rare", [0.0, 1.0])
@pytest.mark.parametrize("variance", [0.05, 1.0, 9.0, 30.0])
@pytest.mark.parametrize("level", [1.0, 6.0, 9.0])
def test_means_and_variances_go_by_rates_up_to_the_largest_count(rare: float, variance: float, level: float) -> None:
    rng, known, most = np.random.default_rng(0), Columns(KnownGamma(np.array([4.0]))), np.log([1000.0])
    free = NegativeBinomial(np.array([rare]))
    eta = free.link(np.exp([level]), known)[None]
    normal = 0.0 if rare else 0.25  # of log-normal noise, which is part of the rate
    logs = level - 0.5 * normal + np.sqrt(variance + normal) * rng.normal(size=1_000_000)
    top = max(most[0], level - 0.5 * normal + min(2 * np.sqrt(variance + normal), 1.0))
    rates = np.exp(np.minimum(logs, top))
    counts = rates * rng.gamma(4.0, size=rates.shape) / 4 if rare else rates
    for offset in (None, np.full((1, 1), 2.0)):
        shift = 0.0 if offset is None else 2.0
        about = Columns(known.noise, offset=offset)
        held = NegativeBinomial(np.array([rare]), most=most - shift)
        mean, spread = (part[0, 0] for part in held.expect(eta, np.array([[variance]]), about))
        assert mean == pytest.approx(rates.mean(), rel=0.01)
        assert spread == pytest.approx(counts.var() + rates.mean(), rel=0.05)
        assert mean <= np.exp(top)
    if variance < 0.1 and level < 2:
        expected = free.expect(eta, np.array([[variance]]), known)
        assert (mean, spread) == pytest.approx([float(part[0, 0]) for part in expected], rel=1e-9)


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_a_level_is_predicted_by_its_own_link_and_has_no_deviance(rare: float) -> None:
    likelihood, columns = PoissonCounts(np.array([rare])), Columns(KnownGamma(np.array([2.5])))
    level = np.array([[1.0], [7.0], [400.0]])
    eta = likelihood.link(level, columns)
    assert likelihood.middle(eta, columns) == pytest.approx(level)
    assert likelihood.deviance(level, eta, columns) == pytest.approx(np.zeros_like(level), abs=1e-9)
    assert (likelihood.deviance(level, eta + 0.3, columns) > 0).all()
    assert likelihood.deviance(np.zeros((1, 1)), eta[:1], columns)[0, 0] > 0


def test_columns_of_both_kinds_in_one_view_are_those_of_two_views() -> None:
    rng = np.random.default_rng(1)
    y, eta = rng.poisson(4.0, size=(6, 5)).astype(float), rng.normal(size=(6, 5))
    rare = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
    noise = Gamma(rng.uniform(1, 3, 5), rng.uniform(1, 3, 5))
    together = NegativeBinomial(rare).tangent(Rows(y), Predictor(eta.copy, lambda: eta**2 + 0.3, Columns(noise)))
    for kind in (0.0, 1.0):
        at = rare == kind
        own = Columns(noise.only(np.flatnonzero(at)))
        place = Predictor(lambda at=at: eta[:, at], lambda at=at: eta[:, at] ** 2 + 0.3, own)  # type: ignore[misc]
        alone = NegativeBinomial(rare[at]).tangent(Rows(y[:, at]), place)
        assert together.response[:, at] == pytest.approx(alone.response)
        assert together.powers is not None
        assert alone.powers is not None
        assert together.powers()[:, at] == pytest.approx(alone.powers())
        assert together.free is not None
        assert alone.free is not None
        assert together.free.constant()[:, at] == pytest.approx(alone.free.constant())


def _height(rare: float, rows: Rows, mean: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, Any]:
    """(D,), the bound of columns whose parabolas touch at that tau, up to priors; and the parabolas."""
    at = Predictor(mean.copy, lambda: mean**2 + 0.2, Columns(KnownGamma(tau)))
    likelihood = PoissonCounts(np.full(len(tau), rare))
    found = likelihood.tangent(rows, at)
    seen = np.ones_like(mean) if found.precision is None else found.precision
    seen = seen if rows.seen is None else seen * rows.seen
    inside = found.response * mean - 0.5 * seen * (mean**2 + 0.2)
    height = tau * (found.levels + (rows.weigh(inside)).sum(axis=0)) + np.log(tau) * found.power_sums
    assert found.free is not None
    height = height + found.free.levels
    if found.free.response is not None:
        free = found.free.response * mean - 0.5 * found.free.precision * (mean**2 + 0.2)
        height = height + rows.weigh(free).sum(axis=0)
    return height, found


@pytest.mark.parametrize("rare", [0.0, 1.0], ids=["common", "rare"])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holes"])
def test_slope_and_bend_by_dispersion_are_those_of_bounds_that_touch_anew(rare: float, holes: bool) -> None:
    rng, step = np.random.default_rng(2), 1e-3
    tau, mean = np.array([0.5, 4.0, 30.0, 200.0]), rng.normal(size=(40, 4)) + (0.0 if rare else 2.0)
    y = rng.poisson(np.exp(mean + (np.log(tau) if rare else 0.0)).clip(0, 30)).astype(float)
    seen = rng.random(y.shape) < 0.8 if holes else None
    rows = Rows(y if seen is None else y * seen, seen, rng.gamma(2.0, size=40))
    changes = [step * sign for sign in (-1, 0, 1)]
    low, middle, high = (_height(rare, rows, mean - rare * h, tau * np.exp(h)) for h in changes)
    way = middle[1].way
    assert way[:, 0] == pytest.approx(rows.counts * np.log(tau))
    assert way[:, 1] == pytest.approx((high[0] - low[0]) / (2 * step), rel=1e-4, abs=1e-4)
    assert way[:, 2] == pytest.approx((high[0] - 2 * middle[0] + low[0]) / step**2, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("rare", [0.0, 1.0], ids=["common", "rare"])
def test_sums_of_constants_are_those_of_entries(rare: float) -> None:
    rng = np.random.default_rng(3)
    tau, mean = np.array([0.5, 4.0, 30.0]), rng.normal(size=(50, 3))
    seen = rng.random(mean.shape) < 0.8
    rows = Rows(rng.poisson(3.0, size=mean.shape) * seen.astype(float), seen, rng.gamma(2.0, size=50))
    found = _height(rare, rows, mean, tau)[1]
    for sums, entries in (
        (found.levels, found.constant()),
        (found.free.levels, found.free.constant()),
        (found.power_sums, found.powers()),
    ):
        assert not entries[~seen].any()
        assert sums == pytest.approx(rows.weigh(entries).sum(axis=0), rel=1e-12)


def test_a_step_of_the_dispersion_goes_where_the_bound_is_highest() -> None:
    """Steps in turn, levels with them, come to where the slope is 0; plain ones would take thousands."""
    rng, likelihood = np.random.default_rng(4), PoissonCounts(np.ones(3))
    rows = Rows(rng.negative_binomial(4, 0.5, size=(1000, 3)).astype(float))
    size, prior = np.full(3, 0.3), Gamma(np.ones(3), np.full(3, 0.01))
    level = np.log(rows.x.mean(axis=0) / size)
    for _ in range(12):
        noise = Gamma(np.full(3, 300.0), 300.0 / size)
        mean = level + np.zeros_like(rows.x)
        at = Predictor(mean.copy, lambda mean=mean: mean**2 + 1e-6, Columns(noise))  # type: ignore[misc]
        way = likelihood.tangent(rows, at).way
        assert way is not None
        change, shift, promised = likelihood.stride(noise, prior, way, rows.counts)
        size, level = size * np.exp(change), level + shift
    assert promised < 1e-6
    assert size == pytest.approx(np.full(3, 4.0), rel=0.25)
    assert level + np.log(size) == pytest.approx(np.log(rows.x.mean(axis=0)))


@pytest.mark.parametrize("noise", [2.0, 0.5, np.inf], ids=["gamma", "much", "none"])
@pytest.mark.parametrize("rare", [0.0, 1.0], ids=["common", "rare"])
def test_answers_have_the_noise_and_the_mean_of_rows_where_eta_is_uncertain(noise: float, rare: float) -> None:
    """Whatever the tau of the bound: eta is known up to .1, and counts have gamma noise about its exponential."""
    rng = np.random.default_rng(5)
    eta = rng.normal(0.0, 0.4, size=(4000, 3)) + np.array([0.5, 2.0, 4.0])
    gamma = 1.0 if np.isinf(noise) else rng.gamma(noise, 1 / noise, size=eta.shape)
    rows = Rows(rng.poisson(np.exp(eta) * gamma).astype(float))
    mean = eta + 0.1 * rng.normal(size=eta.shape)  # as far off as the variance says
    columns = Columns(KnownGamma(np.array([1.0, 4.0, 20.0])))
    found = NegativeBinomial(np.full(3, rare)).answering(rows, mean, np.full(mean.shape, 0.01), columns, (1.0, 1e-3))
    at_zero, spread = found.expect(np.zeros((1, 3)), np.zeros((1, 3)), columns)
    assert at_zero[0] == pytest.approx(np.ones(3), rel=0.06)
    dispersion = found.dispersion(columns.noise)
    if np.isinf(noise):
        assert np.all(dispersion < 0.03)
    else:
        assert dispersion == pytest.approx(np.full(3, 1 / noise), rel=0.15)
        assert spread[0] - at_zero[0] == pytest.approx(at_zero[0] ** 2 / noise, rel=0.25)


def test_rare_counts_have_the_dispersion_that_is_most_probable_not_that_of_the_prior() -> None:
    """Between a size of .2, 15 nats above, and the 1,000 that the prior prefers there is a valley."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.negative_binomial(1 / 8, (1 / 8) / (1 / 8 + 0.1), size=(1000, 6)).astype(float))
    columns = Columns(KnownGamma(np.array([0.2, 1.0, 30.0, 100.0, 300.0, 1000.0])))
    eta = np.log(0.1 / columns.noise.mean) + np.zeros_like(rows.x)
    found = NegativeBinomial(np.ones(6)).answering(rows, eta, np.full(eta.shape, 1e-3), columns, (1.0, 1e-3))
    sizes = np.geomspace(0.01, 10.0, 2000)
    heights = []
    for y in rows.x.T:
        values, counts = np.unique(y, return_counts=True)
        logs = nbinom.logpmf(values[:, None], sizes, sizes / (sizes + y.mean()))
        heights.append(counts @ logs + np.log(sizes) - 1e-3 * sizes)
    assert found.dispersion(columns.noise) == pytest.approx(1 / sizes[np.argmax(heights, axis=1)], rel=0.05)


@pytest.mark.parametrize("tau", [0.5, 30.0, 1000.0])
def test_answers_about_few_rare_counts_have_their_means(tau: float) -> None:
    """Whatever the unit of eta, in which log means are less log tau; a column of zeros stays as it is."""
    rng = np.random.default_rng(1)
    rows = Rows(np.column_stack([rng.permutation(np.arange(100) < n) for n in (0, 4, 10, 30)]).astype(float))
    columns = Columns(KnownGamma(np.full(4, tau)))
    eta = np.log(np.array([0.004, 0.06, 0.06, 0.2]) / tau) + np.zeros_like(rows.x)
    found = PoissonCounts(np.ones(4)).answering(rows, eta, np.full(eta.shape, 1e-6), columns, (1.0, 1e-3))
    means = found.middle(eta[:1], columns)[0]
    assert means[1:] == pytest.approx([0.04, 0.1, 0.3], rel=0.07)
    assert 0.001 < means[0] < 0.004


def test_log_normal_noise_stays_where_rows_have_it() -> None:
    rng = np.random.default_rng(6)
    eta = rng.normal(0.0, 0.4, size=(2000, 4)) + 4.0
    rates = np.exp(eta + np.array([1.0, 1.0, 0.0, 0.0]) * rng.normal(size=eta.shape))
    gamma = rng.gamma(1.0, size=eta.shape)
    rows = Rows(rng.poisson(np.where(np.arange(4) < 2, rates, rates * gamma)).astype(float))
    columns = Columns(KnownGamma(np.ones(4)))
    found = NegativeBinomial(np.zeros(4)).answering(rows, eta, np.full(eta.shape, 1e-6), columns, (1.0, 1e-3))
    assert found.ratio is not None
    assert (found.ratio > 0).tolist() == [False, False, True, True]


def test_weights_of_rows_are_copies_of_them_in_the_noise_of_answers() -> None:
    rng = np.random.default_rng(7)
    eta, weight = rng.normal(1.0, 0.5, size=(200, 3)), rng.integers(1, 4, size=200)
    y, seen = rng.poisson(np.exp(eta)).astype(float), rng.random(eta.shape) < 0.8
    columns, likelihood = Columns(KnownGamma(np.ones(3))), PoissonCounts(np.array([0.0, 1.0, 1.0]))
    place = np.repeat(np.arange(200), weight)
    weighted = likelihood.answering(
        Rows(y * seen, seen, weight.astype(float)), eta, np.full(eta.shape, 0.02), columns, (3.0, 1e-2)
    )
    copied = likelihood.answering(
        Rows((y * seen)[place], seen[place]), eta[place], np.full((len(place), 3), 0.02), columns, (3.0, 1e-2)
    )
    assert weighted.dispersion(columns.noise) == pytest.approx(copied.dispersion(columns.noise), rel=1e-9)
    assert weighted.shift == pytest.approx(copied.shift, rel=1e-9, abs=1e-12)


def test_draws_have_the_moments_that_are_expected() -> None:
    rng = np.random.default_rng(8)
    columns = Columns(KnownGamma(np.array([3.0, 5.0, 2.0])))
    likelihood = NegativeBinomial(np.array([0.0, 0.0, 1.0]), np.array([0.0, 2.0, 0.5]), np.array([0.0, -0.2, 0.1]))
    eta = np.broadcast_to(np.array([2.0, 3.0, 1.0]), (200_000, 3))
    mean, variance = likelihood.expect(eta[:1], np.zeros((1, 3)), columns)
    drawn = likelihood.draw(eta, columns, rng)
    assert drawn.mean(axis=0) == pytest.approx(mean[0], rel=0.01)
    assert drawn.var(axis=0) == pytest.approx(variance[0], rel=0.05)


def test_slopes_curvatures_and_deviances_are_those_of_the_noise_of_answers() -> None:
    """Of a rare and a common column with gamma noise, whatever the tau of the bound."""
    rng, size, shift = np.random.default_rng(9), np.array([0.4, 6.0]), np.array([0.3, -0.1])
    columns = Columns(KnownGamma(np.array([300.0, 20.0])))
    likelihood = NegativeBinomial(np.array([1.0, 0.0]), size / columns.noise.mean, shift)
    log_mean = np.array([-1.0, 3.0]) + 0.5 * rng.normal(size=(30, 2))
    eta = likelihood.link(np.exp(log_mean), columns)
    y = rng.poisson(np.exp(log_mean)).astype(float)

    def log_p(level: np.ndarray) -> np.ndarray:
        return np.asarray(nbinom.logpmf(y, size, size / (size + level)))

    step = 1e-3
    low, middle, high = (log_p(np.exp(log_mean + change)) for change in (-step, 0.0, step))
    slope, bend = likelihood.matched(Rows(y), eta, np.zeros_like(eta), columns)
    assert slope == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-5)
    assert bend == pytest.approx((2 * middle - high - low) / step**2, rel=1e-4, abs=1e-5)
    lost = 2 * (log_p(np.maximum(y, 1e-300)) - middle)
    assert likelihood.deviance(y, eta, columns) == pytest.approx(lost, rel=1e-9, abs=1e-9)
