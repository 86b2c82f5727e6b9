"""Counts: how much their bounds lose beside quadrature, and what they say of new entries."""

from __future__ import annotations

import numpy as np
import pytest

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
