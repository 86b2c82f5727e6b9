"""Rows of many columns in the directions that they span: the same fits, in coordinates of these."""

import numpy as np
import pytest

import latens
from latens.core import Rows, State
from latens.inference.ascent import ascend
from latens.models.binary_factors.model import BinaryFactors, BinaryPosterior
from latens.models.binary_factors.row_space import RowSpace

N, D = 12, 90


def wide_rows(seed=0):
    rng = np.random.default_rng(seed)
    codes = (rng.random((N, 3)) < 0.4).astype(float)
    return codes @ rng.normal(size=(3, D)) * 2 + rng.normal(size=(N, D)) + 1


def start(model, k):
    """Loadings that are no sums of rows."""
    rng, q = np.random.default_rng(1), model.prior(k)
    loadings = q.loadings
    mean = rng.normal(size=loadings.mean.shape)
    weights = type(loadings.weights)(mean, 50 * np.eye(len(mean))[None], np.array([900.0]), np.array([1200.0]))
    return BinaryPosterior(q.usage, type(loadings)(weights, loadings.alpha))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("k", [0, 1, 4])
def test_every_iteration_in_the_space_of_rows_is_that_in_all_columns(k, intercept):
    model, rows = BinaryFactors(D, intercept=intercept), Rows(wide_rows(), weight=np.linspace(0.5, 2.0, N))
    space, begin = RowSpace.of(rows, 5), State(start(model, k))
    inner, plain = space.model_within(model), {"max_iter": 9, "tol": 0}
    within = ascend(inner, [space.rows_within(rows)], space.state_within(begin), **plain)
    assert inner.prior(k).loadings.weights.n_columns == D
    whole = ascend(model, [rows], begin, **plain)
    for one, other in zip(whole.trace, within.trace, strict=True):
        assert other.terms == pytest.approx(one.terms, rel=1e-9, abs=1e-8)
    state = space.state_outside(within.state, rows)
    for found, expected in [
        (state.q.loadings.mean, whole.state.q.loadings.mean),
        (state.q.loadings.weights.precision, whole.state.q.loadings.weights.precision),
        (state.q.loadings.alpha.rate, whole.state.q.loadings.alpha.rate),
        (state.q.loadings.tau, whole.state.q.loadings.tau),
        (state.stats.zx, whole.state.stats.zx),
        (state.stats.xx, whole.state.stats.xx),
        (state.stats.seen, whole.state.stats.seen),
    ]:
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    assert state.q.loadings.weights.n_empty == 0


def test_some_causes_have_as_many_columns_as_all():
    model, rows = BinaryFactors(D, intercept=True), Rows(wide_rows())
    space, q = RowSpace.of(rows, 5), start(model, 4)
    within = space.state_within(State(q)).q.only(np.array([0, 2]))
    prior, whole = space.model_within(model).prior(2), model.prior(2)
    assert within.loadings.kl(prior.loadings) == pytest.approx(q.only(np.array([0, 2])).loadings.kl(whole.loadings))


def test_moves_propose_the_same_posteriors():
    model, rows = BinaryFactors(D), Rows(wide_rows())
    space = RowSpace.of(rows, 4)
    inner, rows_within = space.model_within(model), space.rows_within(rows)
    whole = ascend(model, [rows], State(start(model, 3)), max_iter=5)
    within = ascend(inner, [rows_within], space.state_within(State(start(model, 3))), max_iter=5)

    def candidates(model, fit, rows):
        rng = np.random.default_rng(0)
        proposed = model.candidates(fit.state.q, fit.state.stats, rows, rng, 3)
        return [one if isinstance(one, BinaryPosterior) else one.q for one in proposed]

    found, expected = candidates(inner, within, rows_within), candidates(model, whole, rows)
    assert len(found) == len(expected) > 3
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(space.posterior_outside(one).loadings.mean, other.loadings.mean, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_of_few_wide_rows_is_an_optimum_in_all_columns(dtype):
    x, seen = wide_rows(3).astype(dtype), []
    model = latens.BinaryFactorAnalysis(random_state=0, callbacks=lambda event: seen.append(event.posterior)).fit(x)
    assert model.components_.shape == (model.n_components_, D)
    assert {q.loadings.mean.shape[1] for q in seen if q is not None} == {D}
    rows = Rows((x - model._units.origin).astype(dtype) / 2.0**model._units.exponent)
    one = ascend(model._model, [rows], State(model._state.q), max_iter=1, log_scale=model._units.log_scale)
    assert one.elbo == pytest.approx(model.elbo_, abs=1e-4 if dtype == np.float64 else 0.05)


def test_the_order_of_columns_is_nothing_to_a_fit_of_few_wide_rows():
    x = wide_rows(4)
    order = np.random.default_rng(0).permutation(D)
    fits = [latens.BinaryFactorAnalysis(random_state=0).fit(one) for one in (x, x[:, order])]
    assert fits[1].elbo_ == pytest.approx(fits[0].elbo_, abs=1e-3)
    np.testing.assert_allclose(fits[1].components_, fits[0].components_[:, order], atol=1e-4)
