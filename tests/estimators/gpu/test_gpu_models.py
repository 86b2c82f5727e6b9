"""Every estimator on rows that live on a CUDA device: the answers of NumPy, in tensors of that device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import latens

pytestmark = pytest.mark.gpu
DEVICE = "cuda"


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def real_rows(holes: bool) -> np.ndarray:
    x, _ = latens.datasets.make_factor_model(300, n_features=12, n_components=3, spectrum=(1.0, 10.0), random_state=0)
    if holes:
        x[np.random.default_rng(1).random(x.shape) < 0.1] = np.nan
    return x


def binary_rows(holes: bool) -> np.ndarray:
    return latens.datasets.make_noisy_or(300, random_state=0)[0].astype(float)


FIXED: dict[str, Any] = {"tol": 0, "moves": False, "random_state": 0, "max_iter": 15}
ESTIMATORS: dict[str, tuple[Callable[[], Any], Callable[[bool], np.ndarray], bool]] = {
    "factor-analysis": (lambda: latens.FactorAnalysis(3, **FIXED), real_rows, False),
    "factor-analysis-holes": (lambda: latens.FactorAnalysis(3, **FIXED), real_rows, True),
    "factor-analysis-ard": (lambda: latens.FactorAnalysis(5, prior="ard", **FIXED), real_rows, False),
    "transport": (lambda: latens.FactorAnalysis(3, solver="transport", random_state=0), real_rows, False),
    "online-em": (lambda: latens.FactorAnalysis(3, solver="online-em", random_state=0), real_rows, False),
    "noisy-ica": (lambda: latens.NoisyICA(3, **FIXED), real_rows, False),
    "mixture-full": (lambda: latens.GaussianMixture(4, **FIXED), real_rows, False),
    "mixture-diag-holes": (lambda: latens.GaussianMixture(4, covariance_type="diag", **FIXED), real_rows, True),
    "bernoulli-mixture": (lambda: latens.BernoulliMixture(4, **FIXED), binary_rows, False),
    "noisy-or": (lambda: latens.NoisyOr(4, **FIXED), binary_rows, False),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_and_answers_are_those_of_numpy(name: str, torch: Any) -> None:
    make, rows, holes = ESTIMATORS[name]
    x = rows(holes)
    there = torch.asarray(x, device=DEVICE)
    here, device = make().fit(x), make().fit(there)
    assert device.elbo_ == pytest.approx(here.elbo_, rel=1e-9)
    codes = device.transform(there)
    assert codes.device.type == DEVICE
    assert codes.cpu().numpy() == pytest.approx(here.transform(x), abs=1e-6)
    assert np.asarray(device.score_samples(there).cpu()) == pytest.approx(here.score_samples(x), rel=1e-7, abs=1e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_several_views_are_those_of_numpy(missing: float, torch: Any) -> None:
    views, truth = latens.datasets.make_multiview(
        200, (30, 20, 15), ("gaussian", "bernoulli", "poisson"), n_factors=3, missing=missing, random_state=0
    )
    there = {name: torch.asarray(view, device=DEVICE) for name, view in views.items()}

    def fitted(data: Any) -> Any:
        return latens.MultiViewFactorAnalysis(4, likelihoods=truth.likelihoods, **FIXED).fit(data)

    here, device = fitted(views), fitted(there)
    assert device.elbo_ == pytest.approx(here.elbo_, rel=1e-9)
    codes = device.transform(there)
    assert codes.device.type == DEVICE
    assert codes.cpu().numpy() == pytest.approx(here.transform(views), abs=1e-5)


def test_regression_is_that_of_numpy(torch: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5))
    y = x @ rng.normal(size=5) + 0.1 * rng.normal(size=200)
    here = latens.BayesianLinearRegression().fit(x, y)
    device = latens.BayesianLinearRegression().fit(torch.asarray(x, device=DEVICE), torch.asarray(y, device=DEVICE))
    assert device.coef_ == pytest.approx(here.coef_, rel=1e-9)
    mean, std = device.predict(torch.asarray(x, device=DEVICE), return_std=True)
    assert mean.device.type == std.device.type == DEVICE
    assert mean.cpu().numpy() == pytest.approx(here.predict(x), rel=1e-9)
