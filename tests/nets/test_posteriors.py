"""Posteriors over weights: moments, covariance, density, draws, merging."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from latens.errors import StillSnapshots
from latens.metrics import gaussian_kl
from latens.nets import SWAG, FactorPosterior, MultiPosterior
from tests.nets.nets import fed, snapshots, two_tensors

pytestmark = pytest.mark.extras

BOTH = pytest.mark.parametrize("kind", [SWAG, FactorPosterior])


def covariance(posterior):
    factors, noise = posterior.covariance_factors()
    return (factors.T @ factors).double().numpy() + np.diag(noise.double().numpy())


@BOTH
def test_moments_are_right_where_the_mean_is_a_thousand_deviations_away(kind):
    rng = np.random.default_rng(0)
    x = (1 + 1e-3 * rng.standard_normal((400, 50))).astype(np.float32)
    posterior = fed(kind, x, rank=4)
    assert posterior.mean.numpy() == pytest.approx(x.astype(float).mean(0), rel=1e-6)
    assert posterior.variance.numpy() == pytest.approx(x.astype(float).var(0), rel=1e-3)
    # what E[w^2] - E[w]^2 in the same precision would have been
    naive = np.mean(x * x, axis=0, dtype=np.float32) - np.mean(x, axis=0, dtype=np.float32) ** 2
    assert np.max(np.abs(naive / x.astype(float).var(0) - 1)) > 0.02


def test_swag_covariance_is_half_diagonal_and_half_last_deviations():
    x = snapshots(30, seed=1)
    posterior = fed(SWAG, x, rank=5, double=True)
    means = np.cumsum(x, axis=0) / np.arange(1, 31)[:, None]
    last = (x - means)[-5:]
    assert covariance(posterior) == pytest.approx(np.diag(x.var(0)) / 2 + last.T @ last / 8, abs=1e-12)


def test_swag_of_rank_zero_has_the_whole_diagonal():
    x = snapshots(30, seed=2)
    assert covariance(fed(SWAG, x, rank=0, double=True)) == pytest.approx(np.diag(x.var(0)), abs=1e-12)


def test_factor_rows_are_the_covariance_as_long_as_they_can_be():
    x = snapshots(7, seed=3)
    rows = fed(FactorPosterior, x, rank=6, double=True)._rows.numpy()
    assert rows.T @ rows == pytest.approx(np.cov(x.T, ddof=0), abs=1e-12)


def test_factor_marginals_are_those_of_the_snapshots():
    x = snapshots(200, seed=4)
    posterior = fed(FactorPosterior, x, rank=2, double=True)
    assert len(posterior.covariance_factors()[0]) > 0
    assert np.diag(covariance(posterior)) == pytest.approx(x.var(0, ddof=1), rel=1e-9)


def test_factors_come_near_a_covariance_of_that_rank():
    x, truth = snapshots(3000, seed=5, with_truth=True)
    found = covariance(fed(FactorPosterior, x, rank=2, double=True))
    assert np.linalg.norm(found - np.cov(x.T)) < 0.04 * np.linalg.norm(truth)


def test_the_least_direction_is_the_one_dropped():
    from latens.nets.algebra.low_rank_update import _least_lost

    root = np.random.default_rng(30).standard_normal((5, 5))
    inner, n = root @ root.T, 12
    scale = np.sqrt((1 - 1 / n) * np.array([1, 1, 1, 1, 1 / n]))
    mirror, dual = _least_lost(inner, n)
    basis = (np.sqrt(1 - 1 / n) * np.eye(4, 5) - np.outer(mirror[:4], dual)) / scale
    least = np.linalg.eigh(inner * scale * scale[:, None])[1][:, 0]
    assert basis @ basis.T == pytest.approx(np.eye(4), abs=1e-12)
    assert basis @ least == pytest.approx(np.zeros(4), abs=1e-12)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_seen_in_the_gram_matrix(value):
    import torch

    from latens.nets.algebra import low_rank_update

    rows = torch.randn(2, 50, generator=torch.Generator().manual_seed(0))
    snapshot = torch.zeros(50)
    assert torch.isfinite(low_rank_update.measured(snapshot, torch.zeros(50), torch.ones(50), rows, 9)).all()
    snapshot[17] = value
    assert not torch.isfinite(low_rank_update.measured(snapshot, torch.zeros(50), torch.ones(50), rows, 9)).all()


def test_factors_do_not_care_for_units():
    x = snapshots(300, seed=6)
    one = covariance(fed(FactorPosterior, x, rank=2, double=True))
    other = covariance(fed(FactorPosterior, 1e-4 * x, rank=2, double=True))
    assert other == pytest.approx(1e-8 * one, rel=1e-9)


@pytest.mark.parametrize("n", [3, 10, 30, 100])
def test_few_snapshots_of_many_independent_weights_give_the_diagonal(n):
    x = np.random.default_rng(n).standard_normal((n, 2000))
    factors, noise = fed(FactorPosterior, x, rank=8).covariance_factors()
    assert (factors.T @ factors).abs().max() < 0.7  # a factor by chance at most, and a weak one
    assert len(factors) <= 1
    assert noise.numpy() == pytest.approx(x.var(0, ddof=1), rel=0.5)


@BOTH
def test_log_prob_is_that_of_the_dense_normal(kind):
    x = snapshots(40, seed=7)
    posterior = fed(kind, x, rank=3, double=True)
    dense = multivariate_normal(posterior.mean.numpy(), covariance(posterior))
    assert posterior.log_prob() == pytest.approx(dense.logpdf(x[-1]), rel=1e-9)
    state = posterior.sample(random_state=0)
    vector = np.concatenate([state[name].numpy().ravel() for name in posterior.selection.names])
    assert posterior.log_prob(state) == pytest.approx(dense.logpdf(vector), rel=1e-9)
    low_rank = posterior.to_low_rank()
    assert posterior.log_prob(state) == pytest.approx(low_rank.log_density(vector[None])[0], rel=1e-9)


def test_log_prob_is_finite_where_a_weight_never_moved():
    x = snapshots(40, seed=8)
    x[:, 2] = 1.5
    for kind in (SWAG, FactorPosterior):
        assert np.isfinite(fed(kind, x, rank=3).log_prob())


@BOTH
def test_tensors_that_move_as_one_are_drawn_as_one(kind):
    z = np.random.default_rng(9).standard_normal((300, 1))
    posterior = fed(kind, np.hstack([1 + z, 2 - z, 3 * z, z, z]), rank=20 if kind is SWAG else 5, double=True)
    draws = np.array([[d["a"][0].item(), d["b"][0].item()] for d in draws_of(posterior, 3000)])
    truth = covariance(posterior)
    correlation = truth[0, 2] / np.sqrt(truth[0, 0] * truth[2, 2])
    assert correlation > (0.95 if kind is FactorPosterior else 0.4)  # half of SWAG's covariance is diagonal
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(correlation, abs=0.05)
    assert draws.var(0) == pytest.approx(np.diag(truth)[[0, 2]], rel=0.1)


@BOTH
def test_draws_have_mean_and_covariance_of_the_posterior(kind):
    posterior = fed(kind, snapshots(60, seed=10), rank=3, double=True)
    draws = np.array([np.concatenate([d["a"], d["b"]]) for d in draws_of(posterior, 20000)])
    truth = covariance(posterior)
    assert draws.mean(0) == pytest.approx(posterior.mean.numpy(), abs=4 * np.sqrt(truth.max() / 20000))
    assert np.cov(draws.T) == pytest.approx(truth, abs=0.05 * truth.max())
    wide = np.array([d["a"][0].item() for d in draws_of(posterior, 4000, scale=4.0)])
    assert wide.var() == pytest.approx(4 * truth[0, 0], rel=0.1)


def draws_of(posterior, n, scale=1.0):
    rng = np.random.default_rng(0)
    return [posterior.sample(scale, random_state=rng) for _ in range(n)]


@BOTH
def test_merging_is_exact_for_count_mean_and_variance(kind):
    x = snapshots(90, seed=11)
    x[40:] += 3
    whole = fed(kind, x, rank=3, double=True)
    merged = fed(kind, x[:40], rank=3, double=True).merge(fed(kind, x[40:], rank=3, double=True))
    assert merged.n == 90
    assert merged.mean.numpy() == pytest.approx(whole.mean.numpy(), rel=1e-12)
    assert merged.variance.numpy() == pytest.approx(whole.variance.numpy(), rel=1e-12)
    merged.update()
    assert np.isfinite(merged.log_prob())


def test_merging_few_snapshots_keeps_every_direction():
    x = snapshots(8, seed=12)
    merged = fed(FactorPosterior, x[:3], rank=7, double=True).merge(fed(FactorPosterior, x[3:], rank=7, double=True))
    rows = merged._rows.numpy()
    assert rows.T @ rows == pytest.approx(np.cov(x.T, ddof=0), abs=1e-12)


def test_merged_deviations_of_swag_are_the_latest_of_both():
    x = snapshots(60, seed=13)
    a, b = fed(SWAG, x[:30], rank=4, double=True), fed(SWAG, x[30:], rank=4, double=True)
    latest = [a._latest()[0].clone(), b._latest()[0].clone(), a._latest()[1].clone(), b._latest()[1].clone()]
    merged = a.merge(b)._latest()
    assert all(bool((row == want).all()) for row, want in zip(merged, latest, strict=True))


def test_posteriors_of_different_weights_are_not_merged():
    a, b = fed(SWAG, snapshots(5), rank=2), fed(SWAG, snapshots(5)[:, :4], rank=2, net=two_tensors(2, 2))
    with pytest.raises(ValueError, match="different weights"):
        a.merge(b)
    with pytest.raises(TypeError, match="same kind and rank"):
        a.merge(fed(FactorPosterior, snapshots(5), rank=2))


def test_a_mixture_is_the_sum_of_its_members():
    members = [fed(SWAG, snapshots(30, seed=s), rank=3, double=True) for s in (14, 15)]
    mixture = MultiPosterior(members, weights=[3, 1])
    at = members[0].sample(random_state=1)
    want = np.log(0.75 * np.exp(members[0].log_prob(at)) + 0.25 * np.exp(members[1].log_prob(at)))
    assert mixture.log_prob(at) == pytest.approx(want, rel=1e-9)
    means = [m.mean.numpy() for m in members]
    within = 0.75 * covariance(members[0]) + 0.25 * covariance(members[1])
    gap = means[0] - means[1]
    assert covariance(mixture) == pytest.approx(within + 0.1875 * np.outer(gap, gap), abs=1e-9)
    assert mixture.mean.numpy() == pytest.approx(0.75 * means[0] + 0.25 * means[1])


def test_evidence_weighs_height_and_width():
    x = snapshots(200, seed=16)
    narrow, wide = fed(SWAG, x, rank=0, double=True), fed(SWAG, 2 * x, rank=0, double=True)
    mixture = MultiPosterior([narrow, wide], weights="evidence", log_joints=[np.log(2**5), 0.0])
    assert mixture.weights == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="log_joints"):
        MultiPosterior([narrow, wide], weights="evidence")
    with pytest.raises(ValueError, match="expected 'equal'"):
        MultiPosterior([narrow, wide], weights=[1, -1])


def test_members_of_a_mixture_are_drawn_by_their_weights():
    members = [fed(SWAG, centre + 0.01 * snapshots(30, seed=17), rank=0) for centre in (-5, 5)]
    draws = draws_of(MultiPosterior(members, weights=[0.8, 0.2]), 1000)
    assert np.mean([d["a"][0].item() < 0 for d in draws]) == pytest.approx(0.8, abs=0.05)
    assert [count for _, count in MultiPosterior(members, weights=[0.8, 0.2])._allotted(30)] == [24, 6]


def test_weights_that_stop_moving_are_warned_of_once():
    x = snapshots(60, seed=18)
    x[30:] = x[30] + 1e-4 * x[30:]
    with pytest.warns(StillSnapshots, match="too narrow") as caught:
        fed(FactorPosterior, x, rank=3)
    assert len(caught) == 1


def test_moving_weights_are_not_warned_of(recwarn):
    fed(SWAG, snapshots(60, seed=19), rank=3)
    assert len(recwarn) == 0


def test_too_few_snapshots_say_what_to_do():
    with pytest.raises(ValueError, match=r"0 snapshots and needs at least 1; call update"):
        _ = SWAG(two_tensors()).mean
    with pytest.raises(ValueError, match="needs at least 2"):
        fed(SWAG, snapshots(1)).sample()


@BOTH
def test_diverged_weights_are_refused_and_change_nothing(kind):
    posterior = fed(kind, snapshots(20), rank=3)
    before = {k: v.clone() for k, v in posterior.state_dict().items() if hasattr(v, "clone")}
    posterior.module.b.data[1] = float("nan")
    with pytest.raises(FloatingPointError, match="snapshot 21"):
        posterior.update()
    assert posterior.n == 20
    assert all(bool((posterior.state_dict()[k] == v).all()) for k, v in before.items())


def test_swag_is_that_of_the_arrays():
    from latens.nets.algebra.moments import Swag

    x, arrays = snapshots(30, seed=20), Swag(5, rank=4)
    for row in x:
        arrays.update(row)
    mine, theirs = fed(SWAG, x, rank=4, double=True).to_low_rank(), arrays.to_low_rank()
    assert mine.mean == pytest.approx(theirs.mean, rel=1e-12)
    assert mine.covariance() == pytest.approx(theirs.covariance(), rel=1e-10)


@pytest.mark.slow
def test_factors_are_nearer_to_the_truth_than_swag_and_the_diagonal():
    """D = 1000, ten factors, at half of SWAG's memory; never worse than the diagonal at few snapshots."""
    from latens.datasets import make_factor_model

    for seed in (50000, 50001):
        x, truth = make_factor_model(3000, n_features=1000, n_components=10, random_state=seed)
        net = two_tensors(400, 600)
        kinds = {"factors": (FactorPosterior, 10), "swag": (SWAG, 20), "diagonal": (SWAG, 0)}
        posteriors = {name: kind(net, rank) for name, (kind, rank) in kinds.items()}
        for t, row in enumerate(x, 1):
            net.fill(row)
            for posterior in posteriors.values():
                posterior.update()
            if t in (20, 50, 100, 300, 1000, 3000):
                kl = {name: gaussian_kl(truth, posterior.to_low_rank()) for name, posterior in posteriors.items()}
                assert kl["factors"] < kl["swag"]
                assert kl["factors"] < (kl["diagonal"] if t >= 300 else 1.001 * kl["diagonal"])
        assert kl["factors"] < 0.5 * kl["diagonal"]
