"""The sampler as an optimiser of torch, against posteriors that are known."""

import pickle

import numpy as np
import pytest

from latens.metrics import gaussian_kl
from latens.nets import SWAG, FactorPosterior

pytestmark = pytest.mark.extras

N, D, NOISE, PRIOR = 200, 4, 0.5, 2.0


def regression(seed=0, double=False):
    """Rows whose columns differ in scale and go together, and the posterior of weights and bias."""
    import torch

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, D)) @ np.diag([1.0, 0.3, 2.0, 1.0]) @ (np.eye(D) + 0.5 * rng.normal(size=(D, D)))
    y = x @ rng.normal(size=D) + 0.7 + np.sqrt(NOISE) * rng.normal(size=N)
    full = np.column_stack([x, np.ones(N)])
    precision = PRIOR * np.eye(D + 1) + full.T @ full / NOISE
    truth = np.linalg.solve(precision, full.T @ y / NOISE), np.linalg.inv(precision)
    dtype = torch.float64 if double else torch.float32
    return torch.as_tensor(x, dtype=dtype), torch.as_tensor(y, dtype=dtype), truth


def sampler(net, **options):
    from latens.nets import LangevinOptimizer

    options = {"lr": 0.02, "prior_precision": PRIOR, "random_state": 0, **options}
    return LangevinOptimizer(net.parameters(), n_rows=N, **options)


def loss_of(net, x, y, rows):
    return 0.5 * (net(x[rows])[:, 0] - y[rows]).square().mean() / NOISE


def steps(net, optimiser, x, y, n, seed=0, batch=20):
    """Weights after each of n steps."""
    import torch

    source = torch.Generator().manual_seed(seed)
    for _ in range(n):
        rows = torch.randint(N, (batch,), generator=source)

        def closure(rows=rows):
            optimiser.zero_grad()
            loss = loss_of(net, x, y, rows)
            loss.backward()
            return loss

        optimiser.step(closure)
        yield torch.nn.utils.parameters_to_vector(net.parameters()).detach().double().numpy()


def test_draws_have_the_exact_posterior_of_a_regression_which_iterates_of_sgd_lack():
    import torch

    x, y, truth = regression()
    torch.manual_seed(0)
    net, plain = torch.nn.Linear(D, 1), torch.nn.Linear(D, 1)
    optimiser = sampler(net, pilots=(300, 600))
    draws = np.array([w for w in steps(net, optimiser, x, y, 9_000) if optimiser.sampling])
    assert gaussian_kl((draws.mean(axis=0), np.cov(draws.T)), truth) < 0.05
    assert len(draws) == 9_000 - 901  # one step has none before it to compare with
    descent = torch.optim.SGD(plain.parameters(), lr=0.02, weight_decay=PRIOR / N)
    path = np.array(list(steps(plain, descent, x, y, 9_000)))[3_000:]
    assert gaussian_kl((path.mean(axis=0), np.cov(path.T)), truth) > 1


def test_factors_of_the_draws_predict_with_nearly_the_exact_variance_and_swag_does_not():
    import torch

    x, y, (mean, covariance) = regression(1)
    net = torch.nn.Linear(D, 1)
    optimiser, posterior, swag = sampler(net, pilots=(300, 600)), FactorPosterior(net, rank=5), SWAG(net, rank=20)
    for i, _ in enumerate(steps(net, optimiser, x, y, 6_000)):
        if optimiser.sampling and i % 3 == 0:
            posterior.update()
            swag.update()
    full = np.column_stack([x.numpy()[:50], np.ones(50)])
    want = np.einsum("nd,de,ne->n", full, covariance, full)
    gaussians = (posterior.to_low_rank(), swag.to_low_rank())
    ours, theirs = (np.einsum("nd,de,ne->n", full, found.covariance(), full) for found in gaussians)
    ours, theirs = (np.abs(np.log(found / want)).mean() for found in (ours, theirs))
    assert ours < 0.6
    assert theirs > 3 * ours  # half of SWAG's variance is independent between weights
    assert posterior.mean.numpy() == pytest.approx(mean, abs=0.3 * np.sqrt(np.diag(covariance)).max())


def test_any_loop_will_do_once_the_pilots_are_over():
    import torch

    x, y, (mean, covariance) = regression(2)
    net = torch.nn.Linear(D, 1)
    optimiser = sampler(net, pilots=(200, 400))
    with pytest.raises(ValueError, match=r"call step\(closure\)"):
        optimiser.step()
    list(steps(net, optimiser, x, y, 602))
    assert optimiser.sampling
    rows, draws = torch.arange(N), []
    for _ in range(4_000):
        optimiser.zero_grad()
        loss_of(net, x, y, rows).backward()  # all rows: less noise than the pilots saw
        optimiser.step()
        draws.append(torch.nn.utils.parameters_to_vector(net.parameters()).detach().double().numpy())
    assert np.mean(draws, axis=0) == pytest.approx(mean, abs=0.3 * np.sqrt(np.diag(covariance)).max())


def test_a_checkpoint_goes_on_as_if_nothing_had_happened(tmp_path):
    import torch

    x, y, _ = regression(3, double=True)
    ends = (25, 70, 150)  # in the first pilot, in the second, among the draws
    net = torch.nn.Linear(D, 1).double()
    start = {name: values.clone() for name, values in net.state_dict().items()}
    path = list(steps(net, sampler(net, pilots=(40, 60)), x, y, 200))
    for end in ends:
        net.load_state_dict(start)
        first = sampler(net, pilots=(40, 60))
        source = steps(net, first, x, y, 200)
        for _ in range(end):
            next(source)
        torch.save(first.state_dict(), tmp_path / "state.pt")
        second = sampler(net, pilots=(40, 60), random_state=99)
        second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        assert second.sampling == first.sampling == (end == 150)
        rows = torch.Generator().manual_seed(0)
        for _ in range(end):
            torch.randint(N, (20,), generator=rows)
        for _ in range(20):
            batch = torch.randint(N, (20,), generator=rows)

            def closure(batch=batch, second=second):
                second.zero_grad()
                loss = loss_of(net, x, y, batch)
                loss.backward()
                return loss

            second.step(closure)
        now = torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
        assert now == pytest.approx(path[end + 19], rel=1e-9)
    with pytest.raises(ValueError, match="no entry 'langevin'"):
        second.load_state_dict(torch.optim.SGD(net.parameters(), lr=0.1).state_dict())
    with pytest.raises(ValueError, match="of other weights"):
        sampler(torch.nn.Linear(2, 1)).load_state_dict(first.state_dict())


def test_a_trained_net_stays_where_its_loss_is_low_and_schedules_are_fine():
    import torch

    x, y, _ = regression(4)
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(D, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    list(steps(net, torch.optim.Adam(net.parameters(), 0.02), x, y, 500))
    everything = torch.arange(N)
    trained = loss_of(net, x, y, everything).item()
    optimiser = sampler(net)
    assert isinstance(optimiser, torch.optim.Optimizer)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.99)
    losses = []
    for _ in steps(net, optimiser, x, y, 500):
        schedule.step()
        losses += [loss_of(net, x, y, everything).item()] if optimiser.sampling else []
    assert len(losses) > 300
    assert max(losses) < trained + 19 / (2 * N) * 6  # energy of 19 weights about the mode is 19/2 nats, give or take
    assert optimiser.param_groups[0]["lr"] == pytest.approx(0.02 * 0.99**500)


def test_groups_of_weights_descend_at_rates_of_their_own():
    import torch

    from latens.nets import LangevinOptimizer

    torch.manual_seed(0)
    x, net = torch.randn(30, 3), torch.nn.Linear(3, 1)
    groups = [{"params": [net.weight]}, {"params": [net.bias], "lr": 0.01}]
    sampler = LangevinOptimizer(groups, n_rows=30, lr=0.1, prior_precision=1e-12)
    before = [p.detach().clone() for p in net.parameters()]

    def closure():
        sampler.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss

    sampler.step(closure)
    for p, old, rate in zip(net.parameters(), before, (0.1, 0.01), strict=True):
        assert (old - p.detach()).numpy() == pytest.approx((rate * p.grad).numpy(), rel=1e-4)


def test_the_loss_of_the_closure_comes_back():
    import torch

    net = torch.nn.Linear(D, 1)
    optimiser = sampler(net)

    def closure():
        optimiser.zero_grad()
        loss = net(torch.ones(1, D)).square().mean()
        loss.backward()
        return loss

    before = net(torch.ones(1, D)).square().item()
    assert optimiser.step(closure).item() == pytest.approx(before)


def test_a_diverged_gradient_is_refused_and_leaves_the_weights():
    import torch

    x, y, _ = regression(5)
    net = torch.nn.Linear(D, 1)
    optimiser = sampler(net)
    list(steps(net, optimiser, x, y, 10))
    before = net.weight.clone()

    def closure():
        optimiser.zero_grad()
        loss = loss_of(net, x, y * torch.nan, torch.arange(5))
        loss.backward()
        return loss

    with pytest.raises(FloatingPointError, match="lower lr or share"):
        optimiser.step(closure)
    assert torch.equal(net.weight, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0.0}, r"lr=0\.0"),
        ({"prior_precision": -1.0}, r"prior_precision=-1\.0"),
        ({"share": 1.0}, r"share=1\.0; expected a number above 0 and below 1"),
        ({"pilots": (9,)}, "at least 10 steps in each"),
        ({"pilots": ()}, "at least 10 steps"),
    ],
)
def test_bad_options_are_refused(options, message):
    import torch

    with pytest.raises(ValueError, match=message):
        sampler(torch.nn.Linear(D, 1), **options)


def test_too_many_weights_and_no_rows_are_refused():
    import torch

    from latens.nets import LangevinOptimizer

    with pytest.raises(ValueError, match=r"10100 weights were given.*last layer"):
        sampler(torch.nn.Linear(100, 100))
    with pytest.raises(ValueError, match="n_rows=0"):
        LangevinOptimizer(torch.nn.Linear(2, 1).parameters(), n_rows=0)
    assert pickle.loads(pickle.dumps(LangevinOptimizer)) is LangevinOptimizer
