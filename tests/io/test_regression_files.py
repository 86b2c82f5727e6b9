"""Files of linear regressions: another kind of estimator, with a target and two units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latens
from latens.errors import FileRefused
from latens.io.estimator_state import EstimatorState, parameters_of, rebuilt

SETTINGS: dict[str, dict[str, Any]] = {
    "evidence": {},
    "gamma": {"weight_precision": "gamma", "noise_precision": "gamma"},
    "given": {"weight_precision": 0.5, "noise_precision": 3.0},
    "standardized": {"standardize": True},
    "mixed": {"weight_precision": "gamma", "noise_precision": "variance", "fit_intercept": False},
}


def regression(name: str, scale: float = 1.0) -> tuple[latens.BayesianLinearRegression, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3)) * scale + 5 * scale
    y = 1e-6 * (X @ [1.0, -2.0, 0.5] / scale + 0.1 * rng.normal(size=60))
    return latens.BayesianLinearRegression(**SETTINGS[name]).fit(X[:40], y[:40]), X, y


@pytest.mark.parametrize("name", SETTINGS)
def test_it_comes_back_and_goes_on(name: str, tmp_path: Path) -> None:
    model, X, y = regression(name, scale=1e9)
    loaded = latens.load(latens.save(model, tmp_path / "model.latens"))
    assert loaded.get_params() == model.get_params()
    for attribute in (
        "coef_",
        "coef_covariance_",
        "intercept_",
        "weight_precision_",
        "noise_precision_",
        "elbo_",
        "elbo_history_",
    ):
        assert np.array_equal(getattr(loaded, attribute), getattr(model, attribute)), attribute
    for one, other in zip(model.predict(X, return_std=True), loaded.predict(X, return_std=True), strict=True):
        assert np.array_equal(one, other)
    model.partial_fit(X[40:], y[40:])
    loaded.partial_fit(X[40:], y[40:])
    assert np.array_equal(model.coef_, loaded.coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SETTINGS)
def test_fewer_rows_than_columns_come_back_and_go_on(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 20))
    y = X[:, 0] + rng.normal(size=30)
    model = latens.BayesianLinearRegression(**SETTINGS[name]).fit(X[:12], y[:12])
    loaded = latens.load(latens.save(model, tmp_path / "model.latens"))
    for attribute in ("coef_", "coef_std_", "coef_covariance_", "intercept_", "elbo_"):
        assert np.array_equal(getattr(loaded, attribute), getattr(model, attribute)), attribute
    for at in (slice(12, 16), slice(16, 30)):  # still fewer, and more
        model.partial_fit(X[at], y[at])
        loaded.partial_fit(X[at], y[at])
        assert np.array_equal(model.predict(X, return_std=True), loaded.predict(X, return_std=True))


@pytest.mark.extras
def test_names_of_columns_come_back(tmp_path: Path) -> None:
    import pandas as pd

    _, X, y = regression("evidence")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = latens.BayesianLinearRegression().fit(frame, y)
    loaded = latens.load(latens.save(model, tmp_path / "model.latens"))
    assert np.array_equal(loaded.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns=str.upper))


def test_impossible_numbers_are_refused() -> None:
    from dataclasses import replace

    model, _, _ = regression("given")
    fitted = EstimatorState.of(model)
    q = fitted.state.q
    with pytest.raises(ValueError, match="precisions must be positive"):
        replace(q, beta=-1.0)
    with pytest.raises(FileRefused, match="not positive definite"):
        rebuilt(
            "BayesianLinearRegression",
            parameters_of(model),
            replace(fitted, state=replace(fitted.state, q=replace(q, covariance=-q.covariance))),
        )
    with pytest.raises(FileRefused, match=r"state.q.mean has shape \(2,\)"):
        rebuilt(
            "BayesianLinearRegression",
            parameters_of(model),
            replace(fitted, state=replace(fitted.state, q=replace(q, mean=q.mean[:2]))),
        )
    with pytest.raises(ValueError, match=r"origin of shape \(2,\); expected \(1,\)"):
        replace(fitted.units, target=replace(fitted.units.target, origin=np.zeros(2)))
