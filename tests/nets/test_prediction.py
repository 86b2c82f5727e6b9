"""Predictions averaged over draws of the weights."""

import numpy as np
import pytest

from latens.errors import OneOutput
from latens.nets import SWAG, ClassPrediction, FactorPosterior, MultiPosterior, RegressionPrediction
from tests.nets.test_modules import net, trained

pytestmark = pytest.mark.extras


def batches(n=20, seed=0, size=8):
    import torch

    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(seed))
    return list(x.split(size))


def test_probabilities_and_their_uncertainty_are_those_of_the_draws():
    import torch

    posterior = trained(SWAG, net(), rank=3)
    answer = posterior.predict(batches(), n_samples=7, random_state=0)
    assert isinstance(answer, ClassPrediction)
    source = torch.Generator().manual_seed(int(np.random.default_rng(0).integers(2**63 - 1)))
    p = []
    with torch.no_grad(), posterior.restoring() as module:
        for _ in range(7):
            posterior.sample(into=module, random_state=source)
            p.append(torch.softmax(module(torch.cat(batches())).double(), dim=1).numpy())
    p = np.array(p)
    entropy = -np.sum(p.mean(0) * np.log(p.mean(0)), axis=1)
    assert answer.probabilities == pytest.approx(p.mean(0))
    assert answer.entropy == pytest.approx(entropy)
    assert answer.mutual_information == pytest.approx(entropy + np.sum(p * np.log(p), axis=2).mean(0))
    assert answer.classes.shape == (20,)


def test_regression_tells_noise_and_weights_apart():
    import torch

    torch.manual_seed(0)
    module = torch.nn.Linear(3, 1)
    posterior = trained(FactorPosterior, module, n=30, rank=4)
    answer = posterior.predict(batches(), n_samples=4000, task="regression", noise_variance=0.5, random_state=0)
    assert isinstance(answer, RegressionPrediction)
    x = np.column_stack([torch.cat(batches()).numpy(), np.ones(20)])
    factors, noise = (t.numpy() for t in posterior.covariance_factors())
    truth = np.sum(x @ (factors.T @ factors + np.diag(noise)) * x, axis=1)  # names are weight, bias: the order of x
    assert answer.epistemic_variance == pytest.approx(truth, rel=0.12)
    assert answer.variance == pytest.approx(answer.epistemic_variance + 0.5)
    assert answer.mean == pytest.approx(x @ posterior.mean.numpy(), abs=0.1)


def line(n_outputs=2):
    import torch

    torch.manual_seed(0)
    return trained(SWAG, torch.nn.Linear(3, n_outputs), rank=2)


def test_the_noise_may_differ_by_output():
    answer = line().predict(batches(), n_samples=3, noise_variance=[0.1, 0.4], random_state=0)
    assert answer.variance - answer.epistemic_variance == pytest.approx(np.tile([0.1, 0.4], (20, 1)))
    alone = line(1).predict(batches(), n_samples=3, noise_variance=[0.1])
    assert alone.variance - alone.epistemic_variance == pytest.approx(0.1)


@pytest.mark.parametrize("noise", [-1.0, float("nan"), float("inf"), [0.1, -0.1], "much", [[0.1, 0.2]]])
def test_noise_that_is_no_variance_is_refused(noise):
    with pytest.raises(ValueError, match=r"noise_variance=.*expected a number from 0 on"):
        line().predict(batches(), n_samples=3, task="regression", noise_variance=noise)


def test_noise_of_other_outputs_than_the_net_has_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3,\) and the net 2 outputs; give a number, or one for each"):
        line().predict(batches(), n_samples=3, noise_variance=[0.1, 0.2, 0.3])


def test_a_prediction_is_printed_by_its_shapes():
    answer = line().predict(batches(), n_samples=3)
    shapes = "probabilities: (20, 2), entropy: (20,), mutual_information: (20,)"
    assert repr(answer) == f"ClassPrediction(n_samples=3, {shapes})"


def test_forward_may_tell_the_noise():
    def forward(module, batch):
        outputs = module(batch["rows"])
        return outputs[:, 0], outputs[:, 1].exp()

    loader = [{"rows": rows} for rows in batches()]
    answer = trained(SWAG, net(), rank=3).predict(loader, 20, "regression", forward=forward)
    assert (answer.variance > answer.epistemic_variance).all()
    with pytest.raises(TypeError, match="forward="):
        trained(SWAG, net(), rank=3).predict(loader, 20, "regression")


def test_batch_norm_without_rows_to_renew_it_is_an_error():
    posterior = trained(SWAG, net(batch_norm=True), rank=3)
    with pytest.raises(ValueError, match="bn_loader="):
        posterior.predict(batches(), 3)
    with pytest.raises(ValueError, match="bn_loader gave no batches"):
        posterior.predict(batches(), 3, bn_loader=[])


def test_batch_norm_is_renewed_for_each_draw_and_put_back():
    import torch

    module = net(batch_norm=True)
    posterior = trained(SWAG, module, rank=3)
    before = {name: values.clone() for name, values in module.state_dict().items()}
    rows = batches(64, seed=1, size=32)
    answer = posterior.predict(batches(), 1, bn_loader=rows, random_state=2)
    assert all(torch.equal(values, before[name]) for name, values in module.state_dict().items())
    assert module[1].momentum == 0.1
    # the same by hand: weights drawn, statistics of their own activations
    source = torch.Generator().manual_seed(int(np.random.default_rng(2).integers(2**63 - 1)))
    with torch.no_grad(), posterior.restoring():
        posterior.sample(into=module, random_state=source)
        hidden = [module[0](b) for b in rows]
        module[1].running_mean.copy_(sum(h.mean(0) for h in hidden) / 2)
        module[1].running_var.copy_(sum(h.var(0) for h in hidden) / 2)
        want = torch.softmax(module.eval()(torch.cat(batches())), dim=1)
    assert answer.probabilities == pytest.approx(want.numpy(), abs=1e-5)


def test_the_module_comes_back_when_a_prediction_fails():
    import torch

    module = net()
    posterior = trained(SWAG, module, rank=3)
    before = module[0].weight.clone()

    def forward(module, batch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        posterior.predict(batches(), 3, forward=forward)
    assert torch.equal(module[0].weight, before)
    assert module.training


def test_rows_must_come_in_the_same_order():
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    posterior = trained(SWAG, net(), rank=3)
    rows = TensorDataset(torch.cat(batches()))
    with pytest.raises(ValueError, match="shuffle=False"):
        posterior.predict(DataLoader(rows, shuffle=True), 2)
    ordered = posterior.predict(DataLoader(rows, batch_size=6), 2, random_state=0)
    once = posterior.predict(iter(batches()), 2, random_state=0)  # an iterator can be gone through once only
    assert once.probabilities == pytest.approx(ordered.probabilities)


def test_loaders_that_shuffle_in_any_other_way_are_refused():
    import torch
    from torch.utils.data import BatchSampler, DataLoader, IterableDataset, RandomSampler, SubsetRandomSampler
    from torch.utils.data import TensorDataset as Rows

    class Drawn(IterableDataset):
        def __iter__(self):
            return (x[i] for i in torch.randperm(len(x)))

    posterior, x = trained(SWAG, net(), rank=3), torch.cat(batches())
    torch.manual_seed(0)
    loaders = (
        DataLoader(Rows(x), batch_size=6, sampler=SubsetRandomSampler(range(len(x)))),
        DataLoader(Rows(x), batch_sampler=BatchSampler(RandomSampler(x), 6, drop_last=False)),
        DataLoader(Drawn(), batch_size=6),
        DataLoader(Drawn(), batch_size=len(x)),  # within one batch
    )
    for loader in loaders:
        with pytest.raises(ValueError, match="the same order"):
            posterior.predict(loader, 2)
        assert posterior.predict(list(loader), 2).probabilities.shape == (20, 2)

    class Shorter:
        n = 4

        def __iter__(self):
            self.n -= 1
            return iter(batches()[: self.n])

    with pytest.raises(ValueError, match="2 batches after 3"):
        posterior.predict(Shorter(), 2)
    holes = torch.where(x > 1, torch.nan, x)
    posterior.predict([{"x": holes}], 2, forward=lambda module, batch: module(batch["x"].nan_to_num()))


def test_rows_that_are_no_batches_are_refused():
    import torch
    from torch.utils.data import TensorDataset

    posterior, x = trained(SWAG, net(), rank=3), torch.cat(batches())
    for given, remedy in ((x, r"\[X\]"), (x.numpy(), "as_tensor"), (TensorDataset(x), "DataLoader")):
        with pytest.raises(TypeError, match=remedy):
            posterior.predict(given, 2)
        with pytest.raises(TypeError, match=remedy):
            posterior.predict([x], 2, bn_loader=given)


def test_one_logit_is_that_of_class_one():
    import torch

    posterior = trained(SWAG, torch.nn.Linear(3, 1), rank=0)
    answer = posterior.predict(batches(), 5, "classification", random_state=0)
    assert answer.probabilities.shape == (20, 2)
    assert answer.probabilities.sum(1) == pytest.approx(np.ones(20))
    with pytest.warns(OneOutput, match="task='regression'") as caught:
        assumed = posterior.predict(batches(), 5, random_state=0)
    assert caught[0].filename == __file__
    assert (assumed.probabilities == answer.probabilities).all()
    means = posterior.predict(batches(), 5, noise_variance=0.5, random_state=0)
    assert (means.variance == means.epistemic_variance + 0.5).all()


def test_outputs_that_are_not_finite_are_told():
    import torch

    posterior = trained(SWAG, net(), rank=0)
    with pytest.raises(FloatingPointError, match="draw 1 gave outputs"):
        posterior.predict(batches(), 2, forward=lambda module, batch: module(batch) * torch.inf)
    with pytest.raises(ValueError, match="task='ranking'"):
        posterior.predict(batches(), 2, "ranking")
    with pytest.raises(ValueError, match="no batches"):
        posterior.predict([], 2)


def test_mixtures_draw_from_each_member_in_its_own_module():
    import torch

    torch.manual_seed(0)
    members = []
    for level in (-3.0, 3.0):
        module = torch.nn.Linear(3, 1)
        members.append(trained(SWAG, module, rank=0, parameters="bias"))
        module.weight.data.fill_(level)  # not part of the posterior, and not shared
    answer = MultiPosterior(members).predict([torch.ones(4, 3)], 10, "regression")
    assert answer.epistemic_variance == pytest.approx(np.full(4, 81 * 10 / 9), rel=0.1)


def test_progress_is_told():
    notes = []
    trained(SWAG, net(), rank=0).predict(batches(), 3, progress=lambda done, total: notes.append((done, total)))
    assert notes == [(1, 3), (2, 3), (3, 3)]


def test_batches_go_where_the_module_is_now():
    """A trainer may have moved it away from the posterior, here said to lie on a device that holds no numbers."""
    import torch

    posterior = trained(SWAG, net(batch_norm=True), rank=3)
    want = posterior.predict(batches(), 3, bn_loader=batches(seed=1), random_state=0)
    posterior.selection.device = torch.device("meta")
    found = posterior.predict(batches(), 3, bn_loader=batches(seed=1), random_state=0)
    assert found.probabilities == pytest.approx(want.probabilities)


def test_random_numbers_may_come_from_another_device():
    import torch

    from latens.nets.sampling import random_numbers

    there = torch.empty(2, dtype=torch.float64, device="meta")
    assert random_numbers(5, torch.Generator().manual_seed(0), there).device == there.device
    assert random_numbers(5, torch.Generator().manual_seed(0), there).dtype == there.dtype


def test_one_snapshot_each_of_several_trained_nets_makes_their_plain_mixture():
    import torch

    torch.manual_seed(3)
    nets = [torch.nn.Linear(3, 4) for _ in range(3)]
    several = MultiPosterior([SWAG(one, rank=0).update() for one in nets])
    answer = several.predict(batches(), n_samples=3, scale=0.0)
    with torch.no_grad():
        each = [torch.softmax(one(torch.cat(batches())), dim=1).numpy() for one in nets]
    assert answer.probabilities == pytest.approx(np.mean(each, axis=0), abs=1e-6)
    assert (answer.mutual_information > 1e-3).all()  # the nets disagree
    assert torch.equal(several.members[0].sample(0.0)["weight"], nets[0].weight)
    with pytest.raises(ValueError, match="seen 1 snapshots and needs at least 2"):
        several.predict(batches(), n_samples=3)
