"""Beta, Gamma and their point twins: moments, divergences and updates against integrals over their densities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.point_beta import PointBeta

PAIRS = [((0.7, 1.3), (2.0, 0.6)), ((5.0, 2.5), (1.0, 1.0)), ((30.0, 70.0), (0.5, 0.5)), ((1.0, 1.0), (1.0, 1.0))]


def beta(pair: tuple[float, float]) -> Beta:
    return Beta(np.array([pair[0]]), np.array([pair[1]]))


def gamma(pair: tuple[float, float]) -> Gamma:
    return Gamma(np.array([pair[0]]), np.array([pair[1]]))


def over_beta(pair: tuple[float, float], value: Callable[[float], float]) -> float:
    density = stats.beta(*pair)
    return quad(lambda p: density.pdf(p) * value(p), 0, 1, epsabs=1e-12, limit=400, points=[density.mean()])[0]


def over_gamma(pair: tuple[float, float], value: Callable[[float], float]) -> float:
    """The integral in log t, where the density is smooth at both ends."""
    density = stats.gamma(pair[0], scale=1 / pair[1])
    centre = np.log(density.mean())
    return quad(
        lambda u: density.pdf(np.exp(u)) * np.exp(u) * value(np.exp(u)),
        centre - 60,
        centre + 8,
        limit=800,
        epsabs=1e-12,
    )[0]


@pytest.mark.parametrize("pair", [pair for pair, _ in PAIRS])
def test_expected_logarithms_of_a_beta_are_integrals(pair: tuple[float, float]) -> None:
    log_p, log_not_p = beta(pair).mean_log
    assert log_p[0] == pytest.approx(over_beta(pair, np.log), rel=1e-6)
    assert log_not_p[0] == pytest.approx(over_beta(pair, lambda p: np.log1p(-p)), rel=1e-6)
    assert beta(pair).mean == pytest.approx(stats.beta(*pair).mean())


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_divergence_of_betas_is_an_integral(one: tuple[float, float], two: tuple[float, float]) -> None:
    exact = over_beta(one, lambda p: stats.beta(*one).logpdf(p) - stats.beta(*two).logpdf(p))
    assert beta(one).kl(beta(two)) == pytest.approx(exact, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_divergence_of_gammas_is_an_integral(one: tuple[float, float], two: tuple[float, float]) -> None:
    density, other = stats.gamma(one[0], scale=1 / one[1]), stats.gamma(two[0], scale=1 / two[1])
    exact = over_gamma(one, lambda t: density.logpdf(t) - other.logpdf(t))
    assert gamma(one).kl(gamma(two)) == pytest.approx(exact, rel=1e-7, abs=1e-9)


def test_divergences_that_have_a_simple_form() -> None:
    """Uniform against Beta(2, 1): log 1/2 + 1. Exponentials: log(a/b) + b/a - 1."""
    assert beta((1.0, 1.0)).kl(beta((2.0, 1.0))) == pytest.approx(1 - np.log(2), rel=1e-12)
    assert gamma((1.0, 3.0)).kl(gamma((1.0, 5.0))) == pytest.approx(np.log(3 / 5) + 5 / 3 - 1, rel=1e-12)


@pytest.mark.parametrize("family", [beta, gamma], ids=["beta", "gamma"])
def test_divergence_from_itself_is_zero_and_from_others_positive(family: Callable) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, two = (family(tuple(rng.gamma(1.0, 3.0, 2) + 0.05)) for _ in range(2))
        assert one.kl(one) == pytest.approx(0, abs=1e-11)
        assert one.kl(two) > 0


def test_divergences_of_independent_parts_add() -> None:
    one, two = Beta(np.array([1.0, 3.0]), np.array([2.0, 0.5])), Beta(np.array([1.0, 1.0]), np.array([4.0, 1.0]))
    total = sum(beta((one.on[i], one.off[i])).kl(beta((two.on[i], two.off[i]))) for i in range(2))
    assert one.kl(two) == pytest.approx(total)
    g, h = Gamma(np.array([1.0, 3.0]), np.array([2.0, 0.5])), Gamma(np.array([1.0, 1.0]), np.array([4.0, 1.0]))
    total = sum(gamma((g.shape[i], g.rate[i])).kl(gamma((h.shape[i], h.rate[i]))) for i in range(2))
    assert g.kl(h) == pytest.approx(total)


@pytest.mark.parametrize("pair", [pair for pair, _ in PAIRS])
def test_moments_of_a_gamma_are_integrals(pair: tuple[float, float]) -> None:
    assert gamma(pair).mean[0] == pytest.approx(over_gamma(pair, lambda t: t), rel=1e-7)
    assert gamma(pair).mean_log[0] == pytest.approx(over_gamma(pair, np.log), rel=1e-7, abs=1e-9)
    if pair[0] > 1:
        assert gamma(pair).mean_inverse[0] == pytest.approx(over_gamma(pair, lambda t: 1 / t), rel=1e-6)
    else:
        assert gamma(pair).mean_inverse[0] == np.inf


def test_observing_is_bayes_rule_for_a_beta() -> None:
    """Posterior over prior is the likelihood up to a constant, at every p."""
    prior, p = (0.7, 1.9), np.linspace(0.05, 0.95, 7)
    after = beta(prior).observe(np.array([3.0]), np.array([5.5]))
    ratio = stats.beta(after.on, after.off).logpdf(p) - stats.beta(*prior).logpdf(p)
    likelihood = 3 * np.log(p) + 5.5 * np.log1p(-p)
    assert np.ptp(ratio - likelihood) == pytest.approx(0, abs=1e-10)


def test_observing_is_bayes_rule_for_a_precision() -> None:
    prior, t, x = (1.7, 0.4), np.linspace(0.2, 4, 9), np.array([0.3, -1.2, 2.0])
    after = gamma(prior).observe(3.0, np.array([np.sum(x**2)]))
    ratio = stats.gamma(after.shape, scale=1 / after.rate).logpdf(t) - stats.gamma(prior[0], scale=1 / prior[1]).logpdf(
        t
    )
    likelihood = stats.norm(scale=t[:, None] ** -0.5).logpdf(x).sum(axis=1)
    assert np.ptp(ratio - likelihood) == pytest.approx(0, abs=1e-10)


def test_evidence_of_counts_is_likelihood_less_divergence_at_the_posterior() -> None:
    """For conjugate pairs the bound is the evidence: B(a + on, b + off) / B(a, b)."""
    from scipy.special import betaln

    prior, on, off = beta((0.7, 1.9)), np.array([3.0]), np.array([5.5])
    after = prior.observe(on, off)
    assert after.log_likelihood(on, off) - after.kl(prior) == pytest.approx(betaln(3.7, 7.4) - betaln(0.7, 1.9))


def test_likelihood_of_counts_is_linear_in_them() -> None:
    q = Beta(np.array([2.0, 3.0]), np.array([1.0, 4.0]))
    on, off = np.array([1.0, 2.5]), np.array([0.5, 0.0])
    assert q.log_likelihood(3 * on, 3 * off) == pytest.approx(3 * q.log_likelihood(on, off))
    point = PointBeta(np.array([0.2, 0.6]))
    assert point.log_likelihood(on, off) == pytest.approx(np.log(0.2) + 0.5 * np.log(0.8) + 2.5 * np.log(0.6))


@pytest.mark.parametrize("pair", [pair for pair, _ in PAIRS])
def test_draws_have_the_moments_of_their_family(pair: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    shares = Beta(np.full(n, pair[0]), np.full(n, pair[1])).sample(rng).mean
    rates = Gamma(np.full(n, pair[0]), np.full(n, pair[1])).sample(rng).mean
    for draws, density in ((shares, stats.beta(*pair)), (rates, stats.gamma(pair[0], scale=1 / pair[1]))):
        assert stats.kstest(draws, density.cdf).pvalue > 1e-4


def test_a_draw_of_a_beta_is_a_point_with_no_divergence() -> None:
    draw = beta((2.0, 3.0)).sample(np.random.default_rng(2))
    assert isinstance(draw, PointBeta)
    assert draw.kl(PointBeta(np.array([0.9]))) == 0
    assert draw.sample(np.random.default_rng(3)) is draw


def test_a_point_estimate_is_the_ratio_of_counts() -> None:
    assert PointBeta(np.array([0.5])).observe(np.array([3.0]), np.array([9.0])).mean == pytest.approx([0.25])


@pytest.mark.parametrize(("on", "off"), [(0.0, 7.0), (7.0, 0.0), (0.0, 0.0)])
def test_logarithms_of_extreme_shares_stay_finite(on: float, off: float) -> None:
    share = PointBeta(np.array([0.5])).observe(np.array([on]), np.array([off]))
    assert np.all(np.isfinite(share.mean_log))
    # a cause that is never on costs nothing: the likelihood of its silence is 1
    assert share.log_likelihood(np.array([on]), np.array([off])) == pytest.approx(0, abs=1e-12)


def test_only_keeps_parts_in_the_given_order() -> None:
    keep = np.array([2, 0])
    on, off = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    assert np.array_equal(Beta(on, off).only(keep).off, [6.0, 4.0])
    assert np.array_equal(Gamma(on, off).only(keep).shape, [3.0, 1.0])
    assert np.array_equal(PointBeta(on / 10).only(keep).mean, [0.3, 0.1])


def test_draws_of_a_vague_gamma_are_positive_and_have_inverses() -> None:
    """Most of its mass lies below the smallest number that there is."""
    drawn = Gamma(np.full(200, 1e-3), np.full(200, 1e-3)).sample(np.random.default_rng(0))
    assert np.all(drawn.mean > 0)
    assert np.all(np.isfinite(drawn.mean_inverse**2))


def test_betas_that_are_all_alike_are_those_given_one_by_one() -> None:
    alike, single = Beta.alike(0.5, 5.0, 2, 3), Beta(np.full((2, 3), 0.5), np.full((2, 3), 5.0))
    q = Beta(np.arange(1.0, 7.0).reshape(2, 3), np.full((2, 3), 2.0))
    assert q.kl(alike) == q.kl(single)
    assert alike.observe(1.0, 2.0).kl(single) == single.observe(1.0, 2.0).kl(single)
