"""Sparse coefficients and levels: divergences against integrals, moments against draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as laws

from latens.families.beta import Beta
from latens.families.gamma import Gamma
from latens.families.known_gamma import KnownGamma
from latens.families.offsets import Offsets
from latens.families.spike_slab import SpikeSlab

ALPHA = Gamma(np.array([1.7, 3.2]), np.array([0.9, 2.1]))
THETA = Beta(np.array([0.7, 2.5]), np.array([1.9, 0.8]))


def spike_slab(seed: int = 0, d: int = 3) -> SpikeSlab:
    rng = np.random.default_rng(seed)
    shape = (d, 2)
    return SpikeSlab(
        rng.uniform(0.1, 0.9, shape), rng.normal(size=shape), rng.uniform(0.2, 1, shape), rng.uniform(0.5, 2, 2)
    )


def expected(law: object, function: object) -> float:
    return float(law.expect(function))  # type: ignore[attr-defined]


@pytest.mark.parametrize("switched", [True, False], ids=["spike", "slab only"])
def test_the_divergence_is_its_integral(switched: bool) -> None:
    q = spike_slab()
    q = q if switched else replace(q, on=np.ones_like(q.on))
    found = q.kl(ALPHA, THETA if switched else None)
    for k in range(2):
        alpha = laws.gamma(ALPHA.shape[k], scale=1 / ALPHA.rate[k])
        theta = laws.beta(THETA.on[k], THETA.off[k])
        mean, mean_log = expected(alpha, lambda a: a), expected(alpha, np.log)
        chances = (expected(theta, np.log), expected(theta, lambda t: np.log1p(-t)))
        total = 0.0
        for d in range(3):
            parts = [(q.on[d, k], q.slab[d, k], q.variance[d, k], chances[0])]
            if switched:
                parts.append((1 - q.on[d, k], 0.0, q.idle[k], chances[1]))
            for mass, middle, variance, chance in parts:
                law = laws.norm(middle, np.sqrt(variance))

                def gap(v: float, law: object = law, mean: float = mean, mean_log: float = mean_log) -> float:
                    prior = 0.5 * (mean_log - np.log(2 * np.pi) - mean * v**2)
                    return float(law.pdf(v) * (law.logpdf(v) - prior))  # type: ignore[attr-defined]

                reach = 12 * np.sqrt(variance)
                slab = integrate.quad(gap, middle - reach, middle + reach, epsabs=1e-12)[0]
                total += mass * (slab + (np.log(mass) - chance if switched else 0.0))
        assert found[k] == pytest.approx(total, rel=1e-7)


def test_the_divergence_vanishes_where_nothing_was_learnt() -> None:
    """With known precision and an odds of which nothing is uncertain, the prior is its own posterior."""
    precision, share = np.array([2.0, 0.5]), np.array([0.3, 0.6])
    q = SpikeSlab(np.tile(share, (3, 1)), np.zeros((3, 2)), np.tile(1 / precision, (3, 1)), 1 / precision)
    sure = Beta(1e12 * share, 1e12 * (1 - share))
    assert q.kl(KnownGamma(precision), sure) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("on", [0.0, 1.0])
def test_certain_switches_have_a_finite_divergence(on: float) -> None:
    q = replace(spike_slab(), on=np.full((3, 2), on))
    near = replace(q, on=np.full((3, 2), abs(on - 1e-12)))
    assert np.isfinite(q.kl(ALPHA, THETA)).all()
    assert q.kl(ALPHA, THETA) == pytest.approx(near.kl(ALPHA, THETA), rel=1e-9)


def test_moments_are_those_of_draws() -> None:
    q, rng = spike_slab(), np.random.default_rng(1)
    draws = np.stack([q.sample(rng).mean for _ in range(20_000)])
    assert draws.mean(axis=0) == pytest.approx(q.mean, abs=0.03)
    assert (draws**2).mean(axis=0) == pytest.approx(q.square, abs=0.08)
    assert (draws == 0).mean(axis=0) == pytest.approx(1 - q.on, abs=0.02)
    assert q.sizes == pytest.approx(np.sum(q.square + (1 - q.on) * q.idle, axis=0))


def test_the_mean_has_no_spread() -> None:
    q = spike_slab().at_mean()
    assert np.array_equal(q.mean, spike_slab().mean)
    assert q.square == pytest.approx(q.mean**2)


def test_some_components_alone_diverge_as_they_did() -> None:
    q, keep = spike_slab(), np.array([1])
    assert q.only(keep).kl(ALPHA.only(keep), THETA.only(keep)) == pytest.approx(q.kl(ALPHA, THETA)[keep])


def test_the_divergence_of_levels_is_its_integral() -> None:
    rng = np.random.default_rng(2)
    one, two = (Offsets(rng.normal(size=(3, 2)), rng.uniform(0.3, 2, (3, 2))) for _ in range(2))
    total = 0.0
    for at in np.ndindex(3, 2):
        p, other = (laws.norm(each.mean[at], np.sqrt(each.variance[at])) for each in (one, two))
        total += integrate.quad(
            lambda b, p=p, other=other: p.pdf(b) * (p.logpdf(b) - other.logpdf(b)), p.mean() - 15, p.mean() + 15
        )[0]
    assert one.kl(two) == pytest.approx(total, rel=1e-8)
    assert one.kl(one) == pytest.approx(0, abs=1e-12)


def test_levels_have_the_moments_of_their_draws() -> None:
    rng = np.random.default_rng(3)
    q = Offsets(rng.normal(size=(3, 2)), rng.uniform(0.3, 2, (3, 2)))
    draws = np.stack([q.sample(rng).mean for _ in range(20_000)])
    assert draws.mean(axis=0) == pytest.approx(q.mean, abs=0.05)
    assert (draws**2).mean(axis=0) == pytest.approx(q.square, abs=0.12)
    assert np.array_equal(q.at_mean().square, q.mean**2)
