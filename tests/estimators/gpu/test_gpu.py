"""Rows that live on a GPU stay there, and tell the same story as on the host."""

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.gpu


def switched(n, seed=0):
    rng = np.random.default_rng(seed)
    loadings = 3 * rng.normal(size=(6, 20))
    return (rng.random((n, 6)) < 0.3) @ loadings + 0.5 * rng.normal(size=(n, 20))


@pytest.mark.parametrize("e_step", ["mean-field", "exact", "truncated"])
def test_a_fixed_number_of_iterations_agrees_with_numpy(e_step):
    import torch

    X = switched(3000)
    settings = {"e_step": e_step, "tol": 0, "max_iter": 12, "n_init": 1, "moves": False, "random_state": 0}
    on_host = latens.BinaryFactorAnalysis(6, **settings).fit(X)
    on_device = latens.BinaryFactorAnalysis(6, **settings).fit(torch.tensor(X, device="cuda"))
    assert on_device.elbo_ == pytest.approx(on_host.elbo_, rel=1e-10)
    codes = on_device.transform(torch.tensor(X, device="cuda"))
    assert codes.device.type == "cuda"
    assert codes.cpu().numpy() == pytest.approx(on_host.transform(X), abs=1e-8)


def test_whole_fits_agree_in_the_bound():
    import torch

    X = switched(5000, seed=1)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    on_host = latens.BinaryFactorAnalysis(10, random_state=0).fit(X)
    on_device = latens.BinaryFactorAnalysis(10, random_state=0).fit(torch.tensor(X, device="cuda"))
    assert on_device.n_components_ == on_host.n_components_ == 6
    assert on_device.elbo_ == pytest.approx(on_host.elbo_, abs=1e-6 * len(X))


def test_single_precision_on_the_device_is_close():
    import torch

    X = switched(5000, seed=3)
    on_host = latens.BinaryFactorAnalysis(6, random_state=0).fit(X)
    on_device = latens.BinaryFactorAnalysis(6, random_state=0).fit(torch.tensor(X, device="cuda", dtype=torch.float32))
    assert on_device.elbo_ == pytest.approx(on_host.elbo_, rel=1e-4)
    assert on_device.transform(torch.tensor(X, device="cuda", dtype=torch.float32)).dtype == torch.float32
