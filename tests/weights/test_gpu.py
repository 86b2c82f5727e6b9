"""Posteriors on a GPU: the fused kernels say what the plain form says."""

import numpy as np
import pytest

from latens.weights import SWAG, FactorPosterior, kernels, sketch
from tests.weights.test_modules import net, trained

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("k", [1, 2, 10, 20, 30])
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
    g = 0.01
    assert kernels.are_served(rows)
    fused = kernels.inner(snapshot, mean, variance, rows, g, sketch.FLOOR)
    exact = sketch._inner(*(t.double() for t in (snapshot, mean, variance, rows)), g, sketch.FLOOR)
    assert np.linalg.norm(fused - exact) < 1e-5 * np.linalg.norm(exact)
    matrix = torch.as_tensor(sketch._least_lost(exact, g), dtype=torch.float32, device="cuda")
    state, want = (mean, variance, rows), [t.double() for t in (mean, variance, rows)]
    kernels.turn(snapshot, *state, g, matrix)
    sketch._turn(snapshot.double(), *want, g, matrix.double())
    for found, there in zip(state, want, strict=True):
        assert float((found - there).norm()) < 1e-5 * float(there.norm())


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
