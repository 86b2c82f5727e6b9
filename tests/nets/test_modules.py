"""Posteriors beside real modules: which weights, precision, wrappers, restoring, files."""

import numpy as np
import pytest

from latens.errors import FileRefused
from latens.nets import SWAG, FactorPosterior, MultiPosterior
from tests.nets.nets import fed, snapshots, two_tensors

pytestmark = pytest.mark.extras

BOTH = pytest.mark.parametrize("kind", [SWAG, FactorPosterior])


def net(seed=0, batch_norm=False):
    import torch

    torch.manual_seed(seed)
    middle = [torch.nn.BatchNorm1d(4)] if batch_norm else []
    return torch.nn.Sequential(torch.nn.Linear(3, 4), *middle, torch.nn.Tanh(), torch.nn.Linear(4, 2))


def trained(kind, module, n=6, **options):
    """A posterior over a module whose weights jump about."""
    import torch

    posterior = kind(module, **options)
    for _ in range(n):
        with torch.no_grad():
            for p in module.parameters():
                p.add_(0.1 * torch.randn_like(p))
        posterior.update()
    return posterior


def test_weights_are_chosen_by_name_beginning_or_function():
    assert SWAG(net()).selection.names == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert SWAG(net(), parameters="2").selection.names == ["2.weight", "2.bias"]
    assert SWAG(net(), parameters=["2.bias", "0"]).selection.names == ["0.weight", "0.bias", "2.bias"]
    assert SWAG(net(), parameters=lambda name, p: p.ndim == 2).selection.names == ["0.weight", "2.weight"]
    with pytest.raises(ValueError, match=r"names '3'; the module's weights are 0\.weight"):
        SWAG(net(), parameters="3")
    with pytest.raises(ValueError, match="chose none"):
        SWAG(net(), parameters=lambda name, p: False)


def test_frozen_weights_and_buffers_stay_as_they_are():
    import torch

    module = net(batch_norm=True)
    module[0].requires_grad_(False)
    posterior = SWAG(module, rank=2)
    assert posterior.selection.names == ["1.weight", "1.bias", "3.weight", "3.bias"]
    frozen, running = module[0].weight.clone(), module[1].running_mean.clone()
    for _ in range(4):
        torch.nn.init.normal_(module[3].weight)
        posterior.update()
    assert set(posterior.sample(into=module)) == set(posterior.selection.names)
    assert torch.equal(module[0].weight, frozen)
    assert torch.equal(module[1].running_mean, running)
    assert SWAG(module, parameters=["0.weight"]).selection.names == ["0.weight"]


@BOTH
def test_half_precision_weights_are_summed_in_single(kind):
    import torch

    module = two_tensors().to(torch.bfloat16)
    rows = snapshots(200)
    posterior = fed(kind, rows, net=module)
    assert posterior.mean.dtype == torch.float32
    rounded = torch.as_tensor(rows).to(torch.bfloat16).double().numpy()
    assert posterior.mean.numpy() == pytest.approx(rounded.mean(0), rel=1e-4)
    assert posterior.variance.numpy() == pytest.approx(rounded.var(0), rel=1e-4)
    assert {t.dtype for t in posterior.sample(into=module).values()} == {torch.bfloat16}


@BOTH
def test_autocast_changes_nothing(kind):
    import torch

    rows = snapshots(60)
    alone = fed(kind, rows)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = fed(kind, rows)
        density = inside.log_prob()
        draw = inside.sample(random_state=3)
    assert torch.equal(alone._rows, inside._rows)
    assert density == alone.log_prob()
    assert torch.equal(draw["b"], alone.sample(random_state=3)["b"])


def test_compiled_modules_have_the_names_of_the_plain_one():
    import torch

    module = net()
    posterior = trained(FactorPosterior, torch.compile(module, backend="eager"), rank=2)
    assert posterior.selection.names == SWAG(module).selection.names
    with posterior.restoring() as compiled:
        state = posterior.sample(into=compiled, random_state=0)
        assert torch.equal(module[0].weight, state["0.weight"])
        x = torch.randn(5, 3)
        assert torch.allclose(compiled(x), module(x))


def test_weights_and_layers_that_were_replaced_are_found_and_those_that_went_are_told():
    import torch

    module = net()
    posterior = SWAG(module, rank=0).update()
    module[0].weight = torch.nn.Parameter(torch.full((4, 3), 5.0))
    module[2] = torch.nn.Linear(4, 2)
    posterior.update()
    now = torch.nn.utils.parameters_to_vector(module.parameters())
    assert torch.equal(posterior.selection.gather(), now)
    assert posterior.selection.parameters[2] is module[2].weight
    module[2] = torch.nn.Linear(4, 2, bias=False)
    with pytest.raises(KeyError, match=r"no longer has the weights '2\.bias'"):
        posterior.update()


def test_updates_leave_no_trace_in_gradients():
    import torch

    module = net()
    posterior = SWAG(module, rank=2)
    loss = module(torch.randn(5, 3)).sum()
    posterior.update()
    loss.backward()
    assert module[0].weight.grad is not None
    assert not posterior.mean.requires_grad


@BOTH
def test_weights_buffers_and_modes_come_back_after_an_error(kind):
    import torch

    module = net(batch_norm=True)
    posterior = trained(kind, module, rank=2)
    module.train()
    module[2].eval()
    before = {name: values.clone() for name, values in module.state_dict().items()}

    def fail_inside():
        with posterior.restoring() as inside:
            posterior.sample(into=inside)
            inside(torch.randn(8, 3))
            inside.eval()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert all(torch.equal(values, before[name]) for name, values in module.state_dict().items())
    assert module.training
    assert not module[2].training


def test_draws_go_into_modules_of_the_same_build_only():
    import torch

    posterior = trained(SWAG, net(), rank=2)
    other = net(seed=1)
    state = posterior.sample(into=other, random_state=0)
    assert torch.equal(other[2].bias, state["2.bias"])
    with pytest.raises(ValueError, match="built like"):
        posterior.sample(into=torch.nn.Linear(3, 4))
    with pytest.raises(ValueError, match="scale=-1"):
        posterior.sample(-1)


def test_seeds_fix_draws_and_torch_seeds_do_so_too():
    import torch

    posterior = trained(FactorPosterior, net(), rank=2)
    a, b = posterior.sample(random_state=5), posterior.sample(random_state=5)
    torch.manual_seed(1)
    c = posterior.sample()
    torch.manual_seed(1)
    d = posterior.sample()
    assert torch.equal(a["0.weight"], b["0.weight"])
    assert torch.equal(c["0.weight"], d["0.weight"])
    assert not torch.equal(a["0.weight"], c["0.weight"])


@BOTH
def test_files_bring_back_the_same_posterior(kind, tmp_path):
    import torch

    posterior = trained(kind, net(), rank=3, parameters="2")
    posterior.save(tmp_path / "p.safetensors")
    again = kind.load(tmp_path / "p.safetensors", net(seed=4))
    assert torch.equal(again.sample(random_state=0)["2.weight"], posterior.sample(random_state=0)["2.weight"])
    assert again.n == posterior.n
    for which in (posterior, again):
        which.module.load_state_dict(net(seed=9).state_dict())
        which.update()
    assert torch.equal(again.covariance_factors()[0], posterior.covariance_factors()[0])


def test_files_have_the_safetensors_layout(tmp_path):
    import json

    posterior = trained(SWAG, net(), rank=3)
    raw = posterior.save(tmp_path / "p.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    start, end = header["rows"]["data_offsets"]
    rows = np.frombuffer(raw[8 + length :][start:end], "<f4").reshape(header["rows"]["shape"])
    assert np.array_equal(rows, posterior._rows.numpy())
    assert all(isinstance(note, str) for note in header["__metadata__"].values())


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = trained(SWAG, net(), rank=3).save(tmp_path / "p")
    raw = path.read_bytes()
    refused = 0
    for place in range(0, len(raw), 37):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 4]) + raw[place + 1 :])
        with pytest.raises(FileRefused):
            SWAG.load(path, net())
        refused += 1
    assert refused > 20
    for wrong in (b"", raw[:100], raw[:-4], raw + b"1234", b"PK\x03\x04" * 30):
        path.write_bytes(wrong)
        with pytest.raises(FileRefused):
            SWAG.load(path, net())


def test_files_of_other_weights_or_kinds_are_refused(tmp_path):
    path = trained(SWAG, net(), rank=3).save(tmp_path / "p")
    with pytest.raises(ValueError, match=r"read it with SWAG\.load"):
        FactorPosterior.load(path, net())
    with pytest.raises(ValueError, match=r"names '0\.weight'"):
        SWAG.load(path, two_tensors())


def test_mixtures_go_into_one_file(tmp_path):
    members = [trained(FactorPosterior, net(s), rank=2) for s in (0, 1)]
    mixture = MultiPosterior(members, weights=[0.25, 0.75])
    again = MultiPosterior.load(mixture.save(tmp_path / "m"), [net(5), net(6)])
    state = members[0].sample(random_state=0)
    assert again.log_prob(state) == mixture.log_prob(state)
    with pytest.raises(ValueError, match="2 members"):
        MultiPosterior.load(tmp_path / "m", [net()])


def test_a_state_dict_survives_torch_save(tmp_path):
    import torch

    posterior = trained(FactorPosterior, net(), rank=2)
    torch.save({"posterior": posterior.state_dict()}, tmp_path / "checkpoint.pt")
    state = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["posterior"]
    again = FactorPosterior(net(3), rank=2).load_state_dict(state)
    assert again.log_prob(posterior.mean) == posterior.log_prob(posterior.mean)
    with pytest.raises(ValueError, match="rank=2"):
        FactorPosterior(net(3), rank=3).load_state_dict(state)


def test_what_is_no_module_or_rank_is_refused():
    with pytest.raises(TypeError, match=r"expected a torch\.nn\.Module"):
        SWAG([1.0])
    with pytest.raises(ValueError, match="rank=-1"):
        SWAG(net(), rank=-1)
    with pytest.raises(ValueError, match="from 1 on"):
        FactorPosterior(net(), rank=0)
