"""Posteriors on a GPU: the fused kernels say what the plain form says."""

import numpy as np
import pytest

from latens.nets import SWAG, FactorPosterior
from latens.nets.algebra import low_rank_update, low_rank_update_triton
from tests.nets.test_modules import net, trained

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("k", [1, 2, 10, 11, 20, 30])
@pytest.mark.parametrize("size", [1024, 100_003, 400_000])
def test_kernels_agree_with_the_plain_form(k, size):
    import torch

    torch.manual_seed(k)
    snapshot, mean = torch.randn(2, size, device="cuda")
    variance = 1 + torch.rand(size, device="cuda")
    variance[::7] = 0.0
    rows = 0.2 * torch.randn(k, size, device="cuda")
    rows[:, ::7] = 0.0
    snapshot[::7] = mean[::7]
    n = 100
    assert low_rank_update_triton.are_served(rows)
    fused = low_rank_update_triton.inner(snapshot, mean, variance, rows, 1 / n, low_rank_update.FLOOR).cpu().numpy()
    exact = low_rank_update._inner(*(t.double() for t in (snapshot, mean, variance, rows)), n).cpu().numpy()
    assert np.linalg.norm(low_rank_update._whole(fused, k + 1) - exact) < 1e-5 * np.linalg.norm(exact)
    mirror = low_rank_update_triton.mirror(torch.as_tensor(exact[np.triu_indices(k + 1)], device="cuda"), k, n)
    state, want = (mean, variance, rows), [t.double() for t in (mean, variance, rows)]
    low_rank_update_triton.turn(snapshot, *state, 1 / n, mirror)
    low_rank_update._turn(snapshot.double(), *want, n, mirror.double())
    for found, there in zip(state, want, strict=True):
        assert float((found - there).norm()) < 1e-5 * float(there.norm())


@pytest.mark.parametrize("k", [1, 2, 10, 15, 16, 20, 30])
@pytest.mark.parametrize("n", [50, 10**6])
@pytest.mark.parametrize("still", [False, True])
def test_the_device_drops_what_the_host_would_drop(k, n, still):
    import torch

    deviations = np.random.default_rng(k).standard_normal((k + 1, 3 * k + 3))
    deviations[0] *= 0.0 if still else 1e-3  # else the latest is always the least
    inner = deviations @ deviations.T
    packed = torch.as_tensor(np.append(inner[np.triu_indices(k + 1)], [1.0, 2.0]), device="cuda")
    made, want = low_rank_update_triton.mirror(packed, k, n).cpu().numpy(), low_rank_update._least_lost(inner, n)
    assert np.outer(*made) == pytest.approx(np.outer(*want), abs=1e-5)
    packed[-1] = float("nan")
    assert np.isnan(low_rank_update_triton.mirror(packed, k, n)[0].cpu().numpy()).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_the_fused_pass_sees_weights_that_are_not_finite(value):
    import torch

    module = torch.nn.Linear(200, 300).to("cuda")
    posterior = trained(FactorPosterior, module, n=8, rank=3)
    assert low_rank_update_triton.are_served(posterior._rows)
    before = {k: v.clone() for k, v in posterior.state_dict().items() if hasattr(v, "clone")}
    module.weight.data[100, 7] = value
    with pytest.raises(FloatingPointError, match="snapshot 9"):
        posterior.update()
    assert all(torch.equal(posterior.state_dict()[k], v) for k, v in before.items())


@pytest.mark.parametrize("kind", [SWAG, FactorPosterior])
def test_posteriors_on_the_device_agree_with_the_host(kind):
    import torch

    rows = torch.randn(40, 26, generator=torch.Generator().manual_seed(0))
    found = []
    for device in ("cpu", "cuda"):
        module = net().to(device)
        posterior = kind(module, rank=5)
        for row in rows:
            torch.nn.utils.vector_to_parameters(row.to(device), module.parameters())
            posterior.update()
        factors, noise = posterior.covariance_factors()
        found.append((factors.T @ factors + torch.diag(noise)).cpu().numpy())
        assert np.isfinite(posterior.log_prob())
    assert found[1] == pytest.approx(found[0], abs=1e-4)


def test_draws_and_predictions_stay_on_the_device():
    import torch

    posterior = trained(FactorPosterior, net().to("cuda"), rank=3)
    assert posterior.sample(random_state=0)["0.weight"].is_cuda
    assert posterior.predict([torch.randn(4, 3)], 3, random_state=0).probabilities.shape == (4, 2)


def test_the_module_may_have_left_the_device():
    """As Lightning leaves it after training."""
    import torch

    posterior = trained(FactorPosterior, net().to("cuda"), rank=3)
    posterior.module.to("cpu")
    assert not posterior.sample(random_state=0)["0.weight"].is_cuda
    assert posterior.predict([torch.randn(4, 3)], 3, random_state=0).probabilities.shape == (4, 2)
    assert np.isfinite(posterior.log_prob())
