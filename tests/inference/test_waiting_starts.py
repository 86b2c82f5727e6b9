"""What waits during a search takes no more room than it needs."""

from dataclasses import fields

import numpy as np
import pytest

from latens.array.fields import forget_caches
from latens.core import Rows, State
from latens.estimators.rows.data import MANY_ROWS, InMemory, ThriftySweep
from latens.families.dirichlet import Dirichlet
from latens.families.gamma import Gamma
from latens.families.normal_wishart import NormalWishart
from latens.inference import ascent
from latens.inference.sweep import serial_sweep
from latens.models.binary_factors.model import BinaryFactors
from latens.models.binary_factors.posteriors import MeanField, Switches
from latens.models.mixture.model import Mixture
from latens.system.scratch import PutAside


def test_what_was_computed_from_a_posterior_is_let_go_and_found_again():
    gamma = Gamma(np.array([2.0]), np.array([4.0]))
    mean = gamma.mean
    assert "mean" in vars(gamma)
    forget_caches([gamma, {"of": gamma}, 3.0])
    assert set(vars(gamma)) == {f.name for f in fields(gamma)}
    assert gamma.mean == mean


@pytest.mark.parametrize("large", [False, True])
def test_a_large_start_holds_no_inverses_after_its_ascent(monkeypatch, large):
    d, rng = 5, np.random.default_rng(0)
    clusters = NormalWishart(np.zeros((1, d)), np.ones(1), np.array([d + 1.0]), np.eye(d)[None])
    model = Mixture(Dirichlet(np.ones(1)), clusters)
    q, rows = model.prior(2).only(np.arange(2)), Rows(rng.normal(size=(40, d)))
    monkeypatch.setattr(ascent, "LARGE_POSTERIOR", 1 if large else 2**30)
    fit = ascent.ascend(model, [rows], State(q), max_iter=3)
    assert ("_precision_and_volume" in vars(q.clusters)) is not large
    again = ascent.ascend(model, [rows], State(q), max_iter=3)
    assert again.elbo == fit.elbo


def test_codes_of_many_rows_are_kept_in_single_precision_and_lead_to_the_same_bound():
    rng = np.random.default_rng(0)
    model = BinaryFactors(6, e_step=MeanField(), intercept=True)
    parts = rng.normal(size=(12, 6))
    rows = Rows((rng.random((400, 12)) < 0.3).astype(float) @ parts + 0.1 * rng.normal(size=(400, 6)))
    batches, start = [rows[slice(0, 200)], rows[slice(200, 400)]], State(_posterior(model, parts))
    plain = ascent.ascend(model, batches, start, max_iter=60, tol=0)
    thrifty = ascent.ascend(model, batches, start, max_iter=60, tol=0, sweep=ThriftySweep(serial_sweep))
    assert {type(one) for one in thrifty.state.locals} == {PutAside}
    assert {one.get().mean.dtype for one in thrifty.state.locals} == {np.dtype(np.float32)}
    assert thrifty.elbo == pytest.approx(plain.elbo, rel=1e-9)
    bounds = [event.elbo for event in thrifty.trace]
    assert np.all(np.diff(bounds) > -1e-9 * abs(bounds[-1]))


def test_rows_are_many_from_a_number_on():
    few, many = (InMemory(Rows(np.zeros((n, 1)))) for n in (MANY_ROWS - 1, MANY_ROWS))
    assert not isinstance(few.sweep(8, None, 1), ThriftySweep)
    assert isinstance(many.sweep(8, None, 1), ThriftySweep)


def test_codes_in_single_precision_follow_causes_that_are_kept():
    codes = Switches(np.array([[0.25, 0.5, 0.75]])).in_single()
    np.testing.assert_array_equal(codes.follow(np.array([2, -1, 0])).mean, [[0.75, 0.0, 0.25]])


def _posterior(model, parts):
    from dataclasses import replace

    q = model.prior(len(parts))
    mean = np.concatenate([parts, np.zeros((1, parts.shape[1]))]) + 0.1
    weights = replace(q.loadings.weights, mean=mean, precision=100 * np.eye(len(mean))[None])
    weights = replace(weights, shape=np.array([50.0]), rate=np.array([5.0]))
    return replace(q, loadings=replace(q.loadings, weights=weights))
