"""Online factor analysis of weights: Algorithms 1 and 2 and transport as collectors."""

import numpy as np
import pytest

from latens import FactorAnalysis
from latens.datasets import make_factor_model
from latens.metrics import gaussian_kl
from latens.nets import SWAG, FactorPosterior, MultiPosterior, OnlineFactorPosterior
from tests.nets.nets import snapshots, two_tensors

pytestmark = pytest.mark.extras

METHODS = ("transport", "em", "gradient")
EACH = pytest.mark.parametrize("method", METHODS)


def online(rows, method, rank=2, net=None, **options):
    """One that has seen each row as a snapshot, in double precision."""
    net = two_tensors(2, rows.shape[1] - 2, double=True) if net is None else net
    posterior = OnlineFactorPosterior(net, rank, method=method, **options)
    for row in rows:
        net.fill(row)
        posterior.update()
    return posterior


def covariance(posterior):
    factors, noise = posterior.covariance_factors()
    return (factors.T @ factors).numpy() + np.diag(noise.numpy())


@EACH
def test_mean_and_variance_are_exact(method):
    x = snapshots(60, seed=1)
    posterior = online(x, method)
    assert posterior.mean.numpy() == pytest.approx(x.mean(0), abs=1e-12)
    assert posterior.variance.numpy() == pytest.approx(x.var(0), abs=1e-12)


def test_online_em_is_that_of_the_equations_written_out():
    x, k = snapshots(12, seed=2), 2
    posterior = online(x, "em", k)
    first = x[: k + 1]
    half = 0.5 * np.cov(first.T, ddof=0)
    values, vectors = np.linalg.eigh(half)
    f, psi = (vectors[:, -k:] * np.sqrt(values[-k:])), np.diag(half).copy()  # (D, K)
    mean, spread_of_rows = first.mean(0), first.var(0)
    v = np.linalg.inv(np.eye(k) + f.T @ np.diag(1 / psi) @ f)
    a, b = f.copy(), np.eye(k) - v
    for t in range(k + 2, len(x) + 1):
        d = np.sqrt(1 - 1 / t) * (x[t - 1] - mean)
        mean = mean + (x[t - 1] - mean) / t
        spread_of_rows = (1 - 1 / t) * spread_of_rows + d**2 / t
        v = np.linalg.inv(np.eye(k) + f.T @ np.diag(1 / psi) @ f)
        m = v @ f.T @ (d / psi)
        a, b = (1 - 1 / t) * a + np.outer(d, m) / t, (1 - 1 / t) * b + np.outer(m, m) / t
        f = a @ np.linalg.inv(v + b)
        psi = np.maximum(spread_of_rows - np.sum(f * a, axis=1), 1e-3 * spread_of_rows)
    expected = (f @ f.T + np.diag(psi)) * len(x) / (len(x) - 1)
    assert covariance(posterior) == pytest.approx(expected, abs=1e-10)


def test_a_gradient_step_is_that_of_the_log_density():
    import torch

    from latens.nets.algebra.online_factors import gradient_step

    rng = np.random.default_rng(3)
    loadings = torch.tensor(rng.standard_normal((2, 5)), requires_grad=True)
    level = torch.tensor(rng.standard_normal(5), requires_grad=True)  # logarithm of the noise
    gap, one = torch.tensor(rng.standard_normal(5)), torch.ones(5, dtype=torch.float64)
    law = torch.distributions.MultivariateNormal(torch.zeros(5).double(), loadings.T @ loadings + level.exp().diag())
    law.log_prob(gap).backward()
    with torch.no_grad():
        new, noise = gradient_step(gap, loadings, level.exp(), one, 0.1)
    assert new.numpy() == pytest.approx((loadings + 0.1 * loadings.grad).detach().numpy(), abs=1e-12)
    assert noise.log().numpy() == pytest.approx((level + 0.1 * level.grad).detach().numpy(), abs=1e-12)


@pytest.mark.parametrize(("method", "share"), [("transport", 1.3), ("em", 2.0), ("gradient", 8.0)])
def test_it_comes_near_the_factor_model_that_made_the_snapshots(method, share):
    rows, truth = make_factor_model(1500, n_features=40, n_components=3, random_state=4)
    net = two_tensors(2, 38, double=True)
    fitted = FactorAnalysis(3, solver="exact").fit(rows)
    reached = gaussian_kl(truth, online(rows, method, 3, net).to_low_rank())
    assert reached < share * gaussian_kl(truth, fitted.to_low_rank()) + 0.05


def test_with_few_snapshots_shrunken_factors_are_nearer_and_with_many_transport_is():
    rows, truth = make_factor_model(2000, n_features=50, n_components=3, random_state=0)
    net = two_tensors(2, 48, double=True)
    ours, theirs = FactorPosterior(net, 3), OnlineFactorPosterior(net, 3)
    found = {}
    for n, row in enumerate(rows, 1):
        net.fill(row)
        ours.update(), theirs.update()
        if n in (40, 2000):
            found[n] = [gaussian_kl(truth, one.to_low_rank()) for one in (ours, theirs)]
    assert found[40][0] < found[40][1]
    assert found[2000][1] < 0.5 * found[2000][0]


@EACH
def test_a_file_keeps_all_that_is_needed_to_go_on(method, tmp_path):
    x = snapshots(40, seed=5)
    whole = online(x, method)
    half = online(x[:20], method, learning_rate=0.01)
    net = two_tensors(2, 3, double=True)
    again = OnlineFactorPosterior.load(half.save(tmp_path / "half"), net)
    assert (again.method, again.learning_rate, again.n) == (method, 0.01, 20)
    for row in x[20:]:
        net.fill(row)
        again.update()
    assert covariance(again) == pytest.approx(covariance(whole), abs=1e-12)


@EACH
def test_merging_keeps_moments_exact_and_goes_on(method):
    x = snapshots(300, seed=6)
    one, other = online(x[:150], method), online(x[150:], method)
    one.merge(other)
    assert one.n == 300
    assert one.mean.numpy() == pytest.approx(x.mean(0), abs=1e-12)
    assert one.variance.numpy() == pytest.approx(x.var(0), abs=1e-12)
    assert np.linalg.norm(covariance(one) - np.cov(x.T)) < 0.25 * np.linalg.norm(np.cov(x.T))
    one.module.fill(x[0])
    assert one.update().n == 301
    with pytest.raises(TypeError, match="expected the same method"):
        one.merge(online(x[:5], "em" if method != "em" else "transport"))


def test_all_kinds_are_members_of_a_mixture_and_of_its_file(tmp_path):
    x = snapshots(30, seed=7)
    members = [online(x, method) for method in METHODS]
    swag = SWAG(two_tensors(2, 3, double=True), 3)
    for row in x:
        swag.module.fill(row)
        swag.update()
    mixture = MultiPosterior([*members, swag])
    mixture.save(tmp_path / "all")
    again = MultiPosterior.load(tmp_path / "all", [two_tensors(2, 3, double=True) for _ in range(4)])
    assert [repr(member) for member in again.members] == [repr(member) for member in mixture.members]
    assert again.log_prob(members[0].mean) == pytest.approx(mixture.log_prob(members[0].mean))


def test_a_gradient_that_diverges_leaves_it_as_it_was():
    net = two_tensors(2, 3, double=True)
    posterior = online(snapshots(3, seed=8), "gradient", net=net, learning_rate=1e6)
    before = posterior.n, posterior.mean.clone(), covariance(posterior)
    net.fill(np.full(5, 1e3))
    with pytest.raises(FloatingPointError, match=r"diverges at snapshot 4.*lower learning_rate=1e"):
        posterior.update()
    assert posterior.n == before[0]
    assert posterior.mean.numpy() == pytest.approx(before[1].numpy())
    assert covariance(posterior) == pytest.approx(before[2])


def test_a_weight_that_never_moves_stays_known():
    x = snapshots(40, seed=9)
    x[:, 1] = 3.0
    for method in METHODS:
        found = covariance(online(x, method))
        assert np.isfinite(found).all()
        assert np.abs(found[1]).max() < 1e-12


@pytest.mark.parametrize(
    ("options", "words"), [({"method": "sga"}, "'transport', 'em', 'gradient'"), ({"learning_rate": 0.0}, "above 0")]
)
def test_a_wrong_option_says_what_is_expected(options, words):
    with pytest.raises(ValueError, match=words):
        OnlineFactorPosterior(two_tensors(), **options)
